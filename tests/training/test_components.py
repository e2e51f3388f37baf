import numpy as np
import pytest

from mpxgat.training.batches import Components
from tests.examples import random_graph


def components(seed=0):
    graph = random_graph(seed, people=150, layers=4, known=0.6)
    return Components.of(graph.unit, graph.inter), graph


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("size", [1, 7, 64, 10**6])
def test_batches_hold_every_link_once_and_all_links_of_a_group_together(size):
    whole, graph = components()
    batches = whole.batches(size, rng())
    assert sorted(np.concatenate(batches).tolist()) == list(range(graph.n_inter))
    groups = [set(graph.unit[graph.inter[rows, 0]].tolist()) for rows in batches]
    assert all(groups)  # none is empty
    assert sum(map(len, groups)) == len(set.union(*groups))  # none is divided


def test_batches_are_about_equal_and_of_the_size_asked_for():
    whole, graph = components()
    largest = np.bincount(graph.unit[graph.inter[:, 0]]).max()
    for size in (20, 50, graph.n_inter - 1):
        sizes = [len(rows) for rows in whole.batches(size, rng())]
        assert len(sizes) == -(-graph.n_inter // size)
        assert max(sizes) - min(sizes) <= 2 * largest
        assert max(sizes) <= size + largest


def test_links_come_in_another_order_every_time_and_in_the_same_from_the_same_seed():
    whole, _ = components()
    first, again, other = (np.concatenate(whole.batches(16, rng(seed))) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_around_a_node_is_its_whole_group_and_nothing_else():
    whole, graph = components()
    seeds = rng().integers(graph.n_nodes, size=15)
    part = whole.around(seeds)
    inside = np.isin(graph.unit, graph.unit[seeds])
    assert part.nodes.tolist() == np.flatnonzero(inside).tolist()
    assert part.rows.tolist() == np.flatnonzero(inside[graph.inter[:, 0]]).tolist()
    assert np.array_equal(part.nodes[part.links], graph.inter[part.rows])


@pytest.mark.parametrize("size", [1, 30, 10**6])
def test_pieces_hold_every_node_and_every_link_once(size):
    whole, graph = components()
    pieces = list(whole.pieces(size))
    assert sorted(np.concatenate([piece.nodes for piece in pieces]).tolist()) == list(range(graph.n_nodes))
    assert sorted(np.concatenate([piece.rows for piece in pieces]).tolist()) == list(range(graph.n_inter))
    assert max(len(piece.nodes) for piece in pieces) <= size + graph.n_layers


def test_without_links_there_are_no_batches_but_pieces():
    whole = Components.of(np.arange(3), np.empty((0, 2), dtype=np.int32))
    assert whole.batches(5, rng()) == []
    assert [piece.nodes.tolist() for piece in whole.pieces(2)] == [[0, 1], [2]]
