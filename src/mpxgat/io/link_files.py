"""Lists of pairs of nodes: what is to be predicted, and what was. CSV or Parquet, told by the suffix.

Read: columns source, source_layer, target, target_layer; others are passed over. Written: any table. In CSV an
apostrophe stands before a text that a spreadsheet would take for a formula (``'=1+1``, ``'@ann``), see
`mpxgat.io.csv_tables.without_formulas`; it is taken away when pairs are read. Parquet holds texts as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.errors import InputError, OutputError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.columns import find_nodes, number_layers
from mpxgat.io.csv_tables import CsvTable, csv_bytes, read_csv_table, with_formulas, without_formulas
from mpxgat.io.files import write_files
from mpxgat.io.parquet import parquet_bytes, read_parquet_table
from mpxgat.io.tables import Table, required_text

_CSV, _PARQUET = (".csv", ".csv.gz"), ".parquet"
_COLUMNS = ("source", "source_layer", "target", "target_layer")
_EXPECTED = "expected a name that ends in .csv or .parquet"

Positions = NDArray[np.int64]


def read_pairs(path: Path, graph: MultiplexGraph) -> Positions:
    """(k, 2) positions of the pairs in a file; InputError names the line of a node that is not in the graph."""
    table = _read(path)
    columns = {name: required_text(table, name) for name in _COLUMNS}
    if isinstance(table, CsvTable):
        columns = {name: with_formulas(column) for name, column in columns.items()}
    ends = [_positions(columns, graph, end, table) for end in ("source", "target")]
    same = np.flatnonzero(ends[0] == ends[1])
    if len(same):
        raise table.error("a node with itself, expected two different nodes", int(same[0]))
    return np.stack(ends, axis=1)


def check_link_suffix(path: Path) -> None:
    """OutputError unless `write_links` can write a file of this name."""
    if not path.name.lower().endswith((*_CSV, _PARQUET)):
        raise OutputError(f"{quoted(path.name)}, {_EXPECTED}")


def write_links(table: pa.Table, path: Path) -> list[Path]:
    """Write a table of links."""
    check_link_suffix(path)
    packed = path.name.lower().endswith(_PARQUET)
    return write_files({path: parquet_bytes(table) if packed else csv_bytes(without_formulas(table), path)})


def _read(path: Path) -> Table:
    name = path.name.lower()
    if name.endswith(_CSV):
        return read_csv_table(path)
    if name.endswith(_PARQUET):
        return read_parquet_table(path)
    raise InputError(f"the format is not told by the name, {_EXPECTED}", path)


def _positions(columns: Mapping[str, pa.ChunkedArray], graph: MultiplexGraph, end: str, table: Table) -> Positions:
    def error(message: str, row: int) -> InputError:
        return table.error(f"{end}: {message}", row)

    return find_nodes(columns[end], number_layers(columns[f"{end}_layer"], graph.layers, error), graph, error)
