"""Exact measures of a ranking, over more pairs than fit in memory.

Positives are few and known first; negatives stream by in blocks, so memory is bounded by one block and
the result is exact, ties included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpxgat.errors import SettingError

HITS_AT = (1, 5, 10, 30)
_BINS = 1 << 14
_CHUNK = 1 << 18
_95_PERCENT = 1.959964  # standard deviations on both sides of a normal mean


class StreamedRanking:
    """How positives rank among negatives that arrive block by block.

    Keeps, for every distinct score of a positive (a *level*), how many negatives lie below it and how many
    do not exceed it: all that AUC, average precision and their curves need. Sorting every negative would be exact but
    slow. Instead each falls into one of many equal bins, by a mapping that never reverses an order; only
    negatives in a bin that holds a level are compared with the levels themselves. Exact all the same.
    """

    def __init__(self, positives: ArrayLike):
        scores = np.asarray(positives, dtype=np.float64).ravel()
        _refuse_nan(scores)
        self._level, self._count = np.unique(scores, return_counts=True)  # ascending
        self._bins = _BINS if len(self._level) < _BINS // 8 else 4 * _BINS
        self._offset, self._scale = _bin_mapping(self._level, self._bins)
        self._level_bin = self._bin(self._level)
        self._has_level = np.zeros(self._bins, dtype=bool)
        self._has_level[self._level_bin] = True
        self._histogram = np.zeros(self._bins, dtype=np.int64)
        # Of the negatives in bins with a level: how many lie below each level, and how many do not exceed it.
        self._near_below = np.zeros(len(self._level), dtype=np.int64)
        self._near_up_to = np.zeros(len(self._level), dtype=np.int64)
        self.n_positives = len(scores)
        self.n_negatives = 0

    def add(self, negatives: ArrayLike) -> None:
        """Take in a block of negatives' scores, in any order."""
        scores = np.asarray(negatives, dtype=np.float64).ravel()
        _refuse_nan(scores)
        for start in range(0, len(scores), _CHUNK):  # chunks stay in the processor's cache
            chunk = scores[start : start + _CHUNK]
            bins = self._bin(chunk)
            self._histogram += np.bincount(bins, minlength=self._bins)
            near = np.sort(chunk[self._has_level[bins]])
            self._near_below += np.searchsorted(near, self._level, side="left")
            self._near_up_to += np.searchsorted(near, self._level, side="right")
        self.n_negatives += len(scores)

    def auc(self) -> float:
        """Probability that a positive scores above a negative, ties one half; NaN without positives or negatives."""
        if not self.n_positives or not self.n_negatives:
            return math.nan
        below, up_to = self._below_and_up_to()
        wins_twice = int((self._count * (below + up_to)).sum())  # exact as integers: halves are counted double
        return wins_twice / (2 * self.n_positives * self.n_negatives)

    def average_precision(self) -> float:
        """Mean precision over the positives, each taken at its own score (ties all together); NaN without positives."""
        if not self.n_positives:
            return math.nan
        _, precision = self.precision_recall()
        return float((self._count[::-1] * precision).sum() / self.n_positives)

    def roc(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(k,) false and true positive rates from (0, 0) to (1, 1): every corner of the curve whose area is `auc`.

        Two points for each level, highest first: above it, and from it on. Ties are the slope between the two.
        """
        below, up_to = self._below_and_up_to()
        true = np.concatenate([[0], np.cumsum(self._count[::-1])])
        false = self.n_negatives - np.stack([up_to, below], axis=1)[::-1].ravel()
        x = np.concatenate([[0], false, [self.n_negatives]])
        y = np.concatenate([[0], np.stack([true[:-1], true[1:]], axis=1).ravel(), [self.n_positives]])
        return x / max(self.n_negatives, 1), y / max(self.n_positives, 1)

    def precision_recall(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(k,) recall, ascending, and precision there: one point for each level."""
        below, _ = self._below_and_up_to()
        true = np.cumsum(self._count[::-1])
        return true / max(self.n_positives, 1), true / (true + self.n_negatives - below[::-1])

    def _bin(self, scores: NDArray[np.float64]) -> NDArray[np.int32]:
        with np.errstate(over="ignore"):
            place = scores - self._offset
            place *= self._scale
            place += 1
        np.clip(place, 0, self._bins - 1, out=place)
        return place.astype(np.int32)

    def _below_and_up_to(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(levels,) numbers of negatives below each level, and of those that do not exceed it."""
        far_below = np.cumsum(np.where(self._has_level, 0, self._histogram))[self._level_bin]
        return far_below + self._near_below, far_below + self._near_up_to


def auc(positives: ArrayLike, negatives: ArrayLike) -> float:
    """AUC of scores that fit in memory."""
    ranking = StreamedRanking(positives)
    ranking.add(negatives)
    return ranking.auc()


def average_precision(positives: ArrayLike, negatives: ArrayLike) -> float:
    """Average precision of scores that fit in memory."""
    ranking = StreamedRanking(positives)
    ranking.add(negatives)
    return ranking.average_precision()


def ranks(scores: NDArray[np.floating[Any]], true_column: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Rank of the true candidate in every row of ``scores`` (rows, candidates), from 1; ties averaged."""
    _refuse_nan(scores)
    true = scores[np.arange(len(scores)), true_column][:, None]
    above = (scores > true).sum(axis=1)
    equal = (scores == true).sum(axis=1)  # the true one among them
    return np.asarray(above + (equal + 1) / 2, dtype=np.float64)


def mean_reciprocal_rank(rank: NDArray[np.float64]) -> float:
    """Mean of 1/rank; NaN without ranks."""
    return float((1 / rank).mean()) if len(rank) else math.nan


def hits_at(rank: NDArray[np.float64], k: int) -> float:
    """Share of ranks up to k; NaN without ranks."""
    return float((rank <= k).mean()) if len(rank) else math.nan


def overall_auc(intra_auc: float, n_intra: int, inter_auc: float, n_inter: int) -> float:
    """The paper's overall AUC: both kinds weighted by their numbers of *positive* test links."""
    parts = [(value, n) for value, n in ((intra_auc, n_intra), (inter_auc, n_inter)) if n]
    total = sum(n for _, n in parts)
    return sum(value * n for value, n in parts) / total if total else math.nan


@dataclass(frozen=True)
class WelchTest:
    """Welch's t-test for unequal means: statistic, degrees of freedom, two-sided p."""

    statistic: float
    degrees_of_freedom: float
    p_value: float


def welch(first: Sequence[float], second: Sequence[float]) -> WelchTest:
    """Welch's t-test of two samples with at least two values each."""
    if min(len(first), len(second)) < 2:
        raise SettingError(
            f"Welch's test has samples of {len(first)} and {len(second)}, expected at least 2 values each"
        )
    from scipy import stats  # a quarter of a second, and only here

    result = stats.ttest_ind(first, second, equal_var=False)
    return WelchTest(float(result.statistic), float(result.df), float(result.pvalue))


@dataclass(frozen=True)
class Share:
    """How many of how many, and between what the true share lies with a confidence of 95 % (Wilson's interval)."""

    hits: int
    n: int

    @property
    def value(self) -> float:
        """The share; NaN of nothing."""
        return self.hits / self.n if self.n else math.nan

    @property
    def low(self) -> float:
        """The interval's lower end; 0 of nothing."""
        return self._interval()[0]

    @property
    def high(self) -> float:
        """The interval's upper end; 1 of nothing."""
        return self._interval()[1]

    def _interval(self) -> tuple[float, float]:
        if not self.n:
            return 0.0, 1.0
        squared = _95_PERCENT**2
        middle = (self.hits + squared / 2) / (self.n + squared)
        half = _95_PERCENT * math.sqrt(self.n * self.value * (1 - self.value) + squared / 4) / (self.n + squared)
        return max(0.0, middle - half), min(1.0, middle + half)


def _bin_mapping(level: NDArray[np.float64], bins: int) -> tuple[float, float]:
    """Offset and scale that spread the finite levels over bins 1 … bins-2; the scale is positive and finite."""
    finite = level[np.isfinite(level)]
    if not len(finite):
        return 0.0, 1.0
    with np.errstate(over="ignore", divide="ignore"):
        scale = np.float64(bins - 3) / (finite[-1] - finite[0])
    return float(finite[0]), float(np.clip(scale, 1e-300, 1e300))


def _refuse_nan(scores: NDArray[np.floating[Any]]) -> None:
    if scores.size and np.isnan(scores.min()):  # min passes NaN on
        raise SettingError("a score is not a number (NaN)")
