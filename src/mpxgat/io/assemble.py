"""Several single-layer files and a file of anchors, put together to one multiplex.

A layer's file is a list of edges, ``node node [weight]`` on a line; an anchors file says who is who, ``a b`` on
a line for two layers, ``a layer_a b layer_b`` for more. Fields are separated by blanks, tabs or commas (the first
row tells); lines that begin with ``#`` or ``%`` are comments; a first row such as ``source target`` is a header, see
`mpxgat.io.columns.without_header`. With commas a field may stand in double quotes. A list of a layer's nodes is a CSV
file with a column ``id``: nodes without links are in no list of edges. Its further columns are kept as in
`mpxgat.io.tables`: ``h:`` and ``v:`` are features, which all lists must have alike, others are attributes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.build import EdgeTable, NodeTable, RowError, build, link_by_id, with_inter_links
from mpxgat.errors import InputError, SettingError, listed, quoted, warn_of_data
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io.columns import (
    Columns,
    find_nodes,
    number_layers,
    parse_numbers,
    single_blanks,
    split_columns,
    without_header,
)
from mpxgat.io.csv_tables import CsvTable, read_csv_table
from mpxgat.io.files import read_text
from mpxgat.io.registry import check_spelling
from mpxgat.io.tables import attributes_of, features_of, required_text

_WITH_LAYERS = 4  # columns of anchors that name the layers
_ID = "id"  # column of a list of nodes
_ELSEWHERE = ("layer", "unit")  # columns of tables of all nodes that a list of one layer's has no use for
_COMMENT = re.compile(rb"(?m)^[ \t]*[#%].*$")


def read_layers(
    paths: Sequence[str | PathLike[str]],
    names: Sequence[str] | None = None,
    anchors: str | PathLike[str] | None = None,
    nodes: Sequence[str | PathLike[str]] = (),
    *,
    directed: bool = False,
) -> MultiplexGraph:
    """A multiplex with one layer for each file, called by its stem or as ``names`` says.

    Inter links are those of the file ``anchors``, a list for which every node must be in its layer; without
    such a file, nodes that share an id are copies of one unit. ``nodes`` are files with all nodes, one for each layer
    or none at all; a link's end that its layer's does not list is an error. ``directed``: links go from the node that
    stands first in a row to the second.
    """
    places = [Path(path) for path in paths]
    layers = _layer_names(places, names)
    lists = [_read_list(place, (2, 3), "'node node [weight]'") for place in places]
    edges = _edge_table(lists)
    if directed:
        edges = replace(edges, one_way=np.ones(len(edges.source), dtype=bool))
    tables = _read_nodes([Path(path) for path in nodes], len(places))
    try:
        graph = build(layers, edges, _node_table(tables), only_declared=bool(tables))
    except RowError as problem:
        files = [table.rows for table in tables] if problem.table == "nodes" else lists
        starts = np.cumsum([0, *(len(columns) for columns in files)])
        number = int(np.searchsorted(starts, problem.row, side="right")) - 1
        raise files[number].error(problem.message, problem.row - int(starts[number])) from None
    check_spelling(graph, places[0].parent)
    return link_by_id(graph) if anchors is None else _with_anchors(graph, Path(anchors))


def _layer_names(places: Sequence[Path], names: Sequence[str] | None) -> list[str]:
    if not places:
        raise SettingError("no files given, expected one for each layer")
    if names is not None and len(names) != len(places):
        raise SettingError(f"{len(names)} layer names for {len(places)} files, expected one for each")
    layers = list(names) if names is not None else [_stem(place) for place in places]
    for number, layer in enumerate(layers):
        if layer in layers[:number]:
            raise InputError(f"a second layer would be called {quoted(layer)}; give the layers' names", places[number])
    return layers


def _stem(place: Path) -> str:
    name = place.name[:-3] if place.name.lower().endswith(".gz") else place.name
    return Path(name).stem


def _read_list(path: Path, widths: tuple[int, ...], expected: str, *, recurring: bool = True) -> Columns:
    """The rows of a list, whatever parts its fields; comments are blanked, so lines keep their numbers."""
    content = read_text(path)
    if b"#" in content or b"%" in content:
        content = _COMMENT.sub(b"", content)
    first = content.lstrip().split(b"\n", 1)[0]
    if b"," in first:
        columns = split_columns(content, path, ",", widths, f"{expected} separated by commas", quoting=True)
        columns = replace(columns, fields=tuple(pc.ascii_trim(field, " \t") for field in columns.fields))  # "a, b"
    elif b"\t" in first.strip():
        columns = split_columns(content, path, "\t", widths, f"{expected} separated by tabs")
    else:
        columns = split_columns(single_blanks(content), path, " ", widths, expected)
    if len(columns.fields) == _WITH_LAYERS:
        return without_header(columns, (0, 2), (1, 3))
    return without_header(columns, (0, 1), recurring=recurring)


def _read_nodes(paths: Sequence[Path], n_layers: int) -> list[CsvTable]:
    if paths and len(paths) != n_layers:
        raise SettingError(f"{len(paths)} lists of nodes for {n_layers} files, expected one for each, or none")
    tables = [read_csv_table(path, fewest_columns=1) for path in paths]
    for table in tables:
        required_text(table, _ID)
        if others := [name for name in table.names if name in _ELSEWHERE]:
            warn_of_data(
                f"columns passed over: {listed(others)}; the file is the layer, and anchors are units", table.path
            )
    return tables


def _node_table(tables: Sequence[CsvTable]) -> NodeTable | None:
    """All nodes, with the attributes that any file has, empty in the others, and the features, which all must have."""
    if not tables:
        return None
    columns = [table.text(_ID) for table in tables]
    sizes = [len(column) for column in columns]
    ids = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())
    found = [attributes_of(table) for table in tables]
    names = dict.fromkeys(name for each in found for name in each)
    attributes = {
        name: pa.concat_arrays([each.get(name, _empty(size)) for each, size in zip(found, sizes, strict=True)])
        for name in names
    }
    features = [features_of(table, size) for table, size in zip(tables, sizes, strict=True)]
    horizontal, vertical = (_joined([each[kind] for each in features], tables) for kind in (0, 1))
    return NodeTable(ids, np.repeat(np.arange(len(tables)), sizes), horizontal, vertical, attributes)


def _empty(size: int) -> pa.LargeStringArray:
    return pa.array([""] * size, pa.large_string())


def _joined(parts: Sequence[Features | None], tables: Sequence[CsvTable]) -> Features | None:
    """The features of all files; InputError unless their names are the same in each."""
    names = [() if part is None else part.names for part in parts]
    for table, found in zip(tables, names, strict=True):
        if found != names[0]:
            raise table.header_error(
                f"the features {listed(found) or 'none'}, expected {listed(names[0]) or 'none'} as before"
            )
    there = [part for part in parts if part is not None]
    return Features(names[0], np.concatenate([part.values for part in there])) if there else None


def _edge_table(lists: Sequence[Columns]) -> EdgeTable:
    layer = np.repeat(np.arange(len(lists)), [len(columns) for columns in lists])
    source, target = (
        pa.chunked_array([chunk for columns in lists for chunk in columns.fields[end].chunks], pa.string())
        for end in (0, 1)
    )
    weights = [_weights(columns) for columns in lists]
    return EdgeTable(source, layer, target, layer, np.concatenate(weights))


def _weights(columns: Columns) -> NDArray[np.float64]:
    if len(columns.fields) < 3:
        return np.ones(len(columns))
    try:
        return parse_numbers(columns.fields[2], "the weight", "edges")
    except RowError as problem:
        raise columns.error(problem.message, problem.row) from None


def _with_anchors(graph: MultiplexGraph, path: Path) -> MultiplexGraph:
    """The graph whose inter links are the anchors in a file."""
    two = graph.n_layers == 2
    expected = "'node node' or 'node layer node layer'" if two else "'node layer node layer'"
    columns = _read_list(path, (2, 4) if two else (4,), expected, recurring=False)
    if len(columns.fields) == 2:
        ends = [(column, np.full(len(columns), side)) for side, column in enumerate(columns.fields)]
    else:
        ends = [(columns.fields[k], number_layers(columns.fields[k + 1], graph.layers, columns.error)) for k in (0, 2)]
    pairs = np.stack([find_nodes(ids, layer, graph, columns.error) for ids, layer in ends], axis=1)
    try:
        return with_inter_links(graph, pairs)
    except RowError as problem:
        raise columns.error(problem.message, problem.row) from None
