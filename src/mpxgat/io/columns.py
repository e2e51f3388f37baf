"""Text in columns: lines of fields separated by blanks, tabs or commas, as pyarrow columns of text.

The text is parsed at once by pyarrow. Only when something is wrong is it walked line by line, to name the
first bad line.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from mpxgat.build import MAX_ID_BYTES, RowError
from mpxgat.errors import InputError, listed, printable, quoted, warn_of_data
from mpxgat.graph import MultiplexGraph
from mpxgat.system import check_room

# Arrow ends the process if it gets no memory in the middle of a table.
_TIMES_AS_LARGE, _ROOM = 3, 1 << 26
_BLOCK_BYTES = 1 << 22
_SCANNED_BYTES = 1 << 18
# A first record longer than this cannot be the beginning of a table: every field is far shorter.
_FIRST_RECORD_BYTES = 1 << 22


class _RecordError(Exception):
    """A row whose quoting is broken or that is too long; ``line`` is where it begins."""

    def __init__(self, line: int, reason: str):
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True)
class Columns:
    """The fields of a text file: ``fields[c][r]`` is column c of row r; blank lines are no rows."""

    path: Path
    content: bytes
    delimiter: str
    quoting: bool
    fields: tuple[pa.ChunkedArray, ...]
    header_rows: int = 0  # rows above these fields
    encoding: str = "UTF-8"  # of the file; the content is UTF-8

    def __len__(self) -> int:
        return len(self.fields[0])

    def below_header(self) -> Columns:
        """The rows below the first one."""
        return replace(self, fields=tuple(field.slice(1) for field in self.fields), header_rows=1)

    def error(self, message: str, row: int) -> InputError:
        """An error that names the file and the line of ``row`` (or the row, where the line cannot be told)."""
        row += self.header_rows
        line = self._line(row)
        if line is None:
            return InputError(f"row {row + 1}: {message}", self.path)
        return InputError(message, self.path, line)

    def _line(self, row: int) -> int | None:
        try:
            records = _records(self.content, self.delimiter, self.quoting)
            line, _ = next(islice(records, row, None))
        except (_RecordError, StopIteration):
            return None
        return line


def split_columns(
    content: bytes,
    path: Path,
    delimiter: str,
    widths: Collection[int],
    expected: str,
    *,
    quoting: bool = False,
) -> Columns:
    """Parse text whose rows all have as many fields as the first one, a number out of ``widths``.

    ``expected`` describes a row in errors. With ``quoting`` a field may stand in double quotes and then hold
    delimiters, line ends and doubled quotes (RFC 4180).
    """
    quoting = quoting and b'"' in content
    width = _first_width(content, path, delimiter, quoting)
    if width not in widths:
        line, _ = next(_records(content, delimiter, quoting))
        raise InputError(f"{_count(width)}, expected {expected}", path, line)
    names = [str(number) for number in range(width)]
    check_room(_TIMES_AS_LARGE * len(content) + _ROOM)
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(content),
            # A single block needs no threads; ones just started when a short process ends can abort it.
            arrow_csv.ReadOptions(column_names=names, block_size=_BLOCK_BYTES, use_threads=len(content) > _BLOCK_BYTES),
            arrow_csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoting else False,
                newlines_in_values=quoting,
            ),
            arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), null_values=[]),
        )
    except pa.ArrowInvalid as problem:
        raise _first_bad_line(content, path, delimiter, quoting, width, str(problem)) from None
    return Columns(path, content, delimiter, quoting, tuple(table.columns))


_TELLING_BYTES, _TELLING_ROWS = 1 << 16, 50


def separator_of(content: bytes, candidates: str) -> str | None:
    """Which of the candidates separates the fields of a text; None if none of them stands in its first row.

    If several do, it is the first one that gives the first rows equally many fields; if none does, a comma.
    """
    head = content[:_TELLING_BYTES]
    if len(head) < len(content):  # no row that is cut off
        head = head[: head.rfind(b"\n") + 1] or head
    widths = {each: _first_widths(head, each, quoting=b'"' in head) for each in candidates}
    found = [each for each in candidates if widths[each] and widths[each][0] > 1]
    if len(found) <= 1:
        return found[0] if found else None
    even = [each for each in found if len(set(widths[each])) == 1]
    return even[0] if even else "," if "," in found else found[0]


def _first_widths(head: bytes, delimiter: str, *, quoting: bool) -> list[int]:
    widths = []
    try:
        for _, fields in islice(_records(head, delimiter, quoting), _TELLING_ROWS):
            widths.append(len(fields))
    except _RecordError:  # told when the whole text is read
        pass
    return widths


def single_blanks(content: bytes) -> bytes:
    """Text with one space between fields and none at the ends of lines; lines keep their numbers."""
    if _is_tidy(content):
        return content
    content = re.sub(rb"[ \t]+", b" ", content)
    return content.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _is_tidy(content: bytes) -> bool:
    """Whether no tab, and no two of space and line end side by side, are in the text (control characters count too)."""
    if b"\t" in content or content[:1] == b" ":
        return False
    octets = np.frombuffer(content, dtype=np.uint8)
    for start in range(0, len(octets), _SCANNED_BYTES):  # in pieces that stay in the processor's cache
        blank = octets[start : start + _SCANNED_BYTES + 1] <= ord(" ")
        if (blank[1:] & blank[:-1]).any():
            return False
    return content[-1:] != b" "


def _first_width(content: bytes, path: Path, delimiter: str, quoting: bool) -> int:
    """Number of fields of the first row."""
    try:
        _, fields = next(_records(content[:_FIRST_RECORD_BYTES], delimiter, quoting))
    except _RecordError as problem:
        raise InputError(f"the first row cannot be read ({printable(problem)})", path, problem.line) from None
    except StopIteration:
        raise InputError("the file is empty", path) from None
    return len(fields)


def _first_bad_line(content: bytes, path: Path, delimiter: str, quoting: bool, width: int, problem: str) -> InputError:
    """The error for the first row that has another width or an overlong field."""
    try:
        for line, fields in _records(content, delimiter, quoting):
            longest = max(len(field) for field in fields)
            if longest > MAX_ID_BYTES:
                return InputError(f"a field of {longest} characters, expected at most {MAX_ID_BYTES}", path, line)
            if len(fields) != width:
                return InputError(f"{_count(len(fields))}, expected {width} as in the first row", path, line)
    except _RecordError as damage:
        return InputError(f"the row cannot be read ({printable(damage)})", path, damage.line)
    return InputError(f"the rows cannot be told apart ({printable(problem, 200)})", path)


def _records(content: bytes, delimiter: str, quoting: bool) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row, one by one; _RecordError where that fails."""
    if not quoting:
        for line, text in enumerate(io.BytesIO(content), start=1):
            text = text.rstrip(b"\r\n")
            if text:
                yield line, text.decode(errors="replace").split(delimiter)
        return
    reader = csv.reader(io.StringIO(content.decode(errors="replace"), newline=""), delimiter=delimiter)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as problem:
        raise _RecordError(line, str(problem)) from None


