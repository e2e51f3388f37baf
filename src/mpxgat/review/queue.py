"""Which pairs to ask about, and in which order.

informative     where an answer is expected to change most: pairs that are probable but not sure, whose neighbours'
                matching is unsettled
surest          the most probable first: accepted quickly, one after another
random          matches at a threshold in random order: the share of them accepted estimates their precision
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.matching.match import Matcher, match_all
from mpxgat.pairs import PairList
from mpxgat.report.explorer import shortlist
from mpxgat.review.decisions import ORDERS, RANDOM, SUREST

Pairs = NDArray[np.int32]
Numbers = NDArray[np.float64]
_SEED = 0  # of the random order: the same in every process and after a restart


@dataclass(frozen=True, eq=False)
class Queue:
    """Pairs in the order in which they are asked about.

    pairs           (k, 2) node positions, the first in the lower layer
    probability     (k,) that the two are one unit
    order           by which they stand as they do
    threshold       of the matches that they are, in random order; else None
    silence         why there are none, if the model could not learn to match; sentences
    """

    pairs: Pairs
    probability: Numbers
    order: str
    threshold: float | None = None
    silence: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pairs)


def make_queue(matcher: Matcher, order: str, threshold: float) -> Queue:
    """The pairs of a model's network that are worth an answer; SettingError for an unknown order."""
    if order not in ORDERS:
        raise SettingError(f"no order {quoted(order)}, expected {', '.join(ORDERS)}")
    if order == RANDOM:
        return _random(matcher, threshold)
    found = shortlist(matcher)
    worth = found.probability if order == SUREST else informativeness(matcher.graph, found.pairs, found.probability)
    best = np.argsort(-worth, kind="stable")
    return Queue(found.pairs[best], found.probability[best], order, silence=found.silence)


def _random(matcher: Matcher, threshold: float) -> Queue:
    """A permutation of the matches, so that those answered, wherever one stops, are a random sample of them."""
    found = match_all(matcher, threshold)
    drawn = np.random.default_rng(_SEED).permutation(len(found))
    return Queue(found.pairs[drawn], found.probability[drawn], RANDOM, threshold, found.notes)


def informativeness(graph: MultiplexGraph, pairs: Pairs, probability: Numbers) -> Numbers:
    """(k,) how much an answer about each of the (k, 2) most probable open pairs is expected to help.

    Nothing is learned of a pair that is sure (1 - p). The pairs whose matching depends on this one are those of a
    neighbour of each node; how unsettled they are, each counts by p (1 - p), which is least where nothing can change.
    And an accepted pair tells its neighbours more than a rejected one, so p counts more than 1 - p, whose root is
    taken. docs/review.md has what was measured.
    """
    open_ends = sparse.csr_array(
        (probability * (1 - probability), tuple(pairs.T)), shape=(graph.n_nodes, graph.n_nodes)
    )
    unsettled = PairList(pairs).overlap(graph.adjacency, sparse.csr_array(graph.adjacency @ open_ends.T))
    return np.asarray(probability * np.sqrt(1 - probability) * (1 + unsettled))
