"""Loops over sparse rows and pairs that NumPy and SciPy would need many passes or large copies for; compiled by Numba.

Compiled loops are single-threaded, add in a fixed order and hold no lock, so that they can run side by side in threads.
They are compiled when they are first called and kept on disk, where that can be written to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from mpxgat.system import side_by_side

if TYPE_CHECKING:
    from scipy import sparse

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_ROWS_AT_ONCE = 1 << 13
_SHORT = 1 << 31  # columns that int32 can count
MOST_LEAVES = 32  # of a tree, by one bit each
_TILE = 64  # rows that are asked of a tree in one go
_DE_BRUIJN = 0x077CB531  # shifted by 0 to 31 places its five highest bits are different each time
_SHIFT = np.zeros(32, dtype=np.int64)
_SHIFT[[(_DE_BRUIJN << shift & 0xFFFFFFFF) >> 27 for shift in range(32)]] = range(32)
_NOTHING = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32))


def _compiled(function: _Function) -> _Function:
    """To machine code, kept on disk; where no folder can be written to it is made again by every process."""
    try:
        return cast(_Function, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # "cannot cache function"
        return cast(_Function, numba.njit(nogil=True)(function))


def _arrays(
    rows: sparse.csr_array, *, single: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """Starts, columns and values (float32 if asked) in few types: for each set of types a loop is compiled again."""
    column = rows.indices.astype(np.int32, copy=False) if rows.shape[1] < _SHORT else rows.indices
    return (
        rows.indptr.astype(np.int64, copy=False),
        column,
        rows.data.astype(np.float32, copy=False) if single else rows.data,
    )


# ---- overlaps of sparse rows -----------------------------------------------------------------------------


def overlaps(
    left: sparse.csr_array, right: sparse.csr_array, first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]]
) -> Numbers:
    """(k,) <left_i, right_j> of sparse rows (n, d) at (k,) pairs; quickest where pairs of one i come together."""
    first, second = (np.ascontiguousarray(nodes, dtype=np.int64) for nodes in (first, second))
    return _overlaps(first, second, *_arrays(left), *_arrays(right), left.shape[1])


@_compiled
def _overlaps(
    first: Places,
    second: Places,
    left_start: NDArray[Any],
    left_column: NDArray[Any],
    left_value: NDArray[Any],
    right_start: NDArray[Any],
    right_column: NDArray[Any],
    right_value: NDArray[Any],
    width: int,
) -> Numbers:
    found = np.zeros(len(first))
    row = np.zeros(width)  # of the node that is looked at, filled in
    filled = -1
    for k in range(len(first)):
        i, j = first[k], second[k]
        if i != filled:
            if filled >= 0:
                for e in range(left_start[filled], left_start[filled + 1]):
                    row[left_column[e]] = 0.0
            for e in range(left_start[i], left_start[i + 1]):
                row[left_column[e]] += left_value[e]
            filled = i
        total = 0.0
        for e in range(right_start[j], right_start[j + 1]):
            total += row[right_column[e]] * right_value[e]
        found[k] = total
    return found


def sums_of_minima(
    left: sparse.csr_array, right: sparse.csr_array, first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]]
) -> Numbers:
    """(k,) sums of min(left_i, right_j) over the columns of sparse rows (n, d), no entry below 0; as `overlaps`."""
    first, second = (np.ascontiguousarray(nodes, dtype=np.int64) for nodes in (first, second))
    found: Numbers = _sums_of_minima(first, second, *_arrays(left), *_arrays(right), left.shape[1])
    return found


@_compiled
def _sums_of_minima(
    first: Places,
    second: Places,
    left_start: NDArray[Any],
    left_column: NDArray[Any],
    left_value: NDArray[Any],
    right_start: NDArray[Any],
    right_column: NDArray[Any],
    right_value: NDArray[Any],
    width: int,
) -> Numbers:
    found = np.zeros(len(first))
    row = np.zeros(width)  # of the node that is looked at, filled in
    filled = -1
    for k in range(len(first)):
        i, j = first[k], second[k]
        if i != filled:
            if filled >= 0:
                for e in range(left_start[filled], left_start[filled + 1]):
                    row[left_column[e]] = 0.0
            for e in range(left_start[i], left_start[i + 1]):
                row[left_column[e]] = left_value[e]
            filled = i
        total = 0.0
        for e in range(right_start[j], right_start[j + 1]):
            total += min(row[right_column[e]], right_value[e])
        found[k] = total
    return found


def overlaps_of_product(
    left: sparse.csr_array,
    middle: sparse.csr_array,
    right: sparse.csr_array,
    first: NDArray[np.integer[Any]],
    second: NDArray[np.integer[Any]],
) -> Numbers:
    """(k,) <(left @ middle)_i, right_j> at (k,) pairs, no entry below 0; the product is never held."""
    order = np.argsort(first, kind="stable")  # its rows are made once each
    one, other = (np.ascontiguousarray(nodes[order], dtype=np.int64) for nodes in (first, second))
    rows = (*_arrays(left), *_arrays(middle), *_arrays(right))
    found = np.empty(len(order))
    found[order] = _overlaps_of_product(one, other, *rows, middle.shape[1])
    return found


@_compiled
def _overlaps_of_product(
    first: Places,
    second: Places,
    left_start: NDArray[Any],
    left_column: NDArray[Any],
    left_value: NDArray[Any],
    middle_start: NDArray[Any],
    middle_column: NDArray[Any],
    middle_value: NDArray[Any],
    right_start: NDArray[Any],
    right_column: NDArray[Any],
    right_value: NDArray[Any],
    width: int,
) -> Numbers:
    found = np.zeros(len(first))
    row, met = np.zeros(width), np.empty(width, dtype=np.int64)
    filled, count = -1, 0
    for k in range(len(first)):
        i, j = first[k], second[k]
        if i != filled:
            for m in range(count):
                row[met[m]] = 0.0
            ends = (left_start[i], left_start[i + 1])
            count = _row_of_product(*ends, left_column, left_value, middle_start, middle_column, middle_value, row, met)
            filled = i
        total = 0.0
        for e in range(right_start[j], right_start[j + 1]):
            total += row[right_column[e]] * right_value[e]
        found[k] = total
    return found


# ---- the largest entries of rows, and of products of rows --------------------------------------------------


@_compiled
def _row_of_product(
    begin: int,
    end: int,
    column: NDArray[Any],
    value: NDArray[Any],
    right_start: NDArray[Any],
    right_column: NDArray[Any],
    right_value: NDArray[Any],
    product: NDArray[Any],
    met: NDArray[Any],
) -> int:
    """Add the row whose entries lie from ``begin`` to ``end`` to ``product`` (c,), all 0 so far.

    The number of columns above 0; ``met`` begins with these.
    """
    count = 0
    for e in range(begin, end):
        for t in range(right_start[column[e]], right_start[column[e] + 1]):
            j = right_column[t]
            if product[j] == 0:
                met[count] = j
                count += 1
            product[j] += value[e] * right_value[t]
            if product[j] == 0:  # too small for its type
                count -= 1
    return count


@_compiled
def _kth_largest(value: NDArray[np.float32], count: int, k: int) -> np.float32:
    """Of the first ``count`` values, which are put in another order (Hoare's FIND)."""
    low, high, place = 0, count - 1, k - 1
    while low < high:
        pivot = value[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while value[i] > pivot:
                i += 1
            while value[j] < pivot:
                j -= 1
            if i <= j:
                value[i], value[j] = value[j], value[i]
                i += 1
                j -= 1
        if place <= j:
            high = j
        elif place >= i:
            low = i
        else:
            break
    return np.float32(value[place])


def most_similar(left: sparse.csr_array, right: sparse.csr_array, k: int) -> Places:
    """The k largest products of every row of ``left`` (r, d) with rows of ``right`` (c, d), and the other way round.

    Entries must not lie below 0. As keys row * c + column of products above 0, in no order, some of them twice.
    """
    found: Places = _most_similar(
        *_arrays(left, single=True), *_arrays(right.T.tocsr(), single=True), right.shape[0], k
    )
    return found


@_compiled
def _most_similar(
    start: NDArray[Any],
    column: NDArray[Any],
    value: NDArray[Any],
    turned_start: NDArray[Any],
    turned_column: NDArray[Any],
    turned_value: NDArray[Any],
    cols: int,
    k: int,
) -> Places:
    rows = len(start) - 1
    of_rows, of_cols = np.full((rows, k), -1, dtype=np.int64), np.full((cols, k), -1, dtype=np.int64)
    heap = np.zeros((cols, k), dtype=np.float32)  # of every column's largest, the least first
    product, met = np.zeros(cols, dtype=np.float32), np.empty(cols, dtype=np.int64)
    scratch = np.empty(cols, dtype=np.float32)
    for i in range(rows):
        ends = (start[i], start[i + 1])
        count = _row_of_product(*ends, column, value, turned_start, turned_column, turned_value, product, met)
        least = np.float32(0)
        if count > k:
            for m in range(count):
                scratch[m] = product[met[m]]
            least = _kth_largest(scratch, count, k)
        above = 0
        for m in range(count):
            if product[met[m]] > least:
                of_rows[i, above] = met[m]
                above += 1
        for m in range(count):
            j = met[m]
            if above < k and product[j] == least:
                of_rows[i, above] = j
                above += 1
            if product[j] > heap[j, 0]:
                _replace_least(heap[j], of_cols[j], product[j], i)
            product[j] = 0
    found = np.empty(k * (rows + cols), dtype=np.int64)
    count = 0
    for i in range(rows):
        for m in range(k):
            if of_rows[i, m] >= 0:
                found[count] = i * cols + of_rows[i, m]
                count += 1
    for j in range(cols):
        for m in range(k):
            if of_cols[j, m] >= 0:
                found[count] = of_cols[j, m] * cols + j
                count += 1
    return found[:count]


@_compiled
def _replace_least(heap: NDArray[np.float32], what: Places, value: float, name: int) -> None:
    """Let a larger value take the place of the least of a heap."""
    place, size = 0, len(heap)
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= value:
            break
        heap[place], what[place] = heap[below], what[below]
        place = below
    heap[place], what[place] = value, name


def largest_of_product(left: sparse.csr_array, right: sparse.csr_array, k: int) -> sparse.csr_array:
    """The k largest entries above 0 of every row of a product (r, c), float32; the product itself is never held.

    Neither matrix has entries below 0. Of equals any may be kept, always the same; columns are in no order.
    """
    from scipy import sparse

    starts = range(0, left.shape[0], _ROWS_AT_ONCE)
    ends, columns_of_left, values_of_left = _arrays(left, single=True)
    given = (columns_of_left, values_of_left, *_arrays(right, single=True), right.shape[1], k)
    parts = side_by_side(
        lambda start: _largest_of_product(ends[start : start + _ROWS_AT_ONCE + 1], *given),
        starts,
    )
    counts, columns, values = (np.concatenate(each) for each in zip(*parts, strict=True)) if parts else _NOTHING
    indptr = np.concatenate([[0], np.cumsum(counts)])
    index = np.int32 if max(int(indptr[-1]), right.shape[1]) <= np.iinfo(np.int32).max else np.int64
    shape = (left.shape[0], right.shape[1])
    return sparse.csr_array((values, columns.astype(index, copy=False), indptr.astype(index)), shape=shape)


@_compiled
def _largest_of_product(
    start: NDArray[Any],
    column: NDArray[Any],
    value: NDArray[Any],
    right_start: NDArray[Any],
    right_column: NDArray[Any],
    right_value: NDArray[Any],
    cols: int,
    k: int,
) -> tuple[Places, NDArray[np.int32], NDArray[np.float32]]:
    rows = len(start) - 1
    counts = np.zeros(rows, dtype=np.int64)
    columns, values = np.empty(rows * min(k, cols), dtype=np.int32), np.empty(rows * min(k, cols), dtype=np.float32)
    product, met = np.zeros(cols, dtype=np.float32), np.empty(cols, dtype=np.int64)
    scratch = np.empty(cols, dtype=np.float32)
    end = 0
    for i in range(rows):
        ends = (start[i], start[i + 1])
        count = _row_of_product(*ends, column, value, right_start, right_column, right_value, product, met)
        least, equals = np.float32(0), 0
        if count > k:
            for m in range(count):
                scratch[m] = product[met[m]]
            least = _kth_largest(scratch, count, k)
            equals = k
            for m in range(count):
                equals -= product[met[m]] > least
        begin = end
        for m in range(count):
            j = met[m]
            if product[j] > least or (equals > 0 and product[j] == least):
                equals -= product[j] == least
                columns[end], values[end] = j, product[j]
                end += 1
            product[j] = 0
        counts[i] = end - begin
    return counts, columns[:end].copy(), values[:end].copy()


def largest_entries(rows: sparse.csr_array, k: int) -> sparse.csr_array:
    """The k largest entries of every row, none of them below 0, as float32; of equals the first."""
    from scipy import sparse

    count = np.diff(rows.indptr)
    start, column, value = _arrays(rows, single=True)
    kept = slice(None) if count.max(initial=0) <= k else _places_of_largest(start, value, k)
    indptr = np.concatenate([[0], np.cumsum(np.minimum(count, k))]).astype(rows.indptr.dtype)
    return sparse.csr_array((value[kept], column[kept], indptr), shape=rows.shape)


@_compiled
def _places_of_largest(start: Places, value: NDArray[np.float32], k: int) -> Places:
    rows = len(start) - 1
    found = np.empty(len(value), dtype=np.int64)
    scratch = np.empty(len(value), dtype=np.float32)
    count = 0
    for i in range(rows):
        begin, end = start[i], start[i + 1]
        if end - begin <= k:
            for e in range(begin, end):
                found[count] = e
                count += 1
            continue
        for e in range(begin, end):
            scratch[e - begin] = value[e]
        least = _kth_largest(scratch, end - begin, k)
        equals = k
        for e in range(begin, end):
            if value[e] > least:
                equals -= 1
        for e in range(begin, end):
            if value[e] > least or (value[e] == least and equals > 0):
                equals -= value[e] == least
                found[count] = e
                count += 1
    return found[:count]


# ---- words of names --------------------------------------------------------------------------------------


@_compiled
def agreeing_words(
    first: Places, second: Places, start: Places, word: Places, initial: Places, single: NDArray[np.bool_]
) -> Numbers:
    """(k,) the share of the shorter name's words that agree with one of the other's: equal, or one the other's initial.

    start       (m + 1,) the words of name i are ``word[start[i]]`` to ``word[start[i + 1] - 1]``, at least one
    initial     the first character of each, and ``single`` whether that is all of it

    A word agrees with one other at most; equal ones are found first.
    """
    found = np.zeros(len(first))
    for k in range(len(first)):
        i, j = first[k], second[k]
        begin, end = start[j], start[j + 1]
        count, shorter = 0, min(start[i + 1] - start[i], end - begin)
        used = np.zeros(end - begin, dtype=np.bool_)
        agreed = np.zeros(start[i + 1] - start[i], dtype=np.bool_)
        for turn in range(2):
            for a in range(start[i], start[i + 1]):
                for b in range(begin, end):
                    if agreed[a - start[i]] or used[b - begin]:
                        continue
                    same = word[a] == word[b]
                    alike = initial[a] == initial[b] and (single[a] or single[b])
                    if same or (turn == 1 and alike):
                        agreed[a - start[i]] = used[b - begin] = True
                        count += 1
        found[k] = count / shorter
    return found


# ---- logistic regressions --------------------------------------------------------------------------------


@_compiled
def weigh_terms(
    features: NDArray[np.float32],
    over: Numbers,
    farthest: float,
    logged: float,
    weight: Numbers,
    base: Numbers,
) -> Numbers:
    """(c, k) base and weighted terms of (k, f) features by c classifiers, see `mpxgat.models.evidence.linear`.

    over        (f,) by which columns are multiplied first
    weight      (c, 2f) of these, cut off, then of their logarithms
    """
    count, columns = features.shape
    found = np.empty((len(base), count))
    for k in range(count):
        found[:, k] = base
        for j in range(columns):
            value = np.float64(features[k, j]) * over[j]
            if value == 0:
                continue
            plain = min(max(value, -farthest), farthest)
            log = np.log1p(logged * abs(value))
            if value < 0:
                log = -log
            for c in range(len(base)):
                found[c, k] += plain * weight[c, j] + log * weight[c, columns + j]
    return found


# ---- boosted trees ---------------------------------------------------------------------------------------


def sum_of_trees(
    features: NDArray[np.float32],
    column: Places,
    threshold: NDArray[np.float32],
    remaining: NDArray[np.uint32],
    start: Places,
    value: Numbers,
) -> Numbers:
    """(k,) sums of the leaves' values for (k, f) features; the trees are those of `mpxgat.models.evidence.trees`."""
    found: Numbers = _sum_of_trees(features, column, threshold, remaining, start, value, _SHIFT)
    return found


@_compiled
def _sum_of_trees(
    features: NDArray[np.float32],
    column: Places,
    threshold: NDArray[np.float32],
    remaining: NDArray[np.uint32],
    start: Places,
    value: Numbers,
    shift: Places,
) -> Numbers:
    count, columns = features.shape
    found = np.zeros(count)
    tile = np.zeros((columns, _TILE), dtype=np.float32)
    left = np.empty(_TILE, dtype=np.uint32)  # leaves that are left for a row
    every = np.uint32(0xFFFFFFFF)
    for first in range(0, count, _TILE):
        rows = min(_TILE, count - first)
        for k in range(rows):
            for j in range(columns):
                tile[j, k] = features[first + k, j]
        for tree in range(len(value)):
            left[:] = every
            for node in range(start[tree], start[tree + 1]):
                numbers, bound, kept = tile[column[node]], threshold[node], remaining[node]
                for k in range(_TILE):
                    left[k] &= kept if numbers[k] > bound else every
            for k in range(rows):
                leftmost = np.uint32(left[k] & (~left[k] + np.uint32(1)))
                found[first + k] += value[tree, shift[np.uint32(leftmost * np.uint32(_DE_BRUIJN)) >> np.uint32(27)]]
    return found


# ---- one-to-one plans ------------------------------------------------------------------------------------


@_compiled
def exchange_messages(
    odds: Numbers, left: Places, right: Places, lefts: int, rights: int, turns: int
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Messages of (k,) pairs with odds, see `mpxgat.matching.plan`.

    left, right     (k,) the group of every pair at either end, of ``lefts`` and ``rights`` groups

    From the left and from the right (k,), and the probabilities (k,) that either end has none of its pairs.
    """
    count = len(odds)
    from_left, from_right = np.ones(count), np.ones(count)
    left_sum, right_sum = np.zeros(lefts), np.zeros(rights)
    for turn in range(turns + 1):
        left_sum[:] = 0.0
        right_sum[:] = 0.0
        for k in range(count):
            left_sum[left[k]] += odds[k] * from_right[k]
            right_sum[right[k]] += odds[k] * from_left[k]
        if turn < turns:
            for k in range(count):
                to_left, to_right = odds[k] * from_right[k], odds[k] * from_left[k]
                # Halfway only: where pairs form a short cycle, messages would swing for ever.
                from_left[k] = (from_left[k] + 1.0 / (1.0 + left_sum[left[k]] - to_left)) / 2.0
                from_right[k] = (from_right[k] + 1.0 / (1.0 + right_sum[right[k]] - to_right)) / 2.0
    left_alone, right_alone = np.empty(count), np.empty(count)
    for k in range(count):
        left_alone[k] = 1.0 / (1.0 + left_sum[left[k]])
        right_alone[k] = 1.0 / (1.0 + right_sum[right[k]])
    return from_left, from_right, left_alone, right_alone


# ---- competitors -----------------------------------------------------------------------------------------


@_compiled
def largest_of_groups(group: Places, value: Numbers, largest: NDArray[np.float32], total: Numbers) -> None:
    """Enter (k,) values in ``largest`` (groups, kept), descending, and add them to ``total`` (groups,)."""
    kept = largest.shape[1]
    for k in range(len(group)):
        number = np.float32(value[k])
        row = largest[group[k]]
        total[group[k]] += value[k]
        if number <= row[kept - 1]:
            continue
        place = kept - 1
        while place > 0 and row[place - 1] < number:
            row[place] = row[place - 1]
            place -= 1
        row[place] = number


@_compiled
def compare_with_largest(
    value: NDArray[np.float32],
    group: Places,
    largest: NDArray[np.float32],
    total: NDArray[np.float32],
    best: int,
    rounding: float,
) -> NDArray[np.float32]:
    """(4, k) of (k,) values among those of their group: rank, lead over the best other, share of the total, and lead
    over the mean of the ``best`` best.
    """
    found = np.zeros((4, len(value)), dtype=np.float32)
    for k in range(len(value)):
        number, row = value[k], largest[group[k]]
        at_least = np.float32(number * (1 + rounding))  # a pair is not outdone by itself for rounding
        rank = 0
        for place in range(len(row)):
            if row[place] > at_least:
                rank += 1
        mean = np.float32(0)
        for place in range(best):
            mean += row[place]
        found[0, k] = rank
        found[1, k] = number - (row[0] if row[0] > at_least else row[1])
        if total[group[k]] > 0:
            found[2, k] = number / total[group[k]]
        found[3, k] = number - mean / np.float32(best)
    return found
