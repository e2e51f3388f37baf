"""Graphs that the evidence must bear, and slow helpers that follow the definitions."""

from __future__ import annotations

from tests.examples import graph_of, random_graph

# Random ones hold nodes without neighbours and units of one, two and three nodes.
GRAPHS = {
    "three layers": random_graph(31, people=25, known=0.6),
    "two layers": random_graph(32, people=30, layers=2, known=0.5),
    "four dense layers": random_graph(33, people=14, layers=4, degree=8, known=0.7),
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


def best_from_both_sides(similarity, ours, theirs, k):
    """Of the pairs (i, j) that have a similarity, the k most similar of every node, from both sides."""
    kept = set()
    for side, nodes in enumerate((ours, theirs)):
        for node in nodes:
            mine = sorted((pair for pair in similarity if pair[side] == node), key=lambda pair: -similarity[pair])
            kept |= set(mine[:k])
    return kept
