"""Numbers that structure alone gives for a pair of nodes, computed on a training graph.

Every signal answers in two shapes, for a list of pairs and for a block of all pairs of some rows and
columns, with exactly the same numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.models.base import Model, Positions, Scores
from mpxgat.pairs import unit_matrix, unit_presence
from mpxgat.training.parallel import Session

Values = NDArray[np.float64]
_PAIRS_AT_ONCE = 1 << 16


class Signal(Protocol):
    """A number for every pair of nodes."""

    def pairs(self, first: Positions, second: Positions) -> Values:
        """(k,) numbers of the pairs (first[i], second[i])."""

    def block(self, rows: Positions, cols: Positions) -> Values:
        """(r, c) numbers of all pairs of rows and columns."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """<left_i, right_j> for sparse rows: common neighbours of many kinds."""

    left: sparse.csr_array  # (n, d) float64
    right: sparse.csr_array  # (n, d) float64

    def pairs(self, first: Positions, second: Positions) -> Values:
        """Row by row; in chunks, so that memory stays bounded."""
        values = np.empty(len(first), dtype=np.float64)
        for start in range(0, len(first), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            products = self.left[first[part]].multiply(self.right[second[part]])
            values[part] = products.sum(axis=1)
        return values

    def block(self, rows: Positions, cols: Positions) -> Values:
        """One sparse product."""
        product: Values = (self.left[rows] @ self.right[cols].T).toarray()
        return product


@dataclass(frozen=True, eq=False)
class SameLabel:
    """1 where both nodes carry one label, else 0."""

    label: NDArray[np.integer[Any]]  # (n,)

    def pairs(self, first: Positions, second: Positions) -> Values:
        """Compared one by one."""
        return np.asarray(self.label[first] == self.label[second], dtype=np.float64)

    def block(self, rows: Positions, cols: Positions) -> Values:
        """Compared all with all."""
        return np.asarray(self.label[rows][:, None] == self.label[cols][None, :], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Clash:
    """1 where two different known units both have a node in some layer, else 0.

    By uniqueness and transitivity such units cannot be one: this is stronger than asking whether one
    node has a counterpart in the other's own layer.
    """

    unit: NDArray[np.int32]  # (n,)
    present: NDArray[np.float32]  # (n, L): 1 where the node's unit has a node in the layer

    def pairs(self, first: Positions, second: Positions) -> Values:
        """Compared one by one."""
        shared = (self.present[first] * self.present[second]).sum(axis=1) > 0
        return np.asarray(shared & (self.unit[first] != self.unit[second]), dtype=np.float64)

    def block(self, rows: Positions, cols: Positions) -> Values:
        """One small dense product."""
        shared = self.present[rows] @ self.present[cols].T > 0
        return np.asarray(shared & (self.unit[rows][:, None] != self.unit[cols][None, :]), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Sum:
    """value_i + value_j, for a number of each node."""

    value: Values  # (n,)

    def pairs(self, first: Positions, second: Positions) -> Values:
        """Added one by one."""
        return self.value[first] + self.value[second]

    def block(self, rows: Positions, cols: Positions) -> Values:
        """Added all with all."""
        return self.value[rows][:, None] + self.value[cols][None, :]


@dataclass(frozen=True, eq=False)
class Ratio:
    """min(value_i, value_j) / max(value_i, value_j), for a positive number of each node: in (0, 1]."""

    value: Values  # (n,)

    def pairs(self, first: Positions, second: Positions) -> Values:
        """Compared one by one."""
        one, other = self.value[first], self.value[second]
        return np.minimum(one, other) / np.maximum(one, other)

    def block(self, rows: Positions, cols: Positions) -> Values:
        """Compared all with all."""
        one, other = self.value[rows][:, None], self.value[cols][None, :]
        return np.minimum(one, other) / np.maximum(one, other)


@dataclass(frozen=True, eq=False)
class Nothing:
    """0 for every pair: the rule has nothing to say about pairs of this kind."""

    def pairs(self, first: Positions, second: Positions) -> Values:
        """Zeros."""
        return np.zeros(len(first))

    def block(self, rows: Positions, cols: Positions) -> Values:
        """Zeros."""
        return np.zeros((len(rows), len(cols)))


@dataclass(frozen=True, eq=False)
class Weighted:
    """A weighted sum of"""

    terms: Sequence[tuple[float, Signal]]

    def pairs(self, first: Positions, second: Positions) -> Values:
        """Added up term by term."""
        total = np.zeros(len(first))
        for weight, signal in self.terms:
            total += weight * signal.pairs(first, second)
        return total

    def block(self, rows: Positions, cols: Positions) -> Values:
        """Added up term by term."""
        total = np.zeros((len(rows), len(cols)))
        for weight, signal in self.terms:
            total += weight * signal.block(rows, cols)
        return total


# ---- signals of a graph --------------------------------------------------------------------------------


def common_neighbours(graph: MultiplexGraph) -> Overlap:
    """Number of common neighbours in the layer."""
    adjacency = graph.adjacency.astype(np.float64)
    return Overlap(adjacency, adjacency)


def adamic_adar(graph: MultiplexGraph) -> Overlap:
    """Common neighbours in the layer, each weighing 1 / log(its degree) (Adamic and Adar, 2003)."""
    adjacency = graph.adjacency.astype(np.float64)
    # A common neighbour has degree 2 at least; below that the weight is never used.
    weight = 1 / np.log(np.maximum(graph.degree, 2))
    return Overlap(adjacency, sparse.csr_array(adjacency * weight[None, :]))


def matched_neighbours(graph: MultiplexGraph) -> Overlap:
    """Number of pairs (x, y), x a neighbour of i and y of j, known to be the same unit."""
    profile = sparse.csr_array(graph.adjacency.astype(np.float64) @ unit_matrix(graph))
    return Overlap(profile, profile)


def union_of_layers(graph: MultiplexGraph) -> sparse.csr_array:
    """(units, units) 0/1 matrix: two known units are linked in some layer."""
    indicator = unit_matrix(graph)
    union = sparse.csr_array(indicator.T @ graph.adjacency.astype(np.float64) @ indicator)
    union.data[:] = 1
    return union


def common_neighbours_in_union(graph: MultiplexGraph, union: sparse.csr_array) -> Overlap:
    """Number of units linked with both nodes' units in some layer."""
    profile = sparse.csr_array(unit_matrix(graph) @ union)
    return Overlap(profile, profile)


