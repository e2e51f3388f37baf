"""What every comparison does once it is prepared for a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.errors import SettingError, quoted
from mpxgat.pairs import IntArray, PairGrid, PairList, Pairs, Values, row_parts
from mpxgat.system import side_by_side

_PAIRS_AT_ONCE = 1 << 15
BOTH_THERE = "both there"


class Compared(ABC):
    """A comparison of the nodes of a graph. It can be pickled, and several threads may ask it at once.

    label       the column's name: the reason that its numbers belong to
    form        what the data decided; prepared with it, another graph gives numbers of the same meaning
    there       (n,) which nodes have a value
    """

    whats: tuple[str, ...]  # what its numbers are, of one kind (or form) the same for all columns
    rivals: tuple[str, ...]  # those in which candidates compete
    most_threads: int | None = None  # that ask `_numbers` at once

    def __init__(self, label: str, form: str, there: NDArray[np.bool_]):
        self.label, self.form, self.there = label, form, there

    @property
    def names(self) -> tuple[str, ...]:
        """Of its numbers, in their order; the last says whether both nodes have a value."""
        return tuple(f"{self.label}, {what}" for what in (*self.whats, BOTH_THERE))

    @property
    def competing(self) -> tuple[str, ...]:
        """The names of those numbers, none below 0, in which candidates compete: the largest is the likeliest."""
        return tuple(f"{self.label}, {what}" for what in self.rivals)

    def numbers(self, pairs: Pairs) -> dict[str, Values]:
        """By name, each in the shape of the pairs, finite, symmetric; all 0 where a node has no value."""
        found = [np.zeros(pairs.shape) for _ in self.names]
        parts = _parts(pairs, self.there)

        def fill(number: int) -> None:
            place, part = parts[number]
            for into, values in zip(found, (*self._numbers(part), np.ones(part.shape)), strict=True):
                into[place] = values

        side_by_side(fill, range(len(parts)), self.most_threads)
        return dict(zip(self.names, found, strict=True))

    def proposals(self, ours: IntArray, theirs: IntArray, k: int) -> NDArray[np.int64]:
        """Pairs that are alike: up to k most similar of every node of ``ours`` (r,) and of ``theirs`` (c,).

        As keys row * c + column of places in these, ascending, none twice; none of similarity 0. A node is most similar
        to itself: where both sides have it, that is one of its k.
        """
        rows, cols = np.flatnonzero(self.there[ours]), np.flatnonzero(self.there[theirs])
        if k < 1 or not len(rows) or not len(cols):
            return np.empty(0, dtype=np.int64)
        key = self._proposals(ours[rows], theirs[cols], k)
        return np.unique(rows[key // len(cols)] * len(theirs) + cols[key % len(cols)])

    def describe(self, first: int, second: int) -> str:
        """The values of two nodes, side by side, for people."""
        missing = [node for node in (first, second) if not self.there[node]]
        if missing:
            return "missing on both sides" if len(missing) == 2 else "missing on one side"
        return self._describe(first, second)

    @abstractmethod
    def _numbers(self, pairs: Pairs) -> tuple[Values, ...]:
        """One for each of ``whats``, all finite; of nodes that have a value."""

    @abstractmethod
    def _proposals(self, ours: IntArray, theirs: IntArray, k: int) -> NDArray[np.int64]:
        """As `proposals`, of nodes that have a value; in any order, and some perhaps twice."""

    @abstractmethod
    def _describe(self, first: int, second: int) -> str:
        """As `describe`, of nodes that have a value."""


def _parts(pairs: Pairs, there: NDArray[np.bool_]) -> list[tuple[Any, Pairs]]:
    """Pairs of nodes that have a value, a bounded number each, and where they stand."""
    if isinstance(pairs, PairGrid):
        rows, cols = np.flatnonzero(there[pairs.first[:, 0]]), np.flatnonzero(there[pairs.second[0]])
        return [
            (np.ix_(rows[part], cols), PairGrid(pairs.first[rows[part], 0], pairs.second[0, cols]))
            for part in row_parts(rows, len(cols), _PAIRS_AT_ONCE)
            if len(cols)
        ]
    places = np.flatnonzero(there[pairs.first] & there[pairs.second])
    ends = np.stack([pairs.first, pairs.second], axis=1)
    return [(places[part], PairList(ends[places[part]])) for part in row_parts(places, 1, _PAIRS_AT_ONCE)]


def raveled(pairs: Pairs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(k,) both ends of every pair; a grid's row after row."""
    first, second = (np.broadcast_to(ends, pairs.shape).ravel() for ends in (pairs.first, pairs.second))
    return first.astype(np.int64, copy=False), second.astype(np.int64, copy=False)


def equal_and_rare(pairs: Pairs, code: NDArray[np.int64], rarity: Values) -> Values:
    """The rarity (codes,) of the code that both ends have, 0 where they differ."""
    one = code[pairs.first]
    return np.where(one == code[pairs.second], rarity[one], 0)


def check_form(label: str, form: str | None, known: tuple[str, ...]) -> None:
    """SettingError if there is a form, and it begins with none of these words."""
    if form is not None and form.split(" ")[0] not in known:
        raise SettingError(f"column {quoted(label)} has the form {quoted(form)}, expected {' or '.join(known)}")
