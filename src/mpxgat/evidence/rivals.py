"""Who else could be meant: how a similarity compares with those of all nodes that compete for the same partner.

Links between layers are one to one, so a candidate counts for little if many others are as similar. For every node
and every other layer, the largest similarities to nodes of that layer that it may still be matched with, and their sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.evidence.pairs import Pairs, Values
from mpxgat.evidence.similarity import open_similarities
from mpxgat.graph import MultiplexGraph

KEPT = 8


@dataclass(frozen=True, eq=False)
class Rivals:
    """Similarities to the nodes of every layer that uniqueness allows."""

    largest: NDArray[np.float64]  # (n, L, KEPT) descending, 0 where there are fewer
    total: NDArray[np.float64]  # (n, L)

    def columns(self, similarity: Values, pairs: Pairs, layer: NDArray[np.int32]) -> list[Values]:
        """Rank (up to KEPT), share of the total, and lead over the mean of the five best, each the lower of both
        sides, then the higher.
        """
        sides = [
            self._from(similarity, pairs.first, layer[pairs.second]),
            self._from(similarity, pairs.second, layer[pairs.first]),
        ]
        columns: list[Values] = []
        for one, other in zip(*sides, strict=True):
            columns += [np.minimum(one, other), np.maximum(one, other)]
        return columns

    def _from(self, similarity: Values, node: NDArray[np.integer], layer: NDArray[np.int32]) -> tuple[Values, ...]:
        largest, total = self.largest[node, layer], self.total[node, layer]
        rank = (largest > similarity[:, None] * (1 + 1e-12)).sum(axis=1).astype(np.float64)
        share = np.divide(similarity, total, out=np.zeros_like(similarity), where=total > 0)
        return rank, share, similarity - largest[:, :5].mean(axis=1)


def find_rivals(rows: sparse.csr_array, graph: MultiplexGraph, present: NDArray[np.float32]) -> Rivals:
    """Rivals by the similarity <row_i, row_j>; ``present`` (n, L) says where a node's unit has a node."""
    n_layers = graph.n_layers
    largest = np.zeros((graph.n_nodes, n_layers, KEPT))
    total = np.zeros((graph.n_nodes, n_layers))
    for b in range(n_layers):
        there = graph.layer_nodes(b)
        others = np.flatnonzero(present[:, b] == 0)
        for found in open_similarities(rows, present, others, there):
            best, _ = found.best(KEPT)
            largest[found.nodes, b, : best.shape[1]] = best
            total[found.nodes, b] = found.total()
    return Rivals(largest, total)
