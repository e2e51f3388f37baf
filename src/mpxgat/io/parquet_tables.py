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
from mpxgat.io.registry import Format
from mpxgat.io.tables import edges_of, graph_from_tables, nodes_of, nodes_path

_SUFFIX = ".parquet"
_MAGIC = b"PAR1"
# A small file needs no threads; ones just started when a short process ends can abort it.
_BYTES_WORTH_THREADS = 1 << 20


@dataclass(frozen=True)
class ParquetTable:
    """A table in a Parquet file; the columns' types are checked when they are asked for."""

    path: Path
    table: pa.Table

    @property
    def names(self) -> list[str]:
        names: list[str] = self.table.column_names
        return names

    def text(self, name: str) -> pa.ChunkedArray:
        column = self._checked(name, _is_text(self.table.column(name).type), "text or whole numbers")
        return self._complete(name, column).cast(pa.large_string())

    def optional_text(self, name: str) -> pa.ChunkedArray:
        kind = self.table.column(name).type
        plain = _is_text(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)
        column = self._checked(name, plain, "text or numbers")
        return column.cast(pa.large_string()).fill_null("")

    def numbers(self, name: str) -> NDArray[np.float64]:
        kind = self.table.column(name).type
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

    def _checked(self, name: str, fits: bool, expected: str) -> pa.ChunkedArray:
        column = self.table.column(name)
        if not fits:
            found = printable(column.type)
            raise self.header_error(f"column {quoted(name)} has the type {found}, expected {expected}")
        return column

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
    try:
        source = parquet.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        table = source.read(use_threads=len(content) > _BYTES_WORTH_THREADS)
        table.validate(full=True)  # also that texts are UTF-8
        names = table.column_names
    except (pa.ArrowException, OSError, ValueError) as problem:  # ValueError: names that are not UTF-8
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InputError(f"the Parquet file is damaged ({printable(reason, 200)})", path) from None
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two columns are called {quoted(twice)}, expected different names", path)
    return ParquetTable(path, table)


def parquet_bytes(table: pa.Table, *, arrow_schema: bool = False) -> bytes:
    """A table as Parquet; ``arrow_schema`` keeps types that Parquet alone does not know, such as fixed-size lists."""
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression="zstd", write_page_checksum=True, store_schema=arrow_schema)
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
