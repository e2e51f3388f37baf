"""Two nodes of different layers: do they look like one unit, where known links leave that open?

What is looked at changes from round to round with the soft matching that the last one left: walks are compared
through soft units (see `surroundings`). Each row is scaled by the length of what could be compared at all, its units
that are present where the other's unit is known: <z_i, z_j> / (|z_i present there| |z_j present here|). Links are
one to one, so a candidate counts for little if others are as similar: every similarity is also compared with those of
the rivals. What the known copies of a node see in their layers counts as well: rows are means over them.

Pairs come with the node of the lower layer first; numbers of both nodes stand in that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.kernels import compare_with_largest, largest_of_groups, largest_of_product, most_similar
from mpxgat.matching.match import layer_pairs
from mpxgat.models.evidence.attributes import NO_ATTRIBUTES, Attributes
from mpxgat.models.evidence.features import DEGREES, Column, Features, column_names, matrix, matrix_of
from mpxgat.models.evidence.surroundings import (
    AGAINST,
    ALONG,
    FAR,
    FOLLOWED,
    FOLLOWERS,
    HEAVY_NEAR,
    HEAVY_WIDE,
    NEAR,
    WIDE,
    SoftUnits,
    Surroundings,
    entries_kept,
)
from mpxgat.pairs import (
    FloatArray,
    IntArray,
    KnownUnits,
    PairList,
    Pairs,
    Values,
    pair_keys,
    unit_matrix,
    unit_presence,
    unit_sizes,
)

NEIGHBOURS, SURROUNDINGS = "shared neighbours", "similar surroundings"
DIRECTION, WEIGHTS = "followed and followers", "neighbours by weight"
COMPETITORS = "who else competes"
SHAPE = "shape of the neighbourhood"
COPIES, LAYERS = "copies known already", "how often the two layers share a unit"
BEFORE = "matched in the round before"

WALKS, ATTRIBUTES = "walks", "attributes"  # sources of candidates
_SEARCHED = (FAR, WIDE)  # walks that propose candidates
MATCHED, PROBABILITY = "matched neighbours", "probability before"
_REASON = {
    NEAR: NEIGHBOURS,
    FAR: SURROUNDINGS,
    WIDE: SURROUNDINGS,
    **dict.fromkeys((FOLLOWED, FOLLOWERS, ALONG, AGAINST), DIRECTION),
    **dict.fromkeys((HEAVY_NEAR, HEAVY_WIDE), WEIGHTS),
}  # of the similarities in which candidates compete
KEPT = 8  # largest numbers of a node's candidates in a layer
_BEST = 5  # of them, whose mean is compared with
_MOST_COPIES = 3
_ROUNDING = 1e-5
_FEWEST_CANDIDATES, _CANDIDATES = 5, 2_300  # of a node; and of all nodes by either walk, times the root of their number
_FEWEST = 0.5  # neighbours that a share is taken of, at least: they may be present by a fraction

PairArray = NDArray[np.int64]


def constants() -> dict[str, float]:
    """What changes the features, by name: a classifier that learned with other values does not fit."""
    return {
        "competitors.largest kept": KEPT,
        "competitors.best compared with": _BEST,
        "copies counted at most": _MOST_COPIES,
        "candidates of a node at least": _FEWEST_CANDIDATES,
        "candidates by the root of the nodes": _CANDIDATES,
    }


def layer_prior(graph: MultiplexGraph) -> Values:
    """(L, L) log of the share of pairs of nodes of two layers that are known links; half a link is added."""
    size = np.diff(graph.layer_start).astype(np.float64)
    links = np.zeros((graph.n_layers, graph.n_layers))
    np.add.at(links, tuple(graph.node_layer[graph.inter].T), 1)
    prior: Values = np.log((links + links.T + 0.5) / np.maximum(np.outer(size, size), 1))
    return prior


class InterFeatures:
    """What a graph and a soft matching of it say about pairs of nodes of different layers.

    graph           what is known
    surroundings    of its links within layers
    prior           (L, L) of `layer_prior`; of the graph that was learned on, so that it means the same in a larger one
    barred          (b, 2) pairs that may be no candidates
    matching        (n, n) probabilities of open pairs by the round before, both ways; None in the first
    candidates      nodes of a layer that are looked at for each node, by each of two walks, at most; fewer where that
                    would be too many pairs; or the pairs (m, 2) themselves, as found before
    attributes      that the user named, compared: they propose candidates as well
    """

    def __init__(
        self,
        graph: MultiplexGraph,
        surroundings: Surroundings,
        prior: Values,
        matching: sparse.csr_array | None,
        candidates: int | PairArray,
        barred: PairArray | None = None,
        attributes: Attributes = NO_ATTRIBUTES,
    ):
        self._graph, self.layer, self.attributes = graph, graph.node_layer, attributes
        self.surroundings, self._prior = surroundings, prior
        self.units = KnownUnits.of(graph)
        self._size = np.minimum(unit_sizes(graph)[graph.unit], _MOST_COPIES).astype(np.float32)
        self.matching = (
            matching if matching is not None else sparse.csr_array((graph.n_nodes, graph.n_nodes), dtype=np.float32)
        )
        self.soft = SoftUnits.of(graph, matching)
        units, present = self.soft.shared
        largest = entries_kept(graph.n_nodes)
        mean, total = _over_copies(graph)
        self._rows = {
            name: largest_of_product(sparse.csr_array(mean @ walk), units, largest)
            for name, walk in surroundings.walks.items()
        }
        self._square = {name: np.asarray((rows * rows) @ present) for name, rows in self._rows.items()}  # (n, L)
        self._layers = unit_presence(graph)[graph.unit]  # (n, L) where the node's unit is known
        self.neighbour_units = sparse.csr_array(total @ (surroundings.links @ units))
        self._matchable = np.asarray(self.neighbour_units @ present)  # (n, L) neighbours that are there
        self._proposed: dict[str, PairArray] = {}  # by source
        if isinstance(candidates, int):
            self._proposed = {WALKS: self._find_candidates(candidates)}
            if attributes.compared:
                open_pairs = ~self.units.decided(*attributes.proposed.T)
                self._proposed[ATTRIBUTES] = attributes.proposed[open_pairs]
            self.pairs = _union(list(self._proposed.values()), graph.n_nodes)
        else:
            self.pairs = candidates
        if barred is not None:
            self.pairs = self.pairs[~self._among(barred)]
        self._told = attributes.columns(PairList(self.pairs))  # of the candidates
        self._own = self._numbers(PairList(self.pairs), self._told)
        self._rivals = {name: Competitors.of(self.pairs, value, self.layer) for name, value in self._own.items()}

    @property
    def names(self) -> list[str]:
        """Of the columns, in their order."""
        return column_names(self.columns)

    @property
    def sources(self) -> dict[str, NDArray[np.bool_]]:
        """(m,) which candidates each source proposes, by its name; nothing where the pairs were given."""
        return {source: self._among(pairs) for source, pairs in self._proposed.items()}

    def of_candidates(self, places: NDArray[np.int64] | slice = slice(None)) -> Features:
        """(m, f) the numbers of all candidates, or of some."""
        own, told = ({name: value[places] for name, value in numbers.items()} for numbers in (self._own, self._told))
        return matrix(self._columns(PairList(self.pairs[places]), own, told))

    def matrix(self, pairs: PairArray) -> Features:
        """(k, f) the numbers of (k, 2) pairs."""
        return matrix_of(self.columns, pairs)

    def columns(self, pairs: Pairs) -> dict[Column, FloatArray]:
        """Everything about some pairs, in their shape."""
        told = self.attributes.columns(pairs)
        return self._columns(pairs, self._numbers(pairs, told), told)

    def _columns(
        self, pairs: Pairs, numbers: dict[Column, Values], told: dict[Column, Values]
    ) -> dict[Column, FloatArray]:
        found: dict[Column, FloatArray] = {}
        for column, value in numbers.items():
            found[column] = value
            for what, number in self._rivals[column].columns(value, pairs, self.layer).items():
                found[Column(f"{column.name}, {what}", COMPETITORS)] = number
        found |= self._of_neighbours(pairs, found[Column(MATCHED, NEIGHBOURS)])
        found |= self._of_nodes(pairs)
        return found | told

    def _numbers(self, pairs: Pairs, told: dict[Column, Values]) -> dict[Column, Values]:
        """The numbers in which candidates compete, some of the attributes' (``told``) among them."""
        found = {}
        for name, rows in self._rows.items():
            scale = np.sqrt(
                self._there(self._square[name], pairs) * self._there(self._square[name], pairs, turned=True)
            )
            overlap = pairs.overlap(rows, rows)
            similarity = np.divide(overlap, scale, out=np.zeros_like(overlap), where=scale > 0)
            found[Column(name, _REASON[name])] = similarity
        found[Column(MATCHED, NEIGHBOURS)] = pairs.overlap(self.neighbour_units, self.neighbour_units)
        found[Column(PROBABILITY, BEFORE)] = entries_at(self.matching, pairs)
        return found | {column: value for column, value in told.items() if column.name in self.attributes.competing}

    def _there(self, numbers: NDArray[np.float32], pairs: Pairs, *, turned: bool = False) -> Values:
        """What (n, L) numbers of the first nodes are in the layers of the second ones' units, in the pairs' shape.

        ``turned`` asks of the second nodes in the layers of the first. A unit in two of these layers counts twice, so
        that similarities rather come out too low than above 1.
        """
        ours, theirs = (pairs.second, pairs.first) if turned else (pairs.first, pairs.second)
        found = np.zeros(pairs.shape)
        for layer in range(numbers.shape[1]):
            found += numbers[ours, layer] * self._layers[theirs, layer]
        return found

    def _of_neighbours(self, pairs: Pairs, matched: FloatArray) -> dict[Column, FloatArray]:
        one, other = self._there(self._matchable, pairs), self._there(self._matchable, pairs, turned=True)
        numbers = {
            "matched of the first's that could": matched / np.maximum(one, _FEWEST),
            "matched of the second's that could": matched / np.maximum(other, _FEWEST),
            "matched of both's that could": matched / np.sqrt(np.maximum(one * other, _FEWEST**2)),
            "neighbours of the first that could match": np.broadcast_to(one, pairs.shape),
            "neighbours of the second that could match": np.broadcast_to(other, pairs.shape),
        }
        return {Column(name, NEIGHBOURS): value for name, value in numbers.items()}

    def _of_nodes(self, pairs: Pairs) -> dict[Column, FloatArray]:
        found: dict[Column, FloatArray] = {}
        by_node = (
            ("degree", DEGREES, self.surroundings.degree, True),
            ("neighbours' degree", DEGREES, self.surroundings.neighbour_degree, True),
            ("copies", COPIES, self._size, False),
        )
        for name, reason, value, compared in by_node:
            one, other = value[pairs.first], value[pairs.second]
            found[Column(f"{name} of the first", reason)] = np.broadcast_to(one, pairs.shape)
            found[Column(f"{name} of the second", reason)] = np.broadcast_to(other, pairs.shape)
            if compared:
                found |= _differences(name, reason, one, other)
        for name, value in self.surroundings.shape.items():
            found |= _differences(name, SHAPE, value[pairs.first], value[pairs.second])
        found[Column("prior", LAYERS)] = np.broadcast_to(
            self._prior[self.layer[pairs.first], self.layer[pairs.second]], pairs.shape
        )
        return found

    # ---- candidates ------------------------------------------------------------------------------------

    def _find_candidates(self, k: int) -> PairArray:
        """(m, 2) open pairs that walks or the round before propose, the lower layer first, in order."""
        asking = [len(self._without_copy(a, b)) + len(self._without_copy(b, a)) for a, b in layer_pairs(self._graph)]
        k = min(k, max(_FEWEST_CANDIDATES, int(_CANDIDATES / np.sqrt(max(sum(asking), 1)))))
        found = [self._candidates_between(a, b, k) for a, b in layer_pairs(self._graph)]
        return np.concatenate([np.empty((0, 2), dtype=np.int64), *found])

    def _among(self, pairs: PairArray) -> NDArray[np.bool_]:
        """(m,) which candidates are among some pairs."""
        n = self._graph.n_nodes
        return np.isin(pair_keys(self.pairs, n), pair_keys(pairs, n))

    def _candidates_between(self, layer_a: int, layer_b: int, k: int) -> PairArray:
        """The k most similar of every node by two walks, from both sides, and those of the round before."""
        ours, theirs = self._without_copy(layer_a, layer_b), self._without_copy(layer_b, layer_a)
        if not len(ours) or not len(theirs):
            return np.empty((0, 2), dtype=np.int64)
        keys = [_keys(self.matching[ours][:, theirs])]
        keys += [
            most_similar(self._scaled(name, ours, layer_b), self._scaled(name, theirs, layer_a), k)
            for name in _SEARCHED
        ]
        key = np.unique(np.concatenate(keys))
        pairs = np.stack([ours[key // len(theirs)], theirs[key % len(theirs)]], axis=1).astype(np.int64)
        return pairs[~self.units.decided(pairs[:, 0], pairs[:, 1])]

    def _without_copy(self, layer: int, other: int) -> IntArray:
        """Nodes of a layer whose unit is not known to have one in the other."""
        nodes = self._graph.layer_nodes(layer)
        alone: IntArray = nodes[~self.units.has_node_in(other)[nodes]]
        return alone

    def _scaled(self, name: str, nodes: IntArray, layer: int) -> sparse.csr_array:
        """Rows of nodes by what could be compared in a layer, whatever copies are known of the others."""
        length = np.sqrt(self._square[name][nodes, layer])
        over = np.divide(1, length, out=np.zeros_like(length), where=length > 0)
        return sparse.csr_array(sparse.diags_array(over) @ self._rows[name][nodes])


def _union(parts: Sequence[PairArray], n_nodes: int) -> PairArray:
    """(m, 2) the pairs of all parts, each once; as they are if there is one part."""
    if len(parts) == 1:
        return parts[0]
    key = np.unique(np.concatenate([pair_keys(pairs, n_nodes) for pairs in parts]))
    return np.stack(np.divmod(key, n_nodes), axis=1)


def _differences(name: str, reason: str, one: FloatArray, other: FloatArray) -> dict[Column, FloatArray]:
    """Signed, as one layer may be denser than the other, and absolute: two nodes of one unit are alike."""
    difference = np.subtract(one, other, dtype=np.float64)
    return {
        Column(f"{name}, difference", reason): difference,
        Column(f"{name}, absolute difference", reason): np.abs(difference),
    }


def _over_copies(graph: MultiplexGraph) -> tuple[sparse.csr_array, sparse.csr_array]:
    """(n, n) float32, the mean and the sum over a node's known copies, itself included."""
    unit = sparse.csr_array(unit_matrix(graph), dtype=np.float32)
    share = sparse.diags_array((1 / unit_sizes(graph)).astype(np.float32))
    return sparse.csr_array(unit @ share @ unit.T), sparse.csr_array(unit @ unit.T)


def _keys(entries: sparse.csr_array) -> NDArray[np.int64]:
    """One number for every entry of a matrix: by rows, then columns."""
    found = entries.tocoo()
    keys: NDArray[np.int64] = found.row.astype(np.int64) * entries.shape[1] + found.col
    return keys


def entries_at(values: sparse.csr_array, pairs: Pairs) -> Values:
    """The entries (n, n) of a sparse matrix at some pairs, in their shape."""
    first, second = np.broadcast_arrays(pairs.first, pairs.second)
    if not values.nnz or not first.size:  # SciPy would answer with a sparse array
        return np.zeros(pairs.shape)
    found: Values = np.asarray(values[first.ravel(), second.ravel()], dtype=np.float64).reshape(pairs.shape)
    return found


# ---- competitors -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Competitors:
    """A number of the candidates of every node in every layer.

    largest     (n, L, KEPT) descending, 0 where there are fewer
    total       (n, L)
    """

    largest: NDArray[np.float32]
    total: NDArray[np.float32]

    @classmethod
    def of(cls, pairs: PairArray, value: Values, layer: NDArray[np.int32]) -> Competitors:
        """``value`` (m,), none below 0, of (m, 2) candidates."""
        n, layers = len(layer), int(layer.max(initial=0)) + 1
        largest, total = np.zeros((n * layers, KEPT), dtype=np.float32), np.zeros(n * layers)
        for side in (0, 1):
            largest_of_groups(pairs[:, side] * layers + layer[pairs[:, 1 - side]], value, largest, total)
        return cls(largest.reshape(n, layers, KEPT), total.astype(np.float32).reshape(n, layers))

    def columns(self, value: Values, pairs: Pairs, layer: NDArray[np.int32]) -> dict[str, FloatArray]:
        """Rank (up to KEPT), lead over the best other, share of the total, lead over the mean of the five best; each
        among the candidates of the first, then of the second.
        """
        found: dict[str, FloatArray] = {}
        number, layers = value.astype(np.float32).ravel(), self.largest.shape[1]
        known = (self.largest.reshape(-1, KEPT), self.total.ravel())
        for who, node, other in (("first", pairs.first, pairs.second), ("second", pairs.second, pairs.first)):
            place = np.ravel(node.astype(np.int64) * layers + layer[other])
            names = (f"{what} the {who}'s" for what in ("rank among", "lead among", "share among"))
            numbers = compare_with_largest(number, place, *known, _BEST, _ROUNDING)
            found |= dict(zip((*names, f"lead over the {who}'s best"), numbers.reshape(4, *pairs.shape), strict=True))
        return found
