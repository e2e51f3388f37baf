"""Graphs that the evidence must bear, and slow helpers that follow the definitions."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tests.examples import graph_of, random_graph
from tests.matching.doubles import is_open, some_apart

# Random ones hold nodes without neighbours and units of one, two and three nodes.
GRAPHS = {
    "three layers": random_graph(31, people=25, known=0.6),
    "two layers": random_graph(32, people=30, layers=2, known=0.5),
    "four dense layers": random_graph(33, people=14, layers=4, degree=8, known=0.7),
    "some known to be different": some_apart(random_graph(35, people=25, known=0.5), 200),
    "no inter link": random_graph(34, people=15, known=0),
    "no intra link": graph_of("x.a x.a", "x.b x.b", "y.a y.a", "y.b y.b", "x.a y.a", layers="xy"),
    "an unclosed unit": graph_of("x.a x.b", "y.a y.b", "z.a z.b", "x.a y.a", "y.a z.a", "x.b z.b", layers="xyz"),
    "nodes alone": graph_of("x.a x.a", "y.b y.b", "x.c x.d", layers="xy"),
}


def neighbours_of(graph):
    """A set of neighbours for each node."""
    near = [set() for _ in range(graph.n_nodes)]
    for u, v in graph.intra.tolist():
        near[u].add(v)
        near[v].add(u)
    return near


def copies_of(graph):
    """For each node all nodes known to be its unit, itself among them."""
    unit = graph.unit.tolist()
    return [[v for v in range(graph.n_nodes) if unit[v] == unit[u]] for u in range(graph.n_nodes)]


def layers_of(graph):
    """For each node the layers in which its unit has a node."""
    return [{int(graph.node_layer[v]) for v in copies} for copies in copies_of(graph)]


def named(columns):
    """Values by the columns' names."""
    return {column.name: values for column, values in columns.items()}


def dense_units(graph):
    """(n, units) 1 where a node lies."""
    units = np.zeros((graph.n_nodes, graph.n_units))
    units[np.arange(graph.n_nodes), graph.unit] = 1
    return units


def open_pairs(graph):
    """(k, 2) all pairs of nodes that may still match, the lower layer first."""
    pairs = np.argwhere(graph.node_layer[:, None] < graph.node_layer)
    return np.array([pair for pair in pairs.tolist() if is_open(graph, *pair)], dtype=np.int64).reshape(-1, 2)


def some_matching(graph, seed=5):
    """(n, n) probabilities of some open pairs, both ways, as a round would hand them on."""
    rng = np.random.default_rng(seed)
    pairs = open_pairs(graph)
    first, second = pairs[rng.random(len(pairs)) < 0.05].T
    chance = rng.uniform(0.02, 1, size=len(first)).astype(np.float32)
    shape = (graph.n_nodes, graph.n_nodes)
    one_way = sparse.csr_array((chance, (first, second)), shape=shape, dtype=np.float32)
    return sparse.csr_array(one_way + one_way.T)
