"""Lists of pairs of nodes: what is to be predicted, what was, who is who or not. CSV or Parquet, told by the suffix.

Read: columns source, source_layer, target, target_layer; others are passed over. Lists of who is who, or is not, may
instead have two columns called by two layers, or ``a`` and ``b`` for the first and the second of two. Written: any
table. In CSV an apostrophe stands before a text that a spreadsheet would take for a formula (``'=1+1``, ``'@ann``), see
`mpxgat.io.csv_tables.without_formulas`; it is taken away when pairs are read. Parquet holds texts as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.build import RowError, with_apart, with_inter_links
from mpxgat.errors import InputError, OutputError, listed, quoted
from mpxgat.graph import MultiplexGraph, Node, describe
from mpxgat.io.columns import find_nodes, number_layers
from mpxgat.io.csv_tables import CsvTable, csv_bytes, read_csv_table, with_formulas, without_formulas
from mpxgat.io.files import write_files
from mpxgat.io.parquet import parquet_bytes, read_parquet_table
from mpxgat.io.tables import Table, required_text
from mpxgat.pairs import pair_keys

_CSV, _PARQUET = (".csv", ".csv.gz"), ".parquet"
_COLUMNS = ("source", "source_layer", "target", "target_layer")
_FIRST_AND_SECOND = ("a", "b")
GONE = "gone"  # a node that is in no unit any more
_EXPECTED = "expected a name that ends in .csv or .parquet"

Positions = NDArray[np.int64]


def read_pairs(path: Path, graph: MultiplexGraph) -> Positions:
    """(k, 2) positions of the pairs in a file; InputError names the line of a node that is not in the graph."""
    return pairs_in(_read(path), graph)


def read_anchors(known: Path, hidden: Path, graph: MultiplexGraph) -> tuple[Positions, Positions]:
    """(k, 2) and (h, 2) positions of the pairs in two lists of who is who.

    InputError names file and line of a node that is not in the graph, of a pair that is listed twice, of one that would
    give a node a second counterpart in a layer, and of a hidden one whose unit is in a known one.
    """
    tables = _read(known), _read(hidden)
    lists = [anchors_in(table, graph) for table in tables]
    if not len(lists[1]):
        raise tables[1].header_error("no pairs below the header, expected those that are to be found")

    def error(message: str, row: int) -> InputError:
        of_known = row < len(lists[0])
        return tables[0].error(message, row) if of_known else tables[1].error(message, row - len(lists[0]))

    _check_anchors(graph, np.concatenate(lists), len(lists[0]), error)
    return lists[0], lists[1]


def read_different(path: Path, graph: MultiplexGraph) -> MultiplexGraph:
    """The graph in which the pairs in a file, too, are known to be different units.

    InputError names file and line of a node that is not in the graph, of a pair in one layer, and of one that known
    links make one unit.
    """
    table = _read(path)
    pairs = anchors_in(table, graph)
    try:
        return with_apart(graph, pairs)
    except RowError as problem:
        raise table.error(problem.message, problem.row) from None


def _check_anchors(
    graph: MultiplexGraph, pairs: Positions, n_known: int, error: Callable[[str, int], InputError]
) -> None:
    """Every pair once, every node with one counterpart in a layer, every unit known or hidden as a whole."""
    _, first, place = np.unique(pair_keys(pairs, graph.n_nodes), return_index=True, return_inverse=True)
    again = np.flatnonzero(first[place] != np.arange(len(pairs)))
    if len(again):
        row = int(again[0])
        one, other = (describe(graph.nodes[int(node)]) for node in pairs[row])
        where = "among the known pairs" if first[place[row]] < n_known else "in this list"
        raise error(f"{one} and {other} are {where} already, expected every pair once", row)
    try:
        whole = with_inter_links(graph, pairs)
    except RowError as problem:
        raise error(problem.message, problem.row) from None
    unit = whole.unit[pairs[:, 0]]
    mixed = np.flatnonzero(np.isin(unit[n_known:], unit[:n_known]))
    if len(mixed):
        row = int(mixed[0]) + n_known
        one, other = (describe(graph.nodes[int(node)]) for node in pairs[row])
        raise error(f"{one} and {other} are hidden, but known pairs say who one of them is, expected whole units", row)


def anchors_in(table: Table, graph: MultiplexGraph) -> Positions:
    """(k, 2) positions of the pairs in a table, which may have two columns called by layers."""
    if "source_layer" in table.names:
        return pairs_in(table, graph)
    layers = [name for name in table.names if name in graph.layers]
    if len(layers) == 2:
        names = layers
    elif set(_FIRST_AND_SECOND) <= {*table.names} and graph.n_layers == 2:
        names, layers = list(_FIRST_AND_SECOND), list(graph.layers)
    else:
        raise table.header_error(
            f"the columns {listed(table.names)}, expected two that are called by layers ({listed(graph.layers)})"
            f"{', or a and b' if graph.n_layers == 2 else ''}; or {', '.join(_COLUMNS)}"
        )
    ends = []
    for name, layer in zip(names, layers, strict=True):
        ids = _texts(table, name)
        ends.append(find_nodes(ids, np.full(len(ids), graph.layer_index(layer)), graph, table.error))
    return np.stack(ends, axis=1)


def check_link_suffix(path: Path) -> None:
    """OutputError unless `write_links` can write a file of this name."""
    if not path.name.lower().endswith((*_CSV, _PARQUET)):
        raise OutputError(f"{quoted(path.name)}, {_EXPECTED}")


def write_links(table: pa.Table, path: Path) -> list[Path]:
    """Write a table of links."""
    return write_tables({path: table})


def write_tables(tables: Mapping[Path, pa.Table]) -> list[Path]:
    """Write several tables; those of one folder all or none."""
    contents: dict[Path, dict[Path, bytes]] = {}
    for path, table in tables.items():
        check_link_suffix(path)
        packed = path.name.lower().endswith(_PARQUET)
        content = parquet_bytes(table) if packed else csv_bytes(without_formulas(table), path)
        contents.setdefault(path.parent, {})[path] = content
    return [path for together in contents.values() for path in write_files(together)]


def read_units(path: Path) -> dict[Node, str]:
    """The unit of every node in a list that `mpxgat match --units` wrote, but for those that had gone.

    Columns unit, node, node_layer, and node_status if there is one. InputError names the line of a node that is listed
    twice, and of one without a unit.
    """
    table = _read(path)
    names = ["unit", "node", "node_layer", *(["node_status"] if "node_status" in table.names else [])]
    units, ids, layers, *status = (_texts(table, name).to_pylist() for name in names)
    found: dict[Node, str] = {}
    for row, (unit, node) in enumerate(zip(units, map(Node, ids, layers), strict=True)):
        if status and status[0][row] == GONE:
            continue
        if not unit:
            raise table.error(f"{describe(node)} has no unit, expected the id of one", row)
        if node in found:
            raise table.error(f"{describe(node)} is listed twice, expected every node once", row)
        found[node] = unit
    return found


def _read(path: Path) -> Table:
    name = path.name.lower()
    if name.endswith(_CSV):
        return read_csv_table(path)
    if name.endswith(_PARQUET):
        return read_parquet_table(path)
    raise InputError(f"the format is not told by the name, {_EXPECTED}", path)


def _texts(table: Table, name: str) -> pa.ChunkedArray:
    column = required_text(table, name)
    return with_formulas(column) if isinstance(table, CsvTable) else column


def pairs_in(table: Table, graph: MultiplexGraph) -> Positions:
    """(k, 2) positions of the pairs in a table of columns source, source_layer, target, target_layer."""
    columns = {name: _texts(table, name) for name in _COLUMNS}
    ends = [_positions(columns, graph, end, table) for end in ("source", "target")]
    same = np.flatnonzero(ends[0] == ends[1])
    if len(same):
        raise table.error("a node with itself, expected two different nodes", int(same[0]))
    return np.stack(ends, axis=1)


def _positions(columns: Mapping[str, pa.ChunkedArray], graph: MultiplexGraph, end: str, table: Table) -> Positions:
    def error(message: str, row: int) -> InputError:
        return table.error(f"{end}: {message}", row)

    return find_nodes(columns[end], number_layers(columns[f"{end}_layer"], graph.layers, error), graph, error)
