"""Boosted trees as arrays, to be asked ten times as quickly as by the library that grew them, with the same answers.

All inner nodes of a tree are asked, for many rows at once, in place of one way from its root to a leaf: a node that
sends a row to the right rules out the leaves on its left, and of those that remain the leftmost is the row's (Lucchese
et al., QuickScorer, SIGIR 2015). That needs no branches, so a processor does it for many rows in one step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.kernels import MOST_LEAVES, sum_of_trees
from mpxgat.models.evidence.features import Features
from mpxgat.system import side_by_side

_ROWS_AT_ONCE = 1 << 14
_PLAIN = "2"  # LightGBM's word for: to the left where the number is at most the threshold, and none is missing
_EVERY = (1 << MOST_LEAVES) - 1


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees with at most `MOST_LEAVES` leaves each; the inner nodes of one tree after those of the other.

    n_features          columns that the trees may ask for
    column, threshold   (d,) a row goes to the right where its number in the column lies above the threshold
    remaining           (d,) which leaves remain for a row that does: a bit for each, from the left
    start               (t + 1,) where the nodes of a tree begin
    value               (t, MOST_LEAVES) of the leaves, from the left
    """

    n_features: int
    column: NDArray[np.int64]
    threshold: NDArray[np.float32]
    remaining: NDArray[np.uint32]
    start: NDArray[np.int64]
    value: NDArray[np.float64]

    @property
    def n_trees(self) -> int:
        """How many."""
        return len(self.value)

    @classmethod
    def read(cls, text: str) -> Trees | None:
        """From LightGBM's text; None if it has trees of another kind, ValueError if it is no such text."""
        try:
            return cls._of([_fields(block) for block in text.split("\n\n")])
        except (KeyError, IndexError, OverflowError) as problem:
            raise ValueError(f"it is damaged at {problem}") from None

    @classmethod
    def _of(cls, blocks: list[Mapping[str, str]]) -> Trees | None:
        width = int(blocks[0]["max_feature_idx"]) + 1
        nodes, start, values = [], [0], []
        for block in blocks:
            if "leaf_value" not in block:
                continue
            tree = _Tree.of(block)
            if len(tree.value) > MOST_LEAVES or set(block["decision_type"].split()) - {_PLAIN}:
                return None  # also where categories or missing values decide
            order: list[int] = []
            nodes += list(tree.nodes(0 if tree.column else ~0, order))
            start.append(len(nodes))
            values.append([tree.value[leaf] for leaf in order] + [0.0] * (MOST_LEAVES - len(order)))
        column, threshold, remaining = (list(each) for each in zip(*nodes, strict=True)) if nodes else ([], [], [])
        if column and not 0 <= min(column) <= max(column) < width:
            raise ValueError("a tree asks for a column that is not there")
        found = np.array(column, np.int64), _at_most(threshold), np.array(remaining, np.uint32)
        return cls(width, *found, np.array(start, np.int64), np.array(values, np.float64).reshape(-1, MOST_LEAVES))

    def score(self, features: Features) -> NDArray[np.float64]:
        """(k,) sums of the leaves' values for (k, f) features; ValueError unless f is `n_features`."""
        if features.ndim != 2 or features.shape[1] != self.n_features:
            raise ValueError(f"features of the shape {features.shape}, expected {self.n_features} columns")
        given = (self.column, self.threshold, self.remaining, self.start, self.value)
        rows = np.ascontiguousarray(features, dtype=np.float32)
        starts = range(0, len(rows), _ROWS_AT_ONCE)
        parts = side_by_side(lambda first: sum_of_trees(rows[first : first + _ROWS_AT_ONCE], *given), starts)
        return np.concatenate([np.zeros(0), *parts])


@dataclass(frozen=True)
class _Tree:
    """As LightGBM writes it: children from 0 on are inner nodes, -1 is leaf 0, -2 leaf 1."""

    column: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    value: list[float]

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> _Tree:
        whole = (list(map(int, fields[name].split())) for name in ("split_feature", "left_child", "right_child"))
        numbers = (list(map(float, fields[name].split())) for name in ("threshold", "leaf_value"))
        (column, left, right), (threshold, value) = whole, numbers
        return cls(column, threshold, left, right, value)

    def nodes(self, node: int, order: list[int], depth: int = 0) -> Iterator[tuple[int, float, int]]:
        """Column, threshold and remaining leaves of all inner nodes below; their leaves are appended to ``order``."""
        if depth > len(self.value) or len(order) >= len(self.value):
            raise ValueError("a tree runs in a circle")
        if node < 0:
            order.append(~node)
            return
        first = len(order)
        yield from self.nodes(self.left[node], order, depth + 1)
        ruled_out = (1 << len(order)) - (1 << first)
        yield self.column[node], self.threshold[node], _EVERY & ~ruled_out
        yield from self.nodes(self.right[node], order, depth + 1)


def _fields(block: str) -> dict[str, str]:
    """The lines NAME=VALUE of a block."""
    parts = (line.partition("=") for line in block.splitlines())
    return {name: value for name, equals, value in parts if equals}


def _at_most(numbers: list[float]) -> NDArray[np.float32]:
    """The largest float32 that are not above: a float32 lies above the one where it lies above the other."""
    exact = np.array(numbers, dtype=np.float64)
    near = exact.astype(np.float32)
    return np.where(near > exact, np.nextafter(near, np.float32(-np.inf)), near).astype(np.float32)
