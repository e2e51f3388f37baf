"""Two nodes of one layer: does a link look likely, in the layer and in all layers together?

The union graph joins two known units that are linked in some layer: what one layer lacks often shows in another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.models.evidence.attributes import NO_ATTRIBUTES, Attributes
from mpxgat.models.evidence.features import DEGREES, EMBEDDINGS, PLAIN, Column, LinkDetails, sides
from mpxgat.models.evidence.surroundings import relative_weights
from mpxgat.models.evidence.walks import Walks, WalkSimilarity, one_step
from mpxgat.pairs import Pairs, Product, Values, unit_matrix, unit_presence

LAYER, UNION = "shared neighbours in the layer", "shared neighbours in any layer"
ELSEWHERE, WALKS = "linked in other layers", "met on short walks"
PLACE = "the layer"
DIRECTION, WEIGHTS = "followed and followers in the layer", "shared neighbours by weight"


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


class Arcs:
    """Of a directed layer: who follows the same, who is followed by the same, and paths along the arcs.

    ``arcs`` (n, n) 0/1 from rows to columns. Who follows whom is asked both ways, as pairs have no order.
    """

    def __init__(self, arcs: sparse.csr_array):
        self._out = arcs.astype(np.float64)
        self._back = sparse.csr_array(self._out.T)
        followed, followers = np.diff(self._out.indptr), np.diff(self._back.indptr)
        self._followed, self._followers = np.log1p(followed), np.log1p(followers)
        self._out_by_log = _scaled(self._out, 1 / np.log(np.maximum(followers, 2)))
        self._back_by_log = _scaled(self._back, 1 / np.log(np.maximum(followed, 2)))
        self._through_by_log = _scaled(self._out, 1 / np.log(np.maximum(followed + followers, 2)))
        spread = _scaled(self._out, 1 / np.sqrt(np.maximum(followers, 1)))
        self._alike = Product(spread, _scaled(self._back, 1 / np.sqrt(np.maximum(followed, 1))))

    def columns(self, pairs: Pairs) -> dict[Column, Values]:
        """Common ends of arcs, plain and by rarity; paths of two and three arcs, the fewer of both ways first."""
        out, back = self._out, self._back
        found = {
            Column("followed by both", DIRECTION): pairs.overlap(out, out),
            Column("followed by both, rare ones more", DIRECTION): pairs.overlap(self._out_by_log, out),
            Column("follow both", DIRECTION): pairs.overlap(back, back),
            Column("follow both, rare ones more", DIRECTION): pairs.overlap(self._back_by_log, back),
        }
        for name, there, again in (
            ("paths of two arcs", (out, back), (back, out)),
            ("paths of two arcs, rare ones more", (self._through_by_log, back), (back, self._through_by_log)),
            ("followed by those who follow the same", (self._alike, back), (back, self._alike)),
        ):
            found |= sides(name, DIRECTION, pairs.overlap(*there), pairs.overlap(*again))
        one, other = self._followed, self._followers
        found |= sides("followed", DEGREES, one[pairs.first], one[pairs.second])
        found |= sides("followers", DEGREES, other[pairs.first], other[pairs.second])
        there, again = one[pairs.first] + other[pairs.second], one[pairs.second] + other[pairs.first]
        return found | sides("followed and followers", DEGREES, there, again)


class Weighted:
    """Common neighbours by the weights of both links. ``weights`` (n, n) symmetric, none below 0."""

    def __init__(self, weights: sparse.csr_array):
        self._weights = weights.astype(np.float64)
        self._strength = self._weights.sum(axis=1)
        self._length = np.sqrt(self._weights.multiply(self._weights).sum(axis=1))
        over = np.divide(1, self._strength, out=np.zeros_like(self._strength), where=self._strength > 0)
        self._by_strength = _scaled(self._weights, over)

    def columns(self, pairs: Pairs) -> dict[Column, Values]:
        """Plain, by strength, relative; and the strengths of both nodes."""
        common = pairs.overlap(self._weights, self._weights)
        lengths = self._length[pairs.first] * self._length[pairs.second]
        found = {
            "common neighbours by weight": common,
            "common neighbours by weight and strength": pairs.overlap(self._by_strength, self._weights),
            "common neighbours by weight, relative": np.divide(
                common, lengths, out=np.zeros_like(common), where=lengths > 0
            ),
        }
        strength = np.log1p(self._strength)
        numbers = {Column(name, WEIGHTS): value for name, value in found.items()}
        return numbers | sides("strength", DEGREES, strength[pairs.first], strength[pairs.second])


class IntraFeatures:
    """What a graph says about pairs of nodes of one layer.

    walks       short walks on this graph
    vectors     (n, d) embeddings made from this graph, whose dot products are features as well; None for none
    attributes  that the user named, compared
    details     what is looked at beside that links are there
    """

    def __init__(
        self,
        graph: MultiplexGraph,
        walks: Walks,
        vectors: NDArray[np.float32] | None = None,
        attributes: Attributes = NO_ATTRIBUTES,
        details: LinkDetails = PLAIN,
    ):
        self.details = details
        self._further: list[Arcs | Weighted | Attributes] = [attributes]
        if details.direction:
            self._further.append(Arcs(graph.arcs))
        if details.weights:
            self._further.append(Weighted(relative_weights(graph)))
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
        for each in self._further:
            found |= each.columns(pairs)
        return found


def _scaled(matrix: sparse.csr_array, columns: NDArray[np.float64]) -> sparse.csr_array:
    return sparse.csr_array(matrix @ sparse.diags_array(columns))
