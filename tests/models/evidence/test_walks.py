"""Short walks against a slow dense definition, and how large parts of a sparse product become."""

import numpy as np
import pytest
from scipy import sparse

from mpxgat.models.evidence.walks import (
    WalkSimilarity,
    entries_kept,
    joint_step,
    one_step,
    short_walks,
)
from mpxgat.pairs import PairList, unit_matrix
from tests.examples import graph_of, random_graph
from tests.models.evidence.graphs import GRAPHS, copies_of, neighbours_of

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def slow_step(graph):
    near = neighbours_of(graph)
    step = np.zeros((graph.n_nodes, graph.n_nodes))
    for i, there in enumerate(near):
        for j in there:
            step[i, j] = 1 / len(there)
    return step


def slow_joint_step(graph):
    step = slow_step(graph)
    return np.array([np.mean([step[copy] for copy in copies], axis=0) for copies in copies_of(graph)])


def slow_units(graph):
    units = np.zeros((graph.n_nodes, graph.n_units))
    for node, unit in enumerate(graph.unit):
        units[node, unit] = 1
    return units


def slow_walks(graph):
    """Plain rows by name, nothing cut off."""
    step, joint, units = slow_step(graph), slow_joint_step(graph), slow_units(graph)
    return {
        "near": step @ units,
        "joint": joint @ units,
        "far": step @ units + 0.6 * step @ step @ units,
        "joint_far": joint @ units + 0.6 * joint @ joint @ units + 0.36 * joint @ joint @ joint @ units,
    }


def slow_weighted(graph, plain):
    """Own unit left out, then every column divided by the root of its sum."""
    weighted = plain.copy()
    for node, unit in enumerate(graph.unit):
        weighted[node, unit] = 0
    for column in range(graph.n_units):
        total = weighted[:, column].sum()
        if total > 0:
            weighted[:, column] /= np.sqrt(total)
    return weighted


@every_graph
def test_steps_follow_the_definition(graph):
    assert unit_matrix(graph).toarray() == pytest.approx(slow_units(graph))
    assert one_step(graph).toarray() == pytest.approx(slow_step(graph))
    assert joint_step(graph).toarray() == pytest.approx(slow_joint_step(graph))


@every_graph
def test_walks_follow_the_definition(graph):
    found, plain = short_walks(graph, largest=10_000), slow_walks(graph)
    assert found.visits[np.arange(graph.n_nodes)].toarray() == pytest.approx(plain["joint_far"], abs=1e-6)
    assert set(found.weighted) == set(plain)
    for name, rows in found.weighted.items():
        assert rows.shape == (graph.n_nodes, graph.n_units)
        assert rows.toarray() == pytest.approx(slow_weighted(graph, plain[name]), abs=1e-6)


@every_graph
def test_a_nodes_own_unit_is_no_part_of_its_row(graph):
    for rows in short_walks(graph, largest=5).weighted.values():
        for node in range(graph.n_nodes):
            assert graph.unit[node] not in rows[[node]].indices
        assert (rows.data > 0).all()


def test_a_node_without_neighbours_visits_those_of_its_copies():
    graph = graph_of("x.a x.b", "y.a y.a", "x.a y.a", "y.c y.c")
    b = graph.unit[graph.index("b", "x")]
    weighted = short_walks(graph).weighted
    alone, nobody = graph.index("a", "y"), graph.index("c", "y")
    assert weighted["near"][[alone]].nnz == 0
    assert weighted["joint"][[alone]].indices.tolist() == [b]
    assert all(rows[[nobody]].nnz == 0 for rows in weighted.values())


def test_an_empty_graph_has_empty_walks():
    graph = random_graph(0).subgraph(np.empty(0, dtype=int))
    found = short_walks(graph)
    assert [rows.shape for rows in found.weighted.values()] == [(0, 0)] * 4
    assert found.visits[np.empty(0, dtype=int)].shape == (0, 0)


# ---- what is cut off -------------------------------------------------------------------------------------


def largest_values(dense, count):
    """The largest positive values of each row, ascending; ties do not matter."""
    return [np.sort(row[row > 0])[-count:] for row in dense]


def positive_values(dense):
    return [np.sort(row[row > 0]) for row in dense]


@pytest.mark.parametrize("largest", [1, 3])
def test_the_largest_entries_of_a_row_are_kept(largest):
    graph = GRAPHS["four dense layers"]
    whole = short_walks(graph, largest=10_000).weighted
    cut = short_walks(graph, largest=largest).weighted
    assert max(np.diff(whole["near"].indptr)) > largest
    for name in ("near", "joint"):  # the others are sums of parts that are cut off themselves
        all_values, kept = whole[name].toarray(), cut[name].toarray()
        assert np.array_equal(kept[kept > 0], all_values[kept > 0])
        for found, expected in zip(positive_values(kept), largest_values(all_values, largest), strict=True):
            assert np.array_equal(found, expected)
    for rows in cut.values():
        assert (np.diff(rows.indptr) <= largest).all()


def test_a_third_step_goes_on_from_twice_as_many_entries_of_the_second():
    """On a tree, walks of even and of odd length end at different nodes, so that ``visits`` shows both apart."""
    rng = np.random.default_rng(5)
    graph = graph_of(*(f"x.n{node:02d} x.n{rng.integers(node):02d}" for node in range(1, 40)))
    largest = 2
    step = slow_step(graph)
    depth = np.zeros(graph.n_nodes, dtype=int)
    for node in range(1, graph.n_nodes):  # a node's parent stands before it
        depth[node] = depth[min(neighbours_of(graph)[node])] + 1
    even = (depth[:, None] + depth) % 2 == 0
    visits = short_walks(graph, largest=largest).visits
    seen = visits[np.arange(graph.n_nodes)].toarray()
    two = step @ step
    assert np.where(even, seen, 0) == pytest.approx(0.6 * two, abs=1e-6)
    kept = np.where(even, visits.right.toarray(), 0) - np.eye(graph.n_nodes)
    assert ((two > 0).sum(axis=1) > 2 * largest).any()
    for values, expected in zip(positive_values(kept), largest_values(0.36 * two, 2 * largest), strict=True):
        assert values[values > 1e-9] == pytest.approx(expected, abs=1e-6)


ROWS = sparse.csr_array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])


def test_pairs_are_compared_by_overlap_and_cosine():
    pairs = PairList(np.array([[0, 0], [0, 1], [0, 2]]))
    [(name, overlap, cosine)] = WalkSimilarity({"near": ROWS}).of(pairs)
    assert name == "near"
    assert overlap.tolist() == [25.0, 0.0, -8.0]
    assert cosine == pytest.approx([1.0, 0.0, -0.8])


def test_large_networks_keep_fewer_entries():
    assert [entries_kept(n) for n in (0, 10, 100_000, 200_000, 400_000, 10**8)] == [128, 128, 128, 64, 32, 32]
