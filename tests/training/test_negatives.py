import numpy as np
import pytest

from mpxgat.training.links import BetweenLayers, WithinLayer, WithinLayers
from tests.examples import graph_of, random_graph


def keys(pairs):
    return {tuple(sorted(pair)) for pair in pairs.tolist()}


def test_within_a_layer_no_link_and_no_node_with_itself_is_drawn():
    layer = random_graph(0).layer("L0")
    pairs = WithinLayer.of(layer.n_nodes, layer.intra).draw(5000, np.random.default_rng(0))
    assert len(pairs) == 5000
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert not keys(pairs) & keys(layer.intra)


def test_between_layers_no_copies_of_a_unit_are_drawn_even_if_only_implied():
    graph = graph_of("x.a y.a", "y.a z.a", "x.b x.c", "y.d y.e", "z.f z.g")
    pairs = BetweenLayers(graph.node_layer, graph.unit).draw(3000, np.random.default_rng(0))
    assert len(pairs) == 3000
    assert (graph.node_layer[pairs[:, 0]] != graph.node_layer[pairs[:, 1]]).all()
    implied = (graph.index("a", "x"), graph.index("a", "z"))
    assert implied not in keys(pairs)
    # every other pair of different layers comes up
    free = {
        (u, v)
        for u in range(graph.n_nodes)
        for v in range(u + 1, graph.n_nodes)
        if graph.node_layer[u] != graph.node_layer[v] and graph.unit[u] != graph.unit[v]
    }
    assert keys(pairs) == free


def test_layers_are_drawn_from_by_the_pairs_they_have():
    graph = graph_of("x.a x.b", "x.b x.c", "y.d y.e", "y.f y.g", "z.h z.h")
    pairs = WithinLayers.of(graph).draw(50_000, np.random.default_rng(0))
    found, counts = np.unique(np.sort(pairs, axis=1), axis=0, return_counts=True)
    layer, nodes = graph.node_layer, range(graph.n_nodes)
    free = {(u, v) for u in nodes for v in nodes if u < v and layer[u] == layer[v]} - keys(graph.intra)
    assert keys(found) == free
    share = np.where(layer[found[:, 0]] == 0, 3 / 9 / 1, 6 / 9 / 4)  # x has 1 of 3 pairs free, y 4 of 6
    assert counts / 50_000 == pytest.approx(share, abs=0.01)


def test_pairs_are_uniform_over_the_free_ones():
    links = np.array([[0, 1], [2, 3]], dtype=np.int32)
    pairs = WithinLayer.of(5, links).draw(80_000, np.random.default_rng(0))
    _, counts = np.unique(np.sort(pairs, axis=1), axis=0, return_counts=True)
    assert len(counts) == 8
    assert abs(counts - 10_000).max() < 5 * np.sqrt(80_000 * 1 / 8 * 7 / 8)


def test_same_generator_same_pairs():
    sampler = WithinLayer.of(50, random_graph(0).intra[:0])
    first, again = (sampler.draw(100, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize(
    "sampler",
    [
        WithinLayer.of(3, np.array([[0, 1], [0, 2], [1, 2]], dtype=np.int32)),  # complete
        WithinLayers.of(graph_of("x.a x.b", "y.c y.c")),
        WithinLayer.of(1, np.empty((0, 2), dtype=np.int32)),
        WithinLayer.of(0, np.empty((0, 2), dtype=np.int32)),
        BetweenLayers(np.zeros(4, dtype=np.int32), np.arange(4, dtype=np.int32)),  # one layer
    ],
)
def test_where_no_pair_is_free_none_is_drawn(sampler):
    assert sampler.draw(10, np.random.default_rng(0)).shape == (0, 2)
