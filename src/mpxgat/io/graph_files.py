"""GraphML and GEXF files, as networkx, Gephi, igraph and yEd write them, read only and through networkx.

Three kinds of file are told apart by what they say of layers:

- nodes with an attribute ``layer`` (and perhaps ``unit``): as one graph of networkx with such nodes;
- else edges with an attribute ``layer``: one set of nodes, of which each is in the layers where it has edges; copies of
  a node are one unit;
- else the file is one layer, called by its stem.

Direction and weights are kept, and so are the attributes of nodes, as text. Attributes may have other names in a file:
``columns`` says which (layer, unit, weight, and id for an attribute that takes the place of the ids).
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any

import networkx as nx

from mpxgat.errors import GraphError, InputError, listed, printable, quoted, warn_of_data
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import check_filled, read_bytes
from mpxgat.io.networkx_graphs import from_networkx
from mpxgat.io.registry import Format, Names, check_roles, no_encoding
from mpxgat.io.xml_checks import check_xml

ROLES = ("layer", "unit", "weight", "id")
_LAYER, _UNIT, _WEIGHT, _ID = ROLES
_USUAL = {_WEIGHT: ("weight", "Weight"), _LAYER: ("layer",), _UNIT: ("unit",), _ID: ()}
_FEATURES = ("h:", "v:")
_IDS_OF_EDGES = ("id", "key")  # they name no node and say nothing of a link
_TEXT_FOR_A_BYTE, _LEAST_TEXT = 5, 1 << 26


def read_graphml(
    path: Path, *, columns: Names | None = None, encoding: str | None = None, directed: bool = False
) -> MultiplexGraph:
    """The network in a GraphML file, which states direction and encoding itself."""
    no_encoding("GraphML", encoding)
    return _read(path, "GraphML", nx.read_graphml, columns or {})


def read_gexf(
    path: Path, *, columns: Names | None = None, encoding: str | None = None, directed: bool = False
) -> MultiplexGraph:
    """The network in a GEXF file, which states direction and encoding itself."""
    no_encoding("GEXF", encoding)
    return _read(path, "GEXF", nx.read_gexf, columns or {})


def stem_of(path: Path) -> str:
    """What a layer is called that is all there is in a file."""
    name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    return Path(name).stem


def _read(path: Path, kind: str, read: Callable[[io.BytesIO], nx.Graph], columns: Names) -> MultiplexGraph:
    content = read_bytes(path)
    _check_elements(content, path)
    with _naming(path):
        try:
            graph = read(io.BytesIO(content))
        except MemoryError:
            raise
        except Exception as problem:  # whatever a file from strangers does to the library
            raise InputError(f"cannot be read as {kind} ({printable(problem, 200)})", path) from None
        _check_size(graph, len(content), path)
        return _with_layers(_renamed(graph, columns, path), path)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors and warnings that come from networkx, or of a graph in memory, name the file."""
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            yield
    except InputError as problem:
        raise InputError(problem.message, path, problem.line) from None
    except GraphError as problem:
        raise InputError(str(problem), path) from None
    for message in dict.fromkeys(str(each.message) for each in said):
        warn_of_data(message, path)


def _check_elements(content: bytes, path: Path) -> None:
    """InputError with the line for what networkx would read as something else: no ids or titles, a second graph."""
    declared: set[str] = set()
    ends: dict[str, int] = {}
    graphs = 0

    def element(name: str, attributes: Mapping[str, str], line: int) -> None:
        nonlocal graphs
        if name == "node":
            if not attributes.get("id"):
                raise InputError("a node without an id", path, line)
            if attributes["id"] in declared:
                raise InputError(f"a second node {quoted(attributes['id'])}, expected different ids", path, line)
            declared.add(attributes["id"])
        elif name == "edge":
            for end in ("source", "target"):
                if not attributes.get(end):
                    raise InputError(f"an edge without a {end}", path, line)
                ends.setdefault(attributes[end], line)
        elif name == "attribute" and not attributes.get("title"):
            raise InputError("an attribute without a title", path, line)
        elif name == "graph":
            graphs += 1
            if graphs > 1:
                raise InputError("a second graph, or one within a node; expected a single graph", path, line)

    check_xml(content, path, element)
    for node, line in ends.items():
        if node not in declared:
            raise InputError(f"an edge of {quoted(node)}, expected one of the nodes in the file", path, line)


def _check_size(graph: nx.Graph, size: int, path: Path) -> None:
    names = {name for _, data in graph.nodes(data=True) for name in data}
    defaults = graph.graph.get("node_default", {})
    check_filled(len(graph), len(names | set(defaults)), size, path)
    total = len(graph) * sum(len(text) for text in defaults.values() if isinstance(text, str))
    most = max(_LEAST_TEXT, _TEXT_FOR_A_BYTE * size)
    if total > most:
        raise InputError(f"defaults given to every node would take {total} bytes, expected at most {most}", path)


# ---- attributes ----------------------------------------------------------------------------------------


