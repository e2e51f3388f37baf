"""A start without known links: who is who by attributes alone, so that rounds have something to begin with.

Every comparison is one number of a pair (the first in which candidates compete), cut into levels. How often strangers
reach a level is seen on random pairs, nearly all of which are strangers; how often two nodes of one unit do is learned
as Fellegi and Sunter's model is, by expectation and maximisation. As links are one to one, what is expected is a plan
(`mpxgat.matching.plan`). The comparisons of a pair are taken to be independent; where they are not, it is too sure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.compare import Compared
from mpxgat.graph import MultiplexGraph
from mpxgat.matching.assignment import merge_units
from mpxgat.matching.plan import Rivals
from mpxgat.models.evidence.attributes import Attributes
from mpxgat.pairs import KnownUnits, PairList

_STRANGERS = 200_000  # random pairs
_TAIL = (0.5, 0.2, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)  # shares of strangers above the bounds of levels
_TURNS, _SETTLED = 40, 1e-3
_LEAST_STRANGERS = 0.1  # of the random pairs in a level
_PRIOR = 0.5  # pairs that are added to every level
_SURE = 0.8  # probability from which a pair is taken for a known link

PairArray = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Likely:
    """Pairs of a graph that are probably one unit.

    pairs           (m, 2) the lower layer first
    probability     (m,) of a one-to-one plan
    """

    pairs: PairArray
    probability: Numbers

    def sure(self, graph: MultiplexGraph) -> PairArray:
        """Those that are taken for known links, and what follows from them; they agree over all layers."""
        rows = np.flatnonzero(self.probability >= _SURE)
        return merge_units(graph, self.pairs[rows].astype(np.int32), self.probability[rows]).pairs.astype(np.int64)


def likely_by_attributes(graph: MultiplexGraph, attributes: Attributes, seed: int) -> Likely:
    """What attributes alone say about the open pairs that they propose."""
    from mpxgat.training.links import BetweenLayers  # which imports torch: not to read a model

    units = KnownUnits.of(graph)
    pairs = attributes.proposed[~units.decided(*attributes.proposed.T)]
    if not len(pairs):
        return Likely(pairs, np.zeros(0))
    drawn = BetweenLayers(graph.node_layer, graph.unit).draw(_STRANGERS, np.random.default_rng([seed, 7]))
    strangers = np.sort(drawn, axis=1)
    levels = [_Levels.of(each, strangers, pairs) for each in attributes.compared]
    rivals = Rivals(pairs, graph.node_layer)
    size = np.diff(graph.layer_start).astype(np.float64)
    in_all = (size.sum() ** 2 - (size**2).sum()) / 2  # pairs of two layers
    start = -np.log(size.mean()) + np.sum([each.surprise for each in levels], axis=0)
    probability = rivals.plan(start).probability
    for _ in range(_TURNS):
        share = (probability.sum() + _PRIOR) / in_all
        weight = np.sum([each.weights(probability, share)[each.of_pairs] for each in levels], axis=0)
        before, probability = probability, rivals.plan(np.log(share) + weight).probability
        if np.abs(probability - before).sum() < _SETTLED * max(before.sum(), 1):
            break
    return Likely(pairs, probability)


@dataclass(frozen=True, eq=False)
class _Levels:
    """The levels of a comparison; 0 is for pairs that lack a value, which says nothing.

    of_pairs    (m,) of the pairs
    drawn       (levels,) how many of the random pairs are in each
    """

    of_pairs: NDArray[np.int64]
    drawn: Numbers

    @classmethod
    def of(cls, compared: Compared, strangers: PairArray, pairs: PairArray) -> _Levels:
        there, value = _told(compared, strangers)
        bounds = np.unique(np.quantile(value[there], 1 - np.array(_TAIL)) if there.any() else np.zeros(1))
        levels = [_level(*_told(compared, each), bounds) for each in (strangers, pairs)]
        return cls(levels[1], np.bincount(levels[0][there], minlength=len(bounds) + 2).astype(np.float64))

    @property
    def surprise(self) -> Numbers:
        """(m,) minus the log of the share of random pairs that come as far."""
        tail = np.cumsum((self.drawn + _PRIOR)[::-1])[::-1]
        found = np.log(tail[1]) - np.log(tail)
        found[0] = 0
        surprise: Numbers = found[self.of_pairs]
        return surprise

    def weights(self, probability: Numbers, share: float) -> Numbers:
        """(levels,) log of how much more often two nodes of one unit are there than strangers are.

        share   of random pairs that are one unit: they are taken away from those drawn, though not all of a level
        """
        paired = np.bincount(self.of_pairs, probability, len(self.drawn)).astype(np.float64)
        there = (np.arange(len(self.drawn)) > 0).astype(np.float64)
        paired, drawn = paired * there, self.drawn * there
        same = share * drawn.sum() * paired / max(paired.sum(), _PRIOR)
        strangers = _smoothed(np.maximum(drawn - same, _LEAST_STRANGERS * drawn))
        found: Numbers = np.log(_smoothed(paired) / strangers)
        found[0] = 0
        return found


def _smoothed(count: Numbers) -> Numbers:
    share: Numbers = (count + _PRIOR) / (count + _PRIOR).sum()
    return share


def _told(compared: Compared, pairs: PairArray) -> tuple[NDArray[np.bool_], Numbers]:
    """Which pairs have both values, and the number that tells most about them."""
    numbers = compared.numbers(PairList(pairs))
    return numbers[compared.names[-1]] > 0, numbers[compared.competing[0]]


def _level(there: NDArray[np.bool_], value: Numbers, bounds: Numbers) -> NDArray[np.int64]:
    """(k,) 0 without values, else one more than the bounds that the value is above."""
    level: NDArray[np.int64] = np.where(there, np.searchsorted(bounds, value, side="left") + 1, 0)
    return level
