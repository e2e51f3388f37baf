from itertools import combinations

import numpy as np
import pytest

from mpxgat.pairs import symmetric_matrix
from mpxgat.training.batches import EVERYONE, Surroundings
from tests.examples import random_graph

HUB = np.array([[0, k] for k in range(1, 7)] + [[1, 7], [7, 8]])  # node 9 stands alone


def network(seed=0):
    graph = random_graph(seed, people=200, layers=1, degree=6)
    return graph.n_nodes, graph.intra


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("fan_outs", [(), (3,), (4, 2), (EVERYONE,), (EVERYONE, 1, EVERYONE)])
def test_a_subgraph_holds_its_seeds_and_links_of_the_network(fan_outs):
    n, links = network()
    surroundings = Surroundings.of(n, links)
    for seed in range(10):
        seeds = rng(seed).integers(n, size=12)  # some twice
        part = surroundings.draw(seeds, fan_outs, rng(seed))
        assert set(seeds) <= set(part.nodes)
        assert (np.diff(part.nodes) > 0).all()
        assert (np.diff(part.rows) > 0).all()
        assert np.array_equal(part.nodes[part.links], links[part.rows])
        assert np.array_equal(part.nodes[part.places(seeds)], seeds)


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_with_no_limit_it_is_everything_within_so_many_hops(hops):
    n, links = network()
    matrix = symmetric_matrix(links, None, n)
    for seeds in ([0], [5, 17, 90]):
        near = np.zeros(n, dtype=bool)
        near[seeds] = True
        for _ in range(hops):
            inner, near = near, near | (matrix @ near > 0)
        part = Surroundings.of(n, links).draw(np.array(seeds), (EVERYONE,) * hops, rng())
        assert part.nodes.tolist() == np.flatnonzero(near).tolist()
        assert part.rows.tolist() == np.flatnonzero(inner[links].any(axis=1)).tolist()


def test_a_node_draws_no_more_than_its_fan_out_and_all_if_it_has_no_more():
    surroundings = Surroundings.of(10, HUB)
    for seed in range(20):
        near = surroundings.draw(np.array([0]), (4,), rng(seed))
        assert len(near.rows) == 4
        assert 0 in near.nodes
        assert len(near.nodes) == 5
        far = surroundings.draw(np.array([8]), (2, 2, 1), rng(seed))  # a path: 8, 7, 1, 0
        assert {0, 1, 7, 8} == set(far.nodes) or {1, 7, 8} == set(far.nodes)
        assert surroundings.draw(np.array([0, 1, 2]), (6,), rng(seed)).rows.tolist() == [0, 1, 2, 3, 4, 5, 6]
    alone = surroundings.draw(np.array([9]), (3, 3), rng())
    assert (alone.nodes.tolist(), alone.links.shape) == ([9], (0, 2))


def test_what_is_drawn_is_bounded_whatever_the_network():
    for n, degree in ((200, 6), (4000, 6), (4000, 40)):
        links = np.unique(np.sort(rng(1).integers(n, size=(n * degree // 2, 2)), axis=1), axis=0)
        links = links[links[:, 0] != links[:, 1]]
        part = Surroundings.of(n, links).draw(np.arange(20), (5, 3), rng())
        assert len(part.rows) <= 20 * 5 + 20 * 5 * 3
        assert len(part.nodes) <= 20 * (1 + 5 + 15)


def test_all_sets_of_neighbours_are_equally_likely():
    surroundings, counts = Surroundings.of(10, HUB), dict.fromkeys(combinations(range(6), 2), 0)
    generator, draws = rng(), 6000
    for _ in range(draws):
        counts[tuple(surroundings.draw(np.array([0]), (2,), generator).rows.tolist())] += 1
    assert len(counts) == 15
    assert max(abs(count - draws / 15) for count in counts.values()) < 5 * np.sqrt(draws * 1 / 15 * 14 / 15)


def test_same_generator_same_subgraph():
    n, links = network()
    surroundings = Surroundings.of(n, links)
    first, again, other = (surroundings.draw(np.arange(30), (2, 2), rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(first.nodes, again.nodes)
    assert np.array_equal(first.rows, again.rows)
    assert not np.array_equal(first.rows, other.rows)


def test_a_network_without_links_gives_the_seeds():
    part = Surroundings.of(4, np.empty((0, 2), dtype=np.int32)).draw(np.array([2, 0, 2]), (5, 5), rng())
    assert part.nodes.tolist() == [0, 2]
    assert part.rows.shape == (0,)
