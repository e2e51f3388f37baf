"""Logistic regression with a ridge: what the rounds learn by.

It is learned in a moment, asked in a moment, and steady where few links are known: on phone_email, of whose 1,000 links
200 are known, its rounds rank better than those of boosted trees (docs/results.md). A column enters as it is and by its
logarithm, so that shares and heavy tails both have a straight line to lie on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits

from mpxgat.models.evidence.features import Features

Numbers = NDArray[np.float64]
_RIDGE = 3.0  # on weights of columns of deviation 1
_FARTHEST, _LOGGED = 20.0, 10.0  # sizes of a column, beyond which it is cut off; and by which its logarithm is taken
_MOST_ROWS = 60_000  # non-links learned from; more say hardly more
_STEPS, _HALVINGS, _SETTLED = 20, 8, 1e-5
_ROWS_AT_ONCE = 1 << 15


def constants() -> dict[str, float]:
    """What changes the terms, by name: weights that were learned with other values do not fit."""
    return {"linear.cut off": _FARTHEST, "linear.logged": _LOGGED}


@dataclass(frozen=True, eq=False)
class Linear:
    """Log-odds from features (k, f): the base, and weights times how far a row's terms are from their means.

    size        (f,) mean of the absolute values of a column
    mean        (2f,) of the terms: all columns as they are, then by their logarithms
    weight      (2f,)
    base        log-odds of a row at the means
    """

    size: Numbers
    mean: Numbers
    weight: Numbers
    base: float

    @classmethod
    def fit(cls, features: Features, label: NDArray[np.bool_], weight: Numbers, seed: int) -> Linear:
        """From (k, f) features, (k,) labels and (k,) numbers of pairs that a row stands for; one class may be empty."""
        rows, weight = _some(label, weight, np.random.default_rng([seed, 3]))
        size = np.abs(features).mean(axis=0, dtype=np.float64)
        terms = _terms(features[rows], size)
        mean = terms.mean(axis=0)
        terms -= mean
        deviation = np.sqrt((terms**2).mean(axis=0))
        over = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > _SETTLED)
        terms *= over
        terms = np.concatenate([terms, np.ones((len(terms), 1))], axis=1)
        with threadpool_limits(1, user_api="blas"):  # several threads would add in another order
            found = _ridge_regression(terms, label[rows].astype(np.float64), weight)
        return cls(size, mean, found[:-1] * over, float(found[-1]))

    @property
    def n_features(self) -> int:
        """Columns that it learned from."""
        return len(self.size)

    @property
    def n_trees(self) -> int:
        """None."""
        return 0

    def score(self, features: Features) -> Numbers:
        """(k,) log-odds."""
        starts = range(0, len(features), _ROWS_AT_ONCE)
        parts = (_terms(features[start : start + _ROWS_AT_ONCE], self.size) - self.mean for start in starts)
        # By einsum: what BLAS adds up to depends on the number of threads and of rows.
        return np.concatenate([np.zeros(0), *(np.einsum("ij,j->i", part, self.weight) for part in parts)]) + self.base

    def contributions(self, features: Features) -> Numbers:
        """(k, f + 1): what each column added to the log-odds, and last the base; a row's sum is its score."""
        added = (_terms(features, self.size) - self.mean) * self.weight
        plain, logged = np.split(added, 2, axis=1)
        return np.concatenate([plain + logged, np.full((len(added), 1), self.base)], axis=1)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """To be saved."""
        return {"size": self.size, "mean": self.mean, "weight": self.weight, "base": np.array([self.base])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Linear:
        """What `to_arrays` gave; ValueError if it is not."""
        size, mean, weight, base = (arrays[name] for name in ("size", "mean", "weight", "base"))
        expected = ((len(size),), (2 * len(size),), (2 * len(size),), (1,)) if size.ndim == 1 else ()
        given = (size, mean, weight, base)
        if tuple(each.shape for each in given) != expected or not all(np.isfinite(each).all() for each in given):
            raise ValueError("the saved weights are damaged, expected finite numbers for every column")
        if (size < 0).any():
            raise ValueError("the size of a column is below 0")
        return cls(size, mean, weight, float(base[0]))


def _some(label: NDArray[np.bool_], weight: Numbers, rng: np.random.Generator) -> tuple[NDArray[np.int64], Numbers]:
    """All links, and of the non-links as many as say enough, each standing for more; in order."""
    non_links = np.flatnonzero(~label)
    if len(non_links) <= _MOST_ROWS:
        return np.arange(len(label)), weight
    drawn = rng.choice(non_links, _MOST_ROWS, replace=False)
    rows = np.sort(np.concatenate([np.flatnonzero(label), drawn]))
    return rows, weight[rows] * np.where(label[rows], 1, len(non_links) / _MOST_ROWS)


def _terms(features: Features, size: Numbers) -> Numbers:
    """(k, 2f) columns in their size, and their logarithms, the sign kept; 0 for a column that was always 0."""
    over = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    plain = features * over
    return np.concatenate(
        [np.clip(plain, -_FARTHEST, _FARTHEST), np.copysign(np.log1p(_LOGGED * np.abs(plain)), plain)], axis=1
    )


def _ridge_regression(terms: Numbers, label: Numbers, weight: Numbers) -> Numbers:
    """(t,) weights of (k, t) terms, the last of which is 1 and bears no ridge, by Newton's method."""
    ridge = np.full(terms.shape[1], _RIDGE)
    ridge[-1] = 1e-3  # of one class alone the base would have no bound

    def loss(at: Numbers) -> float:
        odds = terms @ at
        return float((weight * (np.logaddexp(0, odds) - label * odds)).sum() + (ridge * at**2).sum() / 2)

    at = np.zeros(terms.shape[1])
    links, pairs = float((weight * label).sum()), float(weight.sum())
    at[-1] = np.log((links + 0.5) / (pairs - links + 0.5))
    now = loss(at)
    for _ in range(_STEPS):
        chance = expit(terms @ at)
        slope = terms.T @ (weight * (chance - label)) + ridge * at
        curve = (terms * (weight * chance * (1 - chance))[:, None]).T @ terms
        step = np.linalg.solve(curve + np.diag(ridge), slope)
        length = 1.0
        for _ in range(_HALVINGS):  # a whole step may lead too far where links are rare
            then = loss(at - length * step)
            if then < now:
                break
            length /= 2
        else:
            break
        at, now, before = at - length * step, then, now
        if before - now < _SETTLED * abs(before):
            break
    return at
