"""From scores to probabilities: a monotone curve learned on pairs of which the truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

from mpxgat.errors import SettingError
from mpxgat.graph import frozen

Numbers = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

_SMALLEST = 1e-12  # a probability this near to 0 or 1 is as good as sure; log-odds stay finite


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A monotone curve through knots, straight between them, level beyond the first and the last.

    knots       (k,) scores, strictly ascending
    values      (k,) probabilities there, never descending, strictly between 0 and 1
    """

    knots: Numbers
    values: Numbers

    def __post_init__(self) -> None:
        shapes = self.knots.ndim == 1 and self.knots.shape == self.values.shape and len(self.knots) > 0
        if not shapes or not np.isfinite(self.knots).all() or not (np.diff(self.knots) > 0).all():
            raise SettingError("the knots of a calibration are damaged, expected ascending scores with a value each")
        if not ((self.values > 0) & (self.values < 1)).all() or (np.diff(self.values) < 0).any():
            raise SettingError("the values of a calibration are damaged, expected ascending ones between 0 and 1")
        object.__setattr__(self, "knots", frozen(self.knots))
        object.__setattr__(self, "values", frozen(self.values))

    @classmethod
    def fit(cls, score: ArrayLike, label: ArrayLike, weight: ArrayLike | None = None) -> Self:
        """The curve with the least squared error on (k,) scores and labels (1: one unit, 0: not).

        A weight says how many pairs a row stands for. One made-up pair that is one unit stands at the lowest score
        and one that is not at the highest, so that k rows of one kind give 1 in k + 1 at most and never certainty.
        """
        scores, labels, weights = _checked(score, label, weight)
        knots, place = np.unique(scores, return_inverse=True)
        mass = np.bincount(place, weights, len(knots))
        positive = np.bincount(place, weights * labels, len(knots))
        mass[0] += 1
        positive[0] += 1
        mass[-1] += 1
        curve = isotonic_regression(positive / mass, weights=mass)
        ends = np.union1d(curve.blocks[:-1], curve.blocks[1:] - 1)  # of the level pieces
        return cls(knots[ends], np.clip(curve.x[ends], _SMALLEST, 1 - _SMALLEST))

    def apply(self, score: ArrayLike) -> Numbers:
        """Probabilities of scores, same shape, strictly between 0 and 1; SettingError for NaN."""
        values = np.interp(_without_nan(score), self.knots, self.values)
        # Rounding on a very steep piece must not leave the range.
        return np.asarray(np.clip(values, self.values[0], self.values[-1]))

    def to_arrays(self) -> Arrays:
        """The curve as named arrays."""
        return {"knots": self.knots, "values": self.values}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """What `to_arrays` gave; SettingError if it is damaged."""
        if arrays.keys() != {"knots", "values"}:
            raise SettingError(f"a calibration with the parts {sorted(arrays)}, expected knots and values")
        return cls(arrays["knots"], arrays["values"])


def expected_calibration_error(
    probability: ArrayLike, label: ArrayLike, weight: ArrayLike | None = None, *, above: float = 0.0, bins: int = 10
) -> float:
    """How far probabilities are from what comes true, over the pairs with a probability above ``above``.

    The pairs are put into ``bins`` bins of equal width over 0 to 1. The result is the mean over the bins, by their
    weight, of the distance between the mean probability and the share of labels 1. NaN if no pair is left.
    """
    if bins < 1:
        raise SettingError(f"{bins} bins, expected at least 1")
    values, labels, weights = _checked(probability, label, weight, empty_allowed=True)
    if ((values < 0) | (values > 1)).any():
        raise SettingError("a probability lies outside 0 to 1")
    kept = values > above
    values, labels, weights = values[kept], labels[kept], weights[kept]
    if not len(values):
        return float("nan")
    place = np.minimum((values * bins).astype(np.int64), bins - 1)
    surplus = np.bincount(place, weights * (values - labels), bins)
    return float(np.abs(surplus).sum() / weights.sum())


def _checked(
    score: ArrayLike, label: ArrayLike, weight: ArrayLike | None, *, empty_allowed: bool = False
) -> tuple[Numbers, Numbers, Numbers]:
    """Three (k,) arrays of finite numbers, rows without weight left out; SettingError says what is wrong."""
    scores = np.asarray(score, dtype=np.float64)
    labels = np.asarray(label, dtype=np.float64)
    weights = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=np.float64)
    if scores.ndim != 1 or not scores.shape == labels.shape == weights.shape:
        found = f"{scores.shape}, {labels.shape} and {weights.shape}"
        raise SettingError(f"scores, labels and weights have the shapes {found}, expected one length for all")
    if not np.isfinite(scores).all():
        raise SettingError("a score is not a finite number")
    if not np.isin(labels, (0.0, 1.0)).all():
        raise SettingError("a label is neither 0 nor 1")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise SettingError("a weight is negative or not a finite number")
    kept = weights > 0
    if not kept.any() and not empty_allowed:
        raise SettingError("no pair to calibrate on, expected at least one with a weight above 0")
    return scores[kept], labels[kept], weights[kept]


def _without_nan(score: ArrayLike) -> Numbers:
    scores = np.asarray(score, dtype=np.float64)
    if np.isnan(scores).any():
        raise SettingError("a score is not a number")
    return scores
