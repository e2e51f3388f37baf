"""Pairs as a list and as a grid are read in the same way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mpxgat.models.evidence import features as pairs_module
from mpxgat.models.evidence.features import PairGrid, PairList, row_parts

steady = settings(max_examples=40, deadline=None, derandomize=True, database=None)


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
    assert as_grid.first.tolist() == as_list.first.tolist()
    assert as_grid.second.tolist() == as_list.second.tolist()
    expected = [left[i] @ right[j] for i in rows for j in cols]
    for pairs in (as_grid, as_list):
        overlap = pairs.overlap(sparse.csr_array(left), sparse.csr_array(right))
        assert overlap.shape == (len(rows) * len(cols),)
        assert overlap == pytest.approx(expected, abs=1e-12)


@steady
@given(grid=grids())
def test_list_and_grid_give_the_dot_products_of_vectors(grid):
    vectors, _, rows, cols = grid
    vectors = vectors.astype(np.float32)
    expected = [vectors[i].astype(np.float64) @ vectors[j].astype(np.float64) for i in rows for j in cols]
    listed = np.array([(i, j) for i in rows for j in cols], dtype=np.int64).reshape(-1, 2)
    for pairs in (PairGrid(rows, cols), PairList(listed)):
        assert pairs.dots(vectors) == pytest.approx(expected, abs=1e-12)


def test_one_pair():
    rows = sparse.csr_array([[0.0, 2.0, 3.0], [5.0, 0.0, 7.0]])
    for pairs in (PairList(np.array([[0, 1]])), PairGrid(np.array([0]), np.array([1]))):
        assert pairs.overlap(rows, rows).tolist() == [21.0]
        assert pairs.dots(rows.toarray().astype(np.float32)).tolist() == [21.0]


def test_a_long_list_is_read_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    dense = sparse_rows(20, 5, 0.5, rng)
    pairs = PairList(rng.integers(20, size=(11, 2)))
    whole = pairs.overlap(sparse.csr_array(dense), sparse.csr_array(dense)), pairs.dots(dense.astype(np.float32))
    monkeypatch.setattr(pairs_module, "_PAIRS_AT_ONCE", 4)
    assert np.array_equal(pairs.overlap(sparse.csr_array(dense), sparse.csr_array(dense)), whole[0])
    assert np.array_equal(pairs.dots(dense.astype(np.float32)), whole[1])


@steady
@given(count=st.integers(0, 40), width=st.integers(0, 12), cells=st.integers(1, 50))
def test_parts_cover_every_row_once_and_keep_to_the_cells(count, width, cells):
    rows = np.arange(count) + 100
    parts = [rows[part] for part in row_parts(rows, width, cells)]
    assert [row for part in parts for row in part] == rows.tolist()
    assert all(len(part) == 1 or 1 < len(part) * max(width, 1) <= cells for part in parts)
    # No part is smaller than it must be, but the last.
    assert all((len(part) + 1) * max(width, 1) > cells for part in parts[:-1])
