"""On which scale log-odds make an honest plan: two numbers, learned on links that were hidden again.

A classifier's log-odds know a pair's rivals already, by its features; the plan lets the pairs of a node exclude each
other once more. What is wanted is a plan that is right as often as it says. So shift and slope of the log-odds are
chosen for the likelihood of the *plan's* probabilities at the pairs of which the truth is known.

All these pairs have an end whose unit is known, so it has a counterpart; of the nodes that are asked about many have
none, and what looks most like a counterpart of such a node is never one. Therefore some units of a fold are bereaved:
their links may be no candidates, and their nodes stand for those without a counterpart. How much they count is read off
the whole graph: the best scores of its nodes are a mixture of those of nodes with a counterpart and of bereaved ones.
With few known links a reading is uncertain; the share is the same in every round, so the mean over rounds is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from mpxgat.matching.plan import Rivals
from mpxgat.system import side_by_side

Numbers = NDArray[np.float64]
_MOST = 20.0  # times as much as another a bereaved node may count
_QUANTILES = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)  # of the best scores of nodes with a counterpart; lower ones tell nothing
_LEAST, _MISSED = 1e-9, 1e-5  # probabilities, and that of a link that is no candidate
_TRIES, _TRIES_NEARBY, _MESSAGES = 40, 25, 10
_NEARBY = ((0.0, 0.0), (-0.7, 0.0), (-0.3, -0.1))
_DRAWN, _LEAST_VARIANCE = 50, 1e-4  # samples that tell how uncertain a reading is, and what is always left
_GENTLEST = 0.05  # slope: with none at all no score would matter


@dataclass(frozen=True)
class Scale:
    """A line from a classifier's log-odds to those that make a plan."""

    shift: float = 0.0
    slope: float = 1.0

    def apply(self, score: Numbers) -> Numbers:
        """(k,) of (k,)."""
        return self.shift + self.slope * score


@dataclass(frozen=True, eq=False)
class Judged:
    """The candidates of a fold and the truth about some.

    pairs, layer    (m, 2) and of every node (n,)
    score       (m,) by a classifier that has not learned from the fold
    is_link     (m,) which are hidden links
    weight      (m,) of those known to be none: a half for each end of which the truth is known
    bereaved    (m,) the part of it that is due to bereaved ends
    hidden      (h, 2) all hidden links but the barred, those that are no candidates among them
    barred      (b, 2) links of bereaved units, which are no candidates
    """

    pairs: NDArray[np.int64]
    layer: NDArray[np.int32]
    score: Numbers
    is_link: NDArray[np.bool_]
    weight: Numbers
    bereaved: Numbers
    hidden: NDArray[np.int64]
    barred: NDArray[np.int64]

    @cached_property
    def rivals(self) -> Rivals:
        """Of the candidates."""
        return Rivals(self.pairs, self.layer)

    @property
    def missed(self) -> int:
        """Hidden links that are no candidates."""
        return len(self.hidden) - int(self.is_link.sum())

    @cached_property
    def best(self) -> tuple[NDArray[np.int64], Numbers]:
        """Places, ascending, of a node and a layer where it has candidates, and the best score of these."""
        places = np.concatenate([self._places(self.pairs, side) for side in (0, 1)])
        found, group = np.unique(places, return_inverse=True)
        best = np.full(len(found), -np.inf)
        np.maximum.at(best, group, np.tile(self.score, 2))
        return found, best

    def best_of(self, links: NDArray[np.int64]) -> Numbers:
        """The best scores at both ends of links, as far as there are candidates."""
        places, best = self.best
        asked = np.concatenate([self._places(links, side) for side in (0, 1)])
        return best[np.isin(places, asked)]

    def _places(self, pairs: NDArray[np.int64], side: int) -> NDArray[np.int64]:
        layers = int(self.layer.max(initial=0)) + 1
        places: NDArray[np.int64] = pairs[:, side] * layers + self.layer[pairs[:, 1 - side]]
        return places

    def log_likelihood(self, scale: Scale, factor: float = 1.0) -> float:
        """Of the plan, at the pairs of which the truth is known; bereaved ends count ``factor``."""
        p = np.clip(self.rivals.plan(scale.apply(self.score), _MESSAGES).probability, _LEAST, 1 - _LEAST)
        weight = self.weight + (factor - 1) * self.bereaved
        none = weight > 0
        return float(np.log(p[self.is_link]).sum() + (weight[none] * np.log1p(-p[none])).sum())


