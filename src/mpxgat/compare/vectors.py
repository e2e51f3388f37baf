"""Vectors: tables of features, or attributes that hold lists of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.compare.columns import ALL, coded, features, read_values
from mpxgat.compare.compared import Compared, check_form, raveled
from mpxgat.compare.declared import Comparison
from mpxgat.compare.reading import LIST_EXPECTED, read_list
from mpxgat.compare.similar import most_alike, most_alike_dense, scaled_rows
from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph, describe
from mpxgat.kernels import sums_of_minima
from mpxgat.pairs import IntArray, PairList, Pairs, Values

COUNTS, PLAIN = "counts", "plain"
COSINE, WEIGHTED, PRESENCE = "cosine", "cosine of weighted counts", "cosine of weighted presence"
OVERLAP, LOG_TOTALS, TOTALS = "overlap", "difference of log totals", "smaller of the larger total"
ALIKE = "cosine above 0"


def prepare_vector(comparison: Comparison, graph: MultiplexGraph, form: str | None) -> Compared:
    """As counts if no number lies below 0, or as the form says."""
    check_form(comparison.column, form, (COUNTS, PLAIN))
    values = _values(comparison, graph)
    negative = np.flatnonzero((values < 0).any(axis=1))
    if form == COUNTS and len(negative):
        node = int(negative[0])
        raise SettingError(
            f"column {quoted(comparison.column)}, node {describe(graph.nodes[node])}: {values[node].min():g} lies "
            "below 0, expected counts, as there were where the comparison was learned"
        )
    if form == PLAIN or len(negative):
        return PlainVectors(comparison.column, values)
    return CountVectors(comparison.column, values)


class PlainVectors(Compared):
    """Vectors of any numbers: their cosine."""

    whats = (COSINE, ALIKE)
    rivals = (ALIKE,)

    def __init__(self, label: str, values: NDArray[np.float32]):
        super().__init__(label, PLAIN, (values != 0).any(axis=1))
        largest = np.abs(values).max(axis=1, initial=0, keepdims=True)  # first, lest squares be too large
        rows = np.divide(values, largest, out=np.zeros_like(values), where=largest > 0)
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        self._rows = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)

    def _numbers(self, pairs: Pairs) -> tuple[Values, ...]:
        cosine = pairs.dots(self._rows)
        return cosine, np.maximum(cosine, 0)

    def _proposals(self, ours: IntArray, theirs: IntArray, k: int) -> NDArray[np.int64]:
        return most_alike_dense(self._rows[ours], self._rows[theirs], k)

    def _describe(self, first: int, second: int) -> str:
        return f"cosine {self._rows[first].astype(np.float64) @ self._rows[second]:.2f}"


class CountVectors(Compared):
    """Vectors of counts, or of other numbers of which none lies below 0: what is rare counts more."""

    whats = (COSINE, WEIGHTED, PRESENCE, OVERLAP, LOG_TOTALS, TOTALS)
    rivals = (WEIGHTED, OVERLAP)

    def __init__(self, label: str, values: NDArray[np.float32]):
        super().__init__(label, COUNTS, (values != 0).any(axis=1))
        counts = sparse.csr_array(values).astype(np.float64)
        used = np.bincount(counts.indices, minlength=values.shape[1])
        weight = np.log1p(max(int(self.there.sum()), 1) / np.maximum(used, 1))[counts.indices]
        self._counts, self._total = counts, np.asarray(counts.sum(axis=1)).ravel()
        self._rows = {
            COSINE: scaled_rows(counts, counts.data),
            WEIGHTED: scaled_rows(counts, counts.data * weight),
            PRESENCE: scaled_rows(counts, weight),
        }

    def _numbers(self, pairs: Pairs) -> tuple[Values, ...]:
        cosines = (pairs.overlap(rows, rows) for rows in self._rows.values())
        one, other = self._total[pairs.first], self._total[pairs.second]
        shared = sums_of_minima(self._counts, self._counts, *raveled(pairs)).reshape(pairs.shape)
        either = one + other - shared
        overlap = np.divide(shared, either, out=np.zeros(pairs.shape), where=either > 0)
        low, high = np.minimum(one, other), np.maximum(one, other)
        totals = np.divide(low, high, out=np.zeros(pairs.shape), where=high > 0)
        logs = np.abs(np.log(totals, out=np.zeros(pairs.shape), where=totals > 0))
        return *cosines, overlap, logs, totals

    def _proposals(self, ours: IntArray, theirs: IntArray, k: int) -> NDArray[np.int64]:
        rows = self._rows[WEIGHTED]
        return most_alike(rows[ours], rows[theirs], k)

    def _describe(self, first: int, second: int) -> str:
        found = self.numbers(PairList(np.array([[first, second]])))
        cosine, overlap = (float(found[f"{self.label}, {what}"][0]) for what in (COSINE, OVERLAP))
        return f"cosine {cosine:.2f}, {overlap:.0%} in common"


# ---- reading ---------------------------------------------------------------------------------------------


def _values(comparison: Comparison, graph: MultiplexGraph) -> NDArray[np.float32]:
    """(n, d) of every node, all 0 where there are none."""
    table = features(graph, comparison)
    if table is None:
        return _listed(comparison, graph)
    if not comparison.column.endswith(ALL):
        prefix = comparison.column[:2]
        raise SettingError(
            f"column {quoted(comparison.column)} has one number of every node, expected the kind number, "
            f"or {prefix}{ALL}:vector for all columns {prefix}…"
        )
    return table.values


def _listed(comparison: Comparison, graph: MultiplexGraph) -> NDArray[np.float32]:
    """The numbers that an attribute column lists."""
    column = coded(graph, comparison)
    values, usual = np.zeros((len(column.values) + 1, 0), dtype=np.float32), -1  # the last row is of code -1
    for place, numbers in read_values(graph, comparison, column, read_list, LIST_EXPECTED):
        if usual < 0:
            values, usual = np.zeros((len(column.values) + 1, len(numbers)), dtype=np.float32), place
        if len(numbers) != values.shape[1]:
            one, other = (describe(graph.nodes[column.first_with(which)]) for which in (place, usual))
            raise SettingError(
                f"column {quoted(comparison.column)}, node {one}: {len(numbers)} numbers, expected "
                f"{values.shape[1]} as node {other} has: vectors of different width cannot be compared"
            )
        values[place] = numbers
    return values[column.code]
