"""The `.edges` files of muxViz and of the CoMuNe lab's data sets.

Plain form, one intra link on a line: ``layer node node [weight]``. Copies of a unit share an id, so the inter
links come from the ids. Extended form: ``node layer node layer weight``, always five columns; rows that join
two layers are the inter links, and where there are none these come from the ids too.

Beside ``X.edges`` (or ``X_multiplex.edges``) may stand ``X_layers.txt`` and ``X_nodes.txt``, each with a header:

    layerID layerLabel      the layers' names; without it a layer is called by its id
    nodeID nodeLabel …      every node, with columns about it: they become attributes under their header's
                            name, except that "nodeLabel" becomes "label"

Columns are parted by blanks; a header with a tab says that they are parted by single tabs, which lets values
be empty or hold blanks. If there are just two columns the second one may hold blanks anyway.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mpxgat.builder import EdgeTable, RowError, build
from mpxgat.errors import InputError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.identity import link_by_id
from mpxgat.io.columns import Columns, single_blanks, split_columns
from mpxgat.io.comunelab_writer import LABEL, LABEL_HEADER, companions, write_extended, write_shortest
from mpxgat.io.files import read_text
from mpxgat.io.layer_names import names_in_order, number_layers
from mpxgat.io.limits import check_filled, taken
from mpxgat.io.registry import Format
from mpxgat.io.text_numbers import parse_numbers

_PLAIN = "'layer node node [weight]'"
_EXTENDED = "'node layer node layer weight'"
_EXTENDED_WIDTH = 5
_MAX_COLUMNS = 100_000


def read_edges(path: Path) -> MultiplexGraph:
    """Read either form, told apart by the number of columns."""
    return _read(path, widths=(3, 4, _EXTENDED_WIDTH), expected=f"{_PLAIN} or {_EXTENDED}")


def read_extended(path: Path) -> MultiplexGraph:
    """Read the extended form."""
    return _read(path, widths=(_EXTENDED_WIDTH,), expected=_EXTENDED)


def _read(path: Path, widths: tuple[int, ...], expected: str) -> MultiplexGraph:
    columns = split_columns(single_blanks(read_text(path)), path, " ", widths, expected)
    extended = len(columns.fields) == _EXTENDED_WIDTH
    layers, edges = _edge_table(columns, extended)
    try:
        graph = build(layers, edges)
    except RowError as problem:
        raise columns.error(problem.message, problem.row) from None
    if not (extended and graph.n_inter):
        graph = link_by_id(graph)
    nodes_path = _existing(companions(path)[1])
    return graph if nodes_path is None else _with_attributes(graph, nodes_path, columns, extended)


def _edge_table(columns: Columns, extended: bool) -> tuple[list[str], EdgeTable]:
    fields = columns.fields
    if extended:
        source, target, source_layers, target_layers = fields[0], fields[2], fields[1], fields[3]
    else:
        source, target, source_layers, target_layers = fields[1], fields[2], fields[0], fields[0]
    layers_path = _existing(companions(columns.path)[0])
    if layers_path is None:
        names = keys = names_in_order([source_layers, target_layers] if extended else [source_layers])
    else:
        keys, names = _read_layers(layers_path)
    source_layer = number_layers(source_layers, keys, columns.error)
    target_layer = number_layers(target_layers, keys, columns.error) if extended else source_layer
    weight = None
    if len(fields) > 3:
        try:
            weight = parse_numbers(fields[-1], "the weight", "edges")
        except RowError as problem:
            raise columns.error(problem.message, problem.row) from None
    return names, EdgeTable(source, source_layer, target, target_layer, weight)


# ---- the files beside it -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Companion:
    """A file of ids with columns about them: row r of ``columns`` stands on data row r (the header is apart)."""

    header: list[str]
    source: Columns

    @property
    def columns(self) -> list[pa.ChunkedArray]:
        return [field.slice(1) for field in self.source.fields]

    def error(self, message: str, row: int) -> InputError:
        return self.source.error(message, row + 1)


def _existing(places: list[Path]) -> Path | None:
    return next((place for place in places if os.path.exists(place)), None)


def _read_companion(path: Path, header: str) -> _Companion:
    """Read a companion file; its header must begin as ``header`` does. No id may stand there twice."""
    content = read_text(path)
    first = content.lstrip(b" \n").split(b"\n", 1)[0]
    delimiter = "\t"
    if b"\t" not in first.rstrip(b" \t"):
        content = single_blanks(content)
        if single_blanks(first).count(b" ") == 1:  # two columns: the second is the rest of the line
            content = re.sub(rb"(?m)^([^ \n]+) ?(.*)$", rb"\1\t\2", content)
        else:
            delimiter = " "
    columns = split_columns(content, path, delimiter, range(1, _MAX_COLUMNS), f"the columns '{header}'")
    names = [field[0].as_py() for field in columns.fields]
    wanted = header.split()[0]
    if names[0].lower() != wanted.lower():
        raise columns.error(f"found {quoted(names[0])}, expected the header '{header}'", 0)
    result = _Companion(names, columns)
    ids = result.columns[0]
    distinct = pc.unique(ids)
    if len(distinct) < len(ids):
        place = pc.index_in(ids, value_set=distinct).to_numpy()
        again = np.ones(len(ids), dtype=bool)
        again[np.unique(place, return_index=True)[1]] = False
        row = int(np.flatnonzero(again)[0])
        raise result.error(f"{wanted} {quoted(ids[row].as_py())} is listed twice, expected once", row)
    return result


def _read_layers(path: Path) -> tuple[list[str], list[str]]:
    """Ids and names of the layers, in the file's order."""
    layers = _read_companion(path, "layerID layerLabel")
    if len(layers.header) < 2:
        raise layers.error("1 column, expected 'layerID layerLabel'", -1)
    ids, names = layers.columns[0].to_pylist(), layers.columns[1].to_pylist()
    seen: set[str] = set()
    for row, name in enumerate(names):
        if not name:
            raise layers.error(f"layer {quoted(ids[row])} has no name", row)
        if name in seen:
            raise layers.error(f"a second layer is called {quoted(name)}, expected different names", row)
        seen.add(name)
    return ids, names


