"""Pairs of nodes of two layers that are worth scoring: those with similar walks or near embeddings.

Similarities are looked at a bounded number at a time, of open pairs only. To the few thousand nodes of an ordinary
layer all of them are computed, as most are above 0. In a large layer hardly any is: there only those are, as a sparse
product, so that time grows with the entries of the walks and not with the pairs. Embeddings in a large layer are
searched by an index, if there is a library for it: the vectors are clustered, and a node is compared with those of the
clusters nearest to it alone. Without the library all products are computed there too, which takes long.
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
from torch import Tensor

from mpxgat.errors import SettingError
from mpxgat.models.evidence.walks import parts_of_like_length, products_per_row
from mpxgat.pairs import IntArray, KnownUnits, row_parts

AUTO, EXACT, APPROXIMATE = "auto", "exact", "approximate"
SEARCHES = (AUTO, EXACT, APPROXIMATE)
LARGE_LAYER = 20_000  # nodes
_CELLS = 1 << 23
_ASKED = 4  # times as many as wanted are searched for by an index: some of them are known to differ
_CLUSTERS_SEARCHED = 8
_ROUNDS, _NODES_OF_A_CLUSTER = 10, 64  # of clustering, and how many nodes it learns from
_NONE = -math.inf
_LARGEST_SCORE = 30.0  # of a competitor: larger ones would overflow
Vectors = NDArray[np.float32]
PairArray = NDArray[np.int64]


@dataclass(frozen=True)
class CandidateSearch:
    """How many candidates every node gets in another layer, from either side.

    similar     those with the most similar walks
    nearest     those with the nearest embeddings, if there are any
    method      how the nearest are found: one of `SEARCHES`
    """

    similar: int
    nearest: int = 0
    method: str = AUTO


def constants() -> dict[str, float]:
    """What changes the candidates, by name: probabilities calibrated with other values do not fit."""
    return {
        "search.times as many asked for": _ASKED,
        "search.clusters": _CLUSTERS_SEARCHED,
        "search.rounds of clustering": _ROUNDS,
        "search.nodes of a cluster": _NODES_OF_A_CLUSTER,
    }


def similar_pairs(rows: sparse.csr_array, units: KnownUnits, ours: IntArray, theirs: IntArray, k: int) -> PairArray:
    """(m, 2) open pairs with <row_i, row_j> > 0: the k best of every node, from both sides.

    ours and theirs are nodes of two layers; rows as in `similarities`.
    """

    def compare(here: IntArray, there: IntArray) -> Iterator[Similarities]:
        return similarities(rows, units, here, there)

    return _best_from_both_sides(compare, ours, theirs, k, above=0)


def nearest_pairs(
    vectors: Vectors, units: KnownUnits, ours: IntArray, theirs: IntArray, k: int, method: str
) -> PairArray:
    """(m, 2) open pairs with the largest <v_i, v_j>: the k best of every node, from both sides.

    ours and theirs are nodes of two layers; vectors (n, d); method is one of `SEARCHES`.
    """

    def compare(here: IntArray, there: IntArray) -> Iterator[Similarities]:
        if is_approximate(method, len(there)):
            return _indexed_products(vectors, units, here, there, k)
        return all_products(vectors, units, here, there)

    return _best_from_both_sides(compare, ours, theirs, k, above=_NONE)


def _best_from_both_sides(
    compare: Callable[[IntArray, IntArray], Iterator[Similarities]],
    ours: IntArray,
    theirs: IntArray,
    k: int,
    above: float,
) -> PairArray:
    """(m, 2) the k most similar of every node with a similarity above some value; no pair twice, in order."""

    def best(here: IntArray, there: IntArray) -> PairArray:
        found = [np.empty((0, 2), dtype=np.int64)]
        if len(here) and len(there):
            for similar in compare(here, there):
                values, partners = similar.best(k)
                row, place = np.nonzero(values > above)
                found.append(np.stack([similar.nodes[row], there[partners[row, place]]], axis=1).astype(np.int64))
        return np.concatenate(found)

    return np.unique(np.concatenate([best(ours, theirs), best(theirs, ours)[:, ::-1]]), axis=0)


def against_competitors(pairs: PairArray, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-odds that take into account that both nodes have at most one partner among the pairs of two layers.

    A pair competes with "none of them" and with every other pair of either node: s - log(1 + Σ exp(s of the others)).
    """
    odds = np.exp(np.minimum(score, _LARGEST_SCORE))
    others = np.zeros(len(pairs))
    for side in (0, 1):
        _, place = np.unique(pairs[:, side], return_inverse=True)
        others += np.bincount(place, weights=odds)[place] - odds
    relative: NDArray[np.float64] = score - np.log1p(np.maximum(others, 0))
    return relative


