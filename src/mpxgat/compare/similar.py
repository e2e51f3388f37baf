"""The most similar rows of two sets, by the cosine of sparse rows or of dense ones; in bounded time and memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.kernels import largest_of_product
from mpxgat.pairs import FloatArray
from mpxgat.system import side_by_side

_CELLS_AT_ONCE = 1 << 23  # of a dense product
_DENSE = 0.2  # of entries not 0, from which a dense product is quicker
_LOOKED_AT = 1 << 15  # entries of the other side that a row may meet


def scaled_rows(rows: sparse.csr_array) -> sparse.csr_array:
    """Rows (n, d) of length 1, but for those that are all 0."""
    length = np.sqrt(np.asarray((rows * rows).sum(axis=1)).ravel())
    over = np.divide(1, length, out=np.zeros_like(length, dtype=np.float64), where=length > 0)
    return sparse.csr_array(sparse.diags_array(over) @ rows)


def most_alike(left: sparse.csr_array, right: sparse.csr_array, k: int) -> NDArray[np.int64]:
    """Keys row * c + column of the k largest products above 0 of every row of left (r, d), and of right (c, d).

    None of the entries lies below 0. Where a row meets very many entries of the other side, its commonest columns are
    passed over. In any order, some twice.
    """
    cells = left.shape[0] * left.shape[1] + right.shape[0] * right.shape[1]
    if left.nnz + right.nnz > _DENSE * cells:
        return most_alike_dense(left.astype(np.float32).toarray(), right.astype(np.float32).toarray(), k)
    forward = largest_of_product(_rarest(left, right), right.T.tocsr(), k).tocoo()
    backward = largest_of_product(_rarest(right, left), left.T.tocsr(), k).tocoo()
    width = right.shape[0]
    return np.concatenate(
        [forward.row.astype(np.int64) * width + forward.col, backward.col.astype(np.int64) * width + backward.row]
    )


def _rarest(rows: sparse.csr_array, others: sparse.csr_array) -> sparse.csr_array:
    """Rows with their rarest columns only, as many as together meet a bounded number of the others' entries.

    At least one each. Of columns as common as each other, the ones that weigh most in the row come first.
    """
    common = np.bincount(others.indices, minlength=others.shape[1])[rows.indices]
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((-rows.data, common, row))
    met = np.cumsum(common[order])
    begin = rows.indptr[:-1][row]  # where the row of an entry begins, before and after: it stays in its row
    before = np.concatenate([[0], met])[begin]
    kept = (met - before <= _LOOKED_AT) | (np.arange(len(order)) == begin)
    entries = order[kept]
    counts = np.bincount(row[entries], minlength=rows.shape[0])
    starts = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((rows.data[entries], rows.indices[entries], starts), shape=rows.shape)


def most_alike_dense(left: FloatArray, right: FloatArray, k: int) -> NDArray[np.int64]:
    """As `most_alike`, of dense rows, whose entries may lie below 0."""
    left, right = (rows.astype(np.float32, copy=False) for rows in (left, right))
    row, col = _largest_dense(left, right, k)
    back_col, back_row = _largest_dense(right, left, k)
    return np.concatenate([row * len(right) + col, back_row * len(right) + back_col])


def _largest_dense(left: FloatArray, right: FloatArray, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the k largest products above 0 of every row of left."""
    k = min(k, len(right))
    step = max(1, _CELLS_AT_ONCE // max(len(right), 1))

    def of_block(start: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        products = left[start : start + step] @ right.T
        best = np.argpartition(products, -k, axis=1)[:, -k:]
        row, place = np.nonzero(np.take_along_axis(products, best, axis=1) > 0)
        return row + start, best[row, place]

    blocks = side_by_side(of_block, range(0, len(left), step))
    nothing = np.empty(0, dtype=np.int64)
    rows, cols = (np.concatenate([nothing, *found]) for found in zip(*blocks, strict=True))
    return rows, cols
