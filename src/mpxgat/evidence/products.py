"""Sparse matrices that are made some rows at a time: how large a product's part becomes is known beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Counts = NDArray[np.int64]


def products_per_row(left: sparse.csr_array, right: sparse.csr_array) -> Counts:
    """(r,) products of two entries that a row of ``left @ right`` is the sum of: it has no more entries than that."""
    sums = np.concatenate([[0], np.cumsum(np.diff(right.indptr)[left.indices], dtype=np.int64)])
    counts: Counts = sums[left.indptr[1:]] - sums[left.indptr[:-1]]
    return counts


def parts_of_like_sum(counts: Counts, most: int) -> Iterator[slice]:
    """Ranges of all rows, in order: at most ``most`` together, but for one row that may come on top; at least one."""
    group = np.cumsum(counts) // most
    bounds = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(counts)]
    return (slice(start, stop) for start, stop in pairwise(bounds))


def stacked(parts: Iterable[sparse.csr_array]) -> sparse.csr_array:
    """One part below the other, at least one. What is large is never held twice."""
    parts = iter(parts)
    first = next(parts)
    data, indices, counts = first.data.copy(), first.indices.copy(), [np.diff(first.indptr)]
    for part in parts:
        _append(data, part.data)
        _append(indices, part.indices)
        counts.append(np.diff(part.indptr))
    return csr_rows(data, indices, np.concatenate(counts), first.shape[1])


def csr_rows(
    data: NDArray[Any], indices: NDArray[np.integer[Any]], counts: NDArray[np.integer[Any]], columns: int
) -> sparse.csr_array:
    """A matrix from its entries, row by row, and their number in each; with 32-bit indices where these are enough.

    SciPy would make all indices as long as the longest of what it is given, and they are a third of the memory.
    """
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if max(int(indptr[-1]), columns) <= np.iinfo(np.int32).max:
        indptr, indices = indptr.astype(np.int32), indices.astype(np.int32, copy=False)
    return sparse.csr_array((data, indices, indptr), shape=(len(counts), columns))


def _append(whole: NDArray[Any], piece: NDArray[Any]) -> None:
    """Let an array grow where it is: the system gives large ones more memory without copying them."""
    end = len(whole)
    whole.resize(end + len(piece), refcheck=False)
    whole[end:] = piece


def at_rows(rows: sparse.csr_array, places: NDArray[np.integer], count: int) -> sparse.csr_array:
    """``count`` rows: these at their places, which ascend, the others empty."""
    counts = np.zeros(count, dtype=np.int64)
    counts[places] = np.diff(rows.indptr)
    return csr_rows(rows.data, rows.indices, counts, rows.shape[1])
