"""Several single-layer files and a file of anchors, put together to one multiplex.

A layer's file is a list of edges, ``node node [weight]`` on a line, a sheet of a workbook, or a GraphML or GEXF file
with one layer; an anchors file says who is who, ``a b`` on a line for two layers, ``a layer_a b layer_b`` for more, or
a column for each layer. Fields are separated by blanks, tabs, commas or semicolons (the first rows tell); lines that
begin with ``#`` or ``%`` are comments. With commas or semicolons a field may stand in double quotes. A list of a
layer's nodes is a table with a column of ids: nodes without links are in no list of edges. Its further columns are kept
as in `mpxgat.io.tables`: ``h:`` and ``v:`` are features, which all lists must have alike, others are attributes. Which
column is what, `mpxgat.io.lists` finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.build import EdgeTable, NodeTable, RowError, build, link_by_id, with_inter_links
from mpxgat.errors import InputError, SettingError, listed, quoted, warn_of_data
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io.files import check_encoding
from mpxgat.io.graph_files import GEXF, GRAPHML, ROLES, stem_of
from mpxgat.io.lists import (
    Anchors,
    Layout,
    links_layout,
    node_table,
    nodes_layout,
    read_anchors,
    read_rows,
    read_table_rows,
    weights_of,
)
from mpxgat.io.registry import Format, Names, check_spelling, names_of, read
from mpxgat.io.tables import attributes_of, features_of
from mpxgat.io.workbooks import is_workbook, split_sheet
from mpxgat.pairs import arcs_of, pick_weight

_ELSEWHERE = ("layer", "unit")  # columns of tables of all nodes that a list of one layer's has no use for
_GRAPH_FILES = {suffix: form for form in (GRAPHML, GEXF) for suffix in form.suffixes}


@dataclass(frozen=True)
class LayerNodes:
    """Nodes of a layer that a file lists."""

    ids: pa.ChunkedArray
    horizontal: Features | None
    vertical: Features | None
    attributes: Mapping[str, pa.LargeStringArray]
    error: Callable[[str, int], InputError]
    layout: Layout | None = None  # of a list

    @property
    def feature_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Those of the horizontal and of the vertical features."""
        return tuple(() if part is None else part.names for part in (self.horizontal, self.vertical))  # type: ignore[return-value]


@dataclass(frozen=True)
class LayerLinks:
    """Links of a layer as a file has them, row by row; ``nodes`` if the file lists these, too."""

    path: Path
    source: pa.ChunkedArray
    target: pa.ChunkedArray
    weight: NDArray[np.float64]
    one_way: NDArray[np.bool_]
    error: Callable[[str, int], InputError]
    layout: Layout | None = None  # of a list
    nodes: LayerNodes | None = None


@dataclass(frozen=True)
class Assembly:
    """A multiplex and what it was put together from: for each layer its links, and its nodes if they are listed."""

    graph: MultiplexGraph
    layers: Sequence[str]
    links: Sequence[LayerLinks]
    nodes: Sequence[LayerNodes | None]
    anchors: Anchors | None


def read_layers(
    paths: Sequence[str | PathLike[str]],
    names: Sequence[str] | None = None,
    anchors: str | PathLike[str] | None = None,
    nodes: Sequence[str | PathLike[str]] = (),
    *,
    directed: bool = False,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    encoding: str | None = None,
) -> MultiplexGraph:
    """A multiplex with one layer for each file, called by its stem (or sheet) or as ``names`` says.

    Inter links are those of the file ``anchors``, a list for which every node must be in its layer; without
    such a file, nodes that share an id are copies of one unit. ``nodes`` are files with all nodes, one for each list of
    edges or none at all; a link's end that its layer's does not list is an error. ``directed``: links of lists go from
    the node that stands first in a row, or in the column source, to the second. ``columns`` says which column is what,
    by role: source, target and weight of links, id of nodes, a, b, layer_a and layer_b of anchors (a role's value is a
    name, or several that the files have); if all files are GraphML or GEXF, weight and id of these. ``encoding`` is
    that of text files without a byte-order mark; UTF-8 by default.
    """
    named = names_of(columns)
    return assemble(paths, names, anchors, nodes, directed=directed, columns=named, encoding=encoding).graph


