"""From raw tables to a `MultiplexGraph`: the one place where input is validated and put in order.

Readers hand over what they found, row by row, as columns. Here ids become positions, links get their
canonical form, duplicates merge (the largest weight stays, two ways become both), self-loops go (their
nodes stay), and the assumptions of a multiplex are checked. A problem with a row raises `RowError`,
which the reader turns into an error that names file and line. Further down: `encode` (ids to numbers), `link_by_id` and
`with_inter_links` (who is who), `with_apart` (who is not), and `validate`, for graphs that were not built here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from mpxgat.errors import GraphError, InputError, printable, quoted
from mpxgat.graph import Features, MultiplexGraph, NodeLike, describe
from mpxgat.pairs import (
    BOTH_WAYS,
    FORWARD,
    NODE_DTYPE,
    canonical_arcs,
    canonical_links,
    group_members,
    no_pairs,
    pick_weight,
)

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
    """Links of both kinds: row r joins ``source[r]``, in layer ``source_layer[r]``, and ``target[r]`` likewise.

    ``one_way`` tells which go from source to target only; None for none. Inter links go both ways in any case.
    """

    source: pa.Array | pa.ChunkedArray
    source_layer: NDArray[np.integer]
    target: pa.Array | pa.ChunkedArray
    target_layer: NDArray[np.integer]
    weight: NDArray[np.float64] | None = None
    one_way: NDArray[np.bool_] | None = None


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
    `mpxgat.build.link_by_id` on the result where copies of a unit share an id.
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
    ways = None if edges.one_way is None else np.where(edges.one_way, FORWARD, BOTH_WAYS).astype(np.uint8)
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
        intra_arcs=canonical_arcs(ends[intra_rows], pick_weight(ways, intra_rows), len(node_keys)),
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


# ---- ids as numbers, in the order in which a graph keeps them ----------------------------------------

# Whole numbers of up to this many digits are sorted as numbers; ten to this power times 32 still fits 63 bits.
_MAX_DIGITS = 17
# Up to this many cells for each value (and these many in all) a table finds a number's rank; else a search.
_CELLS_FOR_EACH = 8
_MAX_RANK_CELLS = 200_000_000


def encode(columns: Sequence[pa.Array | pa.ChunkedArray]) -> tuple[pa.LargeStringArray, NDArray[np.int32]]:
    """Distinct ids in bytewise order, and for every value of the columns, one after another, its number.

    The columns hold text, plain or as dictionaries, without nulls. Ids that are whole numbers ("17") are
    by far the most common in large files and take a way that is several times as fast.
    """
    chunks: list[pa.Array] = []
    for column in columns:
        chunks += column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    chunks = [chunk for chunk in chunks if len(chunk)]
    if not chunks:
        return pa.array([], pa.large_string()), np.empty(0, dtype=np.int32)
    if any(pa.types.is_dictionary(chunk.type) for chunk in chunks):
        return _encode_text(pa.chunked_array([_as_dictionary(chunk) for chunk in chunks]).unify_dictionaries())
    numbers = _whole_numbers(chunks)
    if numbers is not None:
        return _encode_numbers(numbers)
    whole = pa.chunked_array([chunk.cast(pa.large_string()) for chunk in chunks])
    return _encode_text(whole.dictionary_encode())


def _as_dictionary(chunk: pa.Array) -> pa.DictionaryArray:
    if not pa.types.is_dictionary(chunk.type):
        chunk = chunk.cast(pa.large_string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int32()), chunk.dictionary.cast(pa.large_string()))


def _encode_text(whole: pa.ChunkedArray) -> tuple[pa.LargeStringArray, NDArray[np.int32]]:
    """All chunks of ``whole`` share one dictionary, in which a text may stand that no value uses."""
    dictionary = whole.chunk(0).dictionary
    order = _sorted_bytewise(dictionary)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    code = np.concatenate([chunk.indices.to_numpy() for chunk in whole.chunks])
    return dictionary.take(pa.array(order)), rank[code]


def _sorted_bytewise(strings: pa.LargeStringArray) -> NDArray[np.int64]:
    """Order that sorts strings as `MultiplexGraph` sorts ids: by their UTF-8 bytes."""
    order: NDArray[np.int64] = pc.sort_indices(strings).to_numpy().astype(np.int64)
    return order


def _whole_numbers(chunks: Sequence[pa.Array]) -> NDArray[np.int64] | None:
    """The values as numbers if each is written as the shortest form of a number from 0 on, else None."""
    if not chunks[0][0].as_py().isdecimal():  # spares text the attempt, nothing more
        return None
    try:
        values: NDArray[np.int64] = np.concatenate([chunk.cast(pa.int64()).to_numpy() for chunk in chunks])
    except pa.ArrowInvalid:
        return None
    if values.min() < 0 or values.max() >= 10**_MAX_DIGITS or any(map(_has_letters, chunks)):
        return None
    # Any other way to write a number in digits ("007", "+7") is longer than the shortest, so the totals tell.
    written = sum(pc.sum(pc.binary_length(chunk)).as_py() for chunk in chunks)
    shortest = len(values)
    power = 10
    while (longer := int(np.count_nonzero(values >= power))) > 0:
        shortest += longer
        power *= 10
    return values if written == shortest else None


def _has_letters(chunk: pa.Array) -> bool:
    """Whether a character above "9" occurs: pyarrow reads "0x989680", no longer than "10000000", as that number."""
    offset_type = np.int64 if pa.types.is_large_string(chunk.type) else np.int32
    _, offsets, data = chunk.buffers()
    ends = np.frombuffer(offsets, dtype=offset_type)[[chunk.offset, chunk.offset + len(chunk)]]
    return bool(np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[1]].max(initial=0) > ord("9"))


def _encode_numbers(values: NDArray[np.int64]) -> tuple[pa.LargeStringArray, NDArray[np.int32]]:
    """As `encode`, for whole numbers from 0 on."""
    cells = int(values.max()) + 1
    if cells > min(_MAX_RANK_CELLS, _CELLS_FOR_EACH * len(values) + 1024):
        distinct, place = np.unique(values, return_inverse=True)
    else:
        present = np.zeros(cells, dtype=bool)
        present[values] = True
        distinct, place = np.flatnonzero(present), values
    order = _order_as_text(distinct)
    rank = np.empty(cells if place is values else len(distinct), dtype=np.int32)
    rank[distinct[order] if place is values else order] = np.arange(len(order), dtype=np.int32)
    return pa.array(distinct[order]).cast(pa.large_string()), rank[place]


def _order_as_text(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order that sorts whole numbers as their decimal texts sort: "10" before "2", "1" before "10"."""
    digits = np.ones(len(numbers), dtype=np.int64)
    for power in range(1, _MAX_DIGITS):
        digits += numbers >= 10**power
    filled = numbers * 10 ** (digits.max() - digits)  # "2" as "20" beside "10"; the shorter of equals goes first
    return np.argsort(filled * 32 + digits)