# ---- similarities of open pairs --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Similarities:
    """Of some nodes (r,) to others, (r, c) each; those left out are 0.

    partner     (r, c) places of the others among those asked for; None if a column's number is its place
    """

    nodes: IntArray
    value: Tensor
    partner: Tensor | None = None

    def best(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The k largest of every node, descending, and the partners' places; fewer if there are fewer."""
        top = self.value.topk(min(k, self.value.shape[1]), dim=1)
        place = top.indices if self.partner is None else self.partner.gather(1, top.indices)
        return top.values.numpy(), place.numpy()

    def total(self) -> NDArray[np.float64]:
        """(r,) their sums."""
        total: NDArray[np.float64] = self.value.sum(dim=1).numpy()
        return total


def similarities(rows: sparse.csr_array, units: KnownUnits, ours: IntArray, theirs: IntArray) -> Iterator[Similarities]:
    """<row_i, row_j> of some of ``ours`` to ``theirs``, until all had their turn, in any order; 0 for decided pairs.

    rows        (n, d) sparse, no entry below 0
    """
    turned = sparse.csr_array(rows[theirs].T)
    if len(theirs) >= LARGE_LAYER:
        yield from _above_zero(rows, turned, units, ours, theirs)
        return
    for part in row_parts(ours, len(theirs), _CELLS):
        nodes = ours[part]
        value = torch.from_numpy((rows[nodes] @ turned).toarray())
        value[torch.from_numpy(units.decided(nodes[:, None], theirs))] = 0
        yield Similarities(nodes, value)


def _above_zero(
    rows: sparse.csr_array, turned: sparse.csr_array, units: KnownUnits, ours: IntArray, theirs: IntArray
) -> Iterator[Similarities]:
    """Only what is above 0; nodes with about as many such partners together, so that little is filled up with 0."""
    most = products_per_row(rows[ours], turned)
    order = np.argsort(most, kind="stable")
    for part in parts_of_like_length(most[order], _CELLS):
        nodes = ours[order[part]]
        found = sparse.csr_array(rows[nodes] @ turned)
        counts = np.diff(found.indptr)
        found.data[units.decided(np.repeat(nodes, counts), theirs[found.indices])] = 0
        there = np.arange(max(int(counts.max(initial=0)), 1)) < counts[:, None]
        value, partner = np.zeros(there.shape), np.zeros(there.shape, dtype=np.int64)
        value[there], partner[there] = found.data, found.indices
        yield Similarities(nodes, torch.from_numpy(value), torch.from_numpy(partner))


def all_products(vectors: Vectors, units: KnownUnits, ours: IntArray, theirs: IntArray) -> Iterator[Similarities]:
    """<v_i, v_j> of some of ``ours`` to all of ``theirs``, until all had their turn; -inf for decided pairs."""
    turned = torch.from_numpy(vectors[theirs]).T
    for part in row_parts(ours, len(theirs), _CELLS):
        nodes = ours[part]
        value = torch.from_numpy(vectors[nodes]) @ turned
        value[torch.from_numpy(units.decided(nodes[:, None], theirs))] = _NONE
        yield Similarities(nodes, value)


def _indexed_products(
    vectors: Vectors, units: KnownUnits, ours: IntArray, theirs: IntArray, k: int
) -> Iterator[Similarities]:
    """As `all_products`, of each node only the largest that an index finds; its ``k`` largest mostly among them."""
    library = search_library()
    library.omp_set_num_threads(torch.get_num_threads())
    index = _index(library, vectors[theirs])
    asked = min(_ASKED * k, len(theirs))
    for part in row_parts(ours, asked, _CELLS):
        nodes = ours[part]
        value, partner = index.search(vectors[nodes], asked)
        missing = partner < 0  # the clusters hold fewer
        partner[missing] = 0
        value[missing | units.decided(nodes[:, None], theirs[partner])] = _NONE
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


def is_approximate(method: str, n_theirs: int) -> bool:
    """Whether so many nodes are searched by an index; ``method`` is one of `SEARCHES`."""
    return method == APPROXIMATE or (method == AUTO and n_theirs >= LARGE_LAYER and find_spec("faiss") is not None)


def search_library() -> ModuleType:
    """Faiss; SettingError if it is missing. Imported late: hardly anyone needs it."""
    if find_spec("faiss") is None:
        raise SettingError(
            "search is approximate, which needs Faiss: install it with pip install 'mpxgat[ann]', or let search be auto"
        )
    return import_module("faiss")
