"""A multiplex as tables of edges, nodes, and pairs known to be different; CSV and Parquet files hold these.

edges   source, source_layer, target, target_layer[, weight][, directed]; with one column ``layer`` in place of both
        layers every row stays in its layer. ``directed`` is true for a link within a layer that goes from source to
        target only, or else false. Other columns are passed over, and said to be.
nodes   id, layer[, unit][, h:NAME …][, v:NAME …][, further columns]: h: and v: are features for the horizontal
        and the vertical part, further columns are attributes. Without this table the nodes are the edges' ends.
apart   source, source_layer, target, target_layer: nodes of two layers that are known to be different units. Rows of
        their own table, so that nobody takes them for links; written where there are any.

Inter links: with a column ``unit``, nodes that share one are copies, and rows that join two layers add to that; a unit
that is blank, NA, N/A, NaN, null or None is none. Without it, rows that join two layers are the inter links; if there
are none either, nodes that share an id are copies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.build import EdgeTable, NodeTable, RowError, build, encode, link_by_id, with_apart
from mpxgat.errors import InputError, OutputError, listed, printable, quoted, warn_of_data
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io.columns import find_nodes, first_repeated, names_in_order, number_layers
from mpxgat.io.files import finish_writing
from mpxgat.io.registry import Names, check_roles
from mpxgat.pairs import BACKWARD, BOTH_WAYS

_HORIZONTAL, _VERTICAL = "h:", "v:"
_NODE_COLUMNS = ("id", "layer", "unit")
_WEIGHT, _DIRECTED = "weight", "directed"
_APART_COLUMNS = ("source", "source_layer", "target", "target_layer")
_EDGE_COLUMNS = ("source", "target", "layer", "source_layer", "target_layer", _WEIGHT, _DIRECTED)
_NO_UNIT = r"^\s*(NA|#?N/A|(?i:nan|null|none))\s*$"


class Table(Protocol):
    """A table in a file. Every failure is an InputError that names the file and the place in it."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def names(self) -> Sequence[str]:
        """The columns' names, all different."""

    def text(self, name: str) -> pa.ChunkedArray:
        """A column of text in which nothing is missing."""

    def optional_text(self, name: str) -> pa.ChunkedArray:
        """A column of text; what is missing is empty."""

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of finite numbers."""

    def error(self, message: str, row: int) -> InputError:
        """An error in row ``row`` (from 0)."""

    def header_error(self, message: str) -> InputError:
        """An error in the columns' names."""


def nodes_path(path: Path, suffix: str) -> tuple[Path, Path]:
    """Where the nodes of the edges file ``path`` are: packed like it, and otherwise (``.gz`` or not)."""
    return _called(path, suffix, "nodes")


def apart_path(path: Path, suffix: str) -> tuple[Path, Path]:
    """Likewise, of the pairs that are known to be different."""
    return _called(path, suffix, "apart")


def _called(path: Path, suffix: str, what: str) -> tuple[Path, Path]:
    name = path.name
    packed = name[-3:] if name.lower().endswith(".gz") else ""
    name = name.removesuffix(packed)
    if not name.lower().endswith(suffix):
        suffix = Path(name).suffix
    base = name[: len(name) - len(suffix)]
    ending = name[len(base) :]
    if base.lower().endswith(".edges"):
        base = base[: -len(".edges")]
    same = path.with_name(f"{base}.{what}{ending}{packed}")
    return same, path.with_name(f"{base}.{what}{ending}{'' if packed else '.gz'}")


def read_tables(
    path: Path,
    suffix: str,
    read: Callable[[Path], Table],
    *,
    columns: Names | None = None,
    directed: bool = False,
) -> MultiplexGraph:
    """The graph in the edges file ``path`` and the files beside it, as far as they are there.

    ``columns`` as in `graph_of_tables`; ``directed``: without a column that tells, links go from source to target.
    """
    edges = read(path)  # first: should a write have been interrupted, the others are there afterwards
    nodes, apart = (
        next((read(place) for place in places if os.path.exists(place)), None)
        for places in (nodes_path(path, suffix), apart_path(path, suffix))
    )
    return graph_of_tables(edges, nodes, apart, columns=columns, directed=directed)


