"""The `.edges` files of muxViz and of the CoMuNe lab's data sets.

Plain form, one intra link on a line: ``layer node node [weight]``. Copies of a unit share an id, so the inter
links come from the ids. Extended form: ``node layer node layer weight``, always five columns; rows that join
two layers are the inter links, and where there are none these come from the ids too. A first row such as
``layer source target weight`` is a header.

Beside ``X.edges`` (or ``X_multiplex.edges``) may stand ``X_layers.txt`` and ``X_nodes.txt``, each with a header:

    layerID layerLabel      the layers' names; without it a layer is called by its id
    nodeID nodeLabel …      every node, with columns about it: they become attributes under their header's
                            name, except that "nodeLabel" becomes "label"

Columns are separated by blanks; a header with a tab says that they are separated by single tabs, which lets values
be empty or hold blanks. If there are just two columns the second one may hold blanks anyway.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mpxgat.build import EdgeTable, RowError, build, encode, link_by_id, links_of_shared_ids
from mpxgat.errors import InputError, OutputError, printable, quoted, warn_of_data
from mpxgat.graph import MultiplexGraph
from mpxgat.io.columns import (
    Columns,
    first_repeated,
    names_in_order,
    number_layers,
    parse_numbers,
    single_blanks,
    split_columns,
    without_header,
)
from mpxgat.io.files import check_filled, finish_writing, read_text, taken, write_files
from mpxgat.io.registry import Format

_PLAIN = "'layer node node [weight]'"
_EXTENDED = "'node layer node layer weight'"
_WITHOUT_WEIGHT, _EXTENDED_WIDTH = 3, 5
_MAX_COLUMNS = 100_000


def read_edges(path: Path, *, directed: bool = False) -> MultiplexGraph:
    """Read either form, told apart by the number of columns; ``directed``: a row goes from its first node."""
    return _read(path, (3, 4, _EXTENDED_WIDTH), f"{_PLAIN} or {_EXTENDED}", directed=directed)


def read_extended(path: Path, *, directed: bool = False) -> MultiplexGraph:
    """Read the extended form; ``directed`` as in `read_edges`."""
    return _read(path, (_EXTENDED_WIDTH,), _EXTENDED, directed=directed)


def _read(path: Path, widths: tuple[int, ...], expected: str, *, directed: bool) -> MultiplexGraph:
    columns = split_columns(single_blanks(read_text(path)), path, " ", widths, expected)
    extended = len(columns.fields) == _EXTENDED_WIDTH
    columns = without_header(columns, (0, 2), (1, 3)) if extended else without_header(columns, (1, 2), (0,))
    if len(columns.fields) == _WITHOUT_WEIGHT:
        _check_third_column(columns)
    layers, edges = _edge_table(columns, extended)
    if directed:
        edges = replace(edges, one_way=np.ones(len(columns), dtype=bool))
    try:
        graph = build(layers, edges)
    except RowError as problem:
        raise columns.error(problem.message, problem.row) from None
    if not (extended and graph.n_inter):
        graph = link_by_id(graph)
    nodes_path = _existing(companions(path)[1])
    return graph if nodes_path is None else _with_attributes(graph, nodes_path, columns, extended)


def _check_third_column(columns: Columns) -> None:
    """InputError or DataWarning for a list of one layer, ``node node weight``, which has as many columns."""
    try:
        third = parse_numbers(columns.fields[2], "", "")
    except RowError:
        return
    expected = f"expected {_PLAIN}; a list of one layer, 'node node weight', is read by read_layers or mpxgat convert"
    fractions = np.flatnonzero(third % 1 != 0)
    try:
        second = parse_numbers(columns.fields[1], "", "")
    except RowError as problem:
        if len(fractions) == 0 and problem.row == 0:
            example = columns.fields[2][0].as_py()
            warn_of_data(
                f"the third column holds only numbers such as {quoted(example)}, read as nodes; {expected}",
                columns.path,
            )
        second = np.zeros(1)
    if len(fractions) and not (second % 1 != 0).any():
        row = int(fractions[0])
        raise columns.error(f"{quoted(columns.fields[2][row].as_py())} in the place of a node, {expected}", row)


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
    """A file of ids with columns about them: the columns' names and the rows below; row -1 is that of the names."""

    header: list[str]
    rows: Columns


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
    rows = columns.below_header()
    ids = rows.fields[0]
    distinct = pc.unique(ids)
    if len(distinct) < len(ids):
        place = pc.index_in(ids, value_set=distinct).to_numpy()
        again = np.ones(len(ids), dtype=bool)
        again[np.unique(place, return_index=True)[1]] = False
        row = int(np.flatnonzero(again)[0])
        raise rows.error(f"{wanted} {quoted(ids[row].as_py())} is listed twice, expected once", row)
    return _Companion(names, rows)


