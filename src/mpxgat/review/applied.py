"""Decisions at work: a run's model on its network with the decisions, and what reviewed samples say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.matching.match import Candidates, Matcher
from mpxgat.matching.reasons import Explanation
from mpxgat.pairs import KnownUnits
from mpxgat.review.decisions import ACCEPT, REJECT, DecisionsFile, standing
from mpxgat.review.settled import with_decisions


@dataclass(frozen=True, eq=False)
class Reviewed:
    """A run's network with what was decided of it.

    graph               accepted pairs are known links, rejected ones are known to be different
    accepted, rejected  how many hold
    """

    graph: MultiplexGraph
    accepted: int
    rejected: int

    @classmethod
    def of(cls, run: Path, graph: MultiplexGraph) -> Reviewed:
        """By the decisions in a run's folder; InputError names one that is wrong or contradicts others."""
        file = DecisionsFile(run, graph)
        latest = list(standing(file.read()).values())
        accepted, rejected = (sum(each.answer == answer for each in latest) for answer in (ACCEPT, REJECT))
        decided = with_decisions(graph, latest, file.path) if accepted + rejected else graph
        return cls(decided, accepted, rejected)

    def __bool__(self) -> bool:
        return self.accepted + self.rejected > 0

    def __str__(self) -> str:
        return f"decisions used: {self.accepted:,} pairs accepted, {self.rejected:,} rejected"


def with_graph(matcher: Matcher, graph: MultiplexGraph) -> Matcher:
    """A fitted model on another graph of the same nodes, without training.

    One that cannot be moved (`extend`) keeps its probabilities, and pairs that the graph settles are left out.
    """
    extend = getattr(matcher, "extend", None)
    if extend is None:
        return StillOpen(matcher, graph)
    extended: Matcher = extend(graph)
    return extended


@dataclass(frozen=True, eq=False)
class StillOpen:
    """A matcher less the pairs that ``graph``, on the same nodes, settles."""

    matcher: Matcher
    graph: MultiplexGraph

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """The matcher's that are open."""
        found = self.matcher.candidates(layer_a, layer_b, k)
        still = ~KnownUnits.of(self.graph).decided(found.pairs[:, 0], found.pairs[:, 1])
        return Candidates(found.pairs[still], found.probability[still], found.silence)

    def explain(self, first: int, second: int) -> Explanation:
        """As the matcher says."""
        return self.matcher.explain(first, second)

    def explain_many(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """As the matcher says."""
        return self.matcher.explain_many(pairs)