def graph_of_tables(
    edges: Table, nodes: Table | None, apart: Table | None, *, columns: Names | None = None, directed: bool = False
) -> MultiplexGraph:
    """As `graph_from_tables`, with the pairs known to be different, if there is a table of them.

    ``columns`` are names that columns of edges and nodes have instead of their own.
    """
    if columns:
        edges, nodes = _named(edges, nodes, columns)
    graph = graph_from_tables(edges, nodes, directed=directed)
    return graph if apart is None else _with_apart(graph, apart)


@dataclass(frozen=True)
class NamedColumns:
    """A table some of whose columns are called otherwise in the file: ``files_names[name]`` for a name of ours."""

    table: Table
    files_names: Mapping[str, str]

    @property
    def path(self) -> Path:
        return self.table.path

    @property
    def names(self) -> Sequence[str]:
        ours = {theirs: name for name, theirs in self.files_names.items()}
        return [ours.get(name, name) for name in self.table.names if name in ours or name not in self.files_names]

    def text(self, name: str) -> pa.ChunkedArray:
        return self.table.text(self.files_names.get(name, name))

    def optional_text(self, name: str) -> pa.ChunkedArray:
        return self.table.optional_text(self.files_names.get(name, name))

    def numbers(self, name: str) -> NDArray[np.float64]:
        return self.table.numbers(self.files_names.get(name, name))

    def error(self, message: str, row: int) -> InputError:
        return self.table.error(message, row)

    def header_error(self, message: str) -> InputError:
        return self.table.header_error(message)


def _named(edges: Table, nodes: Table | None, columns: Names) -> tuple[Table, Table | None]:
    """The tables with their columns called by their roles; InputError for a name that neither has."""
    tables = [(edges, _EDGE_COLUMNS), *([(nodes, _NODE_COLUMNS)] if nodes is not None else [])]
    check_roles(columns, list(dict.fromkeys(role for _, roles in tables for role in roles)))
    found: list[dict[str, str]] = []
    for table, roles in tables:
        chosen = {role: [name for name in columns.get(role, ()) if name in table.names] for role in roles}
        found.append({role: names[0] for role, names in chosen.items() if names})
    for role, names in columns.items():
        if not any(role in each for each in found):
            have = listed(dict.fromkeys(name for table, _ in tables for name in table.names), 20)
            raise edges.header_error(f"no column {listed(names)} ({role}, of --columns); the columns are {have}")
    named: list[Table] = []
    for (table, _), each in zip(tables, found, strict=True):
        replaced = [role for role, name in each.items() if role in table.names and role != name]
        if replaced:
            warn_of_data(f"columns passed over: {listed(replaced)}; --columns names others for them", table.path)
        named.append(NamedColumns(table, each) if each else table)
    return named[0], named[1] if nodes is not None else None


