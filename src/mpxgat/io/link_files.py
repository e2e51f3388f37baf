"""Lists of pairs of nodes: what is to be predicted, and what was. CSV or Parquet, told by the suffix.

Read: columns source, source_layer, target, target_layer; others are passed over. Written: any table. In CSV an
apostrophe stands before a text that a spreadsheet would take for a formula (``'=1+1``, ``'@ann``), see
`mpxgat.io.tables.without_formulas`; it is taken away when pairs are read. Parquet holds texts as they are.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.errors import InputError, OutputError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import write_files
from mpxgat.io.parquet import parquet_bytes, read_parquet_table
from mpxgat.io.tables import CsvTable, Table, csv_bytes, number_layers, read_csv_table, with_formulas, without_formulas

_CSV, _PARQUET = (".csv", ".csv.gz"), ".parquet"
_COLUMNS = ("source", "source_layer", "target", "target_layer")
_EXPECTED = "expected a name that ends in .csv or .parquet"


def read_pairs(path: Path, graph: MultiplexGraph) -> NDArray[np.int64]:
    """(k, 2) positions of the pairs in a file; InputError names the line of a node that is not in the graph."""
    table = _read(path)
    for name in _COLUMNS:
        if name not in table.names:
            found = ", ".join(quoted(known) for known in table.names[:10])
            raise table.header_error(f"no column {quoted(name)}; the columns are {found}")
    ends = [_positions(table, graph, end) for end in ("source", "target")]
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


def _positions(table: Table, graph: MultiplexGraph, end: str) -> NDArray[np.int64]:
    is_csv = isinstance(table, CsvTable)
    ids, names = (with_formulas(t) if is_csv else t for t in (table.text(end), table.text(f"{end}_layer")))
    ids = ids.cast(pa.large_string()).combine_chunks()
    layers = number_layers(names, graph.layers, table.error)
    positions = np.full(len(ids), -1, dtype=np.int64)
    for number in np.unique(layers):
        rows = np.flatnonzero(layers == number)
        start, stop = int(graph.layer_start[number]), int(graph.layer_start[number + 1])
        found = pc.index_in(ids.take(pa.array(rows)), value_set=graph.ids.slice(start, stop - start))
        positions[rows] = pc.fill_null(found, -1 - start).to_numpy(zero_copy_only=False) + start
    unknown = np.flatnonzero(positions < 0)
    if len(unknown):
        row = int(unknown[0])
        layer = graph.layers[layers[row]]
        raise table.error(f"{end}: no node {quoted(ids[row].as_py())} in layer {quoted(layer)}", row)
    return positions
