"""To and from networkx: one graph for each layer, or one graph that holds all layers.

Coming in, multigraphs become simple; of parallel edges the largest weight stays. Edges of directed graphs go one
way (those that stand both ways go both), but between layers links have no direction.
Node keys become text. Numeric node attributes called ``h:NAME`` and ``v:NAME`` are horizontal and vertical features (a
node without one has 0), text attributes are kept as text. All other attributes are passed over, which a DataWarning
says.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa

from mpxgat.build import EdgeTable, NodeTable, RowError, build, link_by_id, links_of_shared_ids
from mpxgat.errors import GraphError, InputError, OutputError, listed, printable, quoted, warn_of_data
from mpxgat.graph import Features, MultiplexGraph, Node, describe
from mpxgat.io.registry import say_apart_left_out
from mpxgat.pairs import arcs_of, pick_weight

Anchor = tuple[tuple[Hashable, Hashable], tuple[Hashable, Hashable]]
_WEIGHT = "weight"
_EXPLICIT = "explicit"  # graph attribute "inter": the inter links are the edges, even if there are none
_KINDS = (("kind", "intra"), ("kind", "inter"))  # attributes of edges that `to_networkx` gives
_LARGEST = float(np.finfo(np.float32).max)


def from_networkx(
    graphs: nx.Graph | Mapping[Any, nx.Graph], *, anchors: Iterable[Anchor] | None = None, weight: str = "weight"
) -> MultiplexGraph:
    """A multiplex from networkx. Problems are InputErrors that name the node or edge.

    ``weight`` is the attribute of edges that holds their weights: "confidence", say. Those without one weigh 1.

    A mapping holds one graph for each layer. ``anchors``, pairs of (node, layer), are the inter links; without them,
    nodes that share a key are linked.

    A single graph holds nodes that are tuples (unit, layer), or that have an attribute ``layer`` and perhaps ``unit``.
    Its edges between layers are the inter links; if it has none, nodes that share a unit are linked. (A graph made by
    `to_networkx` says in its attribute ``inter`` that its edges are all there is.)
    """
    if isinstance(graphs, nx.Graph):
        if anchors is not None:
            raise InputError("anchors beside a single graph, expected them as edges between its layers")
        return _from_single(graphs, weight)
    if not isinstance(graphs, Mapping):
        raise InputError(f"a {type(graphs).__name__}, expected a networkx graph or a mapping of layers to graphs")
    return _from_mapping(graphs, anchors, weight)


def to_networkx(graph: MultiplexGraph) -> nx.Graph:
    """One graph of nodes (id, layer) and edges with ``kind`` ("intra" or "inter") and ``weight``.

    A `DiGraph` if a layer is directed; links that go both ways are two edges of it.
    """
    say_apart_left_out(graph)
    result = nx.Graph(inter=_EXPLICIT) if graph.intra_arcs is None else nx.DiGraph(inter=_EXPLICIT)
    result.add_nodes_from((tuple(node), data) for node, data in _nodes_with_data(graph, {"layer", "unit"}))
    keys = [tuple(node) for node in graph.nodes]
    for kind in ("intra", "inter"):
        result.add_edges_from(
            (keys[source], keys[target], {"kind": kind, "weight": weight})
            for source, target, weight in _weighted_links(graph, kind)
        )
    return result


def to_networkx_layers(graph: MultiplexGraph) -> dict[str, nx.Graph]:
    """One graph for each layer, a `DiGraph` for a directed one, nodes known by their ids. It holds no inter links: see
    `anchors_of`.

    Where the ids do not tell the inter links, the graphs' attribute ``inter`` says so, and `from_networkx` takes
    them only with anchors: linking shared ids would bring back what a training graph hides.
    """
    say_apart_left_out(graph)
    told = {} if np.array_equal(links_of_shared_ids(graph), graph.inter) else {"inter": _EXPLICIT}
    kinds = zip(graph.layers, graph.directed_layers, strict=True)
    result: dict[str, nx.Graph] = {layer: nx.DiGraph(**told) if way else nx.Graph(**told) for layer, way in kinds}
    for node, data in _nodes_with_data(graph, set()):
        result[node.layer].add_node(node.id, **data)
    nodes = list(graph.nodes)
    for source, target, weight in _weighted_links(graph, "intra"):
        result[nodes[source].layer].add_edge(nodes[source].id, nodes[target].id, weight=weight)
    return result


def anchors_of(graph: MultiplexGraph) -> list[tuple[Node, Node]]:
    """The inter links as pairs of (id, layer), as `from_networkx` takes them beside a mapping."""
    nodes = list(graph.nodes)
    return [(nodes[source], nodes[target]) for source, target in graph.inter.tolist()]


# ---- going out -----------------------------------------------------------------------------------------


def _nodes_with_data(graph: MultiplexGraph, taken: set[str]) -> list[tuple[Node, dict[str, Any]]]:
    columns: dict[str, list[Any]] = {}
    for prefix, part in (("h:", graph.horizontal_features), ("v:", graph.vertical_features)):
        for place, name in enumerate(part.names if part else ()):
            columns[prefix + name] = part.values[:, place].tolist() if part else []
    for name, texts in graph.attributes.items():
        if name in columns or name in taken:
            raise OutputError(f"an attribute called {quoted(name)} would take the place of another one in networkx")
        columns[name] = texts.to_pylist()
    rows = zip(*columns.values(), strict=True) if columns else ([] for _ in range(graph.n_nodes))
    return [(node, dict(zip(columns, row, strict=True))) for node, row in zip(graph.nodes, rows, strict=True)]


def _weighted_links(graph: MultiplexGraph, kind: str) -> Iterable[tuple[int, int, float]]:
    """Links of a kind; of a directed graph each way that they go."""
    links, weight = getattr(graph, kind), getattr(graph, f"{kind}_weight")
    if graph.intra_arcs is not None:
        links, row = arcs_of(links, graph.intra_arcs if kind == "intra" else None)
        weight = pick_weight(weight, row)
    weights = [1.0] * len(links) if weight is None else weight.tolist()
    return zip(links[:, 0].tolist(), links[:, 1].tolist(), weights, strict=True)


# ---- coming in -----------------------------------------------------------------------------------------


@dataclass
class _Tables:
    """Nodes and edges as they are found; ``known`` maps (key, layer) to the row of the node."""

    weight_name: str = _WEIGHT
    layers: dict[str, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    layer: list[int] = field(default_factory=list)
    data: list[Mapping[Any, Any]] = field(default_factory=list)
    known: dict[Node, Hashable] = field(default_factory=dict)
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    one_way: list[bool] = field(default_factory=list)
    edge_data: set[str] = field(default_factory=set)

    def add_node(self, key: Hashable, node: Node, data: Mapping[Any, Any]) -> int:
        if node in self.known:
            raise InputError(
                f"nodes {quoted(repr(self.known[node]))} and {quoted(repr(key))} are both {describe(node)}, "
                "expected one node for a unit in a layer"
            )
        self.known[node] = key
        self.ids.append(node.id)
        self.layer.append(self.layers.setdefault(node.layer, len(self.layers)))
        self.data.append(data)
        return len(self.ids) - 1

    def add_edge(self, source: int, target: int, data: Mapping[Any, Any], *, one_way: bool) -> None:
        self.edge_data.update(str(name) for name, value in data.items() if (name, value) not in _KINDS)
        weight = data.get(self.weight_name, 1.0)
        if not _is_number(weight):
            ends = " and ".join(quoted(self.ids[row]) for row in (source, target))
            raise InputError(
                f"{printable(self.weight_name)} {quoted(weight)} of the edge between {ends}, expected a finite number"
            )
        self.source.append(source)
        self.target.append(target)
        self.weight.append(float(weight))
        self.one_way.append(one_way)

    def graph(self) -> MultiplexGraph:
        try:
            ids = pa.array(self.ids, pa.large_string())
            nodes = NodeTable(
                ids=ids,
                layer=np.array(self.layer, dtype=np.int64),
                horizontal_features=self._features("h:"),
                vertical_features=self._features("v:"),
                attributes=self._attributes(),
            )
            source, target = (np.array(rows, dtype=np.int64) for rows in (self.source, self.target))
            edges = EdgeTable(
                ids.take(pa.array(source)),
                nodes.layer[source],
                ids.take(pa.array(target)),
                nodes.layer[target],
                np.array(self.weight, dtype=np.float64),
                np.array(self.one_way, dtype=bool) if any(self.one_way) else None,
            )
            return build(list(self.layers), edges, nodes)
        except RowError as problem:
            raise InputError(problem.message) from None
        except GraphError as problem:
            raise InputError(str(problem)) from None
        except UnicodeEncodeError as problem:
            raise InputError(f"{quoted(problem.object)} holds half a surrogate pair, expected text") from None

    def say_what_is_passed_over(self) -> None:
        ends = zip(self.source, self.target, self.one_way, strict=True)
        between = {(one, other) for one, other, way in ends if way and self.layer[one] != self.layer[other]}
        if any((other, one) not in between for one, other in between):
            warn_of_data("directed edges between layers are read as undirected links")
        if self.weight_name != _WEIGHT and self.source and self.weight_name not in self.edge_data:
            warn_of_data(f"no edge has the attribute {quoted(self.weight_name)}: all weigh 1")
        others = sorted(self.edge_data - {self.weight_name})
        if others:
            read = printable(self.weight_name)
            hint = "" if self.weight_name in self.edge_data else ' (weight="NAME" names another one)'
            warn_of_data(f"attributes of edges passed over: {listed(others)}; of them, {read} is read{hint}")
        others = sorted({str(name) for data in self.data for name, value in data.items() if not _is_read(name, value)})
        if others:
            warn_of_data(
                f"attributes of nodes passed over: {listed(others)}; texts and numbers h:NAME, v:NAME are read"
            )

    def _features(self, prefix: str) -> Features | None:
        def numbers(data: Mapping[Any, Any]) -> dict[str, Any]:
            return {
                name: value
                for name, value in data.items()
                if isinstance(name, str) and name.startswith(prefix) and isinstance(value, Real)
            }

        found = [numbers(data) for data in self.data]
        names = list(dict.fromkeys(name for values in found for name in values))
        if not names:
            return None
        matrix = np.zeros((len(found), len(names)), dtype=np.float32)
        for row, values in enumerate(found):
            for name, value in values.items():
                if not _is_number(value) or abs(float(value)) > _LARGEST:
                    raise InputError(
                        f"{quoted(name)} of node {quoted(self.ids[row])} is {quoted(value)}, expected a finite number"
                    )
            matrix[row] = [values.get(name, 0.0) for name in names]
        return Features(tuple(name.removeprefix(prefix) for name in names), matrix)

    def _attributes(self) -> dict[str, pa.LargeStringArray]:
        names = dict.fromkeys(
            name
            for data in self.data
            for name, value in data.items()
            if isinstance(name, str) and isinstance(value, str) and name not in ("layer", "unit")
        )
        return {name: pa.array([_text(data.get(name)) for data in self.data], pa.large_string()) for name in names}


def _is_read(name: Any, value: Any) -> bool:
    if not isinstance(name, str):
        return False
    return isinstance(value, str) or name in ("layer", "unit") or (name[:2] in ("h:", "v:") and isinstance(value, Real))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest float
        return False


def _from_mapping(graphs: Mapping[Any, nx.Graph], anchors: Iterable[Anchor] | None, weight: str) -> MultiplexGraph:
    tables = _Tables(weight)
    rows: dict[tuple[Hashable, Hashable], int] = {}
    for key, graph in graphs.items():
        layer = str(key)
        if not isinstance(graph, nx.Graph):
            raise InputError(f"layer {quoted(layer)} is a {type(graph).__name__}, expected a networkx graph")
        if anchors is None and graph.graph.get("inter") == _EXPLICIT:
            raise InputError(
                f"layer {quoted(layer)} comes from a multiplex whose inter links are not those of shared ids, "
                "expected anchors (mpxgat.io.anchors_of gives them)"
            )
        if layer in tables.layers:
            raise InputError(f"two layers are called {quoted(layer)}, expected different names")
        tables.layers[layer] = len(tables.layers)
        for node, data in graph.nodes(data=True):
            rows[node, key] = tables.add_node(node, Node(str(node), layer), data)
        for source, target, data in graph.edges(data=True):
            tables.add_edge(rows[source, key], rows[target, key], data, one_way=graph.is_directed())
    for anchor in () if anchors is None else anchors:
        try:
            one, other = (rows[node, layer] for node, layer in anchor)
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"anchor {quoted(anchor)}, expected two pairs (node, layer) that are in the graphs"
            ) from None
        if tables.layer[one] == tables.layer[other]:
            raise InputError(f"anchor {quoted(anchor)} joins two nodes of one layer, expected two layers")
        tables.add_edge(one, other, {}, one_way=False)
    graph = tables.graph()
    tables.say_what_is_passed_over()
    return link_by_id(graph) if anchors is None else graph


def _from_single(graph: nx.Graph, weight: str) -> MultiplexGraph:
    tables = _Tables(weight)
    rows = {}
    for key, data in graph.nodes(data=True):
        rows[key] = tables.add_node(key, _place(key, data), data)
    for source, target, data in graph.edges(data=True):
        tables.add_edge(rows[source], rows[target], data, one_way=graph.is_directed())
    result = tables.graph()
    tables.say_what_is_passed_over()
    explicit = result.n_inter > 0 or graph.graph.get("inter") == _EXPLICIT
    return result if explicit else link_by_id(result)


def _place(key: Hashable, data: Mapping[Any, Any]) -> Node:
    if "layer" in data:
        return Node(str(data.get("unit", key)), str(data["layer"]))
    if isinstance(key, tuple) and len(key) == 2:
        return Node(str(key[0]), str(key[1]))
    raise InputError(f"node {quoted(repr(key))} has no layer, expected a pair (unit, layer) or an attribute 'layer'")
