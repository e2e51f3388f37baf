"""Pairs of nodes of two layers that are worth judging: those with similar surroundings or near embeddings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.evidence.nearest import AUTO, Vectors, is_approximate, likely_products, open_products
from mpxgat.evidence.similarity import Nodes, Similarities, open_similarities

Pairs64 = NDArray[np.int64]


@dataclass(frozen=True)
class Wanted:
    """How many candidates every node gets in another layer, from either side.

    similar     those with the most similar surroundings
    nearest     those with the nearest embeddings, if there are any
    search      how the nearest are found: one of `SEARCHES`
    """

    similar: int
    nearest: int = 0
    search: str = AUTO


def similar_pairs(rows: sparse.csr_array, present: NDArray[np.float32], ours: Nodes, theirs: Nodes, k: int) -> Pairs64:
    """(m, 2) pairs with <row_i, row_j> > 0 that uniqueness allows: the k best of every node, from both sides.

    rows and present are as in `open_similarities`; ours and theirs are nodes of two layers.
    """

    def compare(here: Nodes, there: Nodes) -> Iterator[Similarities]:
        return open_similarities(rows, present, here, there)

    return _best_from_both_sides(compare, ours, theirs, k, above=0)


def nearest_pairs(
    vectors: Vectors, present: NDArray[np.float32], ours: Nodes, theirs: Nodes, k: int, search: str
) -> Pairs64:
    """(m, 2) pairs that uniqueness allows with the largest <v_i, v_j>: the k best of every node, from both sides.

    vectors and present are as in `open_products`; ours and theirs are nodes of two layers; search is one of `SEARCHES`.
    """

    def compare(here: Nodes, there: Nodes) -> Iterator[Similarities]:
        if is_approximate(search, len(there)):
            return likely_products(vectors, present, here, there, k)
        return open_products(vectors, present, here, there)

    return _best_from_both_sides(compare, ours, theirs, k, above=-math.inf)


def _best_from_both_sides(
    compare: Callable[[Nodes, Nodes], Iterator[Similarities]], ours: Nodes, theirs: Nodes, k: int, above: float
) -> Pairs64:
    """(m, 2) the k most similar of every node with a similarity above some value; no pair twice, in order."""

    def best(here: Nodes, there: Nodes) -> Pairs64:
        found = [np.empty((0, 2), dtype=np.int64)]
        if len(here) and len(there):
            for similar in compare(here, there):
                values, partners = similar.best(k)
                row, place = np.nonzero(values > above)
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
