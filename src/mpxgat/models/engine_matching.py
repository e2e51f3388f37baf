"""Candidates of many pairs of layers found side by side by an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from mpxgat.graph import MultiplexGraph
from mpxgat.matching.matcher import Candidates, Explanation, Matcher
from mpxgat.matching.matches import layer_pairs
from mpxgat.training.engines import Engine
from mpxgat.training.side_by_side import results

LayerPair = tuple[int, int]
_SHARES = 2  # of the work for each worker: the last one to end keeps the others waiting for less


@dataclass(frozen=True, eq=False)
class FoundCandidates:
    """A matcher whose candidates, ``k`` for a node, are there already; everything else is asked of the matcher."""

    matcher: Matcher
    k: int
    found: dict[LayerPair, Candidates]

    @property
    def graph(self) -> MultiplexGraph:
        """The matcher's."""
        return self.matcher.graph

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """As the matcher gives them."""
        assert k == self.k
        return self.found[layer_a, layer_b]

    def explain(self, first: int, second: int) -> Explanation:
        """As the matcher says."""
        return self.matcher.explain(first, second)


def find_candidates(matcher: Matcher, k: int, engine: Engine, advance: Callable[[int], None]) -> FoundCandidates:
    """Candidates of all pairs of layers by the engine's workers; ``advance`` hears how many pairs are done."""
    pairs = list(layer_pairs(matcher.graph))
    shares = [share for number in range(_SHARES * engine.jobs) if (share := pairs[number :: _SHARES * engine.jobs])]
    found: dict[LayerPair, Candidates] = {}
    work = partial(_candidates_of, matcher, k)
    for share, candidates in zip(shares, results(engine, work, shares, 0, "looked for candidates"), strict=True):
        found |= dict(zip(share, candidates, strict=True))
        advance(len(share))
    return FoundCandidates(matcher, k, found)


def _candidates_of(matcher: Matcher, k: int, pairs: Sequence[LayerPair]) -> list[Candidates]:
    return [matcher.candidates(a, b, k) for a, b in pairs]
