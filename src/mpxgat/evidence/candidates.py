"""Pairs of nodes of two layers that are worth judging: those with similar surroundings, the most similar ones first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.evidence.similarity import Nodes, open_similarities

Pairs64 = NDArray[np.int64]


def similar_pairs(rows: sparse.csr_array, present: NDArray[np.float32], ours: Nodes, theirs: Nodes, k: int) -> Pairs64:
    """(m, 2) pairs with <row_i, row_j> > 0 that uniqueness allows: the k best of every node, from both sides.

    rows and present are as in `open_similarities`; ours and theirs are the nodes of two layers.
    """

    def best(here: Nodes, there: Nodes) -> Pairs64:
        found = [np.empty((0, 2), dtype=np.int64)]
        for similar in open_similarities(rows, present, here, there):
            values, partners = similar.best(k)
            row, place = np.nonzero(values > 0)
            found.append(np.stack([similar.nodes[row], there[partners[row, place]]], axis=1).astype(np.int64))
        return np.concatenate(found)

    return np.unique(np.concatenate([best(ours, theirs), best(theirs, ours)[:, ::-1]]), axis=0)


def against_rivals(pairs: Pairs64, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-odds that take into account that both nodes have at most one partner among the pairs of two layers.

    A pair competes with "none of them" and with every other pair of either node: s - log(1 + Σ exp(s of the others)).
    """
    odds = np.exp(np.minimum(score, 30.0))
    others = np.zeros(len(pairs))
    for side in (0, 1):
        _, place = np.unique(pairs[:, side], return_inverse=True)
        others += np.bincount(place, weights=odds)[place] - odds
    relative: NDArray[np.float64] = score - np.log1p(np.maximum(others, 0))
    return relative
