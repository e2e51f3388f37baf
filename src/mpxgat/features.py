"""Node features of attributes: numbers and dates standardised, other columns one-hot by their commonest values.

    graph = mx.encode_features(graph, ["followers", "city:category"])

A column is declared as ``COLUMN`` or ``COLUMN:KIND``, with ``COLUMN=OTHER`` where some layers call it otherwise.
Without a kind it is taken for what `mpxgat.compare.guess` would take it for; texts and names are categories here.
Nothing is read but the columns named. A feature's name says what its number is: where the names of two graphs' features
agree, they mean the same.
"""

from __future__ import annotations

import difflib
import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mpxgat.compare.columns import Coded, coded
from mpxgat.compare.declared import Comparison, parse
from mpxgat.compare.guesses import kind_of
from mpxgat.compare.quantities import Scale, quantities
from mpxgat.compare.words import one_spelling
from mpxgat.errors import SettingError, listed, printable, quoted, warn_of_data
from mpxgat.graph import Features, MultiplexGraph

NUMBER, DATE, CATEGORY = "number", "date", "category"
KINDS = (NUMBER, DATE, CATEGORY)
MOST_VALUES = 50  # of a category that have a feature of their own
_FEWEST_NODES, _ENOUGH_NODES, _SHARE = 2, 10, 0.01  # that have such a value: this share, within these bounds
_FARTHEST = 1e6  # deviations from the mean: of another graph's values
_SHOWN = 40  # characters of a value
_EXPECTED = "expected COLUMN or COLUMN:KIND, as in followers:number"
_Spelling = tuple[str, str]  # see `one_spelling`


