"""Profiles against a slow dense definition."""

import numpy as np
import pytest
from scipy import sparse

from mpxgat.models.evidence import walks as profiles_module
from mpxgat.models.evidence.features import PairList
from mpxgat.models.evidence.walks import Compared, entries_kept, joint_step, one_step, unit_length, walk_profiles
from mpxgat.pairs import unit_matrix
from tests.evidence.graphs import GRAPHS, copies_of, neighbours_of
from tests.examples import graph_of, random_graph

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


def slow_profiles(graph):
    """Plain profiles by name, nothing cut off."""
    step, joint, units = slow_step(graph), slow_joint_step(graph), slow_units(graph)
    return {
        "near": step @ units,
        "joint": joint @ units,
        "far": step @ units + 0.6 * step @ step @ units,
        "joint_far": joint @ units + 0.6 * joint @ joint @ units + 0.36 * joint @ joint @ joint @ units,
    }


def slow_rare(graph, plain):
    """Own unit left out, then every column divided by the root of its sum."""
    rare = plain.copy()
    for node, unit in enumerate(graph.unit):
        rare[node, unit] = 0
    for column in range(graph.n_units):
        total = rare[:, column].sum()
        if total > 0:
            rare[:, column] /= np.sqrt(total)
    return rare


@every_graph
def test_steps_follow_the_definition(graph):
    assert unit_matrix(graph).toarray() == pytest.approx(slow_units(graph))
    assert one_step(graph).toarray() == pytest.approx(slow_step(graph))
    assert joint_step(graph).toarray() == pytest.approx(slow_joint_step(graph))


@every_graph
def test_profiles_follow_the_definition(graph):
    found, plain = walk_profiles(graph, largest=10_000), slow_profiles(graph)
    assert found.met.toarray() == pytest.approx(plain["joint_far"], abs=1e-12)
    assert set(found.rare) == set(plain)
    for name, rows in found.rare.items():
        assert rows.shape == (graph.n_nodes, graph.n_units)
        assert rows.toarray() == pytest.approx(slow_rare(graph, plain[name]), abs=1e-12)


@every_graph
def test_a_nodes_own_unit_is_no_part_of_its_profile(graph):
    for rows in walk_profiles(graph, largest=5).rare.values():
        for node in range(graph.n_nodes):
            assert graph.unit[node] not in rows[[node]].indices
        assert (rows.data > 0).all()


def test_a_node_without_neighbours_meets_those_of_its_copies():
    graph = graph_of("x.a x.b", "y.a y.a", "x.a y.a", "y.c y.c")
    b = graph.unit[graph.index("b", "x")]
    rare = walk_profiles(graph).rare
    alone, nobody = graph.index("a", "y"), graph.index("c", "y")
    assert rare["near"][[alone]].nnz == 0
    assert rare["joint"][[alone]].indices.tolist() == [b]
    assert all(rows[[nobody]].nnz == 0 for rows in rare.values())


def test_an_empty_graph_has_empty_profiles():
    graph = random_graph(0).subgraph(np.empty(0, dtype=int))
    found = walk_profiles(graph)
    assert [rows.shape for rows in (found.met, *found.rare.values())] == [(0, 0)] * 5


# ---- what is cut off -------------------------------------------------------------------------------------


def largest_values(dense, count):
    """The largest positive values of each row, ascending; ties do not matter."""
    return [np.sort(row[row > 0])[-count:] for row in dense]


def positive_values(dense):
    return [np.sort(row[row > 0]) for row in dense]


@pytest.mark.parametrize("largest", [1, 3])
def test_the_largest_entries_of_a_profile_are_kept(largest):
    graph = GRAPHS["four dense layers"]
    whole = walk_profiles(graph, largest=10_000).rare
    cut = walk_profiles(graph, largest=largest).rare
    assert max(np.diff(whole["near"].indptr)) > largest
    for name in ("near", "joint"):  # the others are sums of parts that are cut off themselves
        all_values, kept = whole[name].toarray(), cut[name].toarray()
        assert np.array_equal(kept[kept > 0], all_values[kept > 0])
        for found, expected in zip(positive_values(kept), largest_values(all_values, largest), strict=True):
            assert np.array_equal(found, expected)
    for rows in cut.values():
        assert (np.diff(rows.indptr) <= largest).all()
        assert rows.has_sorted_indices


def test_twice_as_many_entries_of_two_and_three_steps_are_kept():
    """On a tree, walks of even and of odd length end at different nodes, so that ``met`` shows both apart."""
    rng = np.random.default_rng(5)
    graph = graph_of(*(f"x.n{node:02d} x.n{rng.integers(node):02d}" for node in range(1, 40)))
    largest = 2
    step = slow_step(graph)
    depth = np.zeros(graph.n_nodes, dtype=int)
    for node in range(1, graph.n_nodes):  # a node's parent stands before it
        depth[node] = depth[min(neighbours_of(graph)[node])] + 1
    even = (depth[:, None] + depth) % 2 == 0
    met = walk_profiles(graph, largest=largest).met.toarray()
    two = np.where(even, met, 0) / 0.6
    three = (np.where(even, 0, met) - step) / 0.36
    three[three < 1e-12] = 0
    assert (two > 0).sum(axis=1).max() == (three > 0).sum(axis=1).max() == 2 * largest
    for found, exact in ((two, step @ step), (three, step @ two)):
        assert ((exact > 0).sum(axis=1) > 2 * largest).any()
        for values, expected in zip(positive_values(found), largest_values(exact, 2 * largest), strict=True):
            assert values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("rows", [1, 5])
def test_products_in_parts_are_the_whole(monkeypatch, rows):
    graph = GRAPHS["three layers"]
    whole = walk_profiles(graph, largest=6)
    monkeypatch.setattr(profiles_module, "_CELLS", rows * graph.n_units)
    parts = walk_profiles(graph, largest=6)
    assert np.array_equal(parts.met.toarray(), whole.met.toarray())
    for name, profile in parts.rare.items():
        assert np.array_equal(profile.toarray(), whole.rare[name].toarray())


ROWS = sparse.csr_array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])


def test_rows_are_scaled_to_length_one_and_empty_ones_stay_empty():
    assert unit_length(ROWS).toarray() == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0, -1]]))


def test_pairs_are_compared_by_overlap_and_cosine():
    pairs = PairList(np.array([[0, 0], [0, 1], [0, 2]]))
    [(name, overlap, cosine)] = Compared({"near": ROWS}).of(pairs)
    assert name == "near"
    assert overlap.tolist() == [25.0, 0.0, -8.0]
    assert cosine == pytest.approx([1.0, 0.0, -0.8])


def test_large_networks_keep_fewer_entries():
    assert [entries_kept(n) for n in (0, 10, 100_000, 200_000, 400_000, 10**8)] == [128, 128, 128, 64, 32, 32]
