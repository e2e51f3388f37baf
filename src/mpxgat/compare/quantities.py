"""Numbers and dates: how far apart they are in the column's own spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from mpxgat.compare.columns import ALL, coded, features, rarity, read_values
from mpxgat.compare.compared import Compared, check_form, equal_and_rare
from mpxgat.compare.declared import Comparison
from mpxgat.compare.reading import DATE_EXPECTED, EPOCH, NUMBER_EXPECTED, read_date, read_number
from mpxgat.compare.similar import nearest_nodes
from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import IntArray, Pairs, Values

PLAIN, LOGS = "plain", "logs"
DIFFERENCE, SIMILARITY, EQUAL = "difference", "similarity", "equal and rare"
_FARTHEST = 1e6  # of a difference in spreads
_HEAVY = 3.0  # times as far from the middle to the top as to the bottom
_WIDE = 2.0  # and the top so many times the middle
_TAIL = 0.05  # where top and bottom are
_NEARLY_ALL = 0.9  # of the values are different, from which on neighbours are worth a look
_DAY = 86400.0
_FIRST, _LAST = -62135596800, 253402300799  # seconds from 1970 to the first and the last moment of a datetime


def prepare_number(comparison: Comparison, graph: MultiplexGraph, form: str | None) -> Compared:
    """In logarithms where the column is heavy-tailed and has nothing below 0, or as the form says."""
    check_form(comparison.column, form, (PLAIN, LOGS))
    table = features(graph, comparison)
    if table is None:
        values = quantities(graph, comparison)
    elif comparison.column.endswith(ALL):
        raise SettingError(f"{quoted(comparison.column)} are columns of numbers, expected the kind vector")
    else:
        values = table.values[:, 0].astype(np.float64)
    known = values[~np.isnan(values)]
    scale = Scale.of_numbers(known) if form is None else Scale.of_form(comparison.column, form)
    return Quantities(comparison.column, values, scale, _number_shown)


def prepare_date(comparison: Comparison, graph: MultiplexGraph, form: str | None) -> Compared:
    """Days, never in logarithms."""
    check_form(comparison.column, form, (PLAIN,))
    values = quantities(graph, comparison)
    known = values[~np.isnan(values)]
    scale = Scale(_spread(known)) if form is None else Scale.of_form(comparison.column, form)
    return Quantities(comparison.column, values, scale, _date_shown)


@dataclass(frozen=True)
class Scale:
    """In what differences are measured: the column's spread, of logarithms of ``unit`` + value if there is a unit."""

    spread: float
    unit: float | None = None

    @classmethod
    def of_numbers(cls, values: Values) -> Scale:
        """By (m,) values; in logarithms where the upper tail is much longer than the lower."""
        if not len(values) or values.min() < 0:
            return cls(_spread(values))
        low, middle, high = np.quantile(values, (_TAIL, 0.5, 1 - _TAIL))
        if high - middle <= _HEAVY * (middle - low) or high <= _WIDE * middle:
            return cls(_spread(values))
        unit = float(np.quantile(values[values > 0], 0.1))
        return cls(_spread(np.log(unit + values)), unit)

    @classmethod
    def of_form(cls, label: str, form: str) -> Scale:
        """Read what ``form`` wrote; SettingError if it did not."""
        try:
            spread, *unit = (float(part) for part in form.split(" ")[1:])
            if not all(0 < number < np.inf for number in (spread, *unit)) or len(unit) != form.startswith(LOGS):
                raise ValueError
        except ValueError:
            raise SettingError(f"column {quoted(label)} has the form {quoted(form)}, expected its spread") from None
        return cls(spread, *unit)

    @property
    def form(self) -> str:
        """As text, to the last bit."""
        return f"{PLAIN} {self.spread!r}" if self.unit is None else f"{LOGS} {self.spread!r} {self.unit!r}"

    def scaled(self, values: Values) -> Values:
        """Numbers whose differences count; a value below 0 where there were none counts as 0."""
        return values if self.unit is None else np.log(self.unit + np.maximum(values, 0))


class Quantities(Compared):
    """Numbers or dates (n,), NaN where missing."""

    whats = (DIFFERENCE, SIMILARITY, EQUAL)
    rivals = (SIMILARITY,)

    def __init__(self, label: str, values: Values, scale: Scale, shown: Callable[[float], str]):
        super().__init__(label, scale.form, ~np.isnan(values))
        self._values, self._scaled, self._spread, self._shown = values, scale.scaled(values), scale.spread, shown
        different, code = np.unique(values[self.there], return_inverse=True)
        self._code = np.full(len(values), -1, dtype=np.int64)
        self._code[self.there] = code
        self._rarity = rarity(code, len(different))
        self._neighbours_tell = len(different) >= _NEARLY_ALL * len(code)

    def _numbers(self, pairs: Pairs) -> tuple[Values, ...]:
        apart = np.abs(self._scaled[pairs.first] - self._scaled[pairs.second])
        with np.errstate(over="ignore"):
            difference = np.minimum(apart / self._spread, _FARTHEST)
        return difference, 1 / (1 + difference), equal_and_rare(pairs, self._code, self._rarity)

    def _proposals(self, ours: IntArray, theirs: IntArray, k: int) -> NDArray[np.int64]:
        if not self._neighbours_tell:
            return np.empty(0, dtype=np.int64)
        return nearest_nodes(self._scaled[ours], self._scaled[theirs], k)

    def _describe(self, first: int, second: int) -> str:
        word = "=" if self._code[first] == self._code[second] else "and"
        return f"{self._shown(float(self._values[first]))} {word} {self._shown(float(self._values[second]))}"


def _spread(values: Values) -> float:
    """The distance between the quartiles; the standard deviation where that is 0, and 1 where all are equal."""
    if not len(values):
        return 1.0
    low, high = np.quantile(values, (0.25, 0.75))
    return float(high - low) or float(np.std(values)) or 1.0


# ---- reading and showing ---------------------------------------------------------------------------------


def quantities(graph: MultiplexGraph, comparison: Comparison) -> NDArray[np.float64]:
    """(n,) the numbers of an attribute, or its dates in days since 1970; NaN where missing.

    SettingError: an unknown column, or a value that is none of its kind.
    """
    read, expected = (read_date, DATE_EXPECTED) if comparison.kind == "date" else (read_number, NUMBER_EXPECTED)
    column = coded(graph, comparison)
    values = np.full(len(column.values) + 1, np.nan)  # the last is of code -1
    for place, value in read_values(graph, comparison, column, read, expected):
        values[place] = value
    return values[column.code]


def _number_shown(value: float) -> str:
    return f"{value:,.12g}"


def _date_shown(value: float) -> str:
    seconds = min(max(round(value * _DAY), _FIRST), _LAST)  # a zone may lead out of what a datetime can hold
    moment = (EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None)
    return moment.date().isoformat() if seconds % _DAY == 0 else moment.isoformat(" ")
