"""To and from PyTorch Geometric: a `HeteroData` with one node type for each layer.

Links stand in both directions, those that go one way in that one. Edge types are (layer, "intra", layer),
(a, "inter", b) and (b, "inter", a), each with ``edge_index`` and, where links have weights, ``edge_weight``. A type of
nodes has ``num_nodes``, ``node_id`` (a list of texts), and where the graph has them ``x_horizontal``, ``x_vertical``
and ``attributes`` (lists of texts by name). The names of features are ``horizontal_features`` and ``vertical_features``
of the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.build import EdgeTable, NodeTable, RowError, build
from mpxgat.errors import GraphError, InputError, MissingExtraError, OutputError, listed, quoted, warn_of_data
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io.registry import say_apart_left_out
from mpxgat.pairs import BACKWARD, BOTH_WAYS, FORWARD

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData

EdgeType = tuple[str, str, str]
_READ = {"num_nodes", "node_id", "x_horizontal", "x_vertical", "attributes", "edge_index", "edge_weight"}
_PARTS = (("x_horizontal", "horizontal_features"), ("x_vertical", "vertical_features"))


def to_pyg(graph: MultiplexGraph) -> HeteroData:
    """The graph as `HeteroData`; OutputError for a layer's name that PyTorch Geometric cannot work with."""
    hetero = _hetero_data()
    import torch

    say_apart_left_out(graph)
    data = hetero()
    for number, layer in enumerate(graph.layers):
        if "__" in layer:
            raise OutputError(
                f"layer {quoted(layer)}: PyTorch Geometric joins type names by '__', expected a name without it"
            )
        start, stop = int(graph.layer_start[number]), int(graph.layer_start[number + 1])
        store = data[layer]
        store.num_nodes = stop - start
        store.node_id = graph.ids.slice(start, stop - start).to_pylist()
        for key, name in _PARTS:
            features: Features | None = getattr(graph, name)
            if features is not None:
                store[key] = torch.from_numpy(features.values[start:stop].copy())
        if graph.attributes:
            store.attributes = {
                name: column.slice(start, stop - start).to_pylist() for name, column in graph.attributes.items()
            }
    for _, name in _PARTS:
        if getattr(graph, name) is not None:
            setattr(data, name, list(getattr(graph, name).names))
    for (one, kind, other), links, weight in _links_by_type(graph):
        store = data[one, kind, other]
        store.edge_index = torch.from_numpy(np.ascontiguousarray(links.T))
        if weight is not None:
            store.edge_weight = torch.from_numpy(weight)
    return data


def from_pyg(data: HeteroData) -> MultiplexGraph:
    """The multiplex in a `HeteroData`: node types are layers, edge types between different ones hold inter links.

    Within a node type an edge without its reverse goes one way. Relation names, self-loops and directions between node
    types do not count; what else there is (``x``, ``edge_attr`` …) is passed over,
    which a DataWarning says. Ids are ``node_id``, or positions where that is missing;
    equal ids in two layers mean nothing. Problems are InputErrors that name the node or edge type.
    """
    if not isinstance(data, _hetero_data()):
        raise InputError(f"a {type(data).__name__}, expected torch_geometric.data.HeteroData")
    try:
        graph = build(*_tables(data))
    except RowError as problem:
        raise InputError(problem.message) from None
    except GraphError as problem:
        raise InputError(str(problem)) from None
    except UnicodeEncodeError as problem:
        raise InputError(f"{quoted(problem.object)} holds half a surrogate pair, expected text") from None
    found = {str(key) for stores in (data.node_stores, data.edge_stores) for store in stores for key in store}
    if found - _READ:
        warn_of_data(f"passed over: {listed(sorted(found - _READ))}; read are {', '.join(sorted(_READ))}")
    return graph


def _hetero_data() -> Any:
    try:
        from torch_geometric.data import HeteroData
    except ImportError:
        raise MissingExtraError("torch-geometric", "pyg", "Converting to or from PyTorch Geometric") from None
    return HeteroData


