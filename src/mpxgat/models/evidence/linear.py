"""Logistic regression with a ridge: what the rounds learn by.

It is learned in a moment, asked in a moment, and steady where few links are known: on phone_email, of whose 1,000 links
200 are known, its rounds rank better than those of boosted trees (docs/results.md). A column enters as it is and by its
logarithm, so that shares and heavy tails both have a straight line to lie on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mpxgat.kernels import weigh_terms
from mpxgat.models.evidence.features import Features

Numbers = NDArray[np.float64]
_RIDGE = 3.0  # on weights of columns of deviation 1
_FARTHEST, _LOGGED = 20.0, 10.0  # sizes of a column, beyond which it is cut off; and by which its logarithm is taken
_STEPS, _HALVINGS, _SETTLED = 20, 8, 1e-5


def constants() -> dict[str, float]:
    """What changes the terms, by name: weights that were learned with other values do not fit."""
    return {"linear.cut off": _FARTHEST, "linear.logged": _LOGGED}


@dataclass(frozen=True, eq=False)
class Exercise:
    """Pairs to learn from: all links, and of the non-links as many as say enough, each standing for more.

    terms       (k, 2f)
    label       (k,)
    weight      (k,) how many pairs a row stands for
    """

    terms: Numbers
    label: NDArray[np.bool_]
    weight: Numbers

    @classmethod
    def of(
        cls,
        features: Features,
        label: NDArray[np.bool_],
        weight: Numbers,
        size: Numbers,
        most: int,
        rng: np.random.Generator,
    ) -> Exercise:
        """From (k, f) features of columns of the given size, (k,) labels and weights; at most so many non-links."""
        non_links = np.flatnonzero(~label)
        if len(non_links) > most:
            drawn = rng.choice(non_links, most, replace=False)
            rows = np.sort(np.concatenate([np.flatnonzero(label), drawn]))
            features, label = features[rows], label[rows]
            weight = weight[rows] * np.where(label, 1, len(non_links) / most)
        return cls(_terms(features, size), label, weight)


def column_sizes(parts: Sequence[Features]) -> Numbers:
    """(f,) means of the absolute values of columns of which some rows are here, some there; at least one row."""
    sums = np.sum([np.abs(part).sum(axis=0, dtype=np.float64) for part in parts], axis=0)
    sizes: Numbers = sums / sum(len(part) for part in parts)
    return sizes


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
    def fit(cls, exercises: Sequence[Exercise], size: Numbers, start: Linear | None = None) -> Linear:
        """From exercises of columns of the given size; one class may be empty. ``start`` is near what is looked for."""
        terms = np.concatenate([each.terms for each in exercises])
        label = np.concatenate([each.label for each in exercises]).astype(np.float64)
        weight = np.concatenate([each.weight for each in exercises])
        mean = terms.mean(axis=0)
        terms -= mean
        deviation = np.sqrt(np.einsum("ij,ij->j", terms, terms) / max(len(terms), 1))
        over = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > _SETTLED)
        terms *= over
        terms = np.concatenate([terms, np.ones((len(terms), 1))], axis=1)
        at = None if start is None else np.append(start.weight * deviation, start.base)
        found = _ridge_regression(terms, label, weight, at)
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
        score: Numbers = scores([self], features)[0]
        return score

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


def scores(classifiers: Sequence[Linear], features: Features) -> Numbers:
    """(c, k) log-odds by every classifier, all of which learned from columns of one size."""
    weight = np.stack([each.weight for each in classifiers])
    base = np.array([each.base - each.mean @ each.weight for each in classifiers])
    return weigh_terms(
        np.asarray(features, dtype=np.float32), _over(classifiers[0].size), _FARTHEST, _LOGGED, weight, base
    )


def mean_of(classifiers: Sequence[Linear]) -> Linear:
    """The one whose log-odds are the mean of theirs; all learned from columns of one size."""
    count = len(classifiers)
    weight: Numbers = np.sum([each.weight for each in classifiers], axis=0) / count
    mean: Numbers = np.sum([each.mean for each in classifiers], axis=0) / count
    base = sum(each.base - each.mean @ each.weight for each in classifiers) / count + mean @ weight
    return Linear(classifiers[0].size, mean, weight, float(base))


def _terms(features: Features, size: Numbers) -> Numbers:
    """(k, 2f) columns in their size, and their logarithms, the sign kept; 0 for a column that was always 0."""
    plain = features * _over(size)
    return np.concatenate(
        [np.clip(plain, -_FARTHEST, _FARTHEST), np.copysign(np.log1p(_LOGGED * np.abs(plain)), plain)], axis=1
    )


def _over(size: Numbers) -> Numbers:
    return np.divide(1, size, out=np.zeros_like(size), where=size > 0)


def _ridge_regression(terms: Numbers, label: Numbers, weight: Numbers, start: Numbers | None) -> Numbers:
    """(t,) weights of (k, t) terms, the last of which is 1 and bears no ridge, by Newton's method.

    The caller limits BLAS to one thread: several would add in another order.
    """
    ridge = np.full(terms.shape[1], _RIDGE)
    ridge[-1] = 1e-3  # of one class alone the base would have no bound

    def loss(at: Numbers) -> float:
        odds = terms @ at
        return float((weight * (np.logaddexp(0, odds) - label * odds)).sum() + (ridge * at**2).sum() / 2)

    at = np.zeros(terms.shape[1]) if start is None else start
    if start is None:
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
