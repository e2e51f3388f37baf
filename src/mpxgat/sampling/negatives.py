"""Fresh non-links for every epoch of training: valid pairs, never a known link, drawn without a Python loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.links import pair_keys

_MAX_ROUNDS = 200
_Candidates = Callable[[int, np.random.Generator], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class WithinLayer:
    """Pairs of different nodes 0…n-1 of one layer that are no link; ``links`` (m, 2)."""

    n_nodes: int
    keys: NDArray[np.int64]

    @classmethod
    def of(cls, n_nodes: int, links: NDArray[np.int32]) -> WithinLayer:
        """A sampler that avoids the given links."""
        return cls(n_nodes, np.sort(pair_keys(links, n_nodes)))

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """(k, 2) pairs, uniformly and independently; fewer than ``count`` (even none) if hardly any pair is free."""
        return _draw(count, self._candidates, rng)

    def _candidates(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        pairs = rng.integers(self.n_nodes, size=(count, 2)) if self.n_nodes else np.empty((0, 2), dtype=np.int64)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        free: NDArray[np.int64] = pairs[~_contains(self.keys, pair_keys(pairs, self.n_nodes))]
        return free


@dataclass(frozen=True, eq=False)
class BetweenLayers:
    """Pairs of nodes of different layers that are not known to be one unit.

    layer, unit     (n,) of every node; copies of a known unit, linked or implied, are never drawn
    """

    layer: NDArray[np.int32]
    unit: NDArray[np.int32]

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """(k, 2) pairs, uniformly and independently; fewer than ``count`` (even none) if hardly any pair is free."""
        return _draw(count, self._candidates, rng)

    def _candidates(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        n = len(self.layer)
        first, second = rng.integers(n, size=(2, count)) if n else np.empty((2, 0), dtype=np.int64)
        valid = (self.layer[first] != self.layer[second]) & (self.unit[first] != self.unit[second])
        return np.stack([first[valid], second[valid]], axis=1)


def _draw(count: int, candidates: _Candidates, rng: np.random.Generator) -> NDArray[np.int64]:
    """Candidates of round after round until there are enough; a fixed number of rounds if they are rare."""
    found = [candidates(count + count // 8 + 16, rng)] if count else [np.empty((0, 2), dtype=np.int64)]
    have = len(found[0])
    for _ in range(_MAX_ROUNDS):
        if have >= count:
            break
        found.append(candidates(2 * (count - have) + 16, rng))
        have += len(found[-1])
    return np.concatenate(found)[:count]


def _contains(sorted_keys: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    place = np.searchsorted(sorted_keys, keys)
    inside = place < len(sorted_keys)
    inside[inside] = sorted_keys[place[inside]] == keys[inside]
    return inside
