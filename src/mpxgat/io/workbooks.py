"""Excel workbooks (``.xlsx``), read only: a sheet is a table as in a CSV file. Needs the extra ``excel``.

A workbook that is a network has its links on the sheet ``edges`` or ``links``, or else on the first one, its nodes on
a sheet ``nodes`` and pairs known to be different on ``apart``, with the columns of `mpxgat.io.tables`. In a list of
files, ``book.xlsx:SHEET`` names a sheet; without a name it is the first.

Values are read, never formulas. Whole numbers become "7", not "7.0", days "2024-05-01", other cells their text.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from mpxgat.errors import InputError, MissingExtraError, listed, printable, quoted, warn_of_data
from mpxgat.graph import MultiplexGraph
from mpxgat.io.columns import Columns
from mpxgat.io.csv_tables import CsvTable, table_of
from mpxgat.io.files import most_unpacked, read_bytes
from mpxgat.io.registry import Format, Names, no_encoding
from mpxgat.io.tables import graph_of_tables
from mpxgat.io.xml_checks import check_xml

SUFFIX = ".xlsx"
_WITH_SHEET = re.compile(r"(?is)(.*\.xlsx):(.+)")
_EDGES, _NODES, _APART = ("edges", "links"), ("nodes",), ("apart",)
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"  # also of a workbook with a password
_MOST_PARTS = 10_000
_MOST_ROWS = 1 << 20  # as many as Excel has
# Cells that are left out, and texts that stand in the file once and in many cells: as in `mpxgat.io.files`.
_CELLS_FOR_A_BYTE, _LEAST_CELLS = 5, 1 << 21
_TEXT_FOR_A_BYTE, _LEAST_TEXT = 5, 1 << 26
_DIGITS_KEPT = 15  # by a spreadsheet, of a number


@dataclass(frozen=True)
class SheetRows(Columns):
    """The cells of a sheet as text; row r stands in row ``numbers[r]`` of the sheet. Empty rows are none."""

    sheet: str = ""
    numbers: Sequence[int] = ()

    def error(self, message: str, row: int) -> InputError:
        return _error(message, self.path, self.sheet, self.numbers[row + self.header_rows])


def _error(message: str, path: Path, sheet: str, row: int) -> InputError:
    return InputError(f"sheet {quoted(sheet)}, row {row}: {message}", path)


def split_sheet(path: Path) -> tuple[Path, str | None]:
    """The workbook and the sheet that ``book.xlsx:SHEET`` names; any other path is a file."""
    found = _WITH_SHEET.fullmatch(str(path))
    return (Path(found[1]), found[2]) if found else (path, None)


def is_workbook(path: Path) -> bool:
    """Whether the name is that of a workbook, with or without a sheet."""
    return split_sheet(path)[0].name.lower().endswith(SUFFIX)


def read_sheet(path: Path) -> SheetRows:
    """All rows of the sheet that ``path`` names, or else of the first one."""
    place, sheet = split_sheet(path)
    return _Book(place).rows(None if sheet is None else (sheet,))


def read_workbook(
    path: Path, *, columns: Names | None = None, encoding: str | None = None, directed: bool = False
) -> MultiplexGraph:
    """The network in a workbook; ``columns`` and ``directed`` as in `mpxgat.io.tables.graph_of_tables`."""
    no_encoding("a workbook", encoding)
    place, sheet = split_sheet(path)
    book = _Book(place)
    edges = (sheet,) if sheet is not None else _EDGES if book.has(_EDGES) else None
    tables = book.table(edges), book.table_if_any(_NODES), book.table_if_any(_APART)
    return graph_of_tables(*tables, columns=columns, directed=directed)


class _Book:
    """A workbook that was opened; whatever a file from strangers does to the library is an InputError."""

    def __init__(self, path: Path):
        self._path = path
        openpyxl = _library()
        content = _checked(path)
        self._size = len(content)
        self._book = self._guarded(
            lambda: openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
        )
        self._names = [str(sheet.title) for sheet in self._book.worksheets]
        if not self._names:
            raise InputError("a workbook without sheets, expected a table on one", path)

    def has(self, names: Sequence[str]) -> bool:
        """Whether there is a sheet of one of these names, in capitals or not."""
        return self._place(names) is not None

    def table_if_any(self, names: Sequence[str]) -> CsvTable | None:
        """The table on the sheet called so, if there is one."""
        return self.table(names) if self.has(names) else None

    def table(self, names: Sequence[str] | None) -> CsvTable:
        """The table on the sheet called so (None: the first one)."""
        return table_of(self.rows(names))

    def rows(self, names: Sequence[str] | None) -> SheetRows:
        """The rows of the sheet called so (None: of the first one)."""
        place = 0 if names is None else self._place(names)
        if place is None:
            raise InputError(f"no sheet {quoted((names or [''])[0])}; the sheets are {listed(self._names)}", self._path)
        sheet = self._names[place]
        texts = _Texts(self._path, sheet, self._size)
        self._guarded(lambda: texts.read(self._book.worksheets[place]))
        return texts.columns()

    def _place(self, names: Sequence[str]) -> int | None:
        for alike in (str, str.lower):
            for place, sheet in enumerate(self._names):
                if alike(sheet) in map(alike, names):
                    return place
        return None

    def _guarded(self, work: Callable[[], Any]) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of styles and the like, which are not read
                return work()
        except (InputError, MemoryError):
            raise
        except Exception as problem:
            reason = printable(f"{type(problem).__name__}: {problem}", 200)
            raise InputError(f"the workbook cannot be read ({reason})", self._path) from None


def _library() -> ModuleType:
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("openpyxl", "excel", "reading .xlsx files") from None
    library: ModuleType = openpyxl
    return library


def _checked(path: Path) -> bytes:
    """The file, if it is a zip archive that unpacks to a bounded size, of XML without entities."""
    content = read_bytes(path)
    if content.startswith(_OLD_EXCEL):
        raise InputError("an old Excel file (.xls), or one with a password; save it as .xlsx without a password", path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            total, most = sum(part.file_size for part in parts), most_unpacked(len(content))
            if total > most or len(parts) > _MOST_PARTS:
                raise InputError(
                    f"the workbook of {len(content)} bytes has {len(parts)} parts that unpack to {total} bytes, "
                    f"expected at most {most}; save it as CSV",
                    path,
                )
            for part in parts:
                if part.filename.lower().endswith((".xml", ".rels")):
                    check_xml(archive.read(part), path, part=printable(part.filename))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as problem:
        raise InputError(f"this is no workbook, or it is damaged ({printable(problem)})", path) from None
    except InputError:
        raise
    except Exception as problem:  # zlib.error and what other unpackers may raise
        raise InputError(f"the workbook is damaged ({printable(problem)})", path) from None
    return content


class _Texts:
    """The cells of a sheet as they are read: rows of text, with the bounds that hold for all."""

    def __init__(self, path: Path, sheet: str, size: int):
        self._path, self._sheet, self._size = path, sheet, size
        self._rows: list[list[str]] = []
        self._numbers: list[int] = []
        self._long: tuple[int, str] | None = None  # a number of more digits than a spreadsheet keeps, and its row

    def read(self, sheet: Any) -> None:
        """Take in a sheet of openpyxl, row by row."""
        sheet.reset_dimensions()  # a file may claim others than it has
        cells = letters = 0
        most_cells = max(_LEAST_CELLS, _CELLS_FOR_A_BYTE * self._size)
        most_letters = max(_LEAST_TEXT, _TEXT_FOR_A_BYTE * most_unpacked(self._size))
        for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
            row = [self._text(value, number) for value in values]
            while row and not row[-1].strip():
                row.pop()
            cells += len(values)
            letters += sum(map(len, row))
            if number > _MOST_ROWS or cells > most_cells or letters > most_letters:
                raise _error(
                    f"more than {_MOST_ROWS} rows, {most_cells} cells or {most_letters} letters, expected fewer in a "
                    f"file of {self._size} bytes; save the sheet as CSV",
                    self._path,
                    self._sheet,
                    number,
                )
            if row:
                self._rows.append(row)
                self._numbers.append(number)

    def columns(self) -> SheetRows:
        """What was read, as columns of text; cells that are missing are empty."""
        if not self._rows:
            raise InputError(f"the sheet {quoted(self._sheet)} is empty", self._path)
        if self._long is not None:
            row, text = self._long
            warn_of_data(
                f"sheet {quoted(self._sheet)}, row {row}: {quoted(text)} is kept as a number, of which a spreadsheet "
                f"keeps {_DIGITS_KEPT} digits; ids of more digits may have been changed, unless they are kept as text",
                self._path,
            )
        width = max(map(len, self._rows))
        fields = tuple(pa.chunked_array([list(column)], pa.string()) for column in self._by_column(width))
        return SheetRows(self._path, b"", "", False, fields, encoding="Excel", sheet=self._sheet, numbers=self._numbers)

    def _by_column(self, width: int) -> Iterator[list[str]]:
        for place in range(width):
            yield [row[place] if place < len(row) else "" for row in self._rows]

    def _text(self, value: object, row: int) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and self._long is None and abs(value) >= 10**_DIGITS_KEPT:
            self._long = row, str(value)
        if isinstance(value, datetime):
            return str(value.date()) if value.time() == time() else value.isoformat(sep=" ")
        return str(value)


FORMAT = Format(
    name="xlsx",
    suffixes=(SUFFIX,),
    description="an Excel workbook with the sheets edges, nodes and apart, as the two tables (read only)",
    read=read_workbook,
    read_directed=partial(read_workbook, directed=True),
    read_named=read_workbook,
)
