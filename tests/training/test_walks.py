import numpy as np
import pytest

from mpxgat.training.walks import NOWHERE, Neighbours, random_walks, skip_gram_pairs
from tests.examples import random_graph


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("kind", ["intra", "inter"])
def test_a_walk_starts_where_it_is_told_and_follows_links_of_its_type_only(kind):
    graph = random_graph(0)
    links = getattr(graph, kind)
    starts = np.tile(np.arange(graph.n_nodes), 3)
    walks = random_walks(Neighbours.of(graph.n_nodes, links), starts, 7, rng())
    assert walks.shape == (len(starts), 7)
    assert np.array_equal(walks[:, 0], starts)
    steps = np.stack([walks[:, :-1], walks[:, 1:]], axis=-1).reshape(-1, 2)
    steps = steps[steps[:, 1] != NOWHERE]
    known = {tuple(pair) for pair in links.tolist()}
    assert {tuple(sorted(step)) for step in steps.tolist()} == known  # none but these, and each of them


def test_a_node_without_links_goes_nowhere_and_all_others_walk_to_the_end():
    graph = random_graph(0)
    neighbours = Neighbours.of(graph.n_nodes, graph.inter)
    walks = random_walks(neighbours, np.arange(graph.n_nodes), 5, rng())
    alone = neighbours.sizes == 0
    assert 0 < alone.sum() < graph.n_nodes
    assert (walks[alone, 1:] == NOWHERE).all()
    assert (walks[~alone] != NOWHERE).all()


def test_a_walk_ends_at_a_dead_end_on_its_way():
    one_way = Neighbours(np.array([0, 1, 2, 2, 4]), np.array([1, 2, 0, 2]))  # 0 > 1 > 2, 3 > 0 or 2
    walks = random_walks(one_way, np.array([0, 1, 2, 3, 3, 3, 3, 3, 3]), 5, rng())
    assert walks[:3].tolist() == [[0, 1, 2, -1, -1], [1, 2, -1, -1, -1], [2, -1, -1, -1, -1]]
    assert {tuple(walk) for walk in walks[3:].tolist()} == {(3, 0, 1, 2, -1), (3, 2, -1, -1, -1)}


def test_every_step_is_uniform_over_the_neighbours():
    links = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2]])
    walks = random_walks(Neighbours.of(5, links), np.zeros(40_000, dtype=np.int64), 3, rng())
    first = np.bincount(walks[:, 1], minlength=5)
    assert first[0] == 0
    assert abs(first[1:] - 10_000).max() < 5 * np.sqrt(40_000 * 1 / 4 * 3 / 4)
    second = np.bincount(walks[walks[:, 1] == 1, 2], minlength=5)
    assert second.sum() == second[[0, 2]].sum()
    assert abs(second[0] - second[2]) < 5 * np.sqrt(second.sum())


def test_same_generator_same_walks():
    neighbours = Neighbours.of(random_graph(0).n_nodes, random_graph(0).intra)
    first, again = (random_walks(neighbours, np.arange(50), 6, rng(3)) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, random_walks(neighbours, np.arange(50), 6, rng(4)))


@pytest.mark.parametrize("window", [1, 2, 5, 50])
def test_pairs_are_those_of_a_slow_double_loop(window):
    graph = random_graph(1)
    one_way = Neighbours(np.array([0, 1, 2, 2, 4]), np.array([1, 2, 0, 2]))
    for walks in (
        random_walks(Neighbours.of(graph.n_nodes, graph.inter), np.arange(graph.n_nodes), 6, rng()),
        random_walks(one_way, np.array([0, 1, 2, 3, 3, 3]), 6, rng()),
    ):
        expected = []
        for walk in walks.tolist():
            nodes = [node for node in walk if node != NOWHERE]
            for i, centre in enumerate(nodes):
                for j, context in enumerate(nodes):
                    if i != j and abs(i - j) <= window:
                        expected.append((centre, context))
        assert sorted(map(tuple, skip_gram_pairs(walks, window).tolist())) == sorted(expected)


def test_walks_of_one_node_have_no_pairs():
    assert skip_gram_pairs(np.arange(4)[:, None], 5).shape == (0, 2)