def _with_attributes(graph: MultiplexGraph, path: Path, edges: Columns, extended: bool) -> MultiplexGraph:
    """The graph with the columns of the nodes file as attributes; every node must be listed there."""
    table = _read_companion(path, "nodeID nodeLabel")
    names = [LABEL if name == LABEL_HEADER else name for name in table.header[1:]]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise table.error(f"a second column is called {quoted(twice)}, expected different names", -1)
    size = len(edges.content) + len(table.source.content)
    check_filled(graph.n_nodes, len(names), size, path)
    ids, *values = (column.cast(pa.large_string()).combine_chunks() for column in table.columns)
    row = pc.index_in(graph.ids, value_set=ids)
    if row.null_count:
        raise _dangling(graph.ids.filter(row.is_null()), path, edges, extended)
    columns = zip(names, values, strict=True)
    return replace(graph, attributes={name: taken(column, row, name, size, path) for name, column in columns})


def _dangling(missing: pa.LargeStringArray, path: Path, edges: Columns, extended: bool) -> InputError:
    """The error for the first line of the edges with an id that the nodes file does not list."""
    ends = (edges.fields[0], edges.fields[2]) if extended else edges.fields[1:3]
    rows = []
    for end in ends:
        found = pc.is_in(end, value_set=missing.cast(end.type)).to_numpy()
        rows.append(int(found.argmax()) if found.any() else len(edges))
    row = min(rows)
    node = ends[rows.index(row)][row].as_py()
    return edges.error(f"dangling id {quoted(node)}, expected one listed in {path.name}", row)


FORMAT = Format(
    name="comunelab",
    suffixes=(".edges",),
    description="muxViz / CoMuNe lab edges (layer node node weight), with _layers.txt and _nodes.txt beside",
    read=read_edges,
    write=write_shortest,
    leaves_out=frozenset({"features"}),
    beside=companions,
)

EXTENDED_FORMAT = Format(
    name="comunelab-extended",
    suffixes=(".xedges",),
    description="muxViz extended edges (node layer node layer weight), with _layers.txt and _nodes.txt beside",
    read=read_extended,
    write=write_extended,
    leaves_out=frozenset({"features"}),
    beside=companions,
)
