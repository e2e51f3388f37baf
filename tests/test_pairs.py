"""Links in canonical form, known units, and pairs as a list and as a grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mpxgat import pairs as pairs_module
from mpxgat.pairs import (
    FORWARD,
    KnownUnits,
    PairGrid,
    PairList,
    arcs_of,
    canonical_arcs,
    canonical_links,
    label_components,
    links_among,
    pair_keys,
    row_parts,
    symmetric_matrix,
)
from tests.examples import graph_of, random_graph
from tests.matching.doubles import are_apart, is_open, some_apart

steady = settings(max_examples=40, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_canonical_form_is_that_of_a_dictionary_of_pairs(weighted):
    rng = np.random.default_rng(0)
    pairs, weight = rng.integers(9, size=(60, 2)), rng.random(60)
    expected: dict[tuple[int, int], float] = {}
    for (u, v), value in zip(pairs.tolist(), weight.tolist(), strict=True):
        if u != v:
            pair = (min(u, v), max(u, v))
            expected[pair] = max(value, expected.get(pair, 0.0))
    links, weights = canonical_links(pairs, weight if weighted else None, 9)
    assert [tuple(link) for link in links.tolist()] == sorted(expected)
    assert (None if weights is None else weights.tolist()) == (
        [expected[pair] for pair in sorted(expected)] if weighted else None
    )


def test_no_links_have_a_canonical_form():
    links, weight = canonical_links(np.array([[1, 1]]), np.array([2.0]), 3)
    assert links.shape == (0, 2)
    assert weight is None


def test_keys_of_pairs_ignore_direction_and_sort_as_pairs_do():
    assert pair_keys(np.array([[0, 1], [3, 0], [1, 2], [2, 1]]), 4).tolist() == [1, 3, 6, 6]
    far = 100_000  # beyond what 32 bits hold
    assert pair_keys(np.array([[far - 1, far - 2]], dtype=np.int32), far).tolist() == [(far - 2) * far + far - 1]


def test_links_among_some_nodes_are_renumbered():
    keep = np.array([True, False, True, True])
    links = np.array([[0, 1], [0, 2], [2, 3]], dtype=np.int32)
    kept, weight = links_among(links, np.array([1.0, 2.0, 3.0]), keep, np.cumsum(keep) - 1)
    assert kept.tolist() == [[0, 1], [1, 2]]
    assert weight.tolist() == [2, 3]


def test_a_matrix_of_links_is_symmetric():
    matrix = symmetric_matrix(np.array([[0, 2], [1, 2]]), np.array([5.0, 7.0]), 3)
    assert matrix.toarray().tolist() == [[0, 0, 5], [0, 0, 7], [5, 7, 0]]
    assert matrix.dtype == np.float32


def test_components_are_numbered_by_their_first_node():
    assert label_components(np.array([[1, 4], [0, 3]]), 5).tolist() == [0, 1, 2, 0, 1]


# ---- known units -----------------------------------------------------------------------------------------


UNITS = {
    "three layers": random_graph(31, people=25, known=0.6),
    "no inter link": random_graph(34, people=15, known=0),
    "some apart": some_apart(random_graph(31, people=25, known=0.6), 40),
    "apart without inter links": some_apart(random_graph(34, people=15, known=0), 30),
    "many layers": graph_of(*(f"{n:03d}.a {n:03d}.b" for n in range(130)), "000.a 129.b", "064.a 129.a", "000.b 063.b"),
}


@pytest.mark.parametrize("graph", UNITS.values(), ids=UNITS)
def test_a_pair_is_one_unit_or_cannot_be_or_is_open(graph):
    units, nodes = KnownUnits.of(graph), np.arange(graph.n_nodes)
    same, clash, decided = (ask(nodes[:, None], nodes[None, :]) for ask in (units.same, units.clash, units.decided))
    assert np.array_equal(same, graph.unit[:, None] == graph.unit)
    assert np.array_equal(decided, same | clash)
    assert not (same & clash).any()
    rng = np.random.default_rng(0)
    for first, second in rng.integers(graph.n_nodes, size=(200, 2)).tolist():
        assert decided[first, second] == (not is_open(graph, first, second))
        obstacle, said = units.obstacle(first, second), units.said_of(first, second)
        assert (obstacle is not None or said is not None) == clash[first, second]
        assert (said is not None) == are_apart(graph, graph.unit, first, second)
        if said is not None:
            assert list(said) in graph.apart.tolist()
            assert {*graph.unit[list(said)]} == {*graph.unit[[first, second]]}
        if obstacle is not None:
            assert graph.unit[list(obstacle)].tolist() == graph.unit[[first, second]].tolist()
            assert graph.node_layer[obstacle[0]] == graph.node_layer[obstacle[1]]
    listed = np.argwhere(np.ones_like(same))[::7]
    for ask in (units.decided, units.apart, units.share_layer):
        assert np.array_equal(ask(*listed.T), ask(nodes[:, None], nodes[None, :])[tuple(listed.T)])


@pytest.mark.parametrize("graph", UNITS.values(), ids=UNITS)
def test_a_counterpart_is_known_where_the_unit_has_a_node(graph):
    units = KnownUnits.of(graph)
    for layer in range(graph.n_layers):
        there = np.isin(graph.unit, graph.unit[graph.layer_nodes(layer)])
        assert np.array_equal(units.has_node_in(layer), there)


@pytest.mark.parametrize(("layers", "dtype", "words"), [(2, "uint8", 1), (9, "uint16", 1), (65, "uint64", 2)])
def test_a_word_is_no_longer_than_the_layers_need(layers, dtype, words):
    units = KnownUnits.of(graph_of(*(f"{n:03d}.a {n:03d}.b" for n in range(layers))))
    assert [word.dtype for word in units.layers] == [np.dtype(dtype)] * words


# ---- lists and grids -------------------------------------------------------------------------------------


def sparse_rows(n, width, density, rng):
    dense = rng.normal(size=(n, width)) * (rng.random((n, width)) < density)
    dense[rng.random(n) < 0.3] = 0  # empty rows
    dense[:, rng.random(width) < 0.3] = 0  # empty columns
    return dense


@st.composite
def grids(draw):
    """Two dense matrices of sparse rows, and the rows and columns of a grid, some of them twice or none at all."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, width = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    density = draw(st.sampled_from([0.0, 0.2, 1.0]))
    left, right = (sparse_rows(n, width, density, rng) for _ in range(2))
    rows, cols = (rng.integers(n, size=draw(st.integers(0, 7))) for _ in range(2))
    return left, right, rows, cols


