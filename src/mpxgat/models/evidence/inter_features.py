"""Features of two nodes of different layers: do they look like one unit, where known links leave that open?

Every number is symmetric in the two nodes: where both have one, the lower comes first, then the higher. Links between
layers are one to one, so a candidate counts for little if many others are as similar: similarities are also compared
with those of all nodes that compete for the same partner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.models.evidence.candidates import CandidateSearch, PairArray, nearest_pairs, similar_pairs, similarities
from mpxgat.models.evidence.features import Column, sides
from mpxgat.models.evidence.walks import Walks, WalkSimilarity, one_step, unit_length
from mpxgat.pairs import IntArray, KnownUnits, Pairs, Values, unit_matrix, unit_presence, unit_sizes

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