def _count(width: int) -> str:
    return "1 column" if width == 1 else f"{width} columns"


# ---- headers -----------------------------------------------------------------------------------------

# Names that people give the two columns of ends of links ("from,to", "id1,id2"), and columns of layers.
_WORD_OF_ONE_END = (
    "source|src|target|tgt|dst|dest|destination|from|to|follower|followed|followee|following|head|tail|"
    "sender|receiver|recipient|citing|cited"
)
WORD_OF_ENDS = "node|id|user|actor|vertex|person|name|account|author|member|entity|gene|protein|unit"
ONE_END = re.compile(
    rf"({_WORD_OF_ONE_END})([ _.-]?({WORD_OF_ENDS}))?|({WORD_OF_ENDS})([ _.-]?({WORD_OF_ENDS}))?[ _.-]?[12abxyij]",
    re.IGNORECASE,
)
ANY_END = re.compile(rf"{ONE_END.pattern}|({WORD_OF_ENDS})[ _.-]?(id)?", re.IGNORECASE)
LAYER_WORD = re.compile(r"((source|target|from|to)[ _.-]?)?layer[ _.-]?(id|name|label)?[ _.-]?[12ab]?", re.IGNORECASE)
_ROWS_THAT_TELL = 3


def without_header(
    columns: Columns, ends: Sequence[int], layers: Sequence[int] = (), *, recurring: bool = True
) -> Columns:
    """The rows of a list of links, without a first row that is a header; fields ``ends`` hold nodes, ``layers`` layers.

    A header names the ends (``source target``, ``from to``, ``id1 id2`` …) and, where there are columns of layers, says
    "layer" above these. Words that occur again below are ids all the same. A first row of other words is taken for a
    header, and said to be, if all ids below are numbers. Otherwise it is a link, which is said in a list without layers
    if its ends occur nowhere else, unless they are not ``recurring``, as in a list of who is who.
    """
    first = [field[0].as_py().strip() for field in columns.fields]
    nodes = [first[end] for end in ends]
    if layers:
        named = all(LAYER_WORD.fullmatch(first[k]) for k in layers) and all(map(ANY_END.fullmatch, nodes))
    else:
        named = all(map(ONE_END.fullmatch, nodes)) and nodes[0] != nodes[1]
    odd = len(columns) > _ROWS_THAT_TELL and nodes[0] != nodes[1] and not any(map(_is_number, nodes))
    if not (named or odd) or any(occurs_below(columns, ends, node) for node in nodes):
        return columns
    if named and len(columns) == 1:
        raise columns.error("a header and no links below it", 0)
    if named:
        return columns.below_header()
    shown = listed(nodes)
    if all(_are_numbers(columns.fields[end].slice(1)) for end in ends):
        warn_of_data(f"the first row, {shown}, is taken for a header, as all ids below are numbers", columns.path)
        return columns.below_header()
    if recurring and not layers:
        message = f"the first row is read as a link of {shown}, which occur nowhere else; if it is a header, remove it"
        warn_of_data(message, columns.path)
    return columns


