"""Numbers that structure alone gives for a pair of nodes, computed on a training graph.

Every signal answers in two shapes, for a list of pairs and for a block of all pairs of some rows and
columns, with exactly the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.units import unit_matrix, unit_presence

Positions = NDArray[np.integer[Any]]
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
    """A weighted sum of signals."""

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
