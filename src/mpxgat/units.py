"""The known units of a graph as matrices: which unit a node belongs to, and where a unit has nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph


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