def occurs_below(columns: Columns, ends: Sequence[int], node: str) -> bool:
    """Whether a text of the first row stands below it, in one of the fields ``ends``."""
    return any(pc.index(columns.fields[end].slice(1), node).as_py() >= 0 for end in ends)


def _are_numbers(texts: pa.ChunkedArray) -> bool:
    try:
        _cast(texts)
    except pa.ArrowInvalid:
        return False
    return True


def _is_number(text: str) -> bool:
    return _are_numbers(pa.chunked_array([[text]], pa.string()))


# ---- numbers written as text, taken strictly: no 'nan', no 'inf', no hexadecimal, no '1_000' ---------


def parse_numbers(texts: pa.ChunkedArray, what: str, table: str) -> NDArray[np.float64]:
    """(n,) finite numbers; `RowError` in ``table`` names the first text that is none. ``what`` is said of it."""
    readable = len(texts)
    try:
        numbers = _cast(texts)
    except pa.ArrowInvalid:
        readable = _first_unreadable(texts)
        numbers = _cast(texts.slice(0, readable))
    infinite = np.flatnonzero(~np.isfinite(numbers))
    row = int(infinite[0]) if len(infinite) else readable
    if row < len(texts):
        raise RowError(f"{printable(what)} is {quoted(texts[row].as_py())}, expected a finite number", table, row)
    return numbers


def _cast(texts: pa.ChunkedArray) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = texts.cast(pa.float64()).to_numpy()
    return numbers


def _first_unreadable(texts: pa.ChunkedArray) -> int:
    """Row of the first text that is no number; there must be one. Halves the stretch in which it lies."""
    low, high = 0, len(texts)  # the first one is in [low, high)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _cast(texts.slice(low, middle - low))
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low


# ---- names to numbers --------------------------------------------------------------------------------

_SHOWN_NAMES = 10


def names_in_order(columns: Sequence[pa.ChunkedArray]) -> list[str]:
    """Distinct names in the order in which they first appear, column after column."""
    names: dict[str, None] = {}
    for column in columns:
        names |= dict.fromkeys(pc.unique(column).to_pylist())
    return list(names)


def first_repeated(names: Sequence[str]) -> str | None:
    """The first name that occurs again; None if all are different."""
    counts = Counter(names)
    return next((name for name in names if counts[name] > 1), None)


def number_layers(
    column: pa.ChunkedArray, names: Sequence[str], error: Callable[[str, int], InputError]
) -> NDArray[np.int64]:
    """(n,) position in ``names`` of every value; a value that is not there is an ``error(message, row)``."""
    known = pa.array(list(names), column.type)
    found = pc.index_in(column, value_set=known)
    if found.null_count:
        row = int(np.flatnonzero(found.is_null().to_numpy())[0])
        expected = ", ".join(quoted(name) for name in names[:_SHOWN_NAMES])
        if len(names) > _SHOWN_NAMES:
            expected += f", … ({len(names)} layers)"
        raise error(f"unknown layer {quoted(column[row].as_py())}, expected one of {expected}", row)
    numbers: NDArray[np.int64] = found.to_numpy().astype(np.int64)
    return numbers


def find_nodes(
    ids: pa.ChunkedArray, layer: NDArray[np.integer], graph: MultiplexGraph, error: Callable[[str, int], InputError]
) -> NDArray[np.int64]:
    """(n,) position of the node with every id in its ``layer``; one that is not there is an ``error(message, row)``."""
    ids = ids.cast(pa.large_string())
    positions = np.full(len(ids), -1, dtype=np.int64)
    for number in np.unique(layer):
        rows = np.flatnonzero(layer == number)
        start, stop = int(graph.layer_start[number]), int(graph.layer_start[number + 1])
        found = pc.index_in(ids.take(pa.array(rows)), value_set=graph.ids.slice(start, stop - start))
        positions[rows] = pc.fill_null(found, -1 - start).to_numpy() + start
    unknown = np.flatnonzero(positions < 0)
    if len(unknown):
        row = int(unknown[0])
        name = graph.layers[layer[row]]
        raise error(f"unknown node {quoted(ids[row].as_py())}, expected one of layer {quoted(name)}", row)
    return positions
