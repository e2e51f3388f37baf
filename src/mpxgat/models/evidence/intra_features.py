"""Two nodes of one layer: does a link look likely, in the layer and in all layers together?

The union graph joins two known units that are linked in some layer: what one layer lacks often shows in another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.models.evidence.attributes import NO_ATTRIBUTES, Attributes
from mpxgat.models.evidence.features import DEGREES, EMBEDDINGS, Column, sides
from mpxgat.models.evidence.walks import Walks, WalkSimilarity, one_step
from mpxgat.pairs import Pairs, Product, Values, unit_matrix, unit_presence

LAYER, UNION = "shared neighbours in the layer", "shared neighbours in any layer"
ELSEWHERE, WALKS = "linked in other layers", "met on short walks"
PLACE = "the layer"


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
        self._two_steps = Product(sparse.csr_array(place @ spread), spread)

    def columns(self, pairs: Pairs) -> dict[Column, Values]:
        """Common neighbours: plain, by rarity (Adamic-Adar, resource allocation), relative; and three-step paths."""
        common = pairs.overlap(self._links, self._links)
        relative = common / (self._root[pairs.first] * self._root[pairs.second])
        found = {
            "common neighbours": common,
            "common neighbours, rare ones more": pairs.overlap(self._by_log, self._links),
            "common neighbours, by degree": pairs.overlap(self._by_degree, self._links),
            "common neighbours, relative": relative,
            "paths of three links": pairs.overlap(self._two_steps, self._links),
        }
        return {Column(f"{name} {self._where}", self._reason): value for name, value in found.items()}


class IntraFeatures:
    """What a graph says about pairs of nodes of one layer.

    walks       short walks on this graph
    vectors     (n, d) embeddings made from this graph, whose dot products are features as well; None for none
    attributes  that the user named, compared
    """

    def __init__(
        self,
        graph: MultiplexGraph,
        walks: Walks,
        vectors: NDArray[np.float32] | None = None,
        attributes: Attributes = NO_ATTRIBUTES,
    ):
        self._vectors, self._attributes = vectors, attributes
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
        return found | self._attributes.columns(pairs)


def _scaled(matrix: sparse.csr_array, columns: NDArray[np.float64]) -> sparse.csr_array:
    return sparse.csr_array(matrix @ sparse.diags_array(columns))
