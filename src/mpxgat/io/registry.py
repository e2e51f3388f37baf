"""Which format a file has, and the two doors `read` and `write`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mpxgat.build import RowError
from mpxgat.errors import GraphError, InputError, OutputError, SettingError, printable, quoted, warn_of_data
from mpxgat.graph import MultiplexGraph


def _refuse_to_write(graph: MultiplexGraph, path: Path) -> list[Path]:
    suffixes = ", ".join(known.suffixes[0] for known in FORMATS.values() if known.writes)
    raise OutputError(f"{printable(path, 300)}: this format is only read; those that are written are {suffixes}")


@dataclass(frozen=True)
class Format:
    """A file format. ``read`` names file and line in its errors; ``write`` returns the files it wrote.

    ``read_directed``, of formats that do not (or need not) state it, takes links as going from source to target.
    A writer refuses (OutputError) links and ids the format cannot hold; of the rest, ``leaves_out`` says
    which parts ("weights", "direction", "features", "attributes", "apart") it drops. ``beside`` gives, for each kind of
    file that belongs to a file of this format, the places it is looked for; it is written to the first. ``apart`` gives
    these places for pairs known to be different, if they have a file of their own, written only if there are any.
    ``read_named``, of formats in which people call columns as they like, takes ``columns``, for each role of a column
    the names that it may have, besides ``encoding`` and ``directed``.
    Other people's formats may be read only; ``write`` then raises an OutputError.
    """

    name: str
    suffixes: tuple[str, ...]
    description: str
    read: Callable[[Path], MultiplexGraph]
    write: Callable[[MultiplexGraph, Path], list[Path]] = _refuse_to_write
    leaves_out: frozenset[str] = frozenset()
    read_directed: Callable[[Path], MultiplexGraph] | None = None
    beside: Callable[[Path], Sequence[Sequence[Path]]] = lambda path: ()
    apart: Callable[[Path], Sequence[Path]] = lambda path: ()
    read_named: Callable[..., MultiplexGraph] | None = None

    @property
    def writes(self) -> bool:
        """Whether files of this format are written, too."""
        return self.write is not _refuse_to_write


_SHEET = re.compile(r"(?s)(\.xlsx):.*")  # of book.xlsx:SHEET

Names = Mapping[str, Sequence[str]]
"""For each role of a column, what it may be called in a file, the preferred name first."""

FORMATS: dict[str, Format] = {}
"""All formats by name; `mpxgat.io` puts them in."""


def formats() -> dict[str, Format]:
    """All formats by name."""
    return dict(FORMATS)


def choose_format(path: Path, name: str | None = None) -> Format:
    """The format called ``name``, or else the one the file's suffix tells (a final ``.gz`` is passed over)."""
    if name is not None:
        if name not in FORMATS:
            raise SettingError(f"no format {quoted(name)}; known are {', '.join(sorted(FORMATS))}")
        return FORMATS[name]
    plain = _SHEET.sub(r"\1", path.name.lower()).removesuffix(".gz")
    matches = [
        (len(suffix), known) for known in FORMATS.values() for suffix in known.suffixes if plain.endswith(suffix)
    ]
    if not matches:
        suffixes = ", ".join(f"{s} ({f.name})" for f in FORMATS.values() for s in f.suffixes)
        raise InputError(f"cannot tell the format from the name; known endings are {suffixes}", path)
    return max(matches, key=lambda match: match[0])[1]


def read(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    directed: bool = False,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    encoding: str | None = None,
) -> MultiplexGraph:
    """Read a multiplex from a file; the format is told by the suffix unless it is named.

    Direction is kept where the file states it. ``directed``: where it does not, links within layers go from the node
    that stands first to the second. ``columns``: for each role of a column (source, target, weight, layer …) its name,
    or several that it may have. ``encoding``: that of a text file without byte-order mark, UTF-8 by default.

    Ids and names are taken as they are, character by character. What is passed over, or looks as if something else was
    meant, is said in a `DataWarning`.
    """
    path = Path(path)
    try:
        form = choose_format(path, format)
        graph = _read(form, path, directed, names_of(columns), encoding)
        check_spelling(graph, path)
        if directed and graph.intra_arcs is None:
            warn_of_data("no link goes one way only: read as undirected", path)
        return graph
    except RowError as problem:  # a reader should have named the line; name the row at least
        raise InputError(f"row {problem.row + 1} of the {problem.table}: {problem.message}", path) from None
    except GraphError as problem:
        raise InputError(str(problem), path) from None


def names_of(columns: Mapping[str, str | Sequence[str]] | None) -> Names:
    """Names of columns as people give them, one or several for a role."""
    return {role: (names,) if isinstance(names, str) else tuple(names) for role, names in (columns or {}).items()}


def _read(form: Format, path: Path, directed: bool, columns: Names, encoding: str | None) -> MultiplexGraph:
    if not columns and encoding is None:
        return ((directed and form.read_directed) or form.read)(path)
    if form.read_named is None:
        asked = "names of columns" if columns else f"the encoding {quoted(encoding)}"
        able = ", ".join(known.name for known in FORMATS.values() if known.read_named)
        raise SettingError(f"{asked} for a file of the format {form.name}, expected one of {able}")
    return form.read_named(path, columns=columns, encoding=encoding, directed=directed)


def check_roles(columns: Names, roles: Sequence[str]) -> None:
    """SettingError for a role that a file does not have."""
    for role, names in columns.items():
        if role not in roles:
            raise SettingError(f"--columns {role}={names[0]}: this file has {', '.join(roles)}; expected one of them")


def no_encoding(form: str, encoding: str | None) -> None:
    """SettingError if an encoding is asked for in a format that states its own."""
    if encoding is not None:
        raise SettingError(f"the encoding {quoted(encoding)} for {form}, which states its own; expected none")


def check_spelling(graph: MultiplexGraph, path: Path) -> None:
    """DataWarning if ids, or names of layers, differ only in blanks at an end, Unicode form or byte-order marks."""
    for what, texts in (("ids", graph.ids), ("layers", pa.array(graph.layers, pa.large_string()))):
        if _is_plain(texts):
            continue
        distinct = pc.unique(texts)
        spelled = pc.replace_substring(pc.utf8_normalize(distinct, "NFC"), "\ufeff", "")
        first = pc.index_in(trimmed := pc.utf8_trim_whitespace(spelled), value_set=trimmed).to_numpy()
        again = np.flatnonzero(first != np.arange(len(first)))
        if len(again):
            one, other = (distinct[int(place)].as_py() for place in (first[again[0]], again[0]))
            warn_of_data(
                f"{len(again)} of the {what} are spelled as another but for blanks at an end, Unicode form or a "
                f"byte-order mark, such as {one!a} and {other!a}: read as different ones",
                path,
            )


def say_apart_left_out(graph: MultiplexGraph) -> None:
    """DataWarning if a graph holds what is known to be different, for where it goes that cannot."""
    if len(graph.apart):
        warn_of_data(f"{len(graph.apart):,} pair(s) known to be different are left out")


def _is_plain(texts: pa.LargeStringArray) -> bool:
    """Whether there are only visible characters of ASCII, as in most large files."""
    if not len(texts):
        return True
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[[texts.offset, texts.offset + len(texts)]]
    octets = np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[1]]
    return bool(octets.min(initial=ord("~")) > ord(" ") and octets.max(initial=0) <= ord("~"))


def write(graph: MultiplexGraph, path: str | PathLike[str], format: str | None = None) -> list[Path]:
    """Write a multiplex to a file (some formats write several); returns what was written."""
    path = Path(path)
    return choose_format(path, format).write(graph, path)