def _renamed(graph: nx.Graph, columns: Names, path: Path) -> nx.Graph:
    """A graph of the same kind, its attributes called and typed as `from_networkx` reads them."""
    of_nodes = {name for _, data in graph.nodes(data=True) for name in data} | {*graph.graph.get("node_default", {})}
    of_edges = {name for *_, data in graph.edges(data=True) for name in data} | {*graph.graph.get("edge_default", {})}
    check_roles(columns, ROLES)
    for role, wanted in columns.items():
        found = {_WEIGHT: of_edges, _LAYER: of_nodes | of_edges}.get(role, of_nodes)
        if not found & {*wanted}:
            raise InputError(
                f"no attribute {listed(wanted)} ({role}, of --columns); those of nodes are {listed(sorted(of_nodes))}, "
                f"those of edges {listed(sorted(of_edges)) or 'none'}",
                path,
            )
    called = {role: columns.get(role, usual) for role, usual in _USUAL.items()}
    result = graph.__class__(inter=graph.graph.get("inter"))
    ids = _ids(graph, called[_ID], path)
    for node, data in graph.nodes(data=True):
        whole = {**graph.graph.get("node_default", {}), **data}
        if whole.get("label") in (None, str(node)):  # networkx gives every node of GEXF one
            whole.pop("label", None)
        kept = _taken(whole, {role: called[role] for role in (_LAYER, _UNIT)})
        for name in called[_ID]:
            kept.pop(name, None)
        result.add_nodes_from([(ids[node], {name: _plain(name, value) for name, value in kept.items()})])
    for source, target, data in graph.edges(data=True):
        whole = {**graph.graph.get("edge_default", {}), **data}
        kept = _taken(whole, {role: called[role] for role in (_LAYER, _WEIGHT)})
        kept = {name: value for name, value in kept.items() if name not in _IDS_OF_EDGES and value is not None}
        result.add_edges_from([(ids[source], ids[target], kept)])
    return result


def _taken(data: Mapping[str, Any], called: Names) -> dict[str, Any]:
    """The attributes, with those of the roles called by their role."""
    kept = dict(data)
    for role, names in called.items():
        found = next((name for name in names if name in kept), None)
        if found is not None:
            kept[role] = kept.pop(found)
    return kept


def _ids(graph: nx.Graph, names: Sequence[str], path: Path) -> dict[Any, str]:
    """The id of every node: that of the file, or the attribute that was asked for; all different, none missing."""
    ids: dict[Any, str] = {}
    nodes: dict[str, Any] = {}
    for node, data in graph.nodes(data=True):
        name = next((name for name in names if data.get(name) not in (None, "")), None)
        if names and name is None:
            raise InputError(f"node {quoted(node)} has no {listed(names)}, expected an id there", path)
        ids[node] = str(node) if name is None else str(data[name])
        if name is not None and (known := nodes.setdefault(ids[node], node)) != node:
            raise InputError(
                f"nodes {quoted(known)} and {quoted(node)} have the same {listed(names)}, {quoted(ids[node])}; "
                "expected different ones, as ids",
                path,
            )
    return ids


def _plain(name: str, value: Any) -> Any:
    """Numbers and truth values as text, but for features."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Real) and not name.startswith(_FEATURES):
        return str(value)
    return value


# ---- layers --------------------------------------------------------------------------------------------


def _with_layers(graph: nx.Graph, path: Path) -> MultiplexGraph:
    if any(_LAYER in data for _, data in graph.nodes(data=True)):
        return from_networkx(graph)
    if any(_LAYER in data for *_, data in graph.edges(data=True)):
        return from_networkx(_by_layer_of_edges(graph))
    del graph.graph["inter"]
    return from_networkx({stem_of(path): graph})


def _by_layer_of_edges(graph: nx.Graph) -> dict[str, nx.Graph]:
    layers: dict[str, nx.Graph] = {}
    for source, target, data in graph.edges(data=True):
        if _LAYER not in data:
            raise InputError(
                f"the edge between {quoted(source)} and {quoted(target)} has no layer, though others have; "
                "expected one on every edge, or on none"
            )
        layer = layers.setdefault(str(data[_LAYER]), graph.__class__())
        layer.add_nodes_from((node, graph.nodes[node]) for node in (source, target))
        layer.add_edges_from([(source, target, {name: value for name, value in data.items() if name != _LAYER})])
    alone = [node for node, degree in graph.degree() if not degree]
    if alone:
        warnings.warn(
            f"{len(alone)} node(s) without edges, such as {quoted(alone[0])}, are left out: edges say which layer a "
            "node is in",
            stacklevel=2,
        )
    return layers


GRAPHML = Format(
    name="graphml",
    suffixes=(".graphml",),
    description="GraphML, one layer or several by an attribute 'layer' of nodes or edges (read only)",
    read=read_graphml,
    read_named=read_graphml,
)
GEXF = Format(
    name="gexf",
    suffixes=(".gexf",),
    description="GEXF of Gephi, one layer or several by an attribute 'layer' of nodes or edges (read only)",
    read=read_gexf,
    read_named=read_gexf,
)
