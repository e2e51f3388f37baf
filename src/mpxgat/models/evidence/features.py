"""Features of pairs of nodes: numbers by name, each with the reason that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import FloatArray, PairList, Pairs, Values

Features = NDArray[np.float32]  # (k, f) of k pairs
_ROWS_AT_ONCE = 1 << 16
DEGREES = "degrees"
EMBEDDINGS = "anchored embeddings"


@dataclass(frozen=True)
class Column:
    """A number of a pair: its name and the reason it belongs to."""

    name: str
    reason: str


@dataclass(frozen=True)
class LinkDetails:
    """What of the links within layers a classifier learned from, beside that they are there.

    A graph without direction or weights that it is asked about has links that go both ways and weigh 1.
    """

    direction: bool = False
    weights: bool = False

    @classmethod
    def of(cls, graph: MultiplexGraph) -> LinkDetails:
        """What the graph has."""
        return cls(graph.intra_arcs is not None, graph.intra_weight is not None)


PLAIN = LinkDetails()


Columns = Mapping[Column, FloatArray]  # in the shape of the pairs


def matrix(columns: Columns) -> Features:
    """(k, f) the numbers side by side; a grid's row after row."""
    return np.stack([value.ravel().astype(np.float32) for value in columns.values()], axis=1)


def matrix_of(columns: Callable[[Pairs], Columns], pairs: NDArray[np.integer[Any]]) -> Features:
    """(k, f) the numbers of (k, 2) pairs side by side, computed for a bounded number of pairs at once."""
    first = matrix(columns(PairList(pairs[:_ROWS_AT_ONCE])))
    found = np.empty((len(pairs), first.shape[1]), dtype=np.float32)
    found[:_ROWS_AT_ONCE] = first
    for start in range(_ROWS_AT_ONCE, len(pairs), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        found[part] = matrix(columns(PairList(pairs[part])))
    return found


def column_names(columns: Callable[[Pairs], Columns]) -> list[str]:
    """The names of the columns, in their order."""
    return [column.name for column in columns(PairList(np.empty((0, 2), dtype=np.int64)))]


def sides(name: str, reason: str, one: NDArray[Any], other: NDArray[Any]) -> dict[Column, Values]:
    """A number of both nodes: the lower one, then the higher."""
    return {
        Column(f"{name}, low", reason): np.minimum(one, other),
        Column(f"{name}, high", reason): np.maximum(one, other),
    }
