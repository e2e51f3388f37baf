"""The tables of `mpxgat.io.tables` as CSV files (RFC 4180): ``X.csv`` the edges, ``X.nodes.csv`` the nodes, and
``X.apart.csv`` the pairs known to be different.

``X.edges.csv`` also goes with ``X.nodes.csv``. Every field is read as text, so the id "007" stays what it is, and is
written as it is: these files are for programs. CSV files for people to open are `without_formulas`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from mpxgat.build import RowError
from mpxgat.errors import InputError, OutputError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.columns import Columns, first_repeated, parse_numbers, separator_of, split_columns
from mpxgat.io.files import read_encoded, write_files
from mpxgat.io.registry import Format, Names
from mpxgat.io.tables import apart_path, nodes_path, read_tables, tables_of

_SUFFIX, _TABS_SUFFIX = ".csv", ".tsv"
_MAX_COLUMNS = 100_000
_SEPARATORS = ",;\t"
ENCODING_ADVICE = "; if it is of another encoding, such as cp1252, mpxgat convert reads it with --encoding cp1252"


@dataclass(frozen=True)
class CsvTable:
    """A table in a CSV file, or on a sheet: the columns' names, which its first row holds, and the rows below."""

    names: tuple[str, ...]
    rows: Columns

    @property
    def path(self) -> Path:
        return self.rows.path

    def text(self, name: str) -> pa.ChunkedArray:
        return self.rows.fields[self.names.index(name)]

    def optional_text(self, name: str) -> pa.ChunkedArray:
        return self.text(name)

    def numbers(self, name: str) -> NDArray[np.float64]:
        try:
            return parse_numbers(self.text(name), quoted(name), "")
        except RowError as problem:
            raise self.error(problem.message, problem.row) from None

    def error(self, message: str, row: int) -> InputError:
        return self.rows.error(message, row)

    def header_error(self, message: str) -> InputError:
        return self.rows.error(message, -1)


def read_csv(
    path: Path, *, columns: Names | None = None, encoding: str | None = None, directed: bool = False
) -> MultiplexGraph:
    """Read the edges at ``path``, and nodes and pairs known to be different beside it, if they are there.

    ``columns`` are names that columns have instead of their own (`mpxgat.io.tables.NamedColumns`); ``directed`` as in
    `read_tables`.
    """

    def read(place: Path) -> CsvTable:
        return read_csv_table(place, encoding=encoding)

    return read_tables(path, _SUFFIX, read, columns=columns, directed=directed)


def write_csv(graph: MultiplexGraph, path: Path) -> list[Path]:
    """Write the tables; OutputError if a text holds a NUL character, which no CSV reader takes."""
    tables = tables_of(graph, path, _SUFFIX)
    return write_files({place: csv_bytes(table, place) for place, table in tables.items()})


def read_csv_table(path: Path, fewest_columns: int = 2, encoding: str | None = None) -> CsvTable:
    """One table, whatever its columns are, separated by commas, semicolons or tabs."""
    return table_of(read_csv_rows(path, fewest_columns, encoding))


def read_csv_rows(path: Path, fewest_columns: int = 2, encoding: str | None = None) -> Columns:
    """The rows of a table, the one of its columns' names among them."""
    content, used = read_encoded(path, encoding, ENCODING_ADVICE)
    if b'"' not in content and b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    delimiter = separator_of(content, _own_separator(path) + _SEPARATORS) or ","
    expected = "a table of at least two columns separated by commas, semicolons or tabs"  # of one column, any file is
    columns = split_columns(content, path, delimiter, range(fewest_columns, _MAX_COLUMNS), expected, quoting=True)
    return replace(columns, encoding=used)


def table_of(columns: Columns) -> CsvTable:
    """The table whose first row holds the columns' names; InputError if two are alike."""
    names = tuple(field[0].as_py() for field in columns.fields)
    if (twice := first_repeated(names)) is not None:
        raise columns.error(f"two columns are called {quoted(twice)}, expected different names", 0)
    return CsvTable(names, columns.below_header())


# Texts that a spreadsheet would calculate, behind apostrophes or not. A plain number such as -5 is none.
_FORMULA = r"'*(?:[=@\t\r]|[+-](?:$|[0-9.]*[^0-9.]))"


def without_formulas(table: pa.Table) -> pa.Table:
    """A table for people to open: an apostrophe before each text that a spreadsheet would take for a formula.

    That is a text that begins with ``=``, ``@``, a tab, a carriage return, or with ``+`` or ``-`` without being a plain
    number; and such a text behind apostrophes, so that `with_formulas` gives back what was there.
    """
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            marked = pc.replace_substring_regex(column, f"^{_FORMULA}", r"'\0", max_replacements=1)
            table = table.set_column(place, name, marked)
    return table


def with_formulas(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts of a column as they were before `without_formulas`."""
    return pc.replace_substring_regex(texts, f"^'({_FORMULA})", r"\1", max_replacements=1)


def csv_bytes(table: pa.Table, path: Path) -> bytes:
    """A table of texts and numbers as CSV, texts as they are; an OutputError names ``path``."""
    for name in table.column_names:
        column = table.column(name).cast(pa.large_string())
        if "\0" in name or pc.any(pc.match_substring(column, "\0")).as_py():
            raise OutputError(f"{printable(path, 300)}: column {quoted(name)} holds a NUL character, which CSV cannot")
        table = table.set_column(table.column_names.index(name), name, column)
    separator = _own_separator(path)
    names = separator.join(table.column_names)
    if any(mark in name for name in table.column_names for mark in f'{separator}"\r\n'):
        names = separator.join('"' + name.replace('"', '""') + '"' for name in table.column_names)
    try:
        rows = _rows_to_bytes(table, "none", separator)
    except pa.ArrowInvalid:  # a text that needs quotes; now all texts of the file get them
        rows = _rows_to_bytes(table, "needed", separator)
    return names.encode() + b"\n" + rows


def _own_separator(path: Path) -> str:
    """What separates the fields of the files that we write."""
    return "\t" if path.name.lower().removesuffix(".gz").endswith(_TABS_SUFFIX) else ","


def _rows_to_bytes(table: pa.Table, quoting: str, separator: str) -> bytes:
    sink = io.BytesIO()
    options = arrow_csv.WriteOptions(include_header=False, quoting_style=quoting, delimiter=separator)
    arrow_csv.write_csv(table, sink, options)
    return sink.getvalue()


FORMAT = Format(
    name="csv",
    suffixes=(_SUFFIX, _TABS_SUFFIX),
    description="two CSV tables: edges (source, source_layer, target, target_layer, weight) and, beside, nodes",
    read=read_csv,
    read_directed=partial(read_csv, directed=True),
    read_named=read_csv,
    write=write_csv,
    beside=lambda path: [nodes_path(path, _SUFFIX)],
    apart=lambda path: apart_path(path, _SUFFIX),
)