def _read_layers(path: Path) -> tuple[list[str], list[str]]:
    """Ids and names of the layers, in the file's order."""
    layers = _read_companion(path, "layerID layerLabel")
    if len(layers.header) < 2:
        raise layers.rows.error("1 column, expected 'layerID layerLabel'", -1)
    ids, names = (column.to_pylist() for column in layers.rows.fields[:2])
    seen: set[str] = set()
    for row, name in enumerate(names):
        if not name:
            raise layers.rows.error(f"layer {quoted(ids[row])} has no name", row)
        if name in seen:
            raise layers.rows.error(f"a second layer is called {quoted(name)}, expected different names", row)
        seen.add(name)
    return ids, names


def _with_attributes(graph: MultiplexGraph, path: Path, edges: Columns, extended: bool) -> MultiplexGraph:
    """The graph with the columns of the nodes file as attributes; every node must be listed there."""
    table = _read_companion(path, "nodeID nodeLabel")
    names = [LABEL if name == LABEL_HEADER else name for name in table.header[1:]]
    if (twice := first_repeated(names)) is not None:
        raise table.rows.error(f"a second column is called {quoted(twice)}, expected different names", -1)
    size = len(edges.content) + len(table.rows.content)
    check_filled(graph.n_nodes, len(names), size, path)
    ids, *values = (column.cast(pa.large_string()).combine_chunks() for column in table.rows.fields)
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


# ---- writing -----------------------------------------------------------------------------------------

LABEL, LABEL_HEADER = "label", "nodeLabel"
_INSTEAD = "write it as .parquet instead"
_BOM = "\ufeff"


def companions(path: Path) -> tuple[list[Path], list[Path]]:
    """Where the file of layers and the file of nodes beside an edges file may be, the preferred places first."""
    name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    stem = Path(name).stem
    bases = [base for base in dict.fromkeys((stem.removesuffix("_multiplex"), stem)) if base]
    layers, nodes = ([path.with_name(f"{base}_{kind}.txt") for base in bases] for kind in ("layers", "nodes"))
    return layers, nodes


def write_shortest(graph: MultiplexGraph, path: Path) -> list[Path]:
    """Write the plain form if it holds the inter links, otherwise the extended one."""
    plain = graph.inter_weight is None and np.array_equal(links_of_shared_ids(graph), graph.inter)
    return _write(graph, path, _plain_lines(graph) if plain else _extended_lines(graph, path))


def write_extended(graph: MultiplexGraph, path: Path) -> list[Path]:
    """Write the extended form."""
    return _write(graph, path, _extended_lines(graph, path))


def _write(graph: MultiplexGraph, path: Path, lines: pa.LargeStringArray) -> list[Path]:
    if graph.n_nodes == 0:
        raise OutputError(f"{printable(path, 300)}: this format cannot hold a graph without nodes; {_INSTEAD}")
    _check_ids(graph, path)
    text = "\n".join(lines.to_pylist()) + "\n"
    if text.startswith(_BOM):  # a reader takes a first one for a byte-order mark, so give it one to take
        text = _BOM + text
    layers_path, nodes_path = (places[0] for places in companions(path))
    numbers = [str(number) for number in range(1, graph.n_layers + 1)]
    files = {
        path: text.encode(),
        layers_path: _companion_bytes(["layerID", "layerLabel"], [numbers, list(graph.layers)], path),
    }
    # An older nodes file that stayed beside the new edges would be taken for theirs.
    finish_writing(path.parent)
    if graph.attributes or os.path.exists(nodes_path):
        files[nodes_path] = _nodes_file(graph, path)
    return write_files(files)


def _plain_lines(graph: MultiplexGraph) -> pa.LargeStringArray:
    ends = _with_isolated(graph, graph.intra)
    layer, node, weight = _texts(graph, _weights(graph.intra_weight, graph.n_intra, len(ends)))
    first, second = pa.array(ends[:, 0]), pa.array(ends[:, 1])
    return pc.binary_join_element_wise(layer.take(first), node.take(first), node.take(second), weight, _blank())


