"""Sparse matrices that are made some rows at a time: how large a product's part becomes is known beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

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
    """One part below the other, at least one."""
    data, indices, counts = [], [], []
    for part in parts:
        data.append(part.data)
        indices.append(part.indices)
        counts.append(np.diff(part.indptr))
        columns = part.shape[1]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(counts), dtype=np.int64)])
    all_data = np.concatenate(data)
    data.clear()  # what is large is not held twice for longer than it takes
    return sparse.csr_array((all_data, np.concatenate(indices), indptr), shape=(len(indptr) - 1, columns))


def at_rows(rows: sparse.csr_array, places: NDArray[np.integer], count: int) -> sparse.csr_array:
    """``count`` rows: these at their places, which ascend, the others empty."""
    counts = np.zeros(count, dtype=np.int64)
    counts[places] = np.diff(rows.indptr)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((rows.data, rows.indices, indptr), shape=(count, rows.shape[1]))
