import pytest

from tests.examples import graph_of, random_graph


def test_sizes_degrees_and_presence():
    stats = graph_of("x.a x.b", "x.b x.c", "x.d x.d", "y.a y.e", "x.a y.a").stats()
    assert (stats.layers, stats.units, stats.nodes, stats.intra_links, stats.inter_links) == (2, 5, 6, 3, 1)
    layer = stats.per_layer[0]
    assert (layer.name, layer.nodes, layer.intra_links, layer.max_degree, layer.isolated) == ("x", 4, 2, 2, 1)
    assert layer.density == pytest.approx(2 * 2 / (4 * 3))
    assert layer.mean_degree == 1
    assert stats.units_by_layers == {1: 0.8, 2: 0.2}
    assert not stats.weighted


def test_overlap_counts_shared_units_and_links():
    graph = graph_of(
        "x.a x.b", "x.b x.c", "x.c x.d", "y.a y.b", "y.a y.c", "z.q z.r",
        "x.a y.a", "x.b y.b", "x.c y.c",
    )  # fmt: skip
    overlap = {(row.layer_a, row.layer_b): row for row in graph.stats().overlap}
    row = overlap["x", "y"]
    # y has fewer links, and all its units are in x: both its links could be there, a–b is
    assert (row.units_shared, row.links_shared, row.links_possible) == (3, 1, 2)
    assert row.share_of_smaller == 1
    assert (overlap["x", "z"].units_shared, overlap["x", "z"].links_possible) == (0, 0)


def test_overlap_equals_a_slow_count():
    graph = random_graph(9)
    linked = {
        layer: {
            frozenset(graph.unit[pair].tolist())
            for pair in graph.intra
            if graph.node_layer[pair[0]] == graph.layer_index(layer)
        }
        for layer in graph.layers
    }
    units = {layer: set(graph.unit[graph.node_layer == graph.layer_index(layer)].tolist()) for layer in graph.layers}
    for row in graph.stats().overlap:
        one, other = linked[row.layer_a], linked[row.layer_b]
        sparser, there = (one, units[row.layer_b]) if len(one) <= len(other) else (other, units[row.layer_a])
        assert row.units_shared == len(units[row.layer_a] & units[row.layer_b])
        assert row.links_shared == len(one & other)
        assert row.links_possible == sum(pair <= there for pair in sparser)
