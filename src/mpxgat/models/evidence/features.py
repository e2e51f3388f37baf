"""Pairs of nodes to be judged, as a list or as a grid of rows and columns: evidence reads both in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Positions = NDArray[np.integer[Any]]
Values = NDArray[np.float64]
_PAIRS_AT_ONCE = 1 << 15
_NUMBERS_AT_ONCE = 1 << 17  # stays in a cache: ten times faster than all at once


class Pairs(Protocol):
    """k pairs of nodes."""

    @property
    def first(self) -> Positions:
        """(k,) one end."""

    @property
    def second(self) -> Positions:
        """(k,) the other end."""

    def overlap(self, left: sparse.csr_array, right: sparse.csr_array) -> Values:
        """(k,) <left_i, right_j> of sparse rows (n, d), float64."""

    def dots(self, vectors: NDArray[np.float32]) -> Values:
        """(k,) <v_i, v_j> of dense rows (n, d)."""


class PairList:
    """Any pairs (k, 2)."""

    def __init__(self, pairs: NDArray[np.integer[Any]]):
        self.first, self.second = pairs[:, 0], pairs[:, 1]

    def overlap(self, left: sparse.csr_array, right: sparse.csr_array) -> Values:
        """Row by row, a bounded number at once."""
        values = np.empty(len(self.first))
        for start in range(0, len(values), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            values[part] = left[self.first[part]].multiply(right[self.second[part]]).sum(axis=1)
        return values

    def dots(self, vectors: NDArray[np.float32]) -> Values:
        """Row by row, a bounded number at once."""
        values = np.empty(len(self.first))
        step = max(1, _NUMBERS_AT_ONCE // max(vectors.shape[1], 1))
        for start in range(0, len(values), step):
            part = slice(start, start + step)
            one, other = (vectors[ends[part]].astype(np.float64) for ends in (self.first, self.second))
            values[part] = np.einsum("ij,ij->i", one, other)  # casting inside would be ten times slower
        return values


class PairGrid:
    """All pairs of rows and columns, row after row."""

    def __init__(self, rows: Positions, cols: Positions):
        self.rows, self.cols = rows, cols
        self.first, self.second = np.repeat(rows, len(cols)), np.tile(cols, len(rows))

    def overlap(self, left: sparse.csr_array, right: sparse.csr_array) -> Values:
        """One sparse product."""
        products: Values = (left[self.rows] @ right[self.cols].T).toarray().ravel()
        return products

    def dots(self, vectors: NDArray[np.float32]) -> Values:
        """One dense product."""
        products: Values = vectors[self.rows].astype(np.float64) @ vectors[self.cols].astype(np.float64).T
        return products.ravel()


def row_parts(rows: Positions, width: int, cells: int) -> Iterator[slice]:
    """Parts of ``rows`` whose grids with ``width`` columns have at most ``cells`` cells, one row at least."""
    step = max(1, cells // max(width, 1))
    return (slice(start, start + step) for start in range(0, len(rows), step))


# Numbers about pairs, by name, and the reason that each belongs to.


_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Column:
    """A number of a pair: its name and the reason it belongs to."""

    name: str
    reason: str


def matrix(columns: Mapping[Column, Values]) -> NDArray[np.float32]:
    """(k, f) the numbers side by side."""
    return np.stack([value.astype(np.float32) for value in columns.values()], axis=1)


def matrix_of(
    columns: Callable[[Pairs], Mapping[Column, Values]], pairs: NDArray[np.integer[Any]]
) -> NDArray[np.float32]:
    """(k, f) the numbers of (k, 2) pairs side by side, computed for a bounded number of pairs at once."""
    first = matrix(columns(PairList(pairs[:_ROWS_AT_ONCE])))
    found = np.empty((len(pairs), first.shape[1]), dtype=np.float32)
    found[:_ROWS_AT_ONCE] = first
    for start in range(_ROWS_AT_ONCE, len(pairs), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        found[part] = matrix(columns(PairList(pairs[part])))
    return found


def sides(name: str, reason: str, one: NDArray[Any], other: NDArray[Any]) -> dict[Column, Values]:
    """A number of both nodes: the lower one, then the higher."""
    return {
        Column(f"{name}, low", reason): np.minimum(one, other),
        Column(f"{name}, high", reason): np.maximum(one, other),
    }
