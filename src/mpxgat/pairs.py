"""Pairs of nodes: links as arrays, the known units they make, who may still match whom, and numbers of many pairs.

Links are (m, 2) arrays of node positions, with or without a weight for each. In canonical form, the one a
`MultiplexGraph` holds, the first end of a link is smaller than the second, the rows are sorted, and no link stands
twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

if TYPE_CHECKING:  # a graph is made of links
    from mpxgat.graph import MultiplexGraph

NODE_DTYPE = np.int32  # of a node's position in its graph
IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.floating[Any]]
Values = NDArray[np.float64]
_Value = TypeVar("_Value", bound=np.generic)
_Node = TypeVar("_Node", bound=np.integer[Any])
_NUMBERS_AT_ONCE = 1 << 17  # stays in a cache: ten times faster than all at once
_WORDS = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32), np.dtype(np.uint64))


# ---- links -----------------------------------------------------------------------------------------------


def no_pairs() -> NDArray[np.int32]:
    """(0, 2)."""
    return np.empty((0, 2), dtype=NODE_DTYPE)


def pair_keys(pairs: IntArray, n_nodes: int) -> NDArray[np.int64]:
    """One int64 for each unordered pair of nodes; sorts as (smaller, larger) does."""
    low = np.minimum(pairs[:, 0], pairs[:, 1]).astype(np.int64)
    high = np.maximum(pairs[:, 0], pairs[:, 1])
    return low * n_nodes + high


def found_among(keys: NDArray[np.int64], ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(k,) which keys are among the ascending ones; np.isin would hash or sort both."""
    place = np.searchsorted(ascending, keys)
    found = place < len(ascending)
    found[found] = ascending[place[found]] == keys[found]
    return found


