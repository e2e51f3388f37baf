r"""Comparisons as data: ``COLUMN:KIND``, or ``COLUMN=OTHER:KIND`` where some layers call the column otherwise.

The kind stands after the last colon, so that ``h:*:vector`` and ``v:*:vector`` name the tables of features. Several
are separated by commas. A backslash makes an ordinary character of a comma, an equals sign, a backslash, or a space at
an end of a column's name.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from mpxgat.errors import SettingError, printable, quoted

if TYPE_CHECKING:
    from mpxgat.compare.compared import Compared
    from mpxgat.graph import MultiplexGraph

_PREPARED_BY = {
    "text": "strings:prepare_text",
    "name": "strings:prepare_name",
    "category": "categories:prepare_category",
    "number": "quantities:prepare_number",
    "date": "quantities:prepare_date",
    "vector": "vectors:prepare_vector",
}
KINDS = tuple(_PREPARED_BY)
TABLE = "compare"  # of a TOML file
_EXPECTED = "expected COLUMN:KIND, as in username:text, or COLUMN=OTHER:KIND"
_SPECIAL = re.compile(r"[\\=,]|^\s|\s$")
_PART = re.compile(r"(?:\\.|[^\\,])+", re.DOTALL)
_SIDE = re.compile(r"(?:\\.|[^\\=])*", re.DOTALL)
_CHARACTER = re.compile(r"\\.|[^\\]", re.DOTALL)


@dataclass(frozen=True)
class Kind:
    """How values are compared; ``other`` is what the column is called in layers that have none of the usual name."""

    name: str
    other: str | None = None

    def __post_init__(self) -> None:
        if self.name not in KINDS:
            near = difflib.get_close_matches(self.name, KINDS, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise SettingError(f"no kind of comparison {quoted(self.name)}; {hint}known are {', '.join(KINDS)}")


def text(other: str | None = None) -> Kind:
    """Compare as texts: edit distance, words, and short sequences of characters, rare ones counting more."""
    return Kind("text", other)


def name(other: str | None = None) -> Kind:
    """Compare as names of people: as texts, whatever the accents and the order of words; initials may agree."""
    return Kind("name", other)


def category(other: str | None = None) -> Kind:
    """Compare as categories: equal or not; rare values count more."""
    return Kind("category", other)


def number(other: str | None = None) -> Kind:
    """Compare as numbers: by their difference in the column's own spread, of logarithms where it is heavy-tailed."""
    return Kind("number", other)


def date(other: str | None = None) -> Kind:
    """Compare as dates: by their difference in the column's own spread."""
    return Kind("date", other)


def vector(other: str | None = None) -> Kind:
    """Compare as vectors: by cosines, and by shared counts where no number lies below 0."""
    return Kind("vector", other)


@dataclass(frozen=True)
class Comparison:
    """A column, what it is called in layers that have none of that name (or None), and the kind of its values.

    ``str`` gives what `parse` reads.
    """

    column: str
    kind: str
    other: str | None = None

    def __post_init__(self) -> None:
        Kind(self.kind)  # refuses an unknown one
        if not self.column or self.other == "":
            raise SettingError(f"a comparison without a column's name, {_EXPECTED}")
        if self.other == self.column:
            raise SettingError(f"column {quoted(self.column)} is compared with itself, {_EXPECTED}")

    def __str__(self) -> str:
        other = "" if self.other is None else f"={_escape(self.other)}"
        return f"{_escape(self.column)}{other}:{self.kind}"

    def prepare(self, graph: MultiplexGraph, form: str | None = None) -> Compared:
        """Ready to compare the nodes of a graph.

        form    `Compared.form` of an earlier preparation, whose numbers shall mean the same; decided by the data if
                there is none

        SettingError: an unknown column; a value that does not fit the kind (names its node); an unknown form.
        """
        module, _, function = _PREPARED_BY[self.kind].partition(":")
        prepared: Compared = getattr(import_module(f"mpxgat.compare.{module}"), function)(self, graph, form)
        return prepared


def parse(declared: str) -> Comparison:
    """The comparison that a text declares; SettingError if it declares none."""
    columns, colon, kind = declared.strip().rpartition(":")
    if not colon:
        raise SettingError(f"{quoted(declared)} names no kind, {_EXPECTED}; kinds are {', '.join(KINDS)}")
    sides, end = [], -1
    while end < len(columns):
        found = _SIDE.match(columns, end + 1)
        if found is None or (found.end() < len(columns) and columns[found.end()] != "="):
            raise SettingError(f"{quoted(declared)} ends a column's name with a backslash, {_EXPECTED}")
        sides.append(_unescape(found[0]))
        end = found.end()
    if len(sides) > 2:
        raise SettingError(f"{quoted(declared)} names {len(sides)} columns, {_EXPECTED}")
    return Comparison(sides[0], kind.strip(), sides[1] if len(sides) == 2 else None)


def parse_all(declared: str | Sequence[str] | Mapping[str, Kind | str]) -> tuple[Comparison, ...]:
    """Several comparisons, in their order: of a text, in which commas separate them, of texts, or of kinds by column.

    In place of a `Kind` there may be its text, ``KIND`` or ``OTHER:KIND``. SettingError if a column is named twice.
    """
    if isinstance(declared, str):
        found = [parse(part) for part in _PART.findall(declared) if part.strip()]
    elif isinstance(declared, Mapping):
        found = [_of_column(column, kind) for column, kind in declared.items()]
    elif isinstance(declared, Sequence) and all(isinstance(part, str) for part in declared):
        found = [parse(part) for part in declared]
    else:
        raise SettingError(f"{quoted(declared)} declares no comparisons, expected texts as username:text, or a mapping")
    seen: set[str] = set()
    for comparison in found:
        if comparison.column in seen:
            raise SettingError(f"column {quoted(comparison.column)} is to be compared twice, expected once")
        seen.add(comparison.column)
    return tuple(found)


def read_declarations(path: str | PathLike[str]) -> tuple[Comparison, ...]:
    """The comparisons in the table ``[compare]`` of a TOML file: ``username = "text"`` or ``= "screen_name:text"``.

    InputError if the file is no TOML; SettingError, naming it, if there is no such table or it declares something else.
    """
    from mpxgat.io.files import read_toml  # which brings all formats along

    table = read_toml(Path(path)).get(TABLE)
    try:
        if not isinstance(table, dict) or not table:
            raise SettingError(f'no comparisons, expected a table [{TABLE}] with lines as username = "text"')
        return parse_all(table)
    except SettingError as problem:
        raise SettingError(f"{printable(path, 300)}: {problem}") from None


def _of_column(column: str, kind: object) -> Comparison:
    if isinstance(kind, Kind):
        return Comparison(column, kind.name, kind.other)
    if not isinstance(kind, str):
        raise SettingError(f"column {quoted(column)} has {quoted(kind)}, expected a kind: {', '.join(KINDS)}")
    other, colon, named = kind.rpartition(":")
    return Comparison(column, named.strip(), _unescape(other) if colon else None)


def _escape(column: str) -> str:
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", column)


def _unescape(column: str) -> str:
    characters = _CHARACTER.findall(column)
    plain = [place for place, character in enumerate(characters) if not character.isspace()]
    return "".join(character[-1] for character in characters[plain[0] : plain[-1] + 1]) if plain else ""