@steady
@given(grid=grids())
def test_list_and_grid_give_the_products_of_the_rows(grid):
    left, right, rows, cols = grid
    as_grid = PairGrid(rows, cols)
    as_list = PairList(np.array([(i, j) for i in rows for j in cols], dtype=np.int64).reshape(-1, 2))
    ends = np.broadcast_arrays(as_grid.first, as_grid.second)
    assert [end.ravel().tolist() for end in ends] == [as_list.first.tolist(), as_list.second.tolist()]
    assert as_grid.shape == (len(rows), len(cols))
    expected = [left[i] @ right[j] for i in rows for j in cols]
    for pairs in (as_grid, as_list):
        overlap = pairs.overlap(sparse.csr_array(left), sparse.csr_array(right))
        assert overlap.shape == pairs.shape
        assert overlap.ravel() == pytest.approx(expected, abs=1e-12)


@steady
@given(grid=grids())
def test_list_and_grid_give_the_dot_products_of_vectors(grid):
    vectors, _, rows, cols = grid
    vectors = vectors.astype(np.float32)
    expected = [vectors[i].astype(np.float64) @ vectors[j].astype(np.float64) for i in rows for j in cols]
    listed = np.array([(i, j) for i in rows for j in cols], dtype=np.int64).reshape(-1, 2)
    for pairs in (PairGrid(rows, cols), PairList(listed)):
        assert pairs.dots(vectors).ravel() == pytest.approx(expected, abs=1e-12)


def test_one_pair():
    rows = sparse.csr_array([[0.0, 2.0, 3.0], [5.0, 0.0, 7.0]])
    for pairs in (PairList(np.array([[0, 1]])), PairGrid(np.array([0]), np.array([1]))):
        assert pairs.overlap(rows, rows).ravel().tolist() == [21.0]
        assert pairs.dots(rows.toarray().astype(np.float32)).ravel().tolist() == [21.0]


def test_a_long_list_is_read_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    dense = sparse_rows(20, 5, 0.5, rng)
    pairs = PairList(rng.integers(20, size=(11, 2)))
    whole = pairs.dots(dense.astype(np.float32))
    monkeypatch.setattr(pairs_module, "_NUMBERS_AT_ONCE", 20)
    assert np.array_equal(pairs.dots(dense.astype(np.float32)), whole)


@steady
@given(count=st.integers(0, 40), width=st.integers(0, 12), cells=st.integers(1, 50))
def test_parts_cover_every_row_once_and_keep_to_the_cells(count, width, cells):
    rows = np.arange(count) + 100
    parts = [rows[part] for part in row_parts(rows, width, cells)]
    assert [row for part in parts for row in part] == rows.tolist()
    assert all(len(part) == 1 or 1 < len(part) * max(width, 1) <= cells for part in parts)
    # No part is smaller than it must be, but the last.
    assert all((len(part) + 1) * max(width, 1) > cells for part in parts[:-1])


# ---- direction -------------------------------------------------------------------------------------------

ARC = st.tuples(st.integers(0, 6), st.integers(0, 6))


@given(st.lists(ARC, max_size=25))
def test_canonical_arcs_say_what_the_arcs_said(listed):
    pairs = np.array(listed, dtype=np.int32).reshape(-1, 2)
    links, _ = canonical_links(pairs, None, 7)
    ways = canonical_arcs(pairs, np.full(len(pairs), FORWARD, dtype=np.uint8), 7)
    ends, row = arcs_of(links, ways)
    assert set(map(tuple, ends.tolist())) == {(one, other) for one, other in listed if one != other}
    assert len(ends) == len(set(map(tuple, ends.tolist())))
    assert np.array_equal(np.sort(ends, axis=1), links[row])
