"""The most similar rows of two sets, by the cosine of sparse rows or of dense ones; in bounded time and memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from mpxgat.kernels import largest_of_product
from mpxgat.pairs import FloatArray, Values
from mpxgat.system import side_by_side

_CELLS_AT_ONCE = 1 << 23  # of a dense product
_DENSE = 0.2  # of entries not 0, from which a dense product is quicker
_LOOKED_AT = 1 << 14  # entries of the other side that a row may meet


def scaled_rows(rows: sparse.csr_array, values: Values) -> sparse.csr_array:
    """Rows (n, d) that have other values in the places of these, of length 1 each; they share the places."""
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    length = np.sqrt(np.bincount(row, values * values, minlength=rows.shape[0]))
    return sparse.csr_array((values / length[row], rows.indices, rows.indptr), shape=rows.shape)


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

    with threadpool_limits(1, user_api="blas"):  # several threads would add in another order
        blocks = side_by_side(of_block, range(0, len(left), step))
    nothing = np.empty(0, dtype=np.int64)
    rows, cols = (np.concatenate([nothing, *found]) for found in zip(*blocks, strict=True))
    return rows, cols


# ---- from values to the nodes that have them -------------------------------------------------------------


def nodes_of_values(
    row: NDArray[np.int64],
    col: NDArray[np.int64],
    similar: Values,
    our_value: NDArray[np.int64],
    their_value: NDArray[np.int64],
    k: int,
) -> NDArray[np.int64]:
    """Keys of pairs of nodes, up to k for every node of either side, the most similar first.

    row, col        (p,) pairs of values, none twice, and ``similar`` (p,) how much they are so
    our_value       (r,) of every node, and ``their_value`` (c,)
    """
    ours, theirs = _first_nodes(row, col, similar, our_value, their_value, k)
    their_back, our_back = _first_nodes(col, row, similar, their_value, our_value, k)
    width = len(their_value)
    return np.concatenate([ours * width + theirs, our_back * width + their_back])


def _first_nodes(
    row: NDArray[np.int64],
    col: NDArray[np.int64],
    similar: Values,
    our_value: NDArray[np.int64],
    their_value: NDArray[np.int64],
    k: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of every node the k first nodes that have the values most similar to its own.

    Of a value that more nodes have than there is room for, nodes of one value take different ones.
    """
    order = np.lexsort((col, -similar, row))
    row, col = row[order], col[order]
    ours, theirs = _Members.of(our_value), _Members.of(their_value)
    size = theirs.size(col)
    end = np.cumsum(size)
    first_of_row = np.searchsorted(row, row)
    room = k - (end - size) + (end - size)[first_of_row]
    kept = room > 0
    row, col, size = row[kept], col[kept], size[kept]
    taken = np.minimum(size, room[kept])
    one = np.repeat(np.arange(len(row)), ours.size(row))  # a pair of values for every node of the first
    rank = np.arange(len(one)) - np.repeat(np.cumsum(ours.size(row)) - ours.size(row), ours.size(row))
    pair = np.repeat(np.arange(len(one)), taken[one])
    step = np.arange(len(pair)) - np.repeat(np.cumsum(taken[one]) - taken[one], taken[one])
    value = one[pair]
    place = (rank[pair] * taken[value] + step) % size[value]
    return ours.member(row[value], rank[pair]), theirs.member(col[value], place)


@dataclass(frozen=True, eq=False)
class _Members:
    """The nodes that have a value, by value: ``order`` from ``start[value]`` on."""

    order: NDArray[np.int64]
    start: NDArray[np.int64]

    @classmethod
    def of(cls, value: NDArray[np.int64]) -> _Members:
        return cls(np.argsort(value, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(value))]))

    def size(self, value: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many nodes have a value."""
        sizes: NDArray[np.int64] = self.start[value + 1] - self.start[value]
        return sizes

    def member(self, value: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """One of these nodes."""
        nodes: NDArray[np.int64] = self.order[self.start[value] + place]
        return nodes


def equal_nodes(our_value: NDArray[np.int64], their_value: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Keys of pairs of nodes that have one value (r,) and (c,), where at most k nodes of one side have it.

    A value that more nodes have on both sides proposes nothing: it says little.
    """
    values = int(max(our_value.max(), their_value.max())) + 1
    fewer = np.minimum(*(np.bincount(each, minlength=values) for each in (our_value, their_value)))
    wanted = np.flatnonzero((fewer > 0) & (fewer <= k))
    ours, theirs = _Members.of(our_value), _Members.of(their_value)
    width, cells = theirs.size(wanted), ours.size(wanted) * theirs.size(wanted)
    of_value = np.repeat(np.arange(len(wanted)), cells)
    cell = np.arange(len(of_value)) - np.repeat(np.cumsum(cells) - cells, cells)
    row, col = np.divmod(cell, width[of_value])
    value = wanted[of_value]
    return ours.member(value, row) * len(their_value) + theirs.member(value, col)


def nearest_nodes(our_number: Values, their_number: Values, k: int) -> NDArray[np.int64]:
    """Keys of pairs of nodes: the k of the other side whose number lies nearest, of every node of either side."""
    ours, theirs = _nearest(our_number, their_number, k)
    their_back, our_back = _nearest(their_number, our_number, k)
    width = len(their_number)
    return np.concatenate([ours * width + theirs, our_back * width + their_back])


def _nearest(numbers: Values, others: Values, k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The k nearest are in a row when sorted: their first place is found by halving."""
    k = min(k, len(others))
    order = np.argsort(others, kind="stable")
    ascending = others[order]
    low, high = np.zeros(len(numbers), dtype=np.int64), np.full(len(numbers), len(others) - k, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        last = np.minimum(middle + k, len(others) - 1)
        further = (low < high) & (numbers - ascending[middle] > ascending[last] - numbers)
        high = np.where(further, high, middle)
        low = np.where(further, middle + 1, low)
    rows = np.repeat(np.arange(len(numbers)), k)
    return rows, order[(low[:, None] + np.arange(k)).ravel()]
