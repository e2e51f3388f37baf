"""Why a pair has its probability: a waterfall of log-odds, and its weightiest steps in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.graph import describe
from mpxgat.tabular import Tabular, html_of

if TYPE_CHECKING:  # matches are explained, and matchers explain
    from mpxgat.matching.match import Matcher, Matches

_TOP = 3
_NOTHING = 0.005  # would be shown as 0.00
_UNKNOWN = 1e-6  # the probability of a pair about which nothing could be learned


@dataclass(frozen=True)
class Reason:
    """One bar of a waterfall: what was looked at, what was found, the log-odds it adds."""

    label: str
    finding: str
    contribution: float


@dataclass(frozen=True)
class Explanation(Tabular):
    """Why a pair has its probability: ``base`` (log-odds before any evidence) and the reasons add up to ``score``."""

    first: int
    second: int
    probability: float
    base: float
    reasons: tuple[Reason, ...]
    score: float

    def to_table(self) -> pa.Table:
        """Columns reason, finding, contribution (log-odds, which add up to the score); the first row is the base."""
        base = Reason("before any evidence", "", self.base)
        rows = [(one.label, one.finding, one.contribution) for one in (base, *self.reasons)]
        names = ("reason", "finding", "contribution")
        return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    def _repr_html_(self) -> str:
        return html_of(self.to_table(), f"p = {self.probability:.3f}, log-odds {self.score:+.2f}")


def unexplained(pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
    """Of (k, 2) pairs, by a model that found too few known links to learn from."""
    odds = math.log(_UNKNOWN / (1 - _UNKNOWN))
    nothing = (Reason("too few known links", "nothing could be learned", 0.0),)
    return [Explanation(first, second, _UNKNOWN, odds, nothing, odds) for first, second in pairs.tolist()]


def in_words(explanation: Explanation, top: int = _TOP) -> str:
    """The weightiest reasons for or against a pair, with the log-odds each adds; empty if there is none."""
    telling = (reason for reason in explanation.reasons if abs(reason.contribution) >= _NOTHING)
    weighty = sorted(telling, key=lambda reason: -abs(reason.contribution))  # stable among equals
    return "; ".join(f"{one.label}: {one.finding} ({one.contribution:+.2f})" for one in weighty[:top])


def with_reasons(matcher: Matcher, matches: Matches, advance: Callable[[int], None] = lambda rows: None) -> pa.Table:
    """The table of matches with a column ``reasons``; ``advance`` is told of the rows done.

    A match that follows from others has the reasons of the pair from which it follows, and says so.
    """
    nodes = matches.graph.nodes
    known: dict[tuple[int, int], str] = {}
    column = []
    for pair, (first, second) in zip(matches.pairs.tolist(), matches.joined_by.tolist(), strict=True):
        if (first, second) not in known:
            known[first, second] = in_words(matcher.explain(first, second))
        words = known[first, second]
        if {first, second} != set(pair):
            words = f"follows from {describe(nodes[first])} and {describe(nodes[second])}: {words}"
        column.append(words)
        advance(1)
    return matches.to_table().append_column("reasons", pa.array(column, pa.large_string()))