def graph_from_tables(edges: Table, nodes: Table | None, *, directed: bool = False) -> MultiplexGraph:
    """The graph in a table of edges and, if there is one, a table of nodes; ``directed`` as in `read_tables`."""
    source_layers, target_layers = _layer_columns(edges)
    if nodes is None and not len(source_layers):
        raise edges.header_error("a header and no rows below it, expected links")
    _say_what_is_passed_over(edges)
    if nodes is None:
        layers = names_in_order([source_layers] if target_layers is None else [source_layers, target_layers])
    else:
        layers = names_in_order([required_text(nodes, "layer")])
    one_column = target_layers is None
    source_layer = number_layers(source_layers, layers, _of_column(edges, "layer" if one_column else "source_layer"))
    target_layer = source_layer
    if target_layers is not None:
        target_layer = number_layers(target_layers, layers, _of_column(edges, "target_layer"))
    weight = edges.numbers(_WEIGHT) if _WEIGHT in edges.names else None
    source, target = required_text(edges, "source"), required_text(edges, "target")
    one_way = _one_way(edges) if _DIRECTED in edges.names else np.ones(len(source), dtype=bool) if directed else None
    edge_table = EdgeTable(source, source_layer, target, target_layer, weight, one_way)
    node_table = None if nodes is None else _node_table(nodes, layers)
    try:
        graph = build(layers, edge_table, node_table, only_declared=nodes is not None)
    except RowError as problem:
        table = nodes if problem.table == "nodes" and nodes is not None else edges
        raise table.error(problem.message, problem.row) from None
    _say_what_is_merged(edges, edge_table, graph)
    if nodes is not None and node_table is not None and "unit" in nodes.names:
        return _linked_by_unit(graph, nodes, node_table)
    return graph if graph.n_inter else link_by_id(graph)


def _of_column(table: Table, name: str) -> Callable[[str, int], InputError]:
    """Errors in a row of a table that name the column."""
    return lambda message, row: table.error(f"{name}: {message}", row)


def _say_what_is_passed_over(edges: Table) -> None:
    others = [name for name in edges.names if name not in _EDGE_COLUMNS]
    if others:
        warn_of_data(
            f"columns passed over: {listed(others)}; of links, ends, layers, weight and directed are read", edges.path
        )


def _one_way(edges: Table) -> NDArray[np.bool_]:
    """(rows,) what the column says of direction; InputError for anything but true and false."""
    texts = pc.utf8_lower(pc.utf8_trim_whitespace(edges.optional_text(_DIRECTED)))
    known = pc.is_in(texts, value_set=pa.array(["true", "false"], texts.type)).to_numpy()
    if not known.all():
        row = int(known.argmin())
        raise edges.error(f"{_DIRECTED} is {quoted(texts[row].as_py())}, expected true or false", row)
    found: NDArray[np.bool_] = pc.equal(texts, "true").to_numpy()
    return found


def _say_what_is_merged(edges: Table, table: EdgeTable, graph: MultiplexGraph) -> None:
    """DataWarning if some links stand in several rows; silence if all stand in two, once in each direction, or if none
    says more than an arc of a directed network.
    """
    links = graph.n_intra + graph.n_inter
    if len(table.source) == links:
        return
    loops = pc.equal(table.source, table.target).to_numpy() & (table.source_layer == table.target_layer)
    rows = len(loops) - int(loops.sum())
    mutual = 0 if graph.intra_arcs is None else int((graph.intra_arcs == BOTH_WAYS).sum())
    if rows != 2 * links and not links <= rows <= links + mutual:
        warn_of_data(
            f"{rows - links} rows say a link again, in the same or the other direction: links are undirected "
            f"unless a column {_DIRECTED} says true, and the largest weight stays",
            edges.path,
        )


def _layer_columns(edges: Table) -> tuple[pa.ChunkedArray, pa.ChunkedArray | None]:
    if "layer" in edges.names and "source_layer" not in edges.names:
        if "target_layer" in edges.names:
            raise edges.header_error("columns 'layer' and 'target_layer', expected 'source_layer' and 'target_layer'")
        return edges.text("layer"), None
    if "source_layer" not in edges.names:
        raise edges.header_error(
            f"no column 'source_layer'; the columns are {listed(edges.names, 10)}. Lists of links of one layer each go "
            "together into mpxgat convert; a column of layers by another name is told to it by --columns layer=NAME"
        )
    return required_text(edges, "source_layer"), required_text(edges, "target_layer")


def required_text(table: Table, name: str) -> pa.ChunkedArray:
    """The column called ``name``; InputError if there is none."""
    if name not in table.names:
        found = ", ".join(quoted(known) for known in table.names[:10])
        raise table.header_error(f"no column {quoted(name)}; the columns are {found}")
    return table.text(name)