def assemble(
    paths: Sequence[str | PathLike[str]],
    names: Sequence[str] | None = None,
    anchors: str | PathLike[str] | None = None,
    nodes: Sequence[str | PathLike[str]] = (),
    *,
    directed: bool = False,
    columns: Names | None = None,
    encoding: str | None = None,
) -> Assembly:
    """As `read_layers`, with what was read as what."""
    check_encoding(encoding)
    columns = columns or {}
    places = [Path(path) for path in paths]
    layers = _layer_names(places, names)
    _check_number_of_lists(places, len(nodes))
    of_graphs = {role: columns[role] for role in ROLES if role in columns and all(map(_graph_format, places))}
    links = [_read_links(place, columns, of_graphs, encoding, directed=directed) for place in places]
    rest = iter([_nodes_in(Path(path), columns, encoding) for path in nodes])
    listed_nodes = [next(rest, None) if each.nodes is None else each.nodes for each in links]
    graph = _build(layers, links, listed_nodes, only_declared=bool(nodes))
    check_spelling(graph, places[0].parent)
    known = None
    if anchors is not None:
        known = read_anchors(read_rows(Path(anchors), encoding), columns, graph)
        graph = _with_anchors(graph, known)
    else:
        graph = link_by_id(graph)
    layouts = [part.layout for part in (*links, *listed_nodes) if part is not None and part.layout is not None]
    layouts += [] if known is None else [known.layout]
    _check_names({role: columns[role] for role in columns if role not in of_graphs}, layouts)
    return Assembly(graph, layers, links, listed_nodes, known)


def _layer_names(places: Sequence[Path], names: Sequence[str] | None) -> list[str]:
    if not places:
        raise SettingError("no files given, expected one for each layer")
    if names is not None and len(names) != len(places):
        raise SettingError(f"{len(names)} layer names for {len(places)} files, expected one for each")
    layers = list(names) if names is not None else [_called(place) for place in places]
    for number, layer in enumerate(layers):
        if layer in layers[:number]:
            raise InputError(f"a second layer would be called {quoted(layer)}; give the layers' names", places[number])
    return layers


def _check_number_of_lists(places: Sequence[Path], n_nodes: int) -> None:
    """SettingError unless there are as many lists of nodes as of edges, or none."""
    lists = sum(_graph_format(place) is None for place in places)
    if n_nodes and n_nodes != lists:
        raise SettingError(
            f"{n_nodes} lists of nodes for {lists} files, expected one for each, or none"
            f"{'; GraphML and GEXF files list their nodes themselves' if lists < len(places) else ''}; "
            "write mpxgat convert A.csv B.csv --nodes NODES_A.csv NODES_B.csv: the files of links first"
        )


def _graph_format(place: Path) -> Format | None:
    """The format of a file that holds nodes and links; None for a list."""
    return _GRAPH_FILES.get(Path(place.name.lower().removesuffix(".gz")).suffix)


def _called(place: Path) -> str:
    return split_sheet(place)[1] or stem_of(place) if is_workbook(place) else stem_of(place)


def _check_names(columns: Names, layouts: Sequence[Layout]) -> None:
    """SettingError for a name of ``columns`` that no list has: a slip of the pen would be passed over otherwise."""
    found = {pair for layout in layouts for pair in layout.mapped}
    for role, names in columns.items():
        for name in names:
            if (role, name) not in found:
                headers = listed(dict.fromkeys(label for each in layouts for label in each.header or ()), 20)
                raise SettingError(
                    f"--columns {role}={name}: no file that has a {role} has a column {quoted(name)}; "
                    f"the columns are {headers or 'without names'}"
                )


# ---- links ---------------------------------------------------------------------------------------------


def _read_links(path: Path, columns: Names, of_graphs: Names, encoding: str | None, *, directed: bool) -> LayerLinks:
    if form := _graph_format(path):
        return _links_of_graph(read(path, form.name, columns=of_graphs), path)
    layout = links_layout(read_rows(path, encoding), columns)
    rows = layout.rows
    source, target = (rows.fields[layout.places[role]] for role in ("source", "target"))
    return LayerLinks(path, source, target, weights_of(layout), np.full(len(rows), directed), rows.error, layout)