# ---- going out -----------------------------------------------------------------------------------------


def _links_by_type(
    graph: MultiplexGraph,
) -> list[tuple[EdgeType, NDArray[np.int64], NDArray[np.float64] | None]]:
    """Links of each edge type in the directions in which they go, as positions within their layers, with weights."""
    found = []
    for kind in ("intra", "inter"):
        links, weight = getattr(graph, kind), getattr(graph, f"{kind}_weight")
        ways = np.full(len(links), BOTH_WAYS, dtype=np.uint8)
        if kind == "intra" and graph.intra_arcs is not None:
            ways = graph.intra_arcs
        there, back = (ways & FORWARD) > 0, (ways & BACKWARD) > 0
        both = np.concatenate([links[there], links[back][:, ::-1]]).astype(np.int64)
        weights = None if weight is None else np.concatenate([weight[there], weight[back]])
        layer = graph.node_layer[both]
        for one, other in np.unique(layer, axis=0).tolist():
            rows = (layer == (one, other)).all(axis=1)
            local = both[rows] - graph.layer_start[[one, other]]
            name = (graph.layers[one], kind, graph.layers[other])
            found.append((name, local, None if weights is None else weights[rows]))
    return found


# ---- coming in -----------------------------------------------------------------------------------------


def _tables(data: HeteroData) -> tuple[list[str], EdgeTable, NodeTable]:
    """Names of the layers, all edges, all nodes: positions within node types become positions among all nodes."""
    edges = {kind: _edge_index(data, kind) for kind in data.edge_types}
    ends = [name for kind in edges for name in (kind[0], kind[2])]
    layers = list(dict.fromkeys([*data.node_types, *ends]))
    size = _sizes(data, layers, edges)
    ids = [_ids(data, layer, size[layer]) for layer in layers]
    start = dict(zip(layers, np.cumsum([0, *size.values()]).tolist(), strict=False))
    layer_of_node = np.repeat(np.arange(len(layers)), list(size.values()))
    nodes = NodeTable(
        ids=pa.chunked_array(ids, pa.large_string()).combine_chunks(),
        layer=layer_of_node,
        horizontal_features=_features(data, layers, size, *_PARTS[0]),
        vertical_features=_features(data, layers, size, *_PARTS[1]),
        attributes=_attributes(data, layers, size),
    )
    empty = np.empty((2, 0), dtype=np.int64)
    offsets = [index + np.array([[start[kind[0]]], [start[kind[2]]]]) for kind, index in edges.items()]
    source, target = np.concatenate([empty, *offsets], axis=1)
    weight = np.concatenate([np.empty(0), *(_weight(data, kind, index.shape[1]) for kind, index in edges.items())])
    table = EdgeTable(
        nodes.ids.take(pa.array(source)),
        layer_of_node[source],
        nodes.ids.take(pa.array(target)),
        layer_of_node[target],
        weight,
        np.ones(len(source), dtype=bool),
    )
    return layers, table, nodes


def _array(value: Any, what: str) -> NDArray[Any]:
    """A tensor, array or list of numbers as an array."""
    try:
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"{what} is a {type(value).__name__}, expected a tensor of numbers") from None
    if array.dtype.kind not in "iuf":
        raise InputError(f"{what} holds {array.dtype}, expected numbers")
    return array


def _edge_index(data: HeteroData, kind: EdgeType) -> NDArray[np.int64]:
    if "edge_index" not in data[kind]:
        raise InputError(f"edge type {quoted(kind)} has no edge_index")
    what = f"edge_index of {quoted(kind)}"
    index = _array(data[kind].edge_index, what)
    if index.ndim != 2 or index.shape[0] != 2 or (index.dtype.kind == "f" and index.size):
        raise InputError(f"{what} is {index.dtype} of shape {index.shape}, expected whole numbers of shape (2, links)")
    if index.size and index.min() < 0:
        raise InputError(f"{what} holds {index.min()}, expected positions from 0")
    return index.astype(np.int64)


