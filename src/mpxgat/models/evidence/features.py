"""Features of pairs of nodes: numbers by name, each with the reason that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.models.evidence.candidates import CandidateSearch, PairArray, nearest_pairs, similar_pairs, similarities
from mpxgat.models.evidence.walks import Walks, WalkSimilarity, at_rows, one_step, unit_length
from mpxgat.pairs import IntArray, KnownUnits, PairList, Pairs, Values, unit_matrix, unit_presence, unit_sizes

Features = NDArray[np.float32]  # (k, f) of k pairs
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Column:
    """A number of a pair: its name and the reason it belongs to."""

    name: str
    reason: str


Columns = Mapping[Column, Values]  # in the shape of the pairs


def matrix(columns: Columns) -> Features:
    """(k, f) the numbers side by side; a grid's row after row."""
    return np.stack([value.ravel().astype(np.float32) for value in columns.values()], axis=1)


def matrix_of(columns: Callable[[Pairs], Columns], pairs: NDArray[np.integer[Any]]) -> Features:
    """(k, f) the numbers of (k, 2) pairs side by side, computed for a bounded number of pairs at once."""
    first = matrix(columns(PairList(pairs[:_ROWS_AT_ONCE])))
    found = np.empty((len(pairs), first.shape[1]), dtype=np.float32)
    found[:_ROWS_AT_ONCE] = first
    for start in range(_ROWS_AT_ONCE, len(pairs), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        found[part] = matrix(columns(PairList(pairs[part])))
    return found


def column_names(columns: Callable[[Pairs], Columns]) -> list[str]:
    """The names of the columns, in their order."""
    return [column.name for column in columns(PairList(np.empty((0, 2), dtype=np.int64)))]


def sides(name: str, reason: str, one: NDArray[Any], other: NDArray[Any]) -> dict[Column, Values]:
    """A number of both nodes: the lower one, then the higher."""
    return {
        Column(f"{name}, low", reason): np.minimum(one, other),
        Column(f"{name}, high", reason): np.maximum(one, other),
    }


# ---- two nodes of different layers: do they look like one unit, where known links leave that open? -----------------
#
# Every number is symmetric in the two nodes: where both have one, the lower comes first, then the higher. Links between
# layers are one to one, so a candidate counts for little if many others are as similar: similarities are also compared
# with those of all nodes that compete for the same partner.


NEIGHBOURS, SURROUNDINGS = "shared neighbours", "similar surroundings"
COMPETITORS, DEGREES = "who else competes", "degrees"
EMBEDDINGS = "anchored embeddings"
COPIES, LAYERS = "copies known already", "how often the two layers share a unit"

KEPT = 8  # largest similarities of a node to those of a layer
_BEST = 5  # of them, whose mean is compared with
_MOST_COPIES = 3
_COMPETING = {"near": False, "far": True, "joint_far": True}  # walk -> compared at length 1
_WALK_REASON = {"near": NEIGHBOURS, "joint": NEIGHBOURS, "far": SURROUNDINGS, "joint_far": SURROUNDINGS}
_COMPETITOR_NUMBERS = ("rank low", "rank high", "share low", "share high", "lead low", "lead high")


def constants() -> dict[str, float]:
    """What changes the features, by name: a classifier that learned with other values does not fit."""
    return {
        "competitors.largest kept": KEPT,
        "competitors.best compared with": _BEST,
        "copies counted at most": _MOST_COPIES,
    }


def layer_prior(graph: MultiplexGraph) -> Values:
    """(L, L) log of the share of pairs of nodes of two layers that are known links; half a link is added."""
    size = np.diff(graph.layer_start).astype(np.float64)
    links = np.zeros((graph.n_layers, graph.n_layers))
    np.add.at(links, tuple(graph.node_layer[graph.inter].T), 1)
    prior: Values = np.log((links + links.T + 0.5) / np.maximum(np.outer(size, size), 1))
    return prior


class InterFeatures:
    """What a graph says about pairs of nodes of different layers.

    graph   what is known
    walks   short walks on this graph
    prior   (L, L) of `layer_prior`; of the graph a classifier learned on, so that it means the same in a larger graph
    vectors (n, d) embeddings made from this graph, whose dot products are features as well; None for none
    """

    def __init__(self, graph: MultiplexGraph, walks: Walks, prior: Values, vectors: NDArray[np.float32] | None = None):
        self._vectors = vectors
        self._graph = graph
        self._layer = graph.node_layer
        self._prior = prior
        self._size = unit_sizes(graph)[graph.unit]
        self.units = KnownUnits.of(graph)
        self.node_of_unit = np.unique(graph.unit, return_index=True)[1]  # its first node
        self._walks = walks.weighted
        self._similarity = WalkSimilarity(self._walks)
        self._competitors: dict[str, Competitors] = {
            name: find_competitors(unit_length(rows) if scaled else rows, graph, self.units)
            for name, rows in self._walks.items()
            if (scaled := _COMPETING.get(name)) is not None
        }
        self.neighbour_units = sparse.csr_array(graph.adjacency.astype(np.float64) @ unit_matrix(graph))
        # (n, L) neighbours that are known in each layer
        self._matchable = np.asarray(self.neighbour_units @ unit_presence(graph))
        self._degree = np.log1p(graph.degree)
        self._neighbour_degree = one_step(graph) @ self._degree
        together = np.bincount(graph.unit, weights=graph.degree, minlength=graph.n_units)
        self._unit_degree = np.log1p(together[graph.unit])

    def columns(self, pairs: Pairs) -> dict[Column, Values]:
        """Everything about some pairs, in their shape."""
        found = self._of_walks(pairs)
        found |= self._of_neighbours(pairs)
        if self._vectors is not None:
            found[Column("anchored", EMBEDDINGS)] = pairs.dots(self._vectors)
        both = {
            "degree": self._degree,
            "neighbours' degree": self._neighbour_degree,
            "unit's degree": self._unit_degree,
        }
        for name, value in both.items():
            found |= sides(name, DEGREES, value[pairs.first], value[pairs.second])
            if name != "unit's degree":
                found[Column(f"{name}, difference", DEGREES)] = np.abs(value[pairs.first] - value[pairs.second])
        copies = np.minimum(self._size, _MOST_COPIES).astype(np.float64)
        found |= sides("copies", COPIES, copies[pairs.first], copies[pairs.second])
        found[Column("prior", LAYERS)] = self._prior[self._layer[pairs.first], self._layer[pairs.second]]
        return found

    def candidates_between(self, layer_a: int, layer_b: int, search: CandidateSearch) -> PairArray:
        """(m, 2) open pairs of two layers worth scoring, in order; see `similar_pairs` and `nearest_pairs`."""
        ours, theirs = self._without_copy(layer_a, layer_b), self._without_copy(layer_b, layer_a)
        found = similar_pairs(self._walks["joint_far"], self.units, ours, theirs, search.similar)
        if self._vectors is None or not search.nearest:
            return found
        near = nearest_pairs(self._vectors, self.units, ours, theirs, search.nearest, search.method)
        return np.unique(np.concatenate([found, near]), axis=0)

    def _without_copy(self, layer: int, other: int) -> IntArray:
        """Nodes of a layer whose unit is not known to have one in the other."""
        nodes = self._graph.layer_nodes(layer)
        alone: IntArray = nodes[~self.units.has_node_in(other)[nodes]]
        return alone

    def _of_walks(self, pairs: Pairs) -> dict[Column, Values]:
        found: dict[Column, Values] = {}
        for name, overlap, cosine in self._similarity.of(pairs):
            found[Column(f"{name}, overlap", _WALK_REASON[name])] = overlap
            found[Column(f"{name}, cosine", _WALK_REASON[name])] = cosine
            if name in self._competitors:
                compared = cosine if _COMPETING[name] else overlap
                numbers = self._competitors[name].columns(compared, pairs, self._layer)
                columns = [Column(f"{name}, {what}", COMPETITORS) for what in _COMPETITOR_NUMBERS]
                found |= dict(zip(columns, numbers, strict=True))
        return found

    def _of_neighbours(self, pairs: Pairs) -> dict[Column, Values]:
        matched = pairs.overlap(self.neighbour_units, self.neighbour_units)
        one = self._matchable[pairs.first, self._layer[pairs.second]]
        other = self._matchable[pairs.second, self._layer[pairs.first]]
        low, high = np.minimum(one, other), np.maximum(one, other)
        return {
            Column("matched neighbours", NEIGHBOURS): matched,
            Column("matched neighbours of the fewer that could", NEIGHBOURS): matched / np.maximum(low, 1),
            Column("matched neighbours of the more that could", NEIGHBOURS): matched / np.maximum(high, 1),
            Column("neighbours that could match, low", NEIGHBOURS): low,
            Column("neighbours that could match, high", NEIGHBOURS): high,
        }


# ---- competitors ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Competitors:
    """Similarities to the nodes of every layer that uniqueness allows."""

    largest: NDArray[np.float64]  # (n, L, KEPT) descending, 0 where there are fewer
    total: NDArray[np.float64]  # (n, L)

    def columns(self, similarity: Values, pairs: Pairs, layer: NDArray[np.int32]) -> list[Values]:
        """Rank (up to KEPT), share of the total, and lead over the mean of the five best, each the lower of both
        sides, then the higher.
        """
        both = [
            self._from(similarity, pairs.first, layer[pairs.second]),
            self._from(similarity, pairs.second, layer[pairs.first]),
        ]
        columns: list[Values] = []
        for one, other in zip(*both, strict=True):
            columns += [np.minimum(one, other), np.maximum(one, other)]
        return columns

    def _from(self, similarity: Values, node: IntArray, layer: NDArray[np.int32]) -> tuple[Values, ...]:
        largest, total = self.largest[node, layer], self.total[node, layer]
        rank = (largest > similarity[..., None] * (1 + 1e-12)).sum(axis=-1).astype(np.float64)
        share = np.divide(similarity, total, out=np.zeros_like(similarity), where=total > 0)
        return rank, share, similarity - largest[..., :_BEST].mean(axis=-1)


def find_competitors(rows: sparse.csr_array, graph: MultiplexGraph, units: KnownUnits) -> Competitors:
    """Competitors by the similarity <row_i, row_j>."""
    largest = np.zeros((graph.n_nodes, graph.n_layers, KEPT))
    total = np.zeros((graph.n_nodes, graph.n_layers))
    for b in range(graph.n_layers):
        others = np.flatnonzero(~units.has_node_in(b))
        for found in similarities(rows, units, others, graph.layer_nodes(b)):
            best, _ = found.best(KEPT)
            largest[found.nodes, b, : best.shape[1]] = best
            total[found.nodes, b] = found.total()
    return Competitors(largest, total)


# ---- two nodes of one layer: does a link look likely, in the layer and in all layers together? ---------------------
#
# The union graph joins two known units that are linked in some layer: what one layer lacks often shows in another.


LAYER, UNION = "shared neighbours in the layer", "shared neighbours in any layer"
ELSEWHERE, WALKS = "linked in other layers", "met on short walks"
PLACE = "the layer"


_MOST_NODES = 100_000  # whose walks of two steps are kept; those of a larger network are made when asked for


class Neighbours:
    """Common neighbours and paths of three links in one undirected graph, for nodes that lie in it."""

    def __init__(self, adjacency: sparse.csr_array, place: sparse.csr_array, reason: str, where: str):
        """``adjacency`` (m, m) symmetric 0/1, ``place`` (n, m) where each node lies; names end in ``where``."""
        self._reason, self._where = reason, where
        degree = np.diff(adjacency.indptr)
        root = np.sqrt(np.maximum(degree, 1))
        spread = _scaled(adjacency, 1 / root)  # a path i-u-v-j counts 1 / sqrt(degree_u degree_v)
        self._root = place @ root
        self._links = sparse.csr_array(place @ adjacency)
        self._by_log = _scaled(self._links, 1 / np.log(np.maximum(degree, 2)))
        self._by_degree = _scaled(self._links, 1 / np.maximum(degree, 1))
        self._place, self._spread = place, spread
        self._two_steps = sparse.csr_array(place @ (spread @ spread)) if place.shape[0] <= _MOST_NODES else None

    def columns(self, pairs: Pairs) -> dict[Column, Values]:
        """Common neighbours: plain, by rarity (Adamic-Adar, resource allocation), relative; and three-step paths."""
        common = pairs.overlap(self._links, self._links)
        relative = common / (self._root[pairs.first] * self._root[pairs.second])
        found = {
            "common neighbours": common,
            "common neighbours, rare ones more": pairs.overlap(self._by_log, self._links),
            "common neighbours, by degree": pairs.overlap(self._by_degree, self._links),
            "common neighbours, relative": relative,
            "paths of three links": pairs.overlap(self._two_steps_from(pairs.first), self._links),
        }
        return {Column(f"{name} {self._where}", self._reason): value for name, value in found.items()}

    def _two_steps_from(self, nodes: IntArray) -> sparse.csr_array:
        """(n, m) walks of two steps from these nodes at least."""
        if self._two_steps is not None:
            return self._two_steps
        different = np.unique(nodes)
        rows = sparse.csr_array(self._place[different] @ self._spread @ self._spread)
        return at_rows(rows, different, self._place.shape[0])


class IntraFeatures:
    """What a graph says about pairs of nodes of one layer.

    walks       short walks on this graph
    vectors     (n, d) embeddings made from this graph, whose dot products are features as well; None for none
    """

    def __init__(self, graph: MultiplexGraph, walks: Walks, vectors: NDArray[np.float32] | None = None):
        self._vectors = vectors
        self._unit = unit_matrix(graph)
        adjacency = graph.adjacency.astype(np.float64)
        itself = sparse.eye_array(graph.n_nodes, format="csr")
        self._in_layer = Neighbours(adjacency, itself, LAYER, "in the layer")
        union = sparse.csr_array(self._unit.T @ adjacency @ self._unit)  # layers where two units are linked
        self._layers_linked = sparse.csr_array(self._unit @ union)
        union.data[:] = 1
        self._union = Neighbours(union, self._unit, UNION, "in any layer")
        self._present = sparse.csr_array(unit_presence(graph).astype(np.float64))[graph.unit]
        self._visits, self._similarity = walks.visits, WalkSimilarity(walks.weighted)
        self._degree = np.log1p(graph.degree)
        self._union_degree = np.log1p(np.diff(union.indptr))[graph.unit]
        self._neighbour_degree = one_step(graph) @ self._degree
        size = np.diff(graph.layer_start)
        links = np.bincount(graph.node_layer[graph.intra[:, 0]], minlength=graph.n_layers)
        self._density = np.log((links + 0.5) / np.maximum(size.astype(np.float64) ** 2, 1))[graph.node_layer]

    def columns(self, pairs: Pairs) -> dict[Column, Values]:
        """Everything about some pairs, in their shape."""
        found = self._in_layer.columns(pairs)
        found |= self._union.columns(pairs)
        if self._vectors is not None:
            found[Column("anchored", EMBEDDINGS)] = pairs.dots(self._vectors)
        found[Column("layers where the two are linked", ELSEWHERE)] = pairs.overlap(self._layers_linked, self._unit)
        found[Column("layers that have both", ELSEWHERE)] = pairs.overlap(self._present, self._present)
        one, other = pairs.overlap(self._visits, self._unit), pairs.overlap(self._unit, self._visits)
        found |= sides("met on walks", WALKS, one, other)
        for name, overlap, cosine in self._similarity.of(pairs):
            found |= {Column(f"{name}, overlap", WALKS): overlap, Column(f"{name}, cosine", WALKS): cosine}
        for name, value in (
            ("degree", self._degree),
            ("degree in any layer", self._union_degree),
            ("neighbours' degree", self._neighbour_degree),
        ):
            found |= sides(name, DEGREES, value[pairs.first], value[pairs.second])
        found[Column("density", PLACE)] = np.broadcast_to(self._density[pairs.first], pairs.shape)
        return found


def _scaled(matrix: sparse.csr_array, columns: NDArray[np.float64]) -> sparse.csr_array:
    return sparse.csr_array(matrix @ sparse.diags_array(columns))
