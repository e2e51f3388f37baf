"""Rules of thumb: what plain structure says about a pair, without learning.

Every table shows them beside the models: a method that does not beat them has learned little. Each is made of
signals, numbers of pairs computed on a training graph; a list of pairs and a grid of the same pairs get the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.models.base import Model, Positions, Scores
from mpxgat.pairs import KnownUnits, PairGrid, PairList, Pairs, Values, unit_matrix
from mpxgat.training.parallel import Session

Signal = Callable[[Pairs], Values]
"""A number for each of the pairs, in their shape. A class rather than a closure, as models are sent to processes."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """<left_i, right_j> for sparse rows: common neighbours of many kinds."""

    left: sparse.csr_array  # (n, d) float64
    right: sparse.csr_array  # (n, d) float64

    def __call__(self, pairs: Pairs) -> Values:
        return pairs.overlap(self.left, self.right)


@dataclass(frozen=True, eq=False)
class Relation:
    """1 where something holds between the two nodes, else 0."""

    holds: Callable[[Positions, Positions], NDArray[np.bool_]]

    def __call__(self, pairs: Pairs) -> Values:
        return self.holds(pairs.first, pairs.second).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Sum:
    """value_i + value_j, for a number of each node."""

    value: Values  # (n,)

    def __call__(self, pairs: Pairs) -> Values:
        return np.asarray(self.value[pairs.first] + self.value[pairs.second])


@dataclass(frozen=True, eq=False)
class Ratio:
    """min(value_i, value_j) / max(value_i, value_j), for a positive number of each node: in (0, 1]."""

    value: Values  # (n,)

    def __call__(self, pairs: Pairs) -> Values:
        one, other = self.value[pairs.first], self.value[pairs.second]
        return np.asarray(np.minimum(one, other) / np.maximum(one, other))


class Weighted:
    """A weighted sum of signals; of none it is 0 for every pair."""

    def __init__(self, *terms: tuple[float, Signal]):
        self._terms = terms

    def __call__(self, pairs: Pairs) -> Values:
        total = np.zeros(pairs.shape)
        for weight, signal in self._terms:
            total += weight * signal(pairs)
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
    rows = sparse.csr_array(graph.adjacency.astype(np.float64) @ unit_matrix(graph))
    return Overlap(rows, rows)


def union_of_layers(graph: MultiplexGraph) -> sparse.csr_array:
    """(units, units) 0/1 matrix: two known units are linked in some layer."""
    indicator = unit_matrix(graph)
    union = sparse.csr_array(indicator.T @ graph.adjacency.astype(np.float64) @ indicator)
    union.data[:] = 1
    return union


def common_neighbours_in_union(graph: MultiplexGraph, union: sparse.csr_array) -> Overlap:
    """Number of units linked with both nodes' units in some layer."""
    rows = sparse.csr_array(unit_matrix(graph) @ union)
    return Overlap(rows, rows)


def linked_in_union(graph: MultiplexGraph, union: sparse.csr_array) -> Overlap:
    """1 where the two nodes' units are linked in some layer, else 0."""
    indicator = unit_matrix(graph)
    return Overlap(sparse.csr_array(indicator @ union), indicator)


def degree_similarity(graph: MultiplexGraph) -> Ratio:
    """Smaller degree over larger, each plus one."""
    return Ratio((graph.degree + 1).astype(np.float64))


def degree_product(graph: MultiplexGraph) -> Sum:
    """Logarithm of (degree_i + 1)(degree_j + 1), scaled into [0, 1)."""
    logarithm = np.log1p(graph.degree)
    return Sum(logarithm / (2 * logarithm.max(initial=0.0) + 1))


# ---- models ----------------------------------------------------------------------------------------------


class StructuralModel(Model):
    """A model that is a signal for intra pairs and one for inter pairs; the seed has no effect."""

    intra_signal: Signal
    inter_signal: Signal

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        self.intra_signal = self._intra_signal(graph)
        self.inter_signal = self._inter_signal(graph)

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        """What orders pairs within a layer: nothing, unless a model says otherwise."""
        return Weighted()

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        """What orders pairs of different layers: nothing, unless a model says otherwise."""
        return Weighted()

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return self.intra_signal(PairList(pairs))

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        return self.inter_signal(PairList(pairs))

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """All pairs of rows and columns by one sparse or dense product for each signal."""
        signal = self.intra_signal if self._is_intra(rows, cols) else self.inter_signal
        return signal(PairGrid(rows, cols))


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
            (most, linked_in_union(graph, union)),
            (1.0, common_neighbours(graph)),
            (1.0, common_neighbours_in_union(graph, union)),
            (1.0, degree_product(graph)),
        )

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        """Transitivity says yes, uniqueness and known differences say no; then matched neighbours; then similarity of
        degree.
        """
        most = graph.degree.max(initial=0) + 2.0  # more than matched neighbours and similarity can add up to
        units = KnownUnits.of(graph)
        return Weighted(
            (most, Relation(units.same)),
            (-most, Relation(units.clash)),
            (1.0, matched_neighbours(graph)),
            (1.0, degree_similarity(graph)),
        )


class Closure(StructuralModel):
    """Transitivity alone."""

    name = "closure"
    description = "inter: 1 if a chain of known links joins the two (transitivity); intra: nothing"

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return Relation(KnownUnits.of(graph).same)


class Exclusion(StructuralModel):
    """Uniqueness alone, and what is known to be different."""

    name = "exclusion"
    description = "inter: -1 if the two units both have a node in some layer (uniqueness); intra: nothing"

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return Weighted((-1.0, Relation(KnownUnits.of(graph).clash)))


class MatchedNeighbours(StructuralModel):
    """Matched neighbours alone."""

    name = "matched-neighbours"
    description = "inter: neighbours of the one known to be neighbours of the other; intra: nothing"

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return matched_neighbours(graph)


class CommonNeighbours(StructuralModel):
    """Common neighbours alone."""

    name = "common-neighbours"
    description = "intra: number of common neighbours in the layer; inter: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return common_neighbours(graph)


class AdamicAdar(StructuralModel):
    """Adamic–Adar alone."""

    name = "adamic-adar"
    description = "intra: common neighbours in the layer, rare ones counting more; inter: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return adamic_adar(graph)


class Degree(StructuralModel):
    """Degrees alone."""

    name = "degree"
    description = "intra: product of degrees; inter: similarity of degrees"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return degree_product(graph)

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return degree_similarity(graph)
