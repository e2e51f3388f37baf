import numpy as np

from mpxgat.training.walks import Neighbours
from tests.examples import random_graph

STAR = np.array([[0, 1], [0, 2], [0, 4], [1, 2]])  # node 3 stands alone


def lists(neighbours):
    return [part.tolist() for part in np.split(neighbours.members, neighbours.offsets[1:-1])]


def test_neighbours_are_the_other_ends_of_links():
    neighbours = Neighbours.of(5, STAR)
    assert lists(neighbours) == [[1, 2, 4], [0, 2], [0, 1], [], [0]]
    assert neighbours.sizes.tolist() == [3, 2, 2, 0, 1]


def test_only_neighbours_are_drawn_as_many_as_asked_for():
    graph = random_graph(0)
    neighbours = Neighbours.of(graph.n_nodes, graph.intra)
    nodes = np.random.default_rng(0).integers(graph.n_nodes, size=200)  # some twice
    drawn = neighbours.draw(nodes, 25, np.random.default_rng(1))
    assert drawn.sizes.tolist() == np.where(graph.degree[nodes] > 0, 25, 0).tolist()
    everyone = lists(neighbours)
    assert all(set(some) <= set(everyone[node]) for node, some in zip(nodes, lists(drawn), strict=True))


def test_a_node_without_neighbours_gets_an_empty_list_wherever_it_stands():
    neighbours = Neighbours.of(5, STAR)
    drawn = lists(neighbours.draw(np.array([3, 4, 3, 3, 1, 3]), 2, np.random.default_rng(0)))
    assert [len(some) for some in drawn] == [0, 2, 0, 0, 2, 0]
    assert drawn[1] == [0, 0]
    assert lists(neighbours.draw(np.array([3]), 4, np.random.default_rng(0))) == [[]]
    assert Neighbours.of(2, STAR[:0]).draw(np.array([0, 1]), 3, np.random.default_rng(0)).members.shape == (0,)


def test_neighbours_are_drawn_uniformly_and_again_and_again():
    drawn = Neighbours.of(5, STAR).draw(np.zeros(3000, dtype=int), 10, np.random.default_rng(0))
    _, counts = np.unique(drawn.members, return_counts=True)
    assert len(counts) == 3
    assert abs(counts - 10_000).max() < 5 * np.sqrt(30_000 * 1 / 3 * 2 / 3)
    repeated = [len(set(some)) < len(some) for some in lists(drawn)]
    assert all(repeated)  # ten of three: with replacement
    # Draws do not hang together: pairs of them are as often equal as chance says.
    first, second = drawn.members.reshape(-1, 10)[:, :2].T
    assert abs((first == second).mean() - 1 / 3) < 5 * np.sqrt(1 / 3 * 2 / 3 / 3000)


def test_same_generator_same_draw():
    neighbours = Neighbours.of(5, STAR)
    nodes = np.arange(5)
    first, again = (neighbours.draw(nodes, 7, np.random.default_rng(3)).members for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, neighbours.draw(nodes, 7, np.random.default_rng(4)).members)
