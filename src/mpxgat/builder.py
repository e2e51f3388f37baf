"""From raw tables to a `MultiplexGraph`: the one place where input is validated and put in order.

Readers hand over what they found, row by row, as columns. Here ids become positions, links are made
undirected, duplicates merge (the largest weight stays), self-loops go (their nodes stay), and the
assumptions of a multiplex are checked. A problem with a row raises `RowError`, which the reader turns
into an error that names file and line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.encoding import encode
from mpxgat.errors import GraphError, InputError, printable, quoted
from mpxgat.features import Features
from mpxgat.graph import MultiplexGraph
from mpxgat.links import canonical_links, group_members, pick_weight
from mpxgat.nodes import NODE_DTYPE, describe

MAX_ID_BYTES = 65_536
# Up to this many (layer, id) cells a table finds a node's position; beyond it, a search among sorted keys.
_MAX_TABLE_CELLS = 200_000_000


class RowError(InputError):
    """A problem with row ``row`` (from 0) of the table ``table``; readers translate it to a line of a file."""

    def __init__(self, message: str, table: str, row: int):
        super().__init__(message, line=row + 1)
        self.table = table
        self.row = row


@dataclass(frozen=True)
class NodeTable:
    """Nodes a file declares: ``ids[r]`` in layer number ``layer[r]``, with features and attributes if any."""

    ids: pa.Array | pa.ChunkedArray
    layer: NDArray[np.integer]
    horizontal_features: Features | None = None
    vertical_features: Features | None = None
    attributes: Mapping[str, pa.Array] | None = None


@dataclass(frozen=True)
class EdgeTable:
    """Links of both kinds: row r joins ``source[r]``, in layer ``source_layer[r]``, and ``target[r]`` likewise."""

    source: pa.Array | pa.ChunkedArray
    source_layer: NDArray[np.integer]
    target: pa.Array | pa.ChunkedArray
    target_layer: NDArray[np.integer]
    weight: NDArray[np.float64] | None = None


def build(
    layers: Sequence[str],
    edges: EdgeTable,
    nodes: NodeTable | None = None,
    *,
    only_declared: bool = False,
) -> MultiplexGraph:
    """A graph from tables of string ids. Rows of ``edges`` that join two layers are the inter links.

    Nodes are those of ``nodes`` and the ends of ``edges``; with ``only_declared`` an end that ``nodes``
    does not list is an error. Layers without nodes vanish. Call
    `mpxgat.identity.link_by_id` on the result where copies of a unit share an id.
    """
    check_layer_names(layers)
    _check_edge_rows(edges)
    declared = _empty_nodes() if nodes is None else nodes
    n_declared, n_edges = len(declared.ids), len(edges.source)
    ids, code = encode([declared.ids, edges.source, edges.target])
    _check_ids(ids, code, n_declared, n_edges)

    keys = np.concatenate([declared.layer, edges.source_layer, edges.target_layer]).astype(np.int64)
    keys *= max(len(ids), 1)
    keys += code
    node_keys, position = _positions(keys, len(layers) * len(ids))
    if nodes is not None:
        _check_declared(position, n_declared, n_edges, nodes, edges, layers, only_declared)

    node_layer, node_code = np.divmod(node_keys, max(len(ids), 1))
    order = position[:n_declared]
    ends = position[n_declared:].reshape(2, n_edges).T  # (rows, 2)
    crosses = edges.source_layer != edges.target_layer
    inter_rows = np.flatnonzero(crosses)
    intra_rows = np.flatnonzero(~crosses) if len(inter_rows) else slice(None)  # no copy of a whole table
    intra, intra_weight = canonical_links(ends[intra_rows], pick_weight(edges.weight, intra_rows), len(node_keys))
    inter, inter_weight = canonical_links(ends[inter_rows], pick_weight(edges.weight, inter_rows), len(node_keys))
    counts = np.bincount(node_layer, minlength=len(layers))
    graph = MultiplexGraph(
        layers=tuple(name for name, count in zip(layers, counts, strict=True) if count),
        layer_start=np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int64),
        ids=ids.take(pa.array(node_code)),
        intra=intra,
        inter=inter,
        intra_weight=intra_weight,
        inter_weight=inter_weight,
        horizontal_features=_arrange(declared.horizontal_features, order, len(node_keys)),
        vertical_features=_arrange(declared.vertical_features, order, len(node_keys)),
        attributes=_arrange_attributes(declared.attributes or {}, order, len(node_keys)),
    )
    check_uniqueness(graph, ends[inter_rows], inter_rows)
    return graph


# ---- steps ---------------------------------------------------------------------------------------------


def _empty_nodes() -> NodeTable:
    return NodeTable(pa.array([], pa.large_string()), np.empty(0, dtype=np.int64))


def _positions(keys: NDArray[np.int64], cells: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Distinct keys in ascending order, and the position of every key among them."""
    if cells > _MAX_TABLE_CELLS:
        distinct = np.sort(keys)  # several times faster than np.unique, which hashes
        distinct = distinct[np.diff(distinct, prepend=-1) > 0]
        return distinct, np.searchsorted(distinct, keys).astype(NODE_DTYPE)
    present = np.zeros(cells, dtype=bool)
    present[keys] = True
    position = np.cumsum(present, dtype=NODE_DTYPE)
    position -= 1
    return np.flatnonzero(present), position[keys]


