"""The tables of `mpxgat.io.tables` as Parquet files: ``X.parquet`` the edges, ``X.nodes.parquet`` the nodes, and
``X.apart.parquet`` the pairs known to be different.

``X.edges.parquet`` also goes with ``X.nodes.parquet``. Ids and layers are text or whole numbers, weights and
features are numbers; in a column of units or attributes a value may be missing (null).

Most of this file is defence. Parquet packs by encoding and by compression: some hundred bytes can say a billion times
the same, and Arrow ends the whole process where statistics do not fit the schema. So what the heads of a column's pages
claim and the lengths of the texts in its dictionary are looked at first, and columns that together would unpack to a
hundred times the file and more are refused. (A child process that reads in our stead would need the same limits, and
0.2 to 0.3 s to start and load Arrow, where a file of a thousand links is read in some milliseconds.)
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from mpxgat.errors import InputError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.columns import first_repeated
from mpxgat.io.files import most_unpacked, read_bytes, write_files
from mpxgat.io.registry import Format
from mpxgat.io.tables import apart_path, nodes_path, read_tables, tables_of

_SUFFIX = ".parquet"
_MAGIC = b"PAR1"


@dataclass(frozen=True)
class ParquetTable:
    """A table in a Parquet file; a column is read, and its type checked, when it is asked for."""

    path: Path
    columns: ParquetColumns

    @property
    def names(self) -> list[str]:
        return self.columns.names

    def text(self, name: str) -> pa.ChunkedArray:
        column = self._checked(name, _is_text(self._type(name)), "text or whole numbers")
        return self._complete(name, column).cast(pa.large_string())

    def optional_text(self, name: str) -> pa.ChunkedArray:
        kind = self._type(name)
        plain = _is_text(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)
        column = self._checked(name, plain, "text or numbers")
        return column.cast(pa.large_string()).fill_null("")

    def numbers(self, name: str) -> NDArray[np.float64]:
        kind = self._type(name)
        column = self._checked(name, pa.types.is_floating(kind) or pa.types.is_integer(kind), "numbers")
        numbers: NDArray[np.float64] = self._complete(name, column).to_numpy().astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if len(wrong):
            row = int(wrong[0])
            raise self.error(f"{quoted(name)} is {numbers[row]}, expected a finite number", row)
        return numbers

    def error(self, message: str, row: int) -> InputError:
        return InputError(f"row {row + 1}: {message}", self.path)

    def header_error(self, message: str) -> InputError:
        return InputError(message, self.path)

    def _type(self, name: str) -> pa.DataType:
        return self.columns.schema.field(name).type

    def _checked(self, name: str, fits: bool, expected: str) -> pa.ChunkedArray:
        if not fits:
            found = printable(self._type(name))
            raise self.header_error(f"column {quoted(name)} has the type {found}, expected {expected}")
        return self.columns.read(name)

    def _complete(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy())[0])
            raise self.error(f"{quoted(name)} is missing (null), expected a value", row)
        return column


def read_parquet(path: Path, *, directed: bool = False) -> MultiplexGraph:
    """Read the edges at ``path``, and nodes and pairs known to be different beside it, if they are there.

    ``directed`` as in `read_tables`.
    """
    return read_tables(path, _SUFFIX, read_parquet_table, directed=directed)


def write_parquet(graph: MultiplexGraph, path: Path) -> list[Path]:
    """Write the tables."""
    tables = tables_of(graph, path, _SUFFIX)
    return write_files({place: parquet_bytes(table) for place, table in tables.items()})


def read_parquet_table(path: Path) -> ParquetTable:
    """One table, whatever its columns are."""
    content = read_bytes(path)
    if not content.startswith(_MAGIC):
        raise InputError("this is no Parquet file, expected it to begin with 'PAR1'", path)
    if not content.endswith(_MAGIC):
        raise InputError("the Parquet file is cut off, expected it to end with 'PAR1'", path)
    columns = ParquetColumns(content, path)
    if (twice := first_repeated(columns.names)) is not None:
        raise InputError(f"two columns are called {quoted(twice)}, expected different names", path)
    return ParquetTable(path, columns)


def parquet_bytes(table: pa.Table, *, arrow_schema: bool = False) -> bytes:
    """A table as Parquet; ``arrow_schema`` keeps types that Parquet alone does not know, such as fixed-size lists."""
    packed = _written(table, arrow_schema, "zstd", dictionary=True)
    if table.nbytes > most_parquet(len(packed)):  # much of the same: our own reader would not believe it
        return _written(table, arrow_schema, "none", dictionary=False)
    return packed


def _written(table: pa.Table, arrow_schema: bool, compression: str, *, dictionary: bool) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(
        table,
        sink,
        compression=compression,
        use_dictionary=dictionary,
        write_page_checksum=True,
        store_schema=arrow_schema,
    )
    return sink.getvalue()


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    is_string = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(is_string or pa.types.is_integer(kind))


# ---- columns, read one by one, none before it is known what it unpacks to ----------------------------

_LEAST_UNPACKED = 1 << 28
_FEW_BYTES, _MANY_BYTES = 1 << 20, 1 << 24
_LIKELY = 10  # times the file: what it may unpack to without raising suspicion
_ROW_BYTES = 16  # at least what a value takes as text: where it begins, and a few characters
# A small file needs no threads; ones just started when a short process ends can abort it.
_BYTES_WORTH_THREADS = 1 << 20


def most_parquet(packed: int) -> int:
    """Bytes that the columns of a Parquet file of so many bytes may unpack to."""
    return most_unpacked(packed, _LEAST_UNPACKED)


class ParquetColumns:
    """The columns in the bytes of a Parquet file; InputError names ``path`` and what is wrong with them."""

    def __init__(self, content: bytes, path: Path):
        self._content, self._path = content, path
        self._read: dict[str, pa.ChunkedArray] = {}
        self._unpacked = 0  # bytes of what was read
        with self._damage_named():
            self._source = self._open()
            self.schema: pa.Schema = self._source.schema_arrow
            self._names: list[str] = self.schema.names  # ValueError if they are not UTF-8
            metadata = self._source.metadata
            self._group_rows = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
            self._rows = sum(max(0, rows) for rows in self._group_rows)
            self._footer = Footer(content)
            self._places = _places(self._names, metadata.schema)

    @property
    def names(self) -> list[str]:
        """The columns' names; not checked to be different."""
        return list(self._names)

    def read(self, name: str) -> pa.ChunkedArray:
        """A column of plain values, its texts valid UTF-8."""
        if name in self._read:
            return self._read[name]
        with self._damage_named():
            for place in self._places[name]:
                self._check_leaf(place)
            column = self._column(self._source, name)
            column.validate(full=True)
            if len(column) != self._rows:
                raise ValueError(f"{len(column)} values in a table of {self._rows} rows")
            self._read[name] = column
            return column

    def _open(self, dictionary: list[str] | None = None) -> parquet.ParquetFile:
        source = pa.BufferReader(self._content)
        return parquet.ParquetFile(source, page_checksum_verification=True, read_dictionary=dictionary)

    def _column(self, source: parquet.ParquetFile, name: str) -> pa.ChunkedArray:
        return source.read(columns=[name], use_threads=len(self._content) > _BYTES_WORTH_THREADS).column(name)

    # ---- what it would unpack to -----------------------------------------------------------------------

    def _check_leaf(self, place: int) -> None:
        """Neither rows nor pages nor texts of a column claim too much."""
        leaf = self._source.metadata.schema.column(place)
        if leaf.max_repetition_level:  # lists; who asks for one gets no further than its type
            raise ValueError(f"lists in a column called like another one: {printable(leaf.path)}")
        claimed, texts = self._rows * _ROW_BYTES, 0
        for number, rows in enumerate(self._group_rows):
            claims = claims_of(self._content, self._footer.piece(number, place))
            claimed += claims.unpacked
            texts += claims.dictionary * rows  # if every row held all of the dictionary
        self._add(leaf.path, claimed)
        if leaf.physical_type == "BYTE_ARRAY":
            self._add(leaf.path, texts if texts <= _FEW_BYTES else self._text_bytes(leaf.path))

    def _text_bytes(self, name: str) -> int:
        """About what texts take that stand in a dictionary once and in the column many times."""
        source = self._open([name])
        total = 0
        for number in range(source.metadata.num_row_groups):
            rows = source.metadata.row_group(number).num_rows
            first = next(source.iter_batches(1, row_groups=[number], columns=[name], use_threads=False), None)
            total += rows * (0 if first is None else int(_lengths(first.column(name)).max(initial=0)))
        if total <= max(_MANY_BYTES, _LIKELY * len(self._content)):  # if every row held the longest text
            return total
        total = 0
        for chunk in self._column(source, name).chunks:
            lengths = _lengths(chunk)
            total += int(lengths @ np.bincount(chunk.indices.drop_null(), minlength=len(lengths)))
        return total

    def _add(self, name: str, unpacked: int) -> None:
        self._unpacked += unpacked
        most = most_parquet(len(self._content))
        if self._unpacked > most:
            raise InputError(
                f"with column {quoted(name)} this file of {len(self._content)} bytes unpacks to {self._unpacked}, "
                f"expected at most {most}; if that is meant, write it without compression and dictionary",
                self._path,
            )

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        try:
            yield
        except MemoryError:  # Arrow's is an ArrowException too
            raise
        except (pa.ArrowException, OSError, ValueError) as problem:
            reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise InputError(f"the Parquet file is damaged ({printable(reason, 200)})", self._path) from None


