"""How large parts of a sparse product become."""

import numpy as np
from scipy import sparse

from mpxgat.models.evidence.walks import at_rows, csr_rows, parts_of_like_sum, products_per_row, stacked


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
