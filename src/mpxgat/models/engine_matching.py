"""Candidates of many pairs of layers found side by side by an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass

from mpxgat.errors import TrainingError, printable
from mpxgat.graph import MultiplexGraph
from mpxgat.matching.matcher import Candidates, Explanation, Matcher
from mpxgat.matching.matches import layer_pairs
from mpxgat.training.engines import Engine

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
    with engine.workers() as pool:
        futures = [pool.submit(_candidates_of, matcher, share, k) for share in shares]
        for share, future in zip(shares, futures, strict=True):
            try:
                found |= dict(zip(share, future.result(), strict=True))
            except BrokenExecutor as problem:
                raise TrainingError(
                    f"a process that looked for candidates died ({printable(problem, 300)}); was it out of memory?"
                ) from None
            advance(len(share))
    return FoundCandidates(matcher, k, found)


def _candidates_of(matcher: Matcher, pairs: Sequence[LayerPair], k: int) -> list[Candidates]:
    return [matcher.candidates(a, b, k) for a, b in pairs]