def _places(names: Sequence[str], schema: parquet.ParquetSchema) -> dict[str, list[int]]:
    """For each column the places in the schema that pyarrow reads for it: "a" stands for "a", "a.b", "a.b.c" too."""
    found: dict[str, list[int]] = {name: [] for name in names}
    for place in range(len(schema)):
        path = schema.column(place).path
        while path:
            if path in found:
                found[path].append(place)
            path = path.rpartition(".")[0]
    return found


def _lengths(column: pa.Array) -> NDArray[np.int64]:
    """Bytes of each text in the dictionary of a column; none if it has no dictionary."""
    if not pa.types.is_dictionary(column.type):
        return np.empty(0, dtype=np.int64)
    lengths = pc.binary_length(column.dictionary).to_numpy(zero_copy_only=False)
    return np.asarray(lengths, dtype=np.int64)


# ---- what pages claim to unpack to: where they lie by the footer, how large by their own heads -------

# The footer says how large, too, but pages are unpacked by what their heads say.
# Where a head has what is asked for: numbers of the fields, from outside in.
_KIND, _UNPACKED, _PACKED = (1,), (2,), (3,)
_ENCODINGS = ((5, 2), (8, 4))  # in the two kinds of data pages
_DICTIONARY_PAGE = 2
_DICTIONARY_ENCODINGS = (2, 8)
_OF_HEAD = frozenset((_KIND, _UNPACKED, _PACKED, *_ENCODINGS))

