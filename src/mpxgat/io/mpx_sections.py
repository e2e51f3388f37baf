"""The text of an ``.mpx`` file cut into sections, and sections into fields, with the line of every row.

A section starts with a line ``#NAME`` (any case) and may occur anywhere, more than once. Rows are fields
separated by commas; blanks around a field do not count, and there is no quoting. Empty lines and lines that
start with ``--`` say nothing. Rows before the first section are edges. `#TYPE` and `#VERSION` hold
one value, on the next line or, in old files, on their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.errors import InputError, quoted

_BLANKS = " \t"
_ALIASES = {
    "NODE ATTRIBUTES": "VERTEX ATTRIBUTES",
    "NODES": "VERTICES",
    "VERTEXES": "VERTICES",
}
_SECTIONS = (
    "VERSION",
    "TYPE",
    "LAYERS",
    "ACTOR ATTRIBUTES",
    "VERTEX ATTRIBUTES",
    "EDGE ATTRIBUTES",
    "INTRALAYER EDGE ATTRIBUTES",
    "INTERLAYER EDGE ATTRIBUTES",
    "ACTORS",
    "VERTICES",
    "EDGES",
    "INTRALAYER EDGES",
    "INTERLAYER EDGES",
)


@dataclass(frozen=True)
class Rows:
    """Field k of row r is ``fields[start[r] + k]`` for k < ``count[r]``; the row stands in line ``line[r]``."""

    fields: pa.LargeStringArray
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    line: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start)

    def column(self, position: int) -> pa.LargeStringArray:
        """Field ``position`` of every row; every row must have it."""
        return self.fields.take(pa.array(self.start + position))

    def scattered(self, position: NDArray[np.int64]) -> pa.LargeStringArray:
        """Field ``position[r]`` of row r; null where that is negative."""
        return self.fields.take(pa.array(self.start + position, mask=position < 0))

    def row(self, number: int) -> list[str]:
        """All fields of one row."""
        fields: list[str] = self.fields.slice(self.start[number], self.count[number]).to_pylist()
        return fields


@dataclass(frozen=True)
class Sections:
    """A file's sections: rows by section name, and which names occur (an empty section occurs too)."""

    rows: dict[str, Rows]
    present: frozenset[str]

    def get(self, name: str) -> Rows:
        """The rows of a section; none if it does not occur."""
        return self.rows[name]

    def value(self, name: str) -> tuple[str, int] | None:
        """The single value of `TYPE` or `VERSION` and its line; the last one if there are several."""
        rows = self.rows[name]
        return (rows.fields[int(rows.start[-1])].as_py(), int(rows.line[-1])) if len(rows) else None


def cut(text: bytes, path: Path) -> Sections:
    """The sections of a file; an unknown section's name is an error with its line."""
    # One array that holds the whole text, seen as a string without copying it.
    offsets = pa.py_buffer(np.array([0, len(text)], dtype=np.int64))
    whole = pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(text))
    lines = pc.ascii_trim(pc.split_pattern(whole, "\n").flatten(), characters=_BLANKS)
    starts_section = pc.starts_with(lines, "#").to_numpy(zero_copy_only=False)
    silent = pc.or_(pc.equal(pc.binary_length(lines), 0), pc.starts_with(lines, "--")).to_numpy(zero_copy_only=False)
    is_row = ~(starts_section | silent)

    heads = np.flatnonzero(starts_section)
    kinds = np.full(len(heads) + 1, _SECTIONS.index("EDGES"))
    for number, line in enumerate(heads.tolist(), start=1):
        name, inline = _head(lines[line].as_py(), path, line + 1)
        kinds[number] = _SECTIONS.index(name)
        is_row[line] = inline
    kind_of_line = np.where(is_row, kinds[np.cumsum(starts_section)], -1)
    rows = {name: _split(lines, np.flatnonzero(kind_of_line == kind)) for kind, name in enumerate(_SECTIONS)}
    for name in ("TYPE", "VERSION"):
        rows[name] = _without_heads(rows[name], name)
    return Sections(rows, frozenset(_SECTIONS[kind] for kind in kinds[1:]))


def _head(text: str, path: Path, line: int) -> tuple[str, bool]:
    """Name of the section that starts here, and whether the line also holds its value."""
    words = text[1:].partition("--")[0].upper().split()
    if words and words[0] in ("TYPE", "VERSION"):
        return words[0], len(words) > 1
    name = " ".join(words)
    name = _ALIASES.get(name, name)
    if name not in _SECTIONS:
        raise InputError(
            f"unknown section {quoted(text)}, expected one such as #LAYERS, #ACTORS, #VERTICES or #EDGES", path, line
        )
    return name, False


def _split(lines: pa.LargeStringArray, which: NDArray[np.int64]) -> Rows:
    split = pc.split_pattern(lines.take(pa.array(which)), ",")
    count = pc.list_value_length(split).to_numpy(zero_copy_only=False).astype(np.int64)
    return Rows(
        fields=pc.ascii_trim(split.flatten(), characters=_BLANKS),
        start=np.cumsum(count) - count,
        count=count,
        line=which + 1,
    )


def _without_heads(rows: Rows, name: str) -> Rows:
    """Values that stand on the line of their section's name, freed from that name and a comment behind them."""
    pattern = rf"(?i)^#[ \t]*{name}[ \t]*|[ \t]*--.*$"
    return Rows(pc.replace_substring_regex(rows.fields, pattern, ""), rows.start, rows.count, rows.line)
