"""Subgraphs around nodes: neighbours, their neighbours and so on, some drawn by chance, without a Python loop.

The links drawn go both ways in the subgraph, so it is undirected like the network, and a neural network of any depth
runs on it unchanged (Zeng et al. 2021, *Decoupling the depth and scope of graph neural networks*). What a draw costs
depends on the nodes and links drawn, neither on the size of the network nor on the degree of a hub.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.links import group_members
from mpxgat.nodes import NODE_DTYPE
from mpxgat.sampling.subgraphs import Nodes, Subgraph, ranges

EVERYONE = np.iinfo(np.int64).max  # a fan-out that leaves no neighbour out


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The links of a network, listed by node.

    links       (m, 2) each undirected and given once
    offsets     (n+1,) those of node i stand at offsets[i] … offsets[i+1]-1 of the following
    others      (2m,) the other end
    rows        (2m,) which of ``links`` it is
    """

    links: NDArray[np.integer[Any]]
    offsets: NDArray[np.int64]
    others: NDArray[np.int32]
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, n_nodes: int, links: NDArray[np.integer[Any]]) -> Surroundings:
        """Of nodes 0…n-1."""
        ends = links.T.ravel().astype(NODE_DTYPE)
        by_node = group_members(ends, np.zeros(len(ends), dtype=np.int8), n_nodes)
        place = by_node.indices.astype(np.int64)
        half = len(links)
        rows = np.where(place < half, place, place - half)
        others = ends[np.where(place < half, place + half, place - half)]
        return cls(links, by_node.indptr.astype(np.int64), others, rows)

    def draw(self, seeds: NDArray[np.integer[Any]], fan_outs: Sequence[int], rng: np.random.Generator) -> Subgraph:
        """All seeds (repetitions do not matter), and what is reached from them in ``len(fan_outs)`` hops.

        In hop h every node reached in the hop before draws ``fan_outs[h]`` of its links, uniformly and *without*
        replacement; all of them if it has no more.
        """
        reached = np.unique(seeds).astype(np.int64)
        edge, found = reached, [np.empty(0, dtype=np.int64)]
        for fan_out in fan_outs:
            drawn = self._draw(edge, fan_out, rng)
            found.append(self.rows[drawn])
            edge = np.setdiff1d(self.others[drawn], reached).astype(np.int64)
            reached = np.union1d(reached, edge)
        return Subgraph.of(reached, np.unique(np.concatenate(found)), self.links)

    def _draw(self, nodes: Nodes, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Places in ``others`` and ``rows`` of at most ``count`` links of each node."""
        start, size = self.offsets[nodes], self.offsets[nodes + 1] - self.offsets[nodes]
        many = size > count
        every = ranges(start[~many], size[~many])
        if not many.any():
            return every
        some = start[many, None] + _distinct(size[many], count, rng)
        return np.concatenate([every, some.ravel()])


def _distinct(size: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(k, count) different numbers below ``size`` (k,) in each row, all sets equally likely; size exceeds count.

    Floyd's way (Bentley and Floyd 1987), all rows at once: the j-th draw is from the first size - count + j numbers
    and one more; if it was drawn before, that one more, which cannot have been, takes its place.
    """
    chosen = np.empty((len(size), count), dtype=np.int64)
    for place in range(count):
        last = size - count + place
        drawn = (rng.random(len(size)) * (last + 1)).astype(np.int64)
        again = (chosen[:, :place] == drawn[:, None]).any(axis=1)
        chosen[:, place] = np.where(again, last, drawn)
    return chosen
