"""Links as arrays: (m, 2) pairs of node positions, with or without a weight for each.

In canonical form, the one a `MultiplexGraph` holds, the first end of a link is smaller than the second, the
rows are sorted, and no link stands twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

if TYPE_CHECKING:  # a graph is made of links
    from mpxgat.graph import MultiplexGraph

NODE_DTYPE = np.int32  # of a node's position in its graph
IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.floating[Any]]
_Value = TypeVar("_Value", bound=np.generic)


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
    weight: NDArray[np.float64] | None, rows: NDArray[np.bool_] | NDArray[np.integer] | slice
) -> NDArray[np.float64] | None:
    """The weights of some rows; None where every link weighs 1."""
    return None if weight is None else weight[rows]


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


# The known units of a graph as matrices: which unit a node belongs to, and where a unit has nodes.


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