def _extended_lines(graph: MultiplexGraph, path: Path) -> pa.LargeStringArray:
    if not graph.n_inter and len(implied := links_of_shared_ids(graph)):
        shared = graph.nodes[int(implied[0, 0])].id
        raise OutputError(
            f"{printable(path, 300)}: this format would link the nodes {quoted(shared)} of different layers, "
            f"which the graph does not; {_INSTEAD}"
        )
    intra = _with_isolated(graph, graph.intra)
    ends = np.concatenate([intra, graph.inter])
    weights = np.concatenate(
        [
            _weights(graph.intra_weight, graph.n_intra, len(intra)),
            _weights(graph.inter_weight, graph.n_inter, graph.n_inter),
        ]
    )
    layer, node, weight = _texts(graph, weights)
    first, second = pa.array(ends[:, 0]), pa.array(ends[:, 1])
    return pc.binary_join_element_wise(
        node.take(first), layer.take(first), node.take(second), layer.take(second), weight, _blank()
    )


def _with_isolated(graph: MultiplexGraph, links: np.ndarray) -> np.ndarray:
    """The links, and for every node without any a self-loop: readers drop it and keep the node."""
    alone = np.flatnonzero(graph.degree == 0).astype(links.dtype)
    return np.concatenate([links, np.stack([alone, alone], axis=1)])


def _weights(weight: np.ndarray | None, n_links: int, n_rows: int) -> np.ndarray:
    return np.concatenate([np.ones(n_links) if weight is None else weight, np.ones(n_rows - n_links)])


def _texts(graph: MultiplexGraph, weights: np.ndarray) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Layer number and id of every node, and every weight, as text."""
    text = pa.large_string()
    return pa.array(graph.node_layer + 1).cast(text), graph.ids, pa.array(weights).cast(text)


def _blank() -> pa.Scalar:
    return pa.scalar(" ", pa.large_string())


def _nodes_file(graph: MultiplexGraph, path: Path) -> bytes:
    """Every id once with its attributes; refuses copies of a unit whose attributes differ."""
    if LABEL_HEADER in graph.attributes:
        raise OutputError(
            f"{printable(path, 300)}: the attribute {LABEL_HEADER} would come back as {LABEL}; {_INSTEAD}"
        )
    if any(not name.strip(" ") for name in graph.attributes):
        raise OutputError(f"{printable(path, 300)}: this format cannot hold an attribute without a name; {_INSTEAD}")
    ids, code = encode([graph.ids])
    first = np.unique(code, return_index=True)[1]
    columns = [ids.to_pylist()]
    for name, values in graph.attributes.items():
        kept = values.take(pa.array(first))
        differs = np.flatnonzero(~pc.equal(kept.take(pa.array(code)), values).to_numpy(zero_copy_only=False))
        if len(differs):
            raise OutputError(
                f"{printable(path, 300)}: the attribute {quoted(name)} of {quoted(graph.ids[int(differs[0])].as_py())} "
                f"differs between layers, this format holds one value; {_INSTEAD}"
            )
        columns.append(kept.to_pylist())
    names = [LABEL_HEADER if name == LABEL else name for name in graph.attributes]
    return _companion_bytes(["nodeID", *names], columns, path)


def _companion_bytes(header: list[str], columns: list[list[str]], path: Path) -> bytes:
    """Header and rows separated by blanks, or by tabs where a field is empty or has blanks in it."""
    fields = [*header, *(value for column in columns for value in column)]
    for field in fields:
        if any(mark in field for mark in "\t\n\r\0"):
            raise OutputError(f"{printable(path, 300)}: this format cannot hold the text {quoted(field)}; {_INSTEAD}")
    delimiter = "\t" if any(not field or " " in field for field in fields) else " "
    lines = [header, *zip(*columns, strict=True)]
    return "".join(delimiter.join(line) + "\n" for line in lines).encode()


def _check_ids(graph: MultiplexGraph, path: Path) -> None:
    wrong = pc.match_substring_regex(graph.ids, r"[ \t\n\r\x00]").to_numpy(zero_copy_only=False)
    if wrong.any():
        node = graph.ids[int(wrong.argmax())].as_py()
        raise OutputError(f"{printable(path, 300)}: this format cannot hold the id {quoted(node)}; {_INSTEAD}")


FORMAT = Format(
    name="comunelab",
    suffixes=(".edges",),
    description="muxViz / CoMuNe lab edges (layer node node weight), with _layers.txt and _nodes.txt beside",
    read=read_edges,
    read_directed=partial(read_edges, directed=True),
    write=write_shortest,
    leaves_out=frozenset({"direction", "features", "apart"}),
    beside=companions,
)
EXTENDED_FORMAT = Format(
    name="comunelab-extended",
    suffixes=(".xedges",),
    description="muxViz extended edges (node layer node layer weight), with _layers.txt and _nodes.txt beside",
    read=read_extended,
    read_directed=partial(read_extended, directed=True),
    write=write_extended,
    leaves_out=frozenset({"direction", "features", "apart"}),
    beside=companions,
)
