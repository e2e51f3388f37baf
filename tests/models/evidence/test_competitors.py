"""Competitors against a slow search over the candidates."""

import numpy as np
import pytest

from mpxgat.models.evidence.inter_features import KEPT, Competitors
from mpxgat.pairs import PairGrid, PairList
from tests.models.evidence.graphs import GRAPHS, open_pairs

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
TWO_LAYERS = np.array([0, 1], dtype=np.int32)
ONE_PAIR = PairList(np.array([[0, 1]]))
WHATS = ("rank among the {}'s", "lead among the {}'s", "share among the {}'s", "lead over the {}'s best")


def some_candidates(graph):
    """Open pairs and a number for each, often the same."""
    rng = np.random.default_rng(0)
    pairs = open_pairs(graph)
    pairs = pairs[rng.random(len(pairs)) < 0.7]
    return pairs, rng.choice([0.0, 0.25, 0.5, *rng.random(20)], size=len(pairs))


def slow_values(pairs, value, layer, node, there):
    """Of all candidates of a node in a layer, the highest first."""
    mine = [
        number
        for pair, number in zip(pairs.tolist(), value.tolist(), strict=True)
        if node in pair and layer[pair[1 - pair.index(node)]] == there
    ]
    return sorted(mine, reverse=True)


@every_graph
def test_the_largest_and_the_total_of_every_node_in_every_layer(graph):
    pairs, value = some_candidates(graph)
    layer = graph.node_layer
    found = Competitors.of(pairs, value, layer)
    layers = int(layer.max()) + 1
    assert found.largest.shape == (graph.n_nodes, layers, KEPT)
    for node in range(graph.n_nodes):
        for there in range(layers):
            expected = slow_values(pairs, value, layer, node, there)
            assert found.total[node, there] == pytest.approx(sum(expected), abs=1e-5)
            assert found.largest[node, there] == pytest.approx((expected + [0.0] * KEPT)[:KEPT], abs=1e-6)


def test_no_candidates():
    found = Competitors.of(np.empty((0, 2), dtype=np.int64), np.zeros(0), TWO_LAYERS)
    assert found.largest.shape == (2, 2, KEPT)
    assert not found.largest.any()
    assert not found.total.any()


def test_the_order_of_the_candidates_does_not_matter():
    graph = GRAPHS["three layers"]
    pairs, value = some_candidates(graph)
    order = np.random.default_rng(1).permutation(len(pairs))
    one, other = (Competitors.of(pairs[rows], value[rows], graph.node_layer) for rows in (np.arange(len(pairs)), order))
    assert np.array_equal(one.largest, other.largest)
    assert one.total == pytest.approx(other.total, abs=1e-5)


def test_rank_leads_and_share_of_both_sides():
    largest = np.zeros((2, 2, KEPT), dtype=np.float32)
    largest[0, 1, :6] = [0.9, 0.8, 0.8, 0.5, 0.5, 0.4]  # of node 0 in layer 1
    largest[1, 0, :3] = [0.8, 0.3, 0.1]  # of node 1 in layer 0
    competitors = Competitors(largest, np.array([[0.0, 4.0], [1.6, 0.0]], dtype=np.float32))
    columns = competitors.columns(np.array([0.8]), ONE_PAIR, TWO_LAYERS)
    expected = {
        "rank among the first's": 1,
        "lead among the first's": -0.1,
        "share among the first's": 0.2,
        "lead over the first's best": 0.8 - 0.7,
        "rank among the second's": 0,
        "lead among the second's": 0.5,
        "share among the second's": 0.5,
        "lead over the second's best": 0.8 - 0.24,
    }
    assert {name: float(values[0]) for name, values in columns.items()} == pytest.approx(expected, abs=1e-6)
    assert list(columns) == list(expected)


def test_a_pair_that_is_no_candidate_competes_with_all_of_them():
    competitors = Competitors.of(np.array([[0, 2], [1, 3]]), np.array([0.4, 0.6]), np.array([0, 0, 1, 1]))
    columns = competitors.columns(np.array([0.5]), PairList(np.array([[0, 3]])), np.array([0, 0, 1, 1]))
    found = {name: float(values[0]) for name, values in columns.items()}
    assert found["rank among the first's"] == 0
    assert found["rank among the second's"] == 1
    assert found["lead among the second's"] == pytest.approx(-0.1)


def test_a_pair_is_not_outdone_by_itself_for_rounding():
    largest = np.zeros((2, 2, KEPT), dtype=np.float32)
    largest[0, 1, 0] = largest[1, 0, 0] = 0.3
    competitors = Competitors(largest, largest.sum(axis=2))
    columns = competitors.columns(np.array([0.1 + 0.2 - 1e-8]), ONE_PAIR, TWO_LAYERS)
    for who in ("first", "second"):
        assert columns[f"rank among the {who}'s"].tolist() == [0]
        assert columns[f"lead among the {who}'s"] == pytest.approx([0.3])


def test_without_any_competitor_the_share_is_nought():
    competitors = Competitors(np.zeros((2, 2, KEPT), dtype=np.float32), np.zeros((2, 2), dtype=np.float32))
    columns = competitors.columns(np.zeros(1), ONE_PAIR, TWO_LAYERS)
    assert [float(column[0]) for column in columns.values()] == [0.0] * 8


def test_a_grid_has_the_numbers_of_the_list():
    graph = GRAPHS["three layers"]
    competitors = Competitors.of(*some_candidates(graph), graph.node_layer)
    grid = PairGrid(graph.layer_nodes(0), graph.layer_nodes(2))
    value = np.random.default_rng(2).random(grid.shape)
    listed = PairList(np.stack([end.ravel() for end in np.broadcast_arrays(grid.first, grid.second)], axis=1))
    by_list = competitors.columns(value.ravel(), listed, graph.node_layer)
    for name, found in competitors.columns(value, grid, graph.node_layer).items():
        assert np.array_equal(found.ravel(), by_list[name]), name
    assert set(by_list) == {what.format(who) for what in WHATS for who in ("first", "second")}
