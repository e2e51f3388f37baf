"""Short walks against a slow dense definition, and how large parts of a sparse product become."""

import numpy as np
import pytest
from scipy import sparse

from mpxgat.models.evidence import walks as walks_module
from mpxgat.models.evidence.walks import (
    WalkSimilarity,
    at_rows,
    csr_rows,
    entries_kept,
    joint_step,
    one_step,
    parts_of_like_length,
    parts_of_like_sum,
    products_per_row,
    short_walks,
    stacked,
    unit_length,
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
    assert found.visits.toarray() == pytest.approx(plain["joint_far"], abs=1e-12)
    assert set(found.weighted) == set(plain)
    for name, rows in found.weighted.items():
        assert rows.shape == (graph.n_nodes, graph.n_units)
        assert rows.toarray() == pytest.approx(slow_weighted(graph, plain[name]), abs=1e-12)


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
    assert [rows.shape for rows in (found.visits, *found.weighted.values())] == [(0, 0)] * 5


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
        assert rows.has_sorted_indices


def test_twice_as_many_entries_of_two_and_three_steps_are_kept():
    """On a tree, walks of even and of odd length end at different nodes, so that ``visits`` shows both apart."""
    rng = np.random.default_rng(5)
    graph = graph_of(*(f"x.n{node:02d} x.n{rng.integers(node):02d}" for node in range(1, 40)))
    largest = 2
    step = slow_step(graph)
    depth = np.zeros(graph.n_nodes, dtype=int)
    for node in range(1, graph.n_nodes):  # a node's parent stands before it
        depth[node] = depth[min(neighbours_of(graph)[node])] + 1
    even = (depth[:, None] + depth) % 2 == 0
    visits = short_walks(graph, largest=largest).visits.toarray()
    two = np.where(even, visits, 0) / 0.6
    three = (np.where(even, 0, visits) - step) / 0.36
    three[three < 1e-12] = 0
    assert (two > 0).sum(axis=1).max() == (three > 0).sum(axis=1).max() == 2 * largest
    for found, exact in ((two, step @ step), (three, step @ two)):
        assert ((exact > 0).sum(axis=1) > 2 * largest).any()
        for values, expected in zip(positive_values(found), largest_values(exact, 2 * largest), strict=True):
            assert values == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("height", [1, 5])
def test_products_in_parts_are_the_whole(monkeypatch, height):
    graph = GRAPHS["three layers"]
    whole = short_walks(graph, largest=6)
    monkeypatch.setattr(walks_module, "_CELLS", height * graph.n_units)
    parts = short_walks(graph, largest=6)
    assert np.array_equal(parts.visits.toarray(), whole.visits.toarray())
    for name, rows in parts.weighted.items():
        assert np.array_equal(rows.toarray(), whole.weighted[name].toarray())


ROWS = sparse.csr_array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])


def test_rows_are_scaled_to_length_one_and_empty_ones_stay_empty():
    assert unit_length(ROWS).toarray() == pytest.approx(np.array([[0.6, 0.8], [0, 0], [0, -1]]))


def test_pairs_are_compared_by_overlap_and_cosine():
    pairs = PairList(np.array([[0, 0], [0, 1], [0, 2]]))
    [(name, overlap, cosine)] = WalkSimilarity({"near": ROWS}).of(pairs)
    assert name == "near"
    assert overlap.tolist() == [25.0, 0.0, -8.0]
    assert cosine == pytest.approx([1.0, 0.0, -0.8])


def test_large_networks_keep_fewer_entries():
    assert [entries_kept(n) for n in (0, 10, 100_000, 200_000, 400_000, 10**8)] == [128, 128, 128, 64, 32, 32]


# ---- sparse matrices made some rows at a time ------------------------------------------------------------


def test_a_row_has_no_more_entries_than_products():
    rng = np.random.default_rng(0)
    left, right = (sparse.csr_array(rng.random(shape) * (rng.random(shape) < 0.3)) for shape in ((9, 7), (7, 8)))
    counts = products_per_row(left, right)
    slow = [sum(int((right.toarray()[k] != 0).sum()) for k in np.flatnonzero(row)) for row in left.toarray()]
    assert counts.tolist() == slow
    assert (counts >= np.diff(sparse.csr_array(left @ right).indptr)).all()


def test_parts_are_all_rows_in_order_and_none_is_much_too_large():
    counts = np.random.default_rng(1).integers(0, 30, 200)
    parts = list(parts_of_like_sum(counts, 50))
    assert np.concatenate([np.arange(200)[part] for part in parts]).tolist() == list(range(200))
    assert len(parts) > 10
    assert all(counts[part][1:].sum() <= 50 for part in parts)
    assert list(parts_of_like_sum(np.zeros(0, dtype=np.int64), 50)) == [slice(0, 0)]
    assert list(parts_of_like_sum(np.zeros(3, dtype=np.int64), 50)) == [slice(0, 3)]


def test_parts_of_like_length_are_all_rows_and_keep_to_the_cells():
    lengths = np.sort(np.random.default_rng(1).integers(0, 30, 200))
    parts = list(parts_of_like_length(lengths, 50))
    assert np.concatenate([np.arange(200)[part] for part in parts]).tolist() == list(range(200))
    filled = [len(lengths[part]) * lengths[part].max() for part in parts]
    assert all(cells <= 50 or len(lengths[part]) == 1 for cells, part in zip(filled, parts, strict=True))
    assert len(parts) < 100
    assert list(parts_of_like_length(lengths[:0], 50)) == []


def test_parts_are_put_one_below_the_other():
    whole = sparse.csr_array(np.random.default_rng(2).random((7, 4)) > 0.5).astype(np.float64)
    found = stacked(whole[part] for part in (slice(0, 3), slice(3, 3), slice(3, 7)))
    assert (found != whole).nnz == 0
    assert found.shape == whole.shape


def test_indices_are_no_longer_than_needed():
    """Whatever the numbers came as; a matrix with more columns than 32 bits count keeps 64."""
    data, columns, counts = np.ones(3), np.array([0, 2, 1], dtype=np.int64), np.array([1, 0, 2])
    found = csr_rows(data, columns, counts, 3)
    assert found.toarray().tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 1]]
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert csr_rows(data, columns, counts, 2**31).indices.dtype == np.int64


def test_rows_are_put_at_their_places():
    rows = sparse.csr_array(np.array([[1.0, 0, 2], [0, 3, 0]]))
    found = at_rows(rows, np.array([1, 3]), 5)
    assert found.toarray().tolist() == [[0, 0, 0], [1, 0, 2], [0, 0, 0], [0, 3, 0], [0, 0, 0]]