def linked_in_union(graph: MultiplexGraph, union: sparse.csr_array) -> Overlap:
    """1 where the two nodes' units are linked in some layer, else 0."""
    indicator = unit_matrix(graph)
    return Overlap(sparse.csr_array(indicator @ union), indicator)


def same_unit(graph: MultiplexGraph) -> SameLabel:
    """1 where the two nodes are known to be one unit, if only by a chain of links (transitivity)."""
    return SameLabel(graph.unit)


def unit_clash(graph: MultiplexGraph) -> Clash:
    """1 where uniqueness forbids that the two nodes are one unit."""
    return Clash(graph.unit, unit_presence(graph)[graph.unit])


def degree_similarity(graph: MultiplexGraph) -> Ratio:
    """Smaller degree over larger, each plus one."""
    return Ratio((graph.degree + 1).astype(np.float64))


def degree_product(graph: MultiplexGraph) -> Sum:
    """Logarithm of (degree_i + 1)(degree_j + 1), scaled into [0, 1)."""
    logarithm = np.log1p(graph.degree)
    return Sum(logarithm / (2 * logarithm.max(initial=0.0) + 1))


# Rules of thumb: what plain structure says about a pair, without learning.
#
# Every table shows them beside the models: a method that does not beat them has learned little.


class StructuralModel(Model):
    """A model that is a signal for intra pairs and one for inter pairs; the seed has no effect."""

    _intra: Signal
    _inter: Signal

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        self._intra = self._intra_signal(graph)
        self._inter = self._inter_signal(graph)

    @abstractmethod
    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        """What orders pairs within a layer."""

    @abstractmethod
    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        """What orders pairs of different layers."""

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return self._intra.pairs(pairs[:, 0], pairs[:, 1])

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        return self._inter.pairs(pairs[:, 0], pairs[:, 1])

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """All pairs of rows and columns by one sparse or dense product for each signal."""
        signal = self._intra if self._is_intra(rows, cols) else self._inter
        return signal.block(rows, cols)


class Rules(StructuralModel):
    """All rules together, each deciding where the ones before it are silent."""

    name = "rules"
    description = "closure, exclusion, matched neighbours, degrees; shared links and neighbours within a layer"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        """A link between the units in another layer; then neighbours shared in the layer and in the union of
        all layers; then the product of degrees.
        """
        union = union_of_layers(graph)
        # Both counts of shared neighbours are at most the largest number of neighbours in the union.
        most = 2 * np.diff(union.indptr).max(initial=0) + 2.0
        return Weighted(
            [
                (most, linked_in_union(graph, union)),
                (1.0, common_neighbours(graph)),
                (1.0, common_neighbours_in_union(graph, union)),
                (1.0, degree_product(graph)),
            ]
        )

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        """Transitivity says yes, uniqueness says no; then matched neighbours; then similarity of degree."""
        most = graph.degree.max(initial=0) + 2.0  # more than matched neighbours and similarity can add up to
        return Weighted(
            [
                (most, same_unit(graph)),
                (-most, unit_clash(graph)),
                (1.0, matched_neighbours(graph)),
                (1.0, degree_similarity(graph)),
            ]
        )


class Closure(StructuralModel):
    """Transitivity alone."""

    name = "closure"
    description = "inter: 1 if a chain of known links joins the two (transitivity); intra: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return Nothing()

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return same_unit(graph)


class Exclusion(StructuralModel):
    """Uniqueness alone."""

    name = "exclusion"
    description = "inter: -1 if the two units both have a node in some layer (uniqueness); intra: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return Nothing()

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return Weighted([(-1.0, unit_clash(graph))])


class MatchedNeighbours(StructuralModel):
    """Matched neighbours alone."""

    name = "matched-neighbours"
    description = "inter: neighbours of the one known to be neighbours of the other; intra: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return Nothing()

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return matched_neighbours(graph)


class CommonNeighbours(StructuralModel):
    """Common neighbours alone."""

    name = "common-neighbours"
    description = "intra: number of common neighbours in the layer; inter: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return common_neighbours(graph)

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return Nothing()


class AdamicAdar(StructuralModel):
    """Adamic–Adar alone."""

    name = "adamic-adar"
    description = "intra: common neighbours in the layer, rare ones counting more; inter: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return adamic_adar(graph)

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return Nothing()


class Degree(StructuralModel):
    """Degrees alone."""

    name = "degree"
    description = "intra: product of degrees; inter: similarity of degrees"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return degree_product(graph)

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return degree_similarity(graph)