def fit_scale(folds: Sequence[Judged], lonely: float, before: Scale | None = None) -> Scale:
    """From the folds' truth, and the share of nodes that have no counterpart, see `lonely_share`.

    By Nelder and Mead's search from three points, near the scale before if there is one; a slope far from 1 must earn
    its place.
    """
    factor = bereaved_factor(folds, lonely)

    def loss(at: NDArray[np.float64]) -> float:
        told = side_by_side(lambda fold: fold.log_likelihood(Scale(*at), factor), folds)
        return float((at[1] - 1) ** 2 / 2 - sum(told))

    start = np.array([[0, 1], [1.5, 1], [1, 1.4]])
    if before is not None:
        start = np.array([before.shift, before.slope]) + _NEARBY
    tries = _TRIES if before is None else _TRIES_NEARBY
    found = minimize(loss, start[0], method="Nelder-Mead", options={"maxfev": tries, "initial_simplex": start})
    return Scale(float(found.x[0]), max(float(found.x[1]), _GENTLEST))


def likelihood(folds: Sequence[Judged], scale: Scale) -> float:
    """Mean log-likelihood of the plan for each hidden link, non-links included; links that are no candidates too."""
    told = sum(fold.log_likelihood(scale) for fold in folds)
    missed = sum(fold.missed for fold in folds) * np.log(_MISSED)
    return float((told + missed) / max(sum(len(fold.hidden) for fold in folds), 1))


@dataclass(frozen=True)
class Reading:
    """An estimate and its variance."""

    value: float
    variance: float

    @classmethod
    def pooled(cls, readings: Sequence[Reading]) -> Reading:
        """The mean, each counted by its precision; at least one."""
        precision = np.array([1 / each.variance for each in readings])
        value = (precision * [each.value for each in readings]).sum() / precision.sum()
        return cls(float(value), float(1 / precision.sum()))


ANY_SHARE = Reading(0.3, 0.09)  # what is assumed of `lonely_share` before anything is read


def lonely_share(folds: Sequence[Judged], whole: Sequence[Judged]) -> Reading:
    """The share of the whole graph's nodes, with candidates in a layer, that have no counterpart there.

    whole   scored by one classifier after the other, as the folds are: the mean of all would spread less

    Counts of nodes by their best score, in bins: those of the whole graph are the sum of x times the distribution of
    nodes with a counterpart and y times that of the bereaved, by least squares with neither below 0. How uncertain
    that is shows when both distributions are drawn again from themselves.
    """
    paired, bereaved = _best_scores(folds)
    asked = np.concatenate([each.best[1] for each in whole])
    if not len(paired) or not len(bereaved) or not len(asked):
        return ANY_SHARE
    bounds = np.concatenate([[-np.inf], np.unique(np.quantile(paired, _QUANTILES)), [np.inf]])
    counts = [np.histogram(each, bounds)[0] for each in (paired, bereaved, asked)]
    rng = np.random.default_rng(0)
    drawn = [rng.multinomial(each.sum(), (each + 0.5) / (each + 0.5).sum(), _DRAWN) for each in counts[:2]]
    again = [_share_of_second(one, other, counts[2]) for one, other in zip(*drawn, strict=True)]
    found = _share_of_second(counts[0], counts[1], counts[2])
    return Reading(found, float(np.var(again)) + _LEAST_VARIANCE)


def _share_of_second(one: NDArray[np.int64], other: NDArray[np.int64], both: NDArray[np.int64]) -> float:
    """How much of a mixture is of the second kind, from counts in bins, the lowest of which tells nothing."""
    scale = 1 / np.sqrt(both[1:] + 1)
    shares = np.stack([one[1:] / one.sum(), other[1:] / other.sum()], axis=1)
    (first, second), _ = nnls(shares * scale[:, None], both[1:] * scale)
    return float(second / max(first + second, 1))


def bereaved_factor(folds: Sequence[Judged], lonely: float) -> float:
    """How much a bereaved node counts beside one with a counterpart, so that their share is that of lonely nodes."""
    paired, bereaved = map(len, _best_scores(folds))
    if not paired or not bereaved:
        return 1.0
    return float(min(lonely * paired / max((1 - lonely) * bereaved, 1e-9), _MOST))


def _best_scores(folds: Sequence[Judged]) -> tuple[Numbers, Numbers]:
    """Of nodes with a counterpart, and of bereaved ones."""
    paired, bereaved = (
        np.concatenate([fold.best_of(links) for fold, links in zip(folds, each, strict=True)])
        for each in ([fold.hidden for fold in folds], [fold.barred for fold in folds])
    )
    return paired, bereaved
