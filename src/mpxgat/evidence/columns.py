"""Numbers about pairs, by name, and the reason that each belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.evidence.pairs import PairList, Pairs

_PAIRS_AT_ONCE = 1 << 16
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """A number of a pair: its name and the reason it belongs to."""

    name: str
    reason: str


def matrix(columns: Mapping[Column, Values]) -> NDArray[np.float32]:
    """(k, f) the numbers side by side."""
    return np.stack([value.astype(np.float32) for value in columns.values()], axis=1)


def matrix_of(
    columns: Callable[[Pairs], Mapping[Column, Values]], pairs: NDArray[np.integer[Any]]
) -> NDArray[np.float32]:
    """(k, f) the numbers of (k, 2) pairs side by side, computed for a bounded number of pairs at once."""
    first = matrix(columns(PairList(pairs[:_PAIRS_AT_ONCE])))
    found = np.empty((len(pairs), first.shape[1]), dtype=np.float32)
    found[:_PAIRS_AT_ONCE] = first
    for start in range(_PAIRS_AT_ONCE, len(pairs), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        found[part] = matrix(columns(PairList(pairs[part])))
    return found


def sides(name: str, reason: str, one: NDArray[Any], other: NDArray[Any]) -> dict[Column, Values]:
    """A number of both nodes: the lower one, then the higher."""
    return {
        Column(f"{name}, low", reason): np.minimum(one, other),
        Column(f"{name}, high", reason): np.maximum(one, other),
    }
