"""Pairs of nodes of two layers that are worth judging: those with similar surroundings, the most similar ones first."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.evidence.pairs import row_parts

_CELLS = 1 << 23
Pairs64 = NDArray[np.int64]


def similar_pairs(
    rows: sparse.csr_array,
    present: NDArray[np.float32],
    ours: NDArray[np.integer],
    theirs: NDArray[np.integer],
    k: int,
) -> Pairs64:
    """(m, 2) pairs with <row_i, row_j> > 0 that uniqueness allows: the k best of every node, from both sides.

    rows            (n, d) profiles
    present         (n, L) layers where a node's unit has a node: two that share one are known to differ, or to be one
    ours, theirs    nodes of two layers
    """
    found = [_best(rows, present, ours, theirs, k), _best(rows, present, theirs, ours, k)[:, ::-1]]
    return np.unique(np.concatenate(found), axis=0)


def _best(
    rows: sparse.csr_array,
    present: NDArray[np.float32],
    ours: NDArray[np.integer],
    theirs: NDArray[np.integer],
    k: int,
) -> Pairs64:
    turned = sparse.csr_array(rows[theirs].T)
    found = [np.empty((0, 2), dtype=np.int64)]
    for part in row_parts(ours, len(theirs), _CELLS):
        nodes = ours[part]
        similarity = torch.from_numpy((rows[nodes] @ turned).toarray())
        similarity[torch.from_numpy(present[nodes] @ present[theirs].T > 0)] = 0
        best = similarity.topk(min(k, len(theirs)), dim=1)
        row, place = np.nonzero(best.values.numpy() > 0)
        found.append(np.stack([nodes[row], theirs[best.indices.numpy()[row, place]]], axis=1).astype(np.int64))
    return np.concatenate(found)


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