def canonical_links(
    pairs: NDArray[np.integer], weight: NDArray[np.float64] | None, n_nodes: int
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
    """Unordered, sorted, without self-loops and duplicates; of duplicates the largest weight stays."""
    proper = pairs[:, 0] != pairs[:, 1]
    if not proper.all():
        pairs, weight = pairs[proper], pick_weight(weight, proper)
    if weight is None or (weight == 1).all():
        low, high, _ = _sorted_links(pairs, np.zeros(len(pairs), dtype=np.int8), n_nodes)
        first, weight = _first_of_equals(low, high), None
    else:
        low, high, weight = _sorted_links(pairs, weight, n_nodes)
        first = _first_of_equals(low, high)
        weight = np.maximum.reduceat(weight, np.flatnonzero(first)) if len(low) else weight
    return np.stack([low[first], high[first]], axis=1), weight


def _sorted_links(
    pairs: NDArray[np.integer], values: NDArray[_Value], n_nodes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[_Value]]:
    """The smaller end, the larger end and the value of every pair, sorted by ends; duplicates stay.

    Two sparse-matrix conversions do this in linear time, which sorting 64-bit keys does not: one groups
    the pairs by their smaller end, one orders the larger ends within each (short) group.
    """
    low = np.minimum(pairs[:, 0], pairs[:, 1]).astype(NODE_DTYPE, copy=False)
    high = np.maximum(pairs[:, 0], pairs[:, 1]).astype(NODE_DTYPE, copy=False)
    grouped = group_members(low, values, n_nodes)
    upper = sparse.csr_array((grouped.data, high[grouped.indices], grouped.indptr), shape=(n_nodes, n_nodes))
    upper.sort_indices()
    low = np.repeat(np.arange(n_nodes, dtype=NODE_DTYPE), np.diff(upper.indptr))
    return low, upper.indices.astype(NODE_DTYPE, copy=False), upper.data


def group_members(group: NDArray[np.int32], values: NDArray[_Value], n_groups: int) -> sparse.csr_array:
    """A matrix whose row g lists the members of group g ascending (``indices``), with their values (``data``)."""
    one_each = np.arange(len(group) + 1, dtype=NODE_DTYPE)
    return sparse.csc_array((values, group, one_each), shape=(n_groups, len(group))).tocsr()


def _first_of_equals(low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.bool_]:
    first = np.ones(len(low), dtype=bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return first


def pick_weight(
    weight: NDArray[_Value] | None, rows: NDArray[np.bool_] | NDArray[np.integer] | slice
) -> NDArray[_Value] | None:
    """The weights (or ways) of some rows; None where every link weighs 1 (or goes both ways)."""
    return None if weight is None else weight[rows]


# Which way a link goes: from its first end to its second, from its second to its first, or both.
FORWARD, BACKWARD, BOTH_WAYS = 1, 2, 3
_TURNED = np.array([0, BACKWARD, FORWARD, BOTH_WAYS], dtype=np.uint8)


def canonical_arcs(
    pairs: NDArray[np.integer], arcs: NDArray[np.uint8] | None, n_nodes: int
) -> NDArray[np.uint8] | None:
    """Which way each of the `canonical_links` of ``pairs`` goes, from the way of every pair; duplicates are united."""
    if arcs is None:
        return None
    proper = pairs[:, 0] != pairs[:, 1]
    pairs, arcs = pairs[proper], arcs[proper]
    low, high, ways = _sorted_links(pairs, np.where(pairs[:, 0] < pairs[:, 1], arcs, _TURNED[arcs]), n_nodes)
    return np.bitwise_or.reduceat(ways, np.flatnonzero(_first_of_equals(low, high))) if len(low) else ways


def arcs_of(links: NDArray[_Node], arcs: NDArray[np.uint8] | None) -> tuple[NDArray[_Node], NDArray[np.int64]]:
    """(a, 2) links as they go, from the first end to the second, a mutual one both ways; and (a,) their rows."""
    ways = np.full(len(links), BOTH_WAYS, dtype=np.uint8) if arcs is None else arcs
    row, backward = np.nonzero((ways[:, None] & np.array([FORWARD, BACKWARD], dtype=np.uint8)) > 0)
    ends = links[row]
    return np.where(backward[:, None] > 0, ends[:, ::-1], ends), row


def links_among(
    links: NDArray[np.int32], weight: NDArray[np.float64] | None, keep: NDArray[np.bool_], position: IntArray
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
    """The links with both ends in the mask ``keep`` (n,), renumbered by ``position`` (n,), and their weights."""
    inside = keep[links[:, 0]] & keep[links[:, 1]]
    return position[links[inside]].astype(NODE_DTYPE), pick_weight(weight, inside)


def symmetric_matrix(links: IntArray, weight: FloatArray | None, n_nodes: int) -> sparse.csr_array:
    """(n, n) float32 CSR matrix of links in canonical form, each entered both ways; 1 where there is no weight."""
    values = np.ones(len(links), dtype=np.float32) if weight is None else weight.astype(np.float32)
    upper = sparse.csr_array((values, (links[:, 0], links[:, 1])), shape=(n_nodes, n_nodes))
    matrix = sparse.csr_array(upper + upper.T)
    matrix.sort_indices()
    return matrix


def label_components(links: IntArray, n_nodes: int) -> NDArray[np.int32]:
    """(n,) connected component of every node, numbered from 0 by first node."""
    ones = np.ones(len(links), dtype=bool)
    matrix = sparse.csr_array((ones, (links[:, 0], links[:, 1])), shape=(n_nodes, n_nodes))
    labels = csgraph.connected_components(matrix, directed=False)[1]
    # Number components by their first node, whatever order scipy visits them in.
    first = np.full(labels.max(initial=-1) + 1, n_nodes, dtype=np.int64)
    np.minimum.at(first, labels, np.arange(n_nodes))
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    numbered: NDArray[np.int32] = rank[labels]
    return numbered


# ---- known units, and who may still match whom -----------------------------------------------------------


def unit_matrix(graph: MultiplexGraph) -> sparse.csr_array:
    """(n, units) float64 with a single 1 in every row, at the node's known unit."""
    ones, starts = np.ones(graph.n_nodes), np.arange(graph.n_nodes + 1, dtype=graph.unit.dtype)
    return sparse.csr_array((ones, graph.unit, starts), shape=(graph.n_nodes, graph.n_units))  # 32-bit indices


def unit_sizes(graph: MultiplexGraph) -> NDArray[np.int64]:
    """(units,) number of nodes of every known unit."""
    return np.bincount(graph.unit, minlength=graph.n_units)


def unit_presence(graph: MultiplexGraph) -> NDArray[np.float32]:
    """(units, L) 1 where a known unit has a node, else 0."""
    present = np.zeros((graph.n_units, graph.n_layers), dtype=np.float32)
    present[graph.unit, graph.node_layer] = 1
    return present


@dataclass(frozen=True, eq=False)
class KnownUnits:
    """What is known about pairs of nodes: which are one unit, and which cannot be.

    Known links are transitive, and a unit has at most one node in a layer: two units that both have a node in some
    layer cannot be one. Nor can two units of which a node of the one is known to be different from a node of the other.
    Two nodes that are neither may still match; they are an open pair. Questions about pairs take two arrays of nodes
    that are broadcast against each other, and so does their answer.

    unit, layer     (n,) of every node
    layers          words (n,) of bits, enough for all layers: 1 where the node's unit has a node
    said_apart      (a, 2) pairs of nodes that are known to be different
    """

    unit: NDArray[np.int32]
    layer: NDArray[np.int32]
    layers: tuple[NDArray[np.unsignedinteger[Any]], ...]
    said_apart: NDArray[np.int32]

    @classmethod
    def of(cls, graph: MultiplexGraph) -> KnownUnits:
        """The units of a graph."""
        dtype = next((word for word in _WORDS if 8 * word.itemsize >= graph.n_layers), _WORDS[-1])
        present, size = unit_presence(graph) > 0, 8 * dtype.itemsize
        words = []
        for start in range(0, max(graph.n_layers, 1), size):
            word = np.zeros(graph.n_units, dtype=dtype)
            for place, there in enumerate(present[:, start : start + size].T):
                word[there] |= dtype.type(1 << place)
            words.append(word[graph.unit])
        return cls(graph.unit, graph.node_layer, tuple(words), graph.apart)

    def same(self, first: IntArray, second: IntArray) -> NDArray[np.bool_]:
        """Whether two nodes are known to be one unit, if only by a chain of links."""
        return np.asarray(self.unit[first] == self.unit[second])

    def share_layer(self, first: IntArray, second: IntArray) -> NDArray[np.bool_]:
        """Whether the units of two nodes both have a node in some layer: they are known to be one, or cannot be."""
        found = self.layers[0][first] & self.layers[0][second] != 0
        for word in self.layers[1:]:
            found |= word[first] & word[second] != 0
        return np.asarray(found)

    def apart(self, first: IntArray, second: IntArray) -> NDArray[np.bool_]:
        """Whether two nodes are known to be different, if only by what is said of others of their units."""
        if not len(self.said_apart):
            return np.zeros(np.broadcast_shapes(np.shape(first), np.shape(second)), dtype=bool)
        found = np.asarray(self._is_said[first] & self._is_said[second])
        one, other = (np.broadcast_to(ends, found.shape)[found] for ends in (first, second))  # hardly ever many
        found[found] = found_among(self._unit_keys(one, other), self._apart_keys)
        return found

    def decided(self, first: IntArray, second: IntArray) -> NDArray[np.bool_]:
        """Whether two nodes are known to be one unit, or cannot be. The others are open."""
        found = self.share_layer(first, second)
        if len(self.said_apart):
            found |= self.apart(first, second)
        return found

    def clash(self, first: IntArray, second: IntArray) -> NDArray[np.bool_]:
        """Whether two nodes cannot be one unit: it would have two nodes in a layer, or they are different."""
        return self.decided(first, second) & ~self.same(first, second)

    def has_node_in(self, layer: int) -> NDArray[np.bool_]:
        """(n,) which nodes have a known counterpart in a layer; true for the layer's own nodes."""
        word, place = divmod(layer, 8 * self.layers[0].itemsize)
        bits = self.layers[word]
        return np.asarray(bits & bits.dtype.type(1 << place) != 0)

    def obstacle(self, first: int, second: int) -> tuple[int, int] | None:
        """Two nodes of one layer that a unit of the two nodes would have; None if there are none."""
        if self.unit[first] == self.unit[second]:
            return None
        copies, others = (np.flatnonzero(self.unit == self.unit[node]) for node in (first, second))
        one, other = np.nonzero(self.layer[copies][:, None] == self.layer[others])
        return (int(copies[one[0]]), int(others[other[0]])) if len(one) else None

    def said_of(self, first: int, second: int) -> tuple[int, int] | None:
        """Two nodes, of the units of these two, that are said to be different; None if there are none."""
        ends = self.unit[self.said_apart]
        asked = self.unit[[first, second]]
        rows = np.flatnonzero((ends == asked).all(axis=1) | (ends == asked[::-1]).all(axis=1))
        return None if not len(rows) else (int(self.said_apart[rows[0], 0]), int(self.said_apart[rows[0], 1]))

    @cached_property
    def _is_said(self) -> NDArray[np.bool_]:
        """(n,) whose unit is said to be different from some other."""
        units = np.zeros(int(self.unit.max(initial=-1)) + 1, dtype=bool)
        units[self.unit[self.said_apart]] = True
        return np.asarray(units[self.unit])

    @cached_property
    def _apart_keys(self) -> NDArray[np.int64]:
        """Ascending, of the pairs of units that are known to be different."""
        return np.unique(self._unit_keys(*self.said_apart.T))

    def _unit_keys(self, first: IntArray, second: IntArray) -> NDArray[np.int64]:
        return pair_keys(np.stack([self.unit[first], self.unit[second]], axis=1), len(self.unit))


# ---- many pairs at once, as a list or as a grid ----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Product:
    """Rows (n, d) of ``left @ right``, each made when it is asked for: all are too many. No entry lies below 0."""

    left: sparse.csr_array
    right: sparse.csr_array

    def __getitem__(self, nodes: IntArray) -> sparse.csr_array:
        """The rows of some nodes."""
        return sparse.csr_array(self.left[nodes] @ self.right)


Rows: TypeAlias = sparse.csr_array | Product


class Pairs(Protocol):
    """Pairs of nodes of which numbers are computed; every answer has their ``shape``."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(k,) of a list, (r, c) of a grid."""

    @property
    def first(self) -> IntArray:
        """One end of every pair; broadcast with ``second`` it has the shape."""

    @property
    def second(self) -> IntArray:
        """The other end."""

    def overlap(self, left: Rows, right: Rows) -> Values:
        """<left_i, right_j> of sparse rows (n, d), float64; one of the two may be a product."""

    def dots(self, vectors: NDArray[np.float32]) -> Values:
        """<v_i, v_j> of dense rows (n, d), summed up in float64."""


class PairList:
    """Any pairs (k, 2)."""

    def __init__(self, pairs: IntArray):
        self.first, self.second = pairs[:, 0], pairs[:, 1]

    @property
    def shape(self) -> tuple[int, ...]:
        """(k,)."""
        return self.first.shape

    def overlap(self, left: Rows, right: Rows) -> Values:
        """Row by row."""
        from mpxgat.kernels import overlaps, overlaps_of_product  # loading the compiler takes half a second

        if isinstance(left, Product):
            return overlaps_of_product(left.left, left.right, right, self.first, self.second)
        if isinstance(right, Product):
            return overlaps_of_product(right.left, right.right, left, self.second, self.first)
        return overlaps(left, right, self.first, self.second)

    def dots(self, vectors: NDArray[np.float32]) -> Values:
        """Row by row, a bounded number at once."""
        values = np.empty(self.shape)
        step = max(1, _NUMBERS_AT_ONCE // max(vectors.shape[1], 1))
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            one, other = (vectors[ends[part]].astype(np.float64) for ends in (self.first, self.second))
            values[part] = np.einsum("ij,ij->i", one, other)  # casting inside would be ten times slower
        return values


class PairGrid:
    """All pairs of some rows (r,) with some columns (c,); the same numbers as those of a list, but for rounding."""

    def __init__(self, rows: IntArray, cols: IntArray):
        self.first, self.second = rows[:, None], cols[None, :]

    @property
    def shape(self) -> tuple[int, ...]:
        """(r, c)."""
        return len(self.first), self.second.shape[1]

    def overlap(self, left: Rows, right: Rows) -> Values:
        """One sparse product."""
        products: Values = (left[self.first[:, 0]] @ right[self.second[0]].T).toarray()
        return products

    def dots(self, vectors: NDArray[np.float32]) -> Values:
        """One dense product."""
        rows, cols = (vectors[nodes].astype(np.float64) for nodes in (self.first[:, 0], self.second[0]))
        products: Values = rows @ cols.T
        return products


def row_parts(rows: IntArray, width: int, cells: int) -> Iterator[slice]:
    """Parts of ``rows`` whose grids with ``width`` columns have at most ``cells`` cells, one row at least."""
    step = max(1, cells // max(width, 1))
    return (slice(start, start + step) for start in range(0, len(rows), step))
