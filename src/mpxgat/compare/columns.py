"""The values of one column of a graph: texts as codes, tables of features as arrays."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.compare.declared import Comparison
from mpxgat.errors import SettingError, listed, printable, quoted, warn_of_data
from mpxgat.graph import Features, MultiplexGraph, describe

HORIZONTAL, VERTICAL = "h:", "v:"  # as files call columns of features
ALL = "*"
_SHOWN = 40  # characters of a value
_NONE = re.compile(r"na|#?n/a|nan|null|none", re.IGNORECASE)
_Read = TypeVar("_Read")


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of texts: every value once.

    code        (n,) the place of every node's value in ``values``, -1 where it has none
    values      none of them blank
    """

    code: NDArray[np.int64]
    values: list[str]

    @property
    def there(self) -> NDArray[np.bool_]:
        """(n,) which nodes have a value."""
        return self.code >= 0

    def first_with(self, value: int) -> int:
        """The first node that has a value."""
        return int(np.flatnonzero(self.code == value)[0])

    def merged(self, read: Callable[[str], tuple[str, str]]) -> Coded:
        """Values of which the same is read become one; those of which no text is read, none.

        ``read`` gives a text, which becomes the value, and what else tells it from others.
        """
        place: dict[tuple[str, str], int] = {}
        new = np.full(len(self.values) + 1, -1, dtype=np.int64)  # the last is of code -1
        for old, value in enumerate(self.values):
            found = read(value)
            if found[0]:
                new[old] = place.setdefault(found, len(place))
        return Coded(new[self.code], [text for text, _ in place])


def coded(graph: MultiplexGraph, comparison: Comparison) -> Coded:
    """The values of an attribute column, blank ones missing; SettingError if there is no such column."""
    texts = _by_layer(graph, comparison)
    code = np.full(graph.n_nodes, -1, dtype=np.int64)
    place = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(texts), ""), False)
    there = place.to_numpy(zero_copy_only=False)
    encoded = texts.filter(place).dictionary_encode()
    code[there] = encoded.indices.to_numpy()
    return Coded(code, encoded.dictionary.to_pylist())


def _by_layer(graph: MultiplexGraph, comparison: Comparison) -> pa.LargeStringArray:
    """The column; in layers where it is empty the one that is called otherwise there."""
    usual = _attribute(graph, comparison.column)
    if comparison.other is None:
        return usual
    other = _attribute(graph, comparison.other)
    parts = []
    for start, stop in zip(graph.layer_start, graph.layer_start[1:], strict=False):
        own = usual.slice(start, stop - start)
        empty = not pc.any(pc.not_equal(own, "")).as_py()
        parts.append(other.slice(start, stop - start) if empty else own)
    return pa.chunked_array(parts, pa.large_string()).combine_chunks()


def _attribute(graph: MultiplexGraph, column: str) -> pa.LargeStringArray:
    if column in graph.attributes:
        return graph.attributes[column]
    known = columns_of(graph)
    if column in known:
        raise SettingError(f"column {quoted(column)} holds features, expected the kind number or vector")
    raise SettingError(_unknown(column, known))


def columns_of(graph: MultiplexGraph) -> list[str]:
    """Whatever may be compared, by name: attributes, features, tables of features."""
    found = list(graph.attributes)
    for prefix, table in ((HORIZONTAL, graph.horizontal_features), (VERTICAL, graph.vertical_features)):
        if table is not None:
            found += [prefix + ALL, *(prefix + name for name in table.names)]
    return found


def _unknown(column: str, known: list[str]) -> str:
    near = difflib.get_close_matches(column, known, n=1)
    hint = f"did you mean {quoted(near[0])}? " if near else ""
    shown = ", ".join(quoted(name) for name in known[:10]) + (f", … ({len(known)})" if len(known) > 10 else "")
    return f"no column {quoted(column)} to compare; {hint}" + (f"there are {shown}" if known else "there is none")


def features(graph: MultiplexGraph, comparison: Comparison) -> Features | None:
    """The table that a comparison names, or the one column of it; None if it names an attribute.

    SettingError if there is no such table or column, or another name for it.
    """
    column = comparison.column
    if column in graph.attributes or not column.startswith((HORIZONTAL, VERTICAL)):
        return None
    prefix, name = column[:2], column[2:]
    table = graph.horizontal_features if prefix == HORIZONTAL else graph.vertical_features
    if table is None or (name != ALL and name not in table.names):
        raise SettingError(_unknown(column, columns_of(graph)))
    if comparison.other is not None:
        raise SettingError(f"features {quoted(column)} are called the same in all layers, expected no other name")
    if name == ALL:
        return table
    place = table.names.index(name)
    return Features((name,), table.values[:, place : place + 1])


def read_values(
    graph: MultiplexGraph, comparison: Comparison, column: Coded, read: Callable[[str], _Read], expected: str
) -> Iterator[tuple[int, _Read]]:
    """By place, what is read of every value of a column; but of one that says that there is none, as "NA" does.

    SettingError, naming node and value, at the first of which ``read`` makes a ValueError; a DataWarning names what was
    taken for none.
    """
    none = [value for value in column.values if says_none(value)]
    if none:
        warn_of_data(f"in column {quoted(comparison.column)} {listed(none)} are taken for no value")
    for place, value in enumerate(column.values):
        if not says_none(value):
            try:
                found = read(value.strip())
            except ValueError:
                raise misfit(graph, comparison, column.first_with(place), value, expected) from None
            yield place, found


def says_none(value: str) -> bool:
    """Whether a text says that there is no value, where a number or a date is expected."""
    return _NONE.fullmatch(value.strip()) is not None


def misfit(graph: MultiplexGraph, comparison: Comparison, node: int, value: object, expected: str) -> SettingError:
    """What to say of a value that does not fit its kind."""
    return SettingError(
        f"column {quoted(comparison.column)}, node {describe(graph.nodes[node])}: "
        f"{quoted(value)} is no {comparison.kind}, expected {expected}"
    )


@dataclass(frozen=True, eq=False)
class Shown:
    """The values of a column as they stand there, cut: they may be long."""

    code: NDArray[np.int64]
    values: list[str]

    @classmethod
    def of(cls, column: Coded) -> Shown:
        """The beginnings of all."""
        return cls(column.code, [printable(value[:_SHOWN]) + "…" * (len(value) > _SHOWN) for value in column.values])

    def __getitem__(self, node: int) -> str:
        """The value of a node that has one."""
        return self.values[int(self.code[node])]


def rarity(code: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """(count,) −log of the share that each of so many codes has of the nodes that have one; 0 if all have the same."""
    sizes = np.bincount(code[code >= 0], minlength=count)
    rare: NDArray[np.float64] = np.log(max(int(sizes.sum()), 1)) - np.log(np.maximum(sizes, 1))
    return rare
