"""Nodes with the nearest embeddings: candidates that sparse profiles miss.

In an ordinary layer all products are computed. A large one is searched by an index instead, if there is a library for
it: the vectors are clustered, and a node is compared with those of the clusters nearest to it alone. Without the
library all products are computed there too, which takes long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.errors import SettingError
from mpxgat.models.evidence.features import row_parts
from mpxgat.models.evidence.similarity import LARGE_LAYER, Nodes, Similarities, decided_pairs, open_similarities

AUTO, EXACT, APPROXIMATE = "auto", "exact", "approximate"
SEARCHES = (AUTO, EXACT, APPROXIMATE)
_CELLS = 1 << 23
_ASKED = 4  # times as many as wanted are searched for: some of them are known to differ
_CLUSTERS_SEARCHED = 8
_ROUNDS, _NODES_OF_A_CLUSTER = 10, 64  # of clustering, and how many nodes it learns from
_NONE = -math.inf
Vectors = NDArray[np.float32]


def search_library() -> ModuleType:
    """Faiss; SettingError if it is missing. Imported late: hardly anyone needs it."""
    if find_spec("faiss") is None:
        raise SettingError(
            "search is approximate, which needs Faiss: install it with pip install 'mpxgat[ann]', or let search be auto"
        )
    return import_module("faiss")


def is_approximate(search: str, n_theirs: int) -> bool:
    """Whether so many nodes are searched by an index; ``search`` is one of `SEARCHES`."""
    return search == APPROXIMATE or (search == AUTO and n_theirs >= LARGE_LAYER and find_spec("faiss") is not None)


def open_products(vectors: Vectors, present: NDArray[np.float32], ours: Nodes, theirs: Nodes) -> Iterator[Similarities]:
    """<v_i, v_j> of some of ``ours`` to all of ``theirs``, until all had their turn.

    vectors     (n, d)
    present     (n, L) layers where a node's unit has a node; two that share one are known to differ, or to be one, and
                have the product -inf
    """
    turned = torch.from_numpy(vectors[theirs]).T
    for part in row_parts(ours, len(theirs), _CELLS):
        nodes = ours[part]
        value = torch.from_numpy(vectors[nodes]) @ turned
        value[torch.from_numpy(decided_pairs(present, nodes, theirs))] = _NONE
        yield Similarities(nodes, value)


def likely_products(
    vectors: Vectors, present: NDArray[np.float32], ours: Nodes, theirs: Nodes, k: int
) -> Iterator[Similarities]:
    """As `open_products`, of each node only the largest that an index finds; its ``k`` largest mostly among them."""
    library = search_library()
    library.omp_set_num_threads(torch.get_num_threads())
    index = _index(library, vectors[theirs])
    asked = min(_ASKED * k, len(theirs))
    for part in row_parts(ours, asked * present.shape[1], _CELLS):
        nodes = ours[part]
        value, partner = index.search(vectors[nodes], asked)
        missing = partner < 0  # the clusters hold fewer
        partner[missing] = 0
        decided = (present[nodes][:, None] * present[theirs[partner]]).any(axis=2)
        value[missing | decided] = _NONE
        yield Similarities(nodes, torch.from_numpy(value), torch.from_numpy(partner))


def _index(library: ModuleType, vectors: Vectors) -> Any:
    """An index of (m, d) vectors, which finds the largest products."""
    m, d = vectors.shape
    index = library.IndexIVFFlat(library.IndexFlatIP(d), d, max(1, math.isqrt(m)), library.METRIC_INNER_PRODUCT)
    clustering = index.cp
    clustering.niter, clustering.max_points_per_centroid = _ROUNDS, _NODES_OF_A_CLUSTER
    clustering.min_points_per_centroid = 1  # or it complains on the terminal
    index.train(vectors)
    index.add(vectors)
    index.nprobe = _CLUSTERS_SEARCHED
    return index


# Pairs of nodes of two layers that are worth judging: those with similar surroundings or near embeddings.


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