# The footer: row groups (4), in each its columns (1), in each what is said of it (3), there these fields.
_GROUPS, _COLUMNS, _SAID = 4, 1, 3
_COMPRESSED, _DATA_PAGE, _DICTIONARY = 7, 9, 11
_OF_COLUMN = frozenset((_COMPRESSED, _DATA_PAGE, _DICTIONARY))
_COLUMN_DEPTH = 6
_TAIL = 8  # bytes: how long the footer is, and four letters
_MOST_FOOTER = 1 << 22  # bytes; read here in Python, which more of them would keep busy too long


@dataclass(frozen=True)
class Piece:
    """Where in the file one row group's part of a column lies."""

    start: int
    length: int


@dataclass(frozen=True)
class Claims:
    """Bytes that the pages of a column's piece unpack to, all of them and those of its dictionary."""

    unpacked: int
    dictionary: int


class Footer:
    """Where the pieces of columns lie, by a Parquet file's footer; ValueError if it does not say so.

    Arrow knows it too, but ends the whole process where a piece's statistics do not fit its schema.
    """

    def __init__(self, content: bytes):
        size = int.from_bytes(content[-_TAIL:-4], "little")
        if size > _MOST_FOOTER:
            raise ValueError(f"a footer of {size} bytes, expected at most {_MOST_FOOTER}")
        start = len(content) - _TAIL - size
        if start < 0:
            raise ValueError("the footer is longer than the file")
        self._numbers, _ = read_numbers(content, start, _is_of_column)

    def piece(self, group: int, column: int) -> Piece:
        """Of a column in a row group."""
        said = {field: self._numbers.get((_GROUPS, group, _COLUMNS, column, _SAID, field), 0) for field in _OF_COLUMN}
        starts = [start for start in (said[_DICTIONARY], said[_DATA_PAGE]) if start]
        if not starts:
            raise ValueError("a column without pages")
        return Piece(min(starts), said[_COMPRESSED])


def _is_of_column(path: FieldPath) -> bool:
    return len(path) == _COLUMN_DEPTH and path[::2] == (_GROUPS, _COLUMNS, _SAID) and path[-1] in _OF_COLUMN