def _node_table(nodes: Table, layers: Sequence[str]) -> NodeTable:
    ids = required_text(nodes, "id")
    layer = number_layers(required_text(nodes, "layer"), layers, nodes.error)
    return NodeTable(ids, layer, *features_of(nodes, len(ids)), attributes_of(nodes))


def attributes_of(nodes: Table) -> dict[str, pa.LargeStringArray]:
    """The columns of a table of nodes that are attributes, by name; what is missing is empty."""
    return {
        name: nodes.optional_text(name).cast(pa.large_string()).combine_chunks()
        for name in nodes.names
        if name not in _NODE_COLUMNS and not name.startswith((_HORIZONTAL, _VERTICAL))
    }


def features_of(nodes: Table, n_rows: int) -> tuple[Features | None, Features | None]:
    """The horizontal and the vertical features in a table of nodes."""
    horizontal, vertical = (_features(nodes, prefix, n_rows) for prefix in (_HORIZONTAL, _VERTICAL))
    return horizontal, vertical


def _features(nodes: Table, prefix: str, n_rows: int) -> Features | None:
    names = [name for name in nodes.names if name.startswith(prefix)]
    if not names:
        return None
    values = np.empty((n_rows, len(names)), dtype=np.float32)
    for number, name in enumerate(names):
        with np.errstate(over="ignore"):  # named below
            values[:, number] = nodes.numbers(name)
        large = np.flatnonzero(~np.isfinite(values[:, number]))
        if len(large):
            raise nodes.error(f"{quoted(name)} is too large for a 32-bit number", int(large[0]))
    return Features(tuple(name.removeprefix(prefix) for name in names), values)


def _linked_by_unit(graph: MultiplexGraph, nodes: Table, table: NodeTable) -> MultiplexGraph:
    """The graph with nodes of one unit linked; a unit twice in a layer is an error that names the row."""
    units = _named_units(nodes)
    named = pc.not_equal(units, "").to_numpy()
    rows = np.flatnonzero(named)
    _, code = encode([units.filter(pa.array(named))])
    cell = code.astype(np.int64) * graph.n_layers + table.layer[rows]
    _, first = np.unique(cell, return_index=True)
    if len(first) < len(cell):
        again = np.ones(len(cell), dtype=bool)
        again[first] = False
        row = int(rows[np.flatnonzero(again)[0]])
        layer = graph.layers[table.layer[row]]
        raise nodes.error(
            f"a second node of unit {quoted(units[row].as_py())} in layer {quoted(layer)}, "
            "expected at most one counterpart in a layer",
            row,
        )
    # Nodes stand sorted by layer and id; every node is listed once, so that order takes the units along.
    _, id_code = encode([table.ids])
    order = pa.array(np.lexsort((id_code, table.layer)))
    keys = pc.if_else(pc.not_equal(units, ""), units, pa.scalar(None, units.type)).take(order)
    return link_by_id(graph, keys.cast(pa.large_string()).combine_chunks())


def _named_units(nodes: Table) -> pa.ChunkedArray:
    """The column of units, empty where a text says that there is none: otherwise strangers would be linked."""
    units = nodes.optional_text("unit")
    none = pc.match_substring_regex(units, _NO_UNIT)
    blank = pc.equal(pc.utf8_trim_whitespace(units), "")
    words = pc.unique(units.filter(pc.and_not(none, blank))).to_pylist()
    if words:
        warn_of_data(f"units {listed(words)} are taken for none", nodes.path)
    return pc.if_else(pc.or_(none, blank), pa.scalar("", units.type), units)