@dataclass(frozen=True)
class FeatureColumn:
    """An attribute that becomes features: what it and, in other layers, its stand-in are called; its kind, or None."""

    column: str
    kind: str | None = None
    other: str | None = None

    @classmethod
    def parse(cls, declared: str) -> FeatureColumn:
        """What a text declares; SettingError if it names no column, or an unknown kind."""
        column, colon, kind = declared.rpartition(":")
        kind = kind.strip()
        if not (column if colon else declared).strip():
            raise SettingError(f"{quoted(declared)} names no column, {_EXPECTED}")
        if not colon:
            found = parse(f"{declared}:{CATEGORY}")
            return cls(found.column, None, found.other)
        if kind not in KINDS:
            near = difflib.get_close_matches(kind, KINDS, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise SettingError(
                f"no kind of feature {quoted(kind)} in {quoted(declared)}; {hint}known are {', '.join(KINDS)} "
                "(a column with a colon in its name needs one)"
            )
        found = parse(declared)
        return cls(found.column, found.kind, found.other)

    def __str__(self) -> str:
        """What `parse` reads."""
        text = str(self.read_as(self.kind or CATEGORY))
        return text if self.kind else text.removesuffix(f":{CATEGORY}")

    def read_as(self, kind: str) -> Comparison:
        """The column as the room of comparisons knows it."""
        return Comparison(self.column, kind, self.other)


def encode_features(
    graph: MultiplexGraph, columns: str | Sequence[str], like: MultiplexGraph | None = None
) -> MultiplexGraph:
    """The graph with attributes as horizontal and vertical features, beside those that it has.

    columns     one or several, as ``followers``, ``city:category``, ``joined:date`` or ``city=town:category``
    like        the graph whose values decide means, deviations and categories; this one if None. With the graph that a
                model was fitted on, features mean the same, and the model can be extended to this one

    Numbers and dates have mean 0 and standard deviation 1, numbers in logarithms where they are heavy-tailed and not
    below 0; a missing one is 0, and a further feature says so where some are missing. A category has a feature for each
    of its 50 commonest values that 1% of the nodes have (2 at least, 10 are enough), and one for all others; a missing
    one is 0 everywhere.

    SettingError: an unknown column or kind, one declared twice, a value that does not fit, a column that tells no nodes
    apart, or a feature that the graph has already.

    >>> import mpxgat as mx
    >>> graph = mx.synthetic.social(people=80, layers=2, seed=0, names=True)
    >>> mx.encode_features(graph, ["joined"]).horizontal_features.names[-1]
    'joined: missing'
    """
    declared = [FeatureColumn.parse(each) for each in ([columns] if isinstance(columns, str) else columns)]
    return FeatureEncoding.of(graph if like is None else like, declared).add_to(graph)


def check_same_features(graph: MultiplexGraph, fitted: MultiplexGraph) -> None:
    """SettingError unless a graph has the features of the one that a model was fitted on."""
    found, expected = _feature_names(graph), _feature_names(fitted)
    if found != expected:
        raise SettingError(
            f"the graph has the features {_in_words(found)}, expected {_in_words(expected)} as in the fitted graph; "
            "attributes become the same features by mpxgat.encode_features(graph, columns, like=model.graph)"
        )


def _feature_names(graph: MultiplexGraph) -> list[list[str]]:
    parts = (graph.horizontal_features, graph.vertical_features)
    return [[] if part is None else list(part.names) for part in parts]


def _in_words(names: list[list[str]]) -> str:
    horizontal, vertical = (listed(each) or "none" for each in names)
    return f"{horizontal} (horizontal) and {vertical} (vertical)"


@dataclass(frozen=True)
class FeatureEncoding:
    """How columns become features, decided by the values in one graph; of another one the same values give the same."""

    columns: tuple[EncodedColumn, ...]

    @classmethod
    def of(cls, graph: MultiplexGraph, declared: Sequence[FeatureColumn]) -> FeatureEncoding:
        """By the values in a graph; the errors are those of `encode_features`."""
        twice = [name for name, count in Counter(each.column for each in declared).items() if count > 1]
        if twice:
            raise SettingError(f"column {quoted(twice[0])} is to become features twice, expected once")
        return cls(tuple(_encoded(graph, each) for each in declared))

    def __str__(self) -> str:
        """The columns with their kinds, and how many features each has."""
        return ", ".join(f"{each.declared} ({len(each.names)})" for each in self.columns)

    def add_to(self, graph: MultiplexGraph) -> MultiplexGraph:
        """The graph with the features beside its own."""
        if not self.columns:
            return graph
        names = tuple(name for column in self.columns for name in column.names)
        new = Features(names, np.concatenate([column.values(graph) for column in self.columns], axis=1))
        horizontal, vertical = (_beside(own, new) for own in (graph.horizontal_features, graph.vertical_features))
        return replace(graph, horizontal_features=horizontal, vertical_features=vertical)


def _beside(own: Features | None, new: Features) -> Features:
    names = (() if own is None else own.names) + new.names
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise SettingError(f"two features would be called {quoted(twice[0])}, expected columns that are none yet")
    return new if own is None else Features(names, np.concatenate([own.values, new.values], axis=1))


# ---- columns -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedColumn(ABC):
    """How a column becomes features; its kind is known."""

    declared: Comparison

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Of the features, one at least."""

    @abstractmethod
    def values(self, graph: MultiplexGraph) -> NDArray[np.float32]:
        """(n, features) of a graph's nodes."""


def _encoded(graph: MultiplexGraph, column: FeatureColumn) -> EncodedColumn:
    for name in (column.column, column.other):
        if name is not None and name not in graph.attributes:
            raise SettingError(_unknown(name, graph))
    kind = column.kind or kind_of(graph, column.read_as(CATEGORY)) or CATEGORY
    if kind == "vector":
        raise SettingError(
            f"column {quoted(column.column)} holds lists of numbers, expected a number, a date or a category in each "
            "node; a file has a column h:NAME or v:NAME for each number of such lists"
        )
    if kind in (NUMBER, DATE):
        return EncodedQuantity.of(graph, column.read_as(kind))
    return EncodedCategory.of(graph, column.read_as(CATEGORY))


def _unknown(name: str, graph: MultiplexGraph) -> str:
    if not graph.attributes:
        return f"no column {quoted(name)}: the nodes have no attributes"
    near = difflib.get_close_matches(name, graph.attributes, n=1)
    hint = f"did you mean {quoted(near[0])}? " if near else ""
    return f"no column {quoted(name)} among the nodes' attributes; {hint}there are {listed(graph.attributes, 10)}"


def _tells_nothing(column: Comparison, found: str) -> SettingError:
    return SettingError(f"column {quoted(column.column)} tells no nodes apart: {found}")


@dataclass(frozen=True)
class EncodedQuantity(EncodedColumn):
    """Numbers or dates: (scaled - mean) / deviation.

    deviation   0 if all known values are equal: then there is no such feature
    missing     whether a feature says that a value is missing
    """

    scale: Scale
    mean: float
    deviation: float
    missing: bool

    @classmethod
    def of(cls, graph: MultiplexGraph, declared: Comparison) -> EncodedQuantity:
        """By the values in a graph."""
        values = quantities(graph, declared)
        known = values[~np.isnan(values)]
        missing = len(known) < len(values)
        if not len(known):
            raise _tells_nothing(declared, "no node has a value")
        equal = bool(known.min() == known.max())
        if equal and not missing:
            raise _tells_nothing(
                declared, f"all nodes have {known[0]:g}" if declared.kind == NUMBER else "all are equal"
            )
        scale = Scale.of_numbers(known) if declared.kind == NUMBER else Scale(1.0)
        scaled = scale.scaled(known)
        deviation = 0.0 if equal else float(scaled.std()) or 1.0
        return cls(declared, scale, float(scaled.mean()), deviation, missing)

    @property
    def names(self) -> tuple[str, ...]:
        """What is computed, and whether there is a value."""
        scaled = "x" if self.scale.unit is None else f"log({self.scale.unit:g} + x)"
        formula = f"{self.declared.column}: ({scaled} {-self.mean:+g}) / {self.deviation:g}"
        return (*([formula] if self.deviation else []), *([f"{self.declared.column}: missing"] if self.missing else []))

    def values(self, graph: MultiplexGraph) -> NDArray[np.float32]:
        """A missing value is as the mean."""
        found = quantities(graph, self.declared)
        unknown, columns = np.isnan(found), []
        if self.deviation:
            standardised = (self.scale.scaled(np.where(unknown, 0, found)) - self.mean) / self.deviation
            columns.append(np.where(unknown, 0, np.clip(standardised, -_FARTHEST, _FARTHEST)))
        if self.missing:
            columns.append(unknown)
        return np.stack(columns, axis=1).astype(np.float32)


@dataclass(frozen=True)
class EncodedCategory(EncodedColumn):
    """One-hot: ``common`` are the values with a feature of their own, ``others`` says whether the rest have one."""

    common: tuple[_Spelling, ...]
    others: bool

    @classmethod
    def of(cls, graph: MultiplexGraph, declared: Comparison) -> EncodedCategory:
        """By the values in a graph; a DataWarning says how many share one feature."""
        column = coded(graph, declared)
        sizes = _sizes(column)
        if not sizes:
            raise _tells_nothing(declared, "no node has a value")
        if len(sizes) == 1 and sum(sizes.values()) == graph.n_nodes:
            raise _tells_nothing(declared, f"all nodes have {quoted(column.values[0])}")
        # A feature of fewer would tell little, and models would learn those few by heart.
        fewest = min(max(_FEWEST_NODES, round(_SHARE * graph.n_nodes)), _ENOUGH_NODES)
        frequent = [spelling for spelling, size in sizes.items() if size >= fewest]
        if not frequent:
            found = f"none of its {len(sizes):,} values is that of {fewest} nodes"
            raise _tells_nothing(declared, f"{found}, expected a category or a number")
        common = tuple(sorted(frequent, key=lambda spelling: (-sizes[spelling], spelling))[:MOST_VALUES])
        if len(common) < len(sizes):
            warn_of_data(
                f"column {quoted(declared.column)} has {len(sizes):,} different values: the commonest {len(common)} "
                "have a feature each, all others share one"
            )
        return cls(declared, common, len(common) < len(sizes))

    @property
    def names(self) -> tuple[str, ...]:
        """Values as they are compared: in lower case."""
        column = self.declared.column
        return (*(f"{column}={_shown(spelling)}" for spelling in self.common), *([f"{column}: other"] * self.others))

    def values(self, graph: MultiplexGraph) -> NDArray[np.float32]:
        """A missing value is 0 everywhere; so is an unknown one where there is no feature for others."""
        column = coded(graph, self.declared)
        number = {spelling: place for place, spelling in enumerate(self.common)}
        other = len(number) if self.others else -1
        spellings = (one_spelling(value) for value in column.values)
        places = [number.get(spelling, other) if spelling[0] else -1 for spelling in spellings]
        place = np.array([*places, -1])[column.code]  # the last is of code -1
        found = np.zeros((graph.n_nodes, len(self.names)), dtype=np.float32)
        there = np.flatnonzero(place >= 0)
        found[there, place[there]] = 1
        return found


def _sizes(column: Coded) -> dict[_Spelling, int]:
    """How many nodes have each value; one that is nothing but spaces is none."""
    sizes: Counter[_Spelling] = Counter()
    for value, size in zip(column.values, np.bincount(column.code[column.there]).tolist(), strict=True):
        spelling = one_spelling(value)
        if spelling[0]:
            sizes[spelling] += size
    return sizes


def _shown(spelling: _Spelling) -> str:
    """A value in a feature's name; of one that cannot be shown whole the beginning, and what tells it from others."""
    text = printable(spelling[0][:_SHOWN])
    return text if text == spelling[0] else f"{text}… {hashlib.sha256('/'.join(spelling).encode()).hexdigest()[:8]}"