def claims_of(content: bytes, piece: Piece) -> Claims:
    """What the pages of a piece claim; ValueError where there are no pages.

    Also for a dictionary that the first page of values does not use: nobody writes that, and it would go unseen.
    """
    place, end = piece.start, piece.start + piece.length
    if not 0 <= place <= end <= len(content):
        raise ValueError("a column lies outside of the file")
    total = dictionary = 0
    uses_dictionary: bool | None = None
    while place < end:
        head, place = read_numbers(content, place, _OF_HEAD.__contains__)
        packed, unpacked = head.get(_PACKED, -1), head.get(_UNPACKED, -1)
        if packed < 0 or unpacked < 0:
            raise ValueError("a page without its sizes")
        place += packed
        total += unpacked
        if head.get(_KIND) == _DICTIONARY_PAGE:
            dictionary += unpacked
        elif uses_dictionary is None:
            uses_dictionary = any(head.get(field) in _DICTIONARY_ENCODINGS for field in _ENCODINGS)
    if dictionary and uses_dictionary is False:
        raise ValueError("a dictionary that the first page does not use")
    return Claims(total, dictionary)


# ---- whole numbers out of structs in Thrift's compact protocol, in which Parquet files describe themselves

# Nothing but numbers is kept, and only those asked for: what a stranger's file claims costs no memory here.
FieldPath = tuple[int, ...]
"""Where a number stands: numbers of the fields from outside in, and behind a list's field the place in the list."""
Numbers = dict[FieldPath, int]

_BOOLEANS, _BYTE, _WHOLES, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
_MOST_DEPTH = 16
_LAST_FIELD = 2**15 - 1


def read_numbers(content: bytes, place: int, wanted: Callable[[FieldPath], bool]) -> tuple[Numbers, int]:
    """The ``wanted`` numbers of the struct that begins at a place, and the place behind it; ValueError if none does."""
    reader = _Reader(content, wanted)
    try:
        place = reader.struct(place, ())
    except IndexError:
        raise ValueError("a struct is cut off") from None
    return reader.numbers, place


class _Reader:
    def __init__(self, content: bytes, wanted: Callable[[FieldPath], bool]):
        self._content, self._wanted = content, wanted
        self.numbers: Numbers = {}

    def struct(self, place: int, path: FieldPath) -> int:
        """The place behind the struct at ``place``."""
        field, seen = 0, set[int]()
        while kind := self._content[place] & 15:
            step = self._content[place] >> 4
            place += 1
            if step:
                field += step
            else:
                field, place = self._whole(place)
            if field in seen:  # readers do not agree on which of the two counts
                raise ValueError("a struct says something twice")
            if not 0 < field <= _LAST_FIELD:
                raise ValueError(f"a struct has a field {field}")
            seen.add(field)
            # A field's kind says itself what a boolean is; in a list it takes a byte.
            place = place if kind in _BOOLEANS else self._value(place, kind, (*path, field))
        return place + 1

    def _value(self, place: int, kind: int, path: FieldPath) -> int:
        """The place behind a value."""
        if len(path) > _MOST_DEPTH:
            raise ValueError("a struct is nested too deeply")
        if kind in _WHOLES:
            number, place = self._whole(place)
            if self._wanted(path):
                self.numbers[path] = number
            return place
        if kind == _BYTE or kind in _BOOLEANS:
            return place + 1
        if kind == _DOUBLE:
            return place + 8
        if kind == _BINARY:
            size, place = self._varint(place)
            return place + size
        if kind in _LISTS:
            return self._list(place, path)
        if kind == _STRUCT:
            return self.struct(place, path)
        raise ValueError(f"a struct has a value of kind {kind}")

    def _list(self, place: int, path: FieldPath) -> int:
        head, place = self._content[place], place + 1
        size, kind = head >> 4, head & 15
        if size == 15:
            size, place = self._varint(place)
        if size > len(self._content):
            raise ValueError("a struct has a list without end")
        for number in range(size):
            place = self._value(place, kind, (*path, number))
            _ = self._content[place - 1]  # behind the end of the file there is nothing to skip
        return place

    def _whole(self, place: int) -> tuple[int, int]:
        """A whole number in zigzag form, and the place behind it."""
        number, place = self._varint(place)
        return (number >> 1) ^ -(number & 1), place

    def _varint(self, place: int) -> tuple[int, int]:
        number = shift = 0
        while True:
            octet = self._content[place]
            place += 1
            number |= (octet & 127) << shift
            shift += 7
            if octet < 128:
                return number, place
            if shift > 63:
                raise ValueError("a struct has a number without end")


FORMAT = Format(
    name="parquet",
    suffixes=(_SUFFIX,),
    description="two Parquet tables: edges (source, source_layer, target, target_layer, weight) and, beside, nodes",
    read=read_parquet,
    read_directed=partial(read_parquet, directed=True),
    write=write_parquet,
    beside=lambda path: [nodes_path(path, _SUFFIX)],
    apart=lambda path: apart_path(path, _SUFFIX),
)