def _arrange(features: Features | None, order: NDArray[np.int32], n_nodes: int) -> Features | None:
    """Rows of a node table put at their nodes' positions; nodes without a row get zeros."""
    if features is None:
        return None
    values = np.zeros((n_nodes, len(features.names)), dtype=np.float32)
    values[order] = features.values
    return Features(features.names, values)


def _arrange_attributes(
    attributes: Mapping[str, pa.Array], order: NDArray[np.int32], n_nodes: int
) -> dict[str, pa.LargeStringArray]:
    row = np.full(n_nodes, -1, dtype=np.int64)
    row[order] = np.arange(len(order))
    rows = pa.array(row, mask=row < 0)
    return {name: pc.fill_null(column.cast(pa.large_string()).take(rows), "") for name, column in attributes.items()}


# ---- checks --------------------------------------------------------------------------------------------


def check_layer_names(layers: Sequence[str]) -> None:
    """GraphError unless the names are different and neither empty nor overlong."""
    seen: set[str] = set()
    for name in layers:
        if not name:
            raise GraphError("a layer has an empty name, expected at least one character")
        if len(name.encode()) > MAX_ID_BYTES:
            raise GraphError(f"layer {quoted(name)} has a name of more than {MAX_ID_BYTES} bytes")
        if name in seen:
            raise GraphError(f"two layers are called {quoted(name)}, expected different names")
        seen.add(name)


def _check_edge_rows(edges: EdgeTable) -> None:
    if edges.weight is not None and not np.isfinite(edges.weight).all():
        row = int(np.flatnonzero(~np.isfinite(edges.weight))[0])
        raise RowError(f"weight {edges.weight[row]}, expected a finite number", "edges", row)


def _check_ids(ids: pa.LargeStringArray, code: NDArray[np.int32], n_declared: int, n_edges: int) -> None:
    """Ids must not be empty or longer than MAX_ID_BYTES; the first offending row is named."""
    if len(ids) == 0:
        return
    length = pc.binary_length(ids).to_numpy()
    wrong = (length == 0) | (length > MAX_ID_BYTES)
    if not wrong.any():
        return
    place = int(np.flatnonzero(wrong[code])[0])
    if length[code[place]] == 0:
        message = "an empty node id, expected at least one character"
    else:
        shown = printable(ids[int(code[place])].as_py())
        message = f"node id {shown} is longer than {MAX_ID_BYTES} bytes"
    if place < n_declared:
        raise RowError(message, "nodes", place)
    raise RowError(message, "edges", (place - n_declared) % max(n_edges, 1))


def _check_declared(
    position: NDArray[np.int32],
    n_declared: int,
    n_edges: int,
    nodes: NodeTable,
    edges: EdgeTable,
    layers: Sequence[str],
    only_declared: bool,
) -> None:
    """No node is declared twice; with ``only_declared`` every end of a link is declared."""
    declared = position[:n_declared]
    first_row = np.full(position.max(initial=-1) + 1, -1, dtype=np.int64)
    first_row[declared[::-1]] = np.arange(n_declared)[::-1]
    again = np.flatnonzero(first_row[declared] != np.arange(n_declared))
    if len(again):
        row = int(again[0])
        raise RowError(
            f"node {quoted(nodes.ids[row].as_py())} of layer {quoted(layers[nodes.layer[row]])} is listed twice, "
            "expected once",
            "nodes",
            row,
        )
    dangling = np.flatnonzero(first_row[position[n_declared:]] < 0)
    if only_declared and len(dangling):
        row = int((dangling % n_edges).min())
        ends = ((edges.source, edges.source_layer), (edges.target, edges.target_layer))
        ids, layer = ends[0] if first_row[position[n_declared + row]] < 0 else ends[1]
        raise RowError(
            f"node {quoted(ids[row].as_py())} of layer {quoted(layers[layer[row]])} is not in the list of nodes",
            "edges",
            row,
        )


def check_uniqueness(graph: MultiplexGraph, inter_ends: NDArray[np.integer], rows: NDArray[np.integer] | None) -> None:
    """Assumptions 1 and 2 together: a known unit (component of inter links) has at most one node in a layer.

    ``inter_ends`` are the links as they were given and ``rows`` their rows in the edge table, if any.
    """
    if len(inter_ends) == 0:
        return
    # Nodes are sorted by layer, so those of a unit that share a layer stand side by side in its group.
    order = group_members(graph.unit, np.zeros(graph.n_nodes, dtype=np.int8), graph.n_units).indices
    unit, layer = graph.unit[order], graph.node_layer[order]
    clash = np.flatnonzero((unit[1:] == unit[:-1]) & (layer[1:] == layer[:-1]))
    if not len(clash):
        return
    one, other = int(order[clash[0]]), int(order[clash[0] + 1])
    message = (
        f"{describe(graph.nodes[one])} and {describe(graph.nodes[other])} would be the same unit, "
        "expected at most one counterpart in a layer"
    )
    if rows is None:
        raise GraphError(message)
    # The last link of this unit is where the contradiction is complete.
    of_unit = np.flatnonzero(graph.unit[inter_ends[:, 0]] == graph.unit[one])
    raise RowError(message, "edges", int(rows[of_unit[-1]]))