def _weight(data: HeteroData, kind: EdgeType, links: int) -> NDArray[np.float64]:
    if "edge_weight" not in data[kind]:
        return np.ones(links)
    what = f"edge_weight of {quoted(kind)}"
    weight = _array(data[kind].edge_weight, what).astype(np.float64)
    if weight.shape != (links,) or not np.isfinite(weight).all():
        raise InputError(f"{what} has shape {weight.shape}, expected {links} finite numbers")
    return weight


def _sizes(data: HeteroData, layers: list[str], edges: dict[EdgeType, NDArray[np.int64]]) -> dict[str, int]:
    """Number of nodes of every layer: what the node type says, else the largest position in an edge."""
    sizes = {}
    for layer in layers:
        ends = [index[end] for kind, index in edges.items() for end in (0, 1) if kind[2 * end] == layer]
        needed = max((int(end.max()) + 1 for end in ends if end.size), default=0)
        store = data[layer] if layer in data.node_types else {}
        known = [key for key in ("node_id", "x", "x_horizontal", "x_vertical") if key in store]
        try:
            size = int(store["num_nodes"]) if "num_nodes" in store else len(store[known[0]]) if known else needed
        except (TypeError, ValueError):
            raise InputError(f"node type {quoted(layer)} does not say how many nodes it has in num_nodes") from None
        if size < needed:
            raise InputError(f"node type {quoted(layer)} has {size} nodes but an edge names node {needed - 1}")
        sizes[layer] = size
    return sizes


def _ids(data: HeteroData, layer: str, size: int) -> pa.LargeStringArray:
    store = data[layer] if layer in data.node_types else {}
    if "node_id" not in store:
        return pa.array([str(number) for number in range(size)], pa.large_string())
    found = store["node_id"]
    values = found.tolist() if hasattr(found, "tolist") else found
    if not isinstance(values, list | tuple) or len(values) != size:
        raise InputError(f"node_id of node type {quoted(layer)} is {quoted(values)}, expected a list of {size} ids")
    return pa.array([str(value) for value in values], pa.large_string())


def _features(data: HeteroData, layers: list[str], size: dict[str, int], key: str, title: str) -> Features | None:
    """Features of all layers one below the other; zeros in layers without them."""
    parts = {}
    for layer in layers:
        if layer in data.node_types and key in data[layer]:
            what = f"{key} of node type {quoted(layer)}"
            part = _array(data[layer][key], what).astype(np.float32)
            if part.ndim != 2 or len(part) != size[layer] or not np.isfinite(part).all():
                raise InputError(f"{what} has shape {part.shape}, expected finite numbers, a row for each node")
            parts[layer] = part
    widths = {part.shape[1] for part in parts.values()}
    if not parts:
        return None
    if len(widths) > 1:
        raise InputError(f"{key} has {' and '.join(map(str, sorted(widths)))} columns, expected as many in every layer")
    width = widths.pop()
    names = tuple(str(name) for name in getattr(data, title)) if title in data else tuple(map(str, range(width)))
    if len(names) != width:
        raise InputError(f"{title} has {len(names)} names, expected {width} as {key} has columns")
    zeros = [parts.get(layer, np.zeros((size[layer], width), dtype=np.float32)) for layer in layers]
    return Features(names, np.concatenate(zeros))


def _attributes(data: HeteroData, layers: list[str], size: dict[str, int]) -> dict[str, pa.LargeStringArray]:
    stores = {layer: data[layer].get("attributes", {}) for layer in layers if layer in data.node_types}
    names = dict.fromkeys(name for columns in stores.values() for name in columns)
    found = {}
    for name in names:
        column = []
        for layer in layers:
            texts = stores.get(layer, {}).get(name, [""] * size[layer])
            if len(texts) != size[layer]:
                raise InputError(
                    f"attribute {quoted(name)} of {quoted(layer)} has {len(texts)} values, expected {size[layer]}"
                )
            column += [str(text) for text in texts]
        found[str(name)] = pa.array(column, pa.large_string())
    return found