def _links_of_graph(graph: MultiplexGraph, path: Path) -> LayerLinks:
    """The one layer of a file that holds a whole network."""
    if graph.n_layers != 1:
        raise InputError(
            f"{graph.n_layers} layers ({listed(graph.layers)}), expected one in each of several files; "
            "convert this file alone",
            path,
        )
    ends, row = graph.intra, np.arange(graph.n_intra)
    if graph.intra_arcs is not None:
        ends, row = arcs_of(graph.intra, graph.intra_arcs)
    weight = pick_weight(graph.intra_weight, row)

    def error(message: str, row: int) -> InputError:
        return InputError(message, path)

    nodes = LayerNodes(
        pa.chunked_array([graph.ids]),
        graph.horizontal_features,
        graph.vertical_features,
        graph.attributes,
        error,
    )
    source, target = (pa.chunked_array([graph.ids.take(pa.array(ends[:, side]))]) for side in (0, 1))
    return LayerLinks(
        path,
        source,
        target,
        np.ones(len(ends)) if weight is None else weight,
        np.full(len(ends), graph.intra_arcs is not None),
        error,
        nodes=nodes,
    )


# ---- nodes ---------------------------------------------------------------------------------------------


def _nodes_in(path: Path, columns: Names, encoding: str | None) -> LayerNodes:
    layout = nodes_layout(read_table_rows(path, encoding), columns)
    table = node_table(layout)
    if others := [name for name in table.names if name in _ELSEWHERE]:
        warn_of_data(f"columns passed over: {listed(others)}; the file is the layer, and anchors are units", table.path)
    ids = table.text("id")
    return LayerNodes(ids, *features_of(table, len(ids)), attributes_of(table), table.error, layout)


def _node_table(nodes: Sequence[LayerNodes | None]) -> NodeTable | None:
    """All nodes, with the attributes that any file has, empty in the others, and the features, which all must have."""
    there = [part for part in nodes if part is not None]
    if not there:
        return None
    layers = [number for number, part in enumerate(nodes) if part is not None]
    sizes = [len(part.ids) for part in there]
    names = dict.fromkeys(name for part in there for name in part.attributes)
    attributes = {
        name: pa.concat_arrays([part.attributes.get(name, _empty(len(part.ids))) for part in there]) for name in names
    }
    for part in there:
        for found, expected in zip(part.feature_names, there[0].feature_names, strict=True):
            if found != expected:
                raise part.error(
                    f"the features {listed(found) or 'none'}, expected {listed(expected) or 'none'} as before", -1
                )
    return NodeTable(
        _chunked([part.ids for part in there]),
        np.repeat(layers, sizes),
        _joined([part.horizontal for part in there]),
        _joined([part.vertical for part in there]),
        attributes,
    )


def _empty(size: int) -> pa.LargeStringArray:
    return pa.array([""] * size, pa.large_string())


def _joined(parts: Sequence[Features | None]) -> Features | None:
    there = [part for part in parts if part is not None]
    return Features(there[0].names, np.concatenate([part.values for part in there])) if there else None


# ---- together ------------------------------------------------------------------------------------------


def _build(
    layers: Sequence[str], links: Sequence[LayerLinks], nodes: Sequence[LayerNodes | None], *, only_declared: bool
) -> MultiplexGraph:
    sizes = [len(each.source) for each in links]
    layer = np.repeat(np.arange(len(links)), sizes)
    one_way = np.concatenate([each.one_way for each in links])
    edges = EdgeTable(
        _chunked([each.source for each in links]),
        layer,
        _chunked([each.target for each in links]),
        layer,
        np.concatenate([each.weight for each in links]),
        one_way if one_way.any() else None,
    )
    try:
        return build(layers, edges, _node_table(nodes), only_declared=only_declared)
    except RowError as problem:
        there = [part for part in nodes if part is not None]
        files = [(part.error, len(part.ids)) for part in there] if problem.table == "nodes" else []
        files = files or [(each.error, len(each.source)) for each in links]
        starts = np.cumsum([0, *(size for _, size in files)])
        number = int(np.searchsorted(starts, problem.row, side="right")) - 1
        raise files[number][0](problem.message, problem.row - int(starts[number])) from None


def _chunked(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    kind = pa.string() if all(column.type == pa.string() for column in columns) else pa.large_string()
    return pa.chunked_array([chunk for column in columns for chunk in column.cast(kind).chunks], kind)


def _with_anchors(graph: MultiplexGraph, anchors: Anchors) -> MultiplexGraph:
    """The graph whose inter links are the pairs in a list."""
    try:
        return with_inter_links(graph, anchors.pairs)
    except RowError as problem:
        raise anchors.layout.rows.error(problem.message, int(anchors.row[problem.row])) from None
