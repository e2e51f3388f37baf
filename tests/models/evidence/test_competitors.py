"""Competitors against a slow search over all open pairs."""

import numpy as np
import pytest
from scipy import sparse

from mpxgat.models.evidence import candidates
from mpxgat.models.evidence.features import KEPT, Competitors, find_competitors
from mpxgat.pairs import KnownUnits, PairList
from tests.matching.doubles import is_open
from tests.models.evidence.graphs import GRAPHS

both_ways = pytest.mark.usefixtures("_ordinary_or_large_layers")
every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def some_rows(graph, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((graph.n_nodes, 6)) * (rng.random((graph.n_nodes, 6)) < 0.5)


def slow_similarities(graph, rows, node, layer):
    """Of all nodes of another layer that the node may still be matched with, the highest first."""
    if graph.node_layer[node] == layer:
        return []
    there = [other for other in graph.layer_nodes(layer).tolist() if is_open(graph, node, other)]
    return sorted((float(rows[node] @ rows[other]) for other in there), reverse=True)


@both_ways
@every_graph
def test_the_largest_and_the_total_are_over_open_pairs_only(graph):
    rows = some_rows(graph)
    found = find_competitors(sparse.csr_array(rows), graph, KnownUnits.of(graph))
    assert found.largest.shape == (graph.n_nodes, graph.n_layers, KEPT)
    for node in range(graph.n_nodes):
        for layer in range(graph.n_layers):
            expected = slow_similarities(graph, rows, node, layer)
            assert found.total[node, layer] == pytest.approx(sum(expected))
            assert found.largest[node, layer] == pytest.approx((expected + [0.0] * KEPT)[:KEPT])


@both_ways
def test_parts_of_the_rows_give_the_whole(monkeypatch):
    graph = GRAPHS["three layers"]
    rows = sparse.csr_array(some_rows(graph))
    whole = find_competitors(rows, graph, KnownUnits.of(graph))
    monkeypatch.setattr(candidates, "_CELLS", 3 * graph.n_nodes // graph.n_layers)
    nodes, there = np.arange(graph.n_nodes), graph.layer_nodes(0)
    assert len(list(candidates.similarities(rows, KnownUnits.of(graph), nodes, there))) > 1
    parts = find_competitors(rows, graph, KnownUnits.of(graph))
    assert parts.largest == pytest.approx(whole.largest)
    assert parts.total == pytest.approx(whole.total)


def test_rank_share_and_lead_of_both_sides():
    largest = np.zeros((2, 2, KEPT))
    largest[0, 1, :6] = [0.9, 0.8, 0.8, 0.5, 0.5, 0.4]  # node 0 towards layer 1
    largest[1, 0, :3] = [0.8, 0.3, 0.1]  # node 1 towards layer 0
    total = np.array([[0.0, 4.0], [1.6, 0.0]])
    competitors = Competitors(largest, total)
    columns = competitors.columns(np.array([0.8]), PairList(np.array([[0, 1]])), np.array([0, 1], dtype=np.int32))
    rank, share, lead = (1.0, 0.0), (0.2, 0.5), (0.8 - 0.7, 0.8 - 0.24)
    expected = [value for low_high in (sorted(rank), sorted(share), sorted(lead)) for value in low_high]
    assert [float(column[0]) for column in columns] == pytest.approx(expected)


def test_a_pair_is_not_outdone_by_itself_for_rounding():
    largest = np.zeros((2, 2, KEPT))
    largest[0, 1, 0] = largest[1, 0, 0] = 0.3
    competitors = Competitors(largest, largest.sum(axis=2))
    columns = competitors.columns(np.array([0.1 + 0.2 - 1e-16]), PairList(np.array([[0, 1]])), np.array([0, 1]))
    assert [float(columns[0][0]), float(columns[1][0])] == [0.0, 0.0]


def test_without_any_competitor_the_share_is_nought():
    competitors = Competitors(np.zeros((2, 2, KEPT)), np.zeros((2, 2)))
    columns = competitors.columns(np.zeros(1), PairList(np.array([[0, 1]])), np.array([0, 1], dtype=np.int32))
    assert [float(column[0]) for column in columns] == [0.0] * 6
