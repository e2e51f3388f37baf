"""One-to-one plans: from the odds of pairs, each looked at for itself, to probabilities that exclude each other.

A node has at most one counterpart in another layer, or none. With odds o_ij, a set of pairs in which every node occurs
at most once has the weight Π o_ij. The probability of a pair in a set drawn by weight is found by sum-product on the
graph of candidates: the message that i is free for j is

    m_i→j = 1 / (1 + Σ_k≠j o_ik m_k→i)        p_ij = o_ij m_j→i / (1 + Σ_k o_ik m_k→i)

It is exact where that graph is a tree: a pair without rivals has o / (1 + o). Where the messages have not quite settled
the two ends may disagree; the lower of their two answers is taken, so the pairs of a node never sum to more than 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.kernels import exchange_messages

Numbers = NDArray[np.float64]
_TURNS = 30  # of passing messages; they have settled by then
_LARGEST = 15.0  # log-odds: beyond, a pair is sure of itself anyway


@dataclass(frozen=True, eq=False)
class Plan:
    """What a plan says of its pairs, and of the nodes at their ends.

    probability     (k,) of the pairs
    alone           for both ends, (k,): the probability that the node has none of its candidates there
    """

    probability: Numbers
    alone: tuple[Numbers, Numbers]


class Rivals:
    """Which of (k, 2) pairs of nodes exclude each other: those that share a node and lead to the same layer.

    pairs   the first in a lower layer than the second, in any order, no pair twice
    layer   (n,) of every node
    """

    def __init__(self, pairs: NDArray[np.integer[Any]], layer: NDArray[np.integer[Any]]):
        self._count = int(layer.max(initial=0)) + 1
        self._places = [
            pairs[:, side].astype(np.int64) * self._count + layer[pairs[:, 1 - side]] for side in (0, 1)
        ]  # of a node and a layer

    @cached_property
    def _groups(self) -> list[tuple[NDArray[np.int64], int]]:
        """For both ends: (k,) the place, numbered from 0 on, and how many there are."""
        found = (np.unique(places, return_inverse=True) for places in self._places)
        return [(group.astype(np.int64), len(places)) for places, group in found]

    def plan(self, log_odds: Numbers, turns: int = _TURNS) -> Plan:
        """The plan for (k,) log-odds."""
        (left, lefts), (right, rights) = self._groups
        odds = np.exp(np.clip(log_odds, -2 * _LARGEST, _LARGEST)).astype(np.float64, copy=False)
        from_left, from_right, *alone = exchange_messages(odds, left, right, lefts, rights, turns)
        probability = odds * np.minimum(from_right * alone[0], from_left * alone[1])
        return Plan(probability, (alone[0], alone[1]))