# ---- who is who: inter links, given as such or read from ids that copies of a unit share -------------

# Copies are linked pairwise, so their number enters in its square: more than a thousand of most units are too many.
_LINKS_FOR_A_NODE = 500
_LEAST_LINKS = 5_000_000


def link_by_id(graph: MultiplexGraph, keys: pa.Array | None = None) -> MultiplexGraph:
    """The graph with all copies that share an id linked pairwise, besides the inter links it has.

    ``keys`` (one for each node; null for none) takes the place of the ids. Uniqueness is checked.
    """
    keys = graph.ids if keys is None else keys
    present = np.flatnonzero(keys.is_valid()) if keys.null_count else np.arange(len(keys), dtype=NODE_DTYPE)
    distinct, code = encode([keys.drop_null()])
    groups = group_members(code, np.zeros(len(code), dtype=np.int8), len(distinct))
    copies = np.diff(groups.indptr).astype(np.int64)
    n_pairs = int((copies * (copies - 1) // 2).sum())
    most = min(max(_LEAST_LINKS, _LINKS_FOR_A_NODE * graph.n_nodes), np.iinfo(NODE_DTYPE).max)
    if n_pairs > most:  # a file of some kilobytes can ask for billions
        raise GraphError(f"shared ids mean {n_pairs} inter links, expected at most {most}")
    order = present[groups.indices].astype(NODE_DTYPE, copy=False)  # equal keys stand together, nodes ascending
    code = np.repeat(np.arange(len(distinct), dtype=NODE_DTYPE), copies)
    pairs = [np.empty((0, 2), dtype=NODE_DTYPE)]
    for distance in range(1, len(order)):
        # Members of one group stand side by side: pair each with the one `distance` places on.
        together = np.flatnonzero(code[distance:] == code[:-distance])
        if not len(together):
            break
        pairs.append(np.stack([order[together], order[together + distance]], axis=1))
    linked = np.concatenate(pairs)
    same_layer = graph.node_layer[linked[:, 0]] == graph.node_layer[linked[:, 1]]
    if same_layer.any():
        first, second = (graph.nodes[int(i)] for i in linked[np.flatnonzero(same_layer)[0]])
        raise GraphError(f"{describe(first)} and {describe(second)} are said to be one unit in one layer")
    weight = None
    if graph.inter_weight is not None:
        weight = np.concatenate([graph.inter_weight, np.ones(len(linked))])
    inter, inter_weight = canonical_links(np.concatenate([graph.inter, linked]), weight, graph.n_nodes)
    result = replace(graph, inter=inter, inter_weight=inter_weight)
    if graph.n_inter:  # otherwise the groups are the units, and no two of a group share a layer
        check_uniqueness(result, inter, None)
    _check_apart(result)
    return result


def links_of_shared_ids(graph: MultiplexGraph) -> NDArray[np.int32]:
    """(k, 2) the inter links that a reader would see in the ids alone, whatever links the graph has."""
    return link_by_id(replace(graph, inter=no_pairs(), inter_weight=None, apart=no_pairs())).inter


def with_further_links(graph: MultiplexGraph, pairs: NDArray[np.integer]) -> MultiplexGraph:
    """The graph with (k, 2) further inter links, each of weight 1, beside its own; GraphError if uniqueness, or what is
    known to be different, forbids one.
    """
    weight = None if graph.inter_weight is None else np.concatenate([graph.inter_weight, np.ones(len(pairs))])
    inter, inter_weight = canonical_links(np.concatenate([graph.inter, pairs]), weight, graph.n_nodes)
    result = replace(graph, inter=inter, inter_weight=inter_weight)
    check_uniqueness(result, inter, None)
    _check_apart(result)
    return result


def with_inter_links(graph: MultiplexGraph, pairs: NDArray[np.integer]) -> MultiplexGraph:
    """The graph with exactly the given inter links (node positions); `RowError` names a pair that breaks uniqueness."""
    inter, _ = canonical_links(pairs, None, graph.n_nodes)
    result = replace(graph, inter=inter, inter_weight=None)
    same_layer = graph.node_layer[pairs[:, 0]] == graph.node_layer[pairs[:, 1]]
    if same_layer.any():
        row = int(np.flatnonzero(same_layer)[0])
        first, second = (graph.nodes[int(i)] for i in pairs[row])
        raise RowError(
            f"{describe(first)} and {describe(second)} are in one layer; an inter link joins two layers",
            "edges",
            row,
        )
    check_uniqueness(result, pairs, np.arange(len(pairs)))
    _check_links_between_apart(result, pairs)
    return result


def in_layer_order(graph: MultiplexGraph, layers: Sequence[str]) -> MultiplexGraph:
    """The same network with its layers in another order; as it is if it has other layers than these."""
    if graph.layers == tuple(layers) or sorted(graph.layers) != sorted(layers):
        return graph
    numbers = [graph.layers.index(name) for name in layers]
    nodes = np.concatenate([graph.layer_nodes(number) for number in numbers])
    position = np.empty(graph.n_nodes, dtype=np.int32)
    position[nodes] = np.arange(graph.n_nodes, dtype=np.int32)
    intra, intra_weight = canonical_links(position[graph.intra], graph.intra_weight, graph.n_nodes)
    inter, inter_weight = canonical_links(position[graph.inter], graph.inter_weight, graph.n_nodes)
    sizes = np.diff(graph.layer_start)[numbers]
    return MultiplexGraph(
        layers=tuple(layers),
        layer_start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        ids=graph.ids.take(pa.array(nodes)),
        intra=intra,
        inter=inter,
        intra_weight=intra_weight,
        inter_weight=inter_weight,
        horizontal_features=graph.horizontal_features and graph.horizontal_features.take(nodes),
        vertical_features=graph.vertical_features and graph.vertical_features.take(nodes),
        attributes={name: column.take(pa.array(nodes)) for name, column in graph.attributes.items()},
        intra_arcs=canonical_arcs(position[graph.intra], graph.intra_arcs, graph.n_nodes),
        apart=canonical_links(position[graph.apart], None, graph.n_nodes)[0],
    )


# ---- who is not who --------------------------------------------------------------------------------


def with_apart(graph: MultiplexGraph, pairs: ArrayLike | Sequence[Sequence[NodeLike]]) -> MultiplexGraph:
    """The graph in which further pairs of nodes are known to be different units: a (k, 2) array of positions, or pairs
    of nodes, each told as in `MultiplexGraph.index`.

    `RowError` names a pair of one layer, whose nodes are different anyway, and one that known links make one unit.
    """
    said = graph.pair_positions(pairs)
    if said.size and not 0 <= said.min() <= said.max() < graph.n_nodes:
        raise GraphError(f"pairs name nodes from {said.min()} to {said.max()}, expected 0 to {graph.n_nodes - 1}")
    same_layer = np.flatnonzero(graph.node_layer[said[:, 0]] == graph.node_layer[said[:, 1]])
    if len(same_layer):
        row = int(same_layer[0])
        first, second = (describe(graph.nodes[int(node)]) for node in said[row])
        what = "are one node" if first == second else "are different anyway, in one layer"
        raise RowError(f"{first} and {second} {what}; expected nodes of two layers", "apart", row)
    if (found := _contradiction(graph, said)) is not None:
        raise RowError(found[1], "apart", found[0])
    apart, _ = canonical_links(np.concatenate([graph.apart, said]), None, graph.n_nodes)
    return replace(graph, apart=apart)


def _contradiction(graph: MultiplexGraph, apart: NDArray[np.integer]) -> tuple[int, str] | None:
    """The row of the first of (k, 2) pairs said to be different that known links make one unit, and what is wrong."""
    rows = np.flatnonzero(graph.unit[apart[:, 0]] == graph.unit[apart[:, 1]]) if len(apart) else apart
    if not len(rows):
        return None
    pair = apart[rows[0]]
    linked = (np.sort(pair) == graph.inter).all(axis=1).any()
    how = "a known link makes" if linked else "a chain of known links makes"
    first, second = (describe(graph.nodes[int(node)]) for node in pair)
    return int(rows[0]), f"{first} and {second} are said to be different, but {how} them one unit; drop one of the two"


def _check_apart(graph: MultiplexGraph) -> None:
    """GraphError if links make a unit of two nodes that are said to be different."""
    if (found := _contradiction(graph, graph.apart)) is not None:
        raise GraphError(found[1])


def _check_links_between_apart(graph: MultiplexGraph, inter_ends: NDArray[np.integer]) -> None:
    """As `_check_apart`, but a `RowError` that names the row of ``inter_ends`` where the contradiction is complete."""
    if (found := _contradiction(graph, graph.apart)) is not None:
        row, message = found
        of_unit = np.flatnonzero(graph.unit[inter_ends[:, 0]] == graph.unit[graph.apart[row, 0]])
        raise RowError(message, "edges", int(of_unit[-1]))


# ---- graphs that come ready-made, as arrays in a file ------------------------------------------------

Links = NDArray[np.int32]
_ROWS_AT_ONCE = 1 << 16


def validate(graph: MultiplexGraph) -> None:
    """GraphError unless a graph from an untrusted source keeps every promise of `MultiplexGraph`, as `build` does."""
    n = len(graph.ids)
    check_layer_names(graph.layers)
    starts = graph.layer_start
    promises = {
        "layer starts rise from 0 to the number of nodes": starts.dtype == np.int64
        and starts.shape == (graph.n_layers + 1,)
        and (n == 0 or (np.diff(starts) > 0).all())
        and starts[0] == 0
        and starts[-1] == n,
        "links are pairs of nodes": all(
            links.dtype == NODE_DTYPE
            and links.ndim == 2
            and links.shape[1] == 2
            and links.min(initial=0) >= 0
            and links.max(initial=-1) < n
            for links in (graph.intra, graph.inter, graph.apart)
        ),
        "weights are finite, one for each link": all(
            weight is None
            or (weight.dtype == np.float64 and weight.shape == (len(links),) and bool(np.isfinite(weight).all()))
            for weight, links in ((graph.intra_weight, graph.intra), (graph.inter_weight, graph.inter))
        ),
        "every link goes one way or both": graph.intra_arcs is None
        or (
            graph.intra_arcs.dtype == np.uint8
            and graph.intra_arcs.shape == (len(graph.intra),)
            and bool(((graph.intra_arcs >= FORWARD) & (graph.intra_arcs <= BOTH_WAYS)).all())
        ),
        "features have a row for each node": all(
            features is None or len(features.values) == n
            for features in (graph.horizontal_features, graph.vertical_features)
        ),
        "attributes have a value for each node": all(len(column) == n for column in graph.attributes.values()),
    }
    for promise, kept in promises.items():
        if not kept:
            raise GraphError(f"the graph is damaged: it does not hold that {promise}")
    for links, within in (
        (graph.intra, _within_layers),
        (graph.inter, _between_layers),
        (graph.apart, _between_layers),
    ):
        if not _in_order(links) or not within(links, starts):
            raise GraphError("the graph is damaged: its links are out of order or join the wrong layers")
    _check_id_order(graph)
    check_uniqueness(graph, graph.inter, None)
    _check_apart(graph)


def _in_order(links: Links) -> bool:
    """Whether (m, 2) links are in canonical form; some rows at a time, so that memory stays bounded."""
    for start in range(0, len(links), _ROWS_AT_ONCE):
        first, second = links[start : start + _ROWS_AT_ONCE + 1].T  # the next part's first row as well
        tied = first[1:] == first[:-1]
        if not ((first[1:] > first[:-1]) | (tied & (second[1:] > second[:-1]))).all() or (first >= second).any():
            return False
    return True


def _within_layers(links: Links, layer_start: NDArray[np.int64]) -> bool:
    """Whether links in canonical form join nodes of one layer each: the highest second end tells of all in a layer."""
    begins, stop = _by_layer(links, layer_start)
    return bool((np.maximum.reduceat(links[:, 1], begins) < stop).all()) if len(links) else True


def _between_layers(links: Links, layer_start: NDArray[np.int64]) -> bool:
    """Whether links in canonical form join nodes of different layers."""
    begins, stop = _by_layer(links, layer_start)
    return bool((np.minimum.reduceat(links[:, 1], begins) >= stop).all()) if len(links) else True


def _by_layer(links: Links, layer_start: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For the layers that first ends are in: the row where each begins, and the node where its layer ends."""
    rows = np.searchsorted(links[:, 0], layer_start.astype(links.dtype))  # of one type: no copy as another
    some = rows[1:] > rows[:-1]
    return rows[:-1][some], layer_start[1:][some]


def _check_id_order(graph: MultiplexGraph) -> None:
    n = graph.n_nodes
    if n == 0:
        return
    lengths = pc.binary_length(graph.ids).to_numpy()
    if (lengths == 0).any() or (lengths > MAX_ID_BYTES).any():
        raise GraphError("the graph is damaged: an id is empty or too long")
    rising = pc.less(graph.ids.slice(0, n - 1), graph.ids.slice(1)).to_numpy(zero_copy_only=False)
    if not (rising | (np.diff(graph.node_layer) > 0)).all():
        raise GraphError("the graph is damaged: ids are not sorted within their layer, or occur twice")