def _with_apart(graph: MultiplexGraph, apart: Table) -> MultiplexGraph:
    """The graph with the pairs in a table known to be different."""
    others = [name for name in apart.names if name not in _APART_COLUMNS]
    if others:
        warn_of_data(f"columns passed over: {listed(others)}; of pairs, ends and layers are read", apart.path)
    ends = []
    for end in ("source", "target"):
        layer = number_layers(required_text(apart, f"{end}_layer"), graph.layers, apart.error)
        ends.append(find_nodes(required_text(apart, end), layer, graph, apart.error))
    try:
        return with_apart(graph, np.stack(ends, axis=1))
    except RowError as problem:
        raise apart.error(problem.message, problem.row) from None


# ---- writing -------------------------------------------------------------------------------------------


def tables_of(graph: MultiplexGraph, path: Path, suffix: str) -> dict[Path, pa.Table]:
    """The tables of a graph and where they go, the edges to ``path``. OutputError as `nodes_of`."""
    tables = {path: edges_of(graph), nodes_path(path, suffix)[0]: nodes_of(graph, path)}
    finish_writing(path.parent)
    places = apart_path(path, suffix)
    if len(graph.apart) or any(map(os.path.exists, places)):  # an older file would be read with the new ones
        tables[places[0]] = _pairs_table(graph, graph.apart)
    return tables


def edges_of(graph: MultiplexGraph) -> pa.Table:
    """The table of edges: all intra links, then all inter links; columns of weights and direction if there are any."""
    ways = np.full(graph.n_intra, BOTH_WAYS) if graph.intra_arcs is None else graph.intra_arcs
    turned = np.where((ways == BACKWARD)[:, None], graph.intra[:, ::-1], graph.intra)
    table = _pairs_table(graph, np.concatenate([turned, graph.inter]))
    if graph.intra_weight is not None or graph.inter_weight is not None:
        parts = ((graph.intra_weight, graph.n_intra), (graph.inter_weight, graph.n_inter))
        weight = pa.array(np.concatenate([np.ones(n) if w is None else w for w, n in parts]))
        table = table.append_column(_WEIGHT, weight)
    if graph.intra_arcs is not None:
        one_way = np.concatenate([ways != BOTH_WAYS, np.zeros(graph.n_inter, dtype=bool)])
        table = table.append_column(_DIRECTED, pa.array(one_way))
    return table


def _pairs_table(graph: MultiplexGraph, pairs: NDArray[np.int32]) -> pa.Table:
    first, second = pa.array(pairs[:, 0]), pa.array(pairs[:, 1])
    layer = graph.layer_names
    ends = (graph.ids.take(first), layer.take(first), graph.ids.take(second), layer.take(second))
    return pa.table(dict(zip(_APART_COLUMNS, ends, strict=True)))


def nodes_of(graph: MultiplexGraph, path: Path) -> pa.Table:
    """The table of nodes. OutputError, naming ``path``, if a feature or attribute has a name that is taken."""
    columns: list[tuple[str, pa.Array]] = [("id", graph.ids), ("layer", graph.layer_names)]
    if graph.n_inter == 0 and len(pc.unique(graph.ids)) < graph.n_nodes:
        # Shared ids that are no links: a column of units, all empty, keeps a reader from linking them.
        columns.append(("unit", pa.array([""] * graph.n_nodes, pa.large_string())))
    for prefix, features in ((_HORIZONTAL, graph.horizontal_features), (_VERTICAL, graph.vertical_features)):
        if features is not None:
            names = [prefix + name for name in features.names]
            columns += zip(names, (pa.array(column) for column in features.values.T.copy()), strict=True)
    columns += graph.attributes.items()
    names = [name for name, _ in columns]
    for name in graph.attributes:
        if name in _NODE_COLUMNS or name.startswith((_HORIZONTAL, _VERTICAL)):
            raise OutputError(f"{printable(path, 300)}: an attribute cannot be called {quoted(name)} in this format")
    if (twice := first_repeated(names)) is not None:
        raise OutputError(f"{printable(path, 300)}: two columns would be called {quoted(twice)}")
    return pa.table([column for _, column in columns], names=names)
