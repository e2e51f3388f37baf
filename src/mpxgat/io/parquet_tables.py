"""The two tables of `mpxgat.io.tables` as Parquet files: ``X.parquet`` the edges, ``X.nodes.parquet`` the nodes.

``X.edges.parquet`` also goes with ``X.nodes.parquet``. Ids and layers are text or whole numbers, weights and
features are numbers; in a column of units or attributes a value may be missing (null).
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from mpxgat.errors import InputError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import read_bytes, write_files
from mpxgat.io.parquet_columns import ParquetColumns, most_parquet
from mpxgat.io.registry import Format
from mpxgat.io.tables import edges_of, graph_from_tables, nodes_of, nodes_path

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


def read_parquet(path: Path) -> MultiplexGraph:
    """Read the edges at ``path`` and the nodes beside it, if they are there."""
    nodes = next((place for place in nodes_path(path, _SUFFIX) if os.path.exists(place)), None)
    return graph_from_tables(read_parquet_table(path), None if nodes is None else read_parquet_table(nodes))


def write_parquet(graph: MultiplexGraph, path: Path) -> list[Path]:
    """Write edges and nodes."""
    nodes = nodes_path(path, _SUFFIX)[0]
    return write_files({path: parquet_bytes(edges_of(graph)), nodes: parquet_bytes(nodes_of(graph, path))})


def read_parquet_table(path: Path) -> ParquetTable:
    """One table, whatever its columns are."""
    content = read_bytes(path)
    if not content.startswith(_MAGIC):
        raise InputError("this is no Parquet file, expected it to begin with 'PAR1'", path)
    if not content.endswith(_MAGIC):
        raise InputError("the Parquet file is cut off, expected it to end with 'PAR1'", path)
    columns = ParquetColumns(content, path)
    names = columns.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
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


FORMAT = Format(
    name="parquet",
    suffixes=(_SUFFIX,),
    description="two Parquet tables: edges (source, source_layer, target, target_layer, weight) and, beside, nodes",
    read=read_parquet,
    write=write_parquet,
    beside=lambda path: [nodes_path(path, _SUFFIX)],
)
