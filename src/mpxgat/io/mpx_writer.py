"""Writing ``.mpx`` files that uunet reads, and that we read back as the same graph.

Type multiplex where the inter links are what the ids imply, else multilayer with a row for every link. Nodes without
links, and all nodes of a graph with features or attributes, stand under #VERTICES.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.build import links_of_shared_ids
from mpxgat.errors import OutputError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import write_files
from mpxgat.pairs import arcs_of, pick_weight

_UNWRITABLE = r"[,\n\r\x00]|^[ \t]|[ \t]$"
_UNWRITABLE_START = r"^(#|--)"


def write(graph: MultiplexGraph, path: Path) -> list[Path]:
    """Write a graph; OutputError where an id, name or text has characters that the format cannot hold."""
    _check_texts(graph)
    is_multiplex = graph.inter_weight is None and np.array_equal(links_of_shared_ids(graph), graph.inter)
    sections = [
        ("VERSION", ["3.0"]),
        ("TYPE", ["multiplex" if is_multiplex else "multilayer"]),
        ("LAYERS", _layer_rows(graph, is_multiplex)),
        ("VERTEX ATTRIBUTES", _attribute_rows(graph)),
        ("EDGE ATTRIBUTES", ["weight,NUMERIC"] if _weighted(graph) else []),
        ("VERTICES", _vertex_rows(graph, is_multiplex)),
        ("EDGES", _edge_rows(graph, is_multiplex)),
    ]
    # uunet stumbles over an empty section other than the last, and over empty lines within one.
    parts = [f"#{name}\n" + "".join(f"{row}\n" for row in rows) for name, rows in sections if rows or name == "EDGES"]
    return write_files({path: "\n".join(parts).encode()})


def _weighted(graph: MultiplexGraph) -> bool:
    return graph.intra_weight is not None or graph.inter_weight is not None


def _layer_rows(graph: MultiplexGraph, is_multiplex: bool) -> list[str]:
    flags = ["DIRECTED" if directed else "UNDIRECTED" for directed in graph.directed_layers]
    if is_multiplex:
        return [f"{layer},{flag}" for layer, flag in zip(graph.layers, flags, strict=True)]
    # Declaring a pair of different layers says that the inter links are the rows, even if there are none.
    pairs = np.unique(graph.node_layer[graph.inter], axis=0).tolist() or [(0, 1)]
    return [f"{layer},{layer},{flag}" for layer, flag in zip(graph.layers, flags, strict=True)] + [
        f"{graph.layers[one]},{graph.layers[other]},UNDIRECTED" for one, other in pairs
    ]


def _attribute_rows(graph: MultiplexGraph) -> list[str]:
    features = [f"{name},NUMERIC" for name in _feature_names(graph)]
    texts = [f"{name},STRING" for name in graph.attributes]
    return [f"{layer},{declared}" for layer in graph.layers for declared in features + texts]


def _feature_names(graph: MultiplexGraph) -> list[str]:
    horizontal, vertical = graph.horizontal_features, graph.vertical_features
    return [f"h:{name}" for name in (horizontal.names if horizontal else ())] + [
        f"v:{name}" for name in (vertical.names if vertical else ())
    ]


def _vertex_rows(graph: MultiplexGraph, is_multiplex: bool) -> list[str]:
    columns: list[pa.Array] = []
    for part in (graph.horizontal_features, graph.vertical_features):
        columns += [_as_text(part.values[:, place]) for place in range(len(part.names))] if part else []
    columns += graph.attributes.values()
    listed = np.arange(graph.n_nodes)
    if not columns:
        linked = graph.intra if is_multiplex else np.concatenate([graph.intra, graph.inter])
        listed = np.setdiff1d(listed, linked)
    return _joined_fields([column.take(pa.array(listed)) for column in (graph.ids, graph.layer_names, *columns)])


def _edge_rows(graph: MultiplexGraph, is_multiplex: bool) -> list[str]:
    intra, row = _arcs_and_links(graph)
    links = intra if is_multiplex else np.concatenate([intra, graph.inter])
    ends = [pa.array(links[:, end]) for end in (0, 1)]
    source, target = map(graph.ids.take, ends)
    source_layer, target_layer = map(graph.layer_names.take, ends)
    columns = [source, target, source_layer] if is_multiplex else [source, source_layer, target, target_layer]
    if _weighted(graph):
        weights = [
            np.ones(len(part)) if weight is None else weight
            for part, weight in ((intra, pick_weight(graph.intra_weight, row)), (graph.inter, graph.inter_weight))
        ]
        columns.append(_as_text(np.concatenate(weights)[: len(links)]))
    return _joined_fields(columns)


def _arcs_and_links(graph: MultiplexGraph) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The rows within layers and which link each is of: in a directed layer one for each arc, else for each link."""
    ends, row = arcs_of(graph.intra, graph.intra_arcs)
    kept = graph.directed_layers[graph.node_layer[ends[:, 0]]] | (ends[:, 0] < ends[:, 1])
    return ends[kept], row[kept]


def _as_text(values: np.ndarray[tuple[int, ...], np.dtype[np.floating]]) -> pa.Array:
    """The shortest texts that read as the same numbers."""
    return pa.array(np.ascontiguousarray(values)).cast(pa.large_string())


def _joined_fields(columns: list[pa.Array]) -> list[str]:
    rows: list[str] = pc.binary_join_element_wise(*columns, pa.scalar(",", pa.large_string())).to_pylist()
    return rows


def _check_texts(graph: MultiplexGraph) -> None:
    _refuse(graph.ids, "node id", f"{_UNWRITABLE}|{_UNWRITABLE_START}")
    _refuse(graph.layers, "layer name", f"{_UNWRITABLE}|{_UNWRITABLE_START}")
    features = _feature_names(graph)
    _refuse(features, "feature", _UNWRITABLE)
    _refuse(graph.attributes.keys(), "attribute", _UNWRITABLE)
    for name, column in graph.attributes.items():
        if not name or name in features:
            raise OutputError(f"an .mpx file cannot hold an attribute called {quoted(name)}; use the parquet format")
        _refuse(column, f"value of {quoted(name)}", _UNWRITABLE)


def _refuse(texts: pa.Array | Iterable[str], what: str, pattern: str) -> None:
    column = texts if isinstance(texts, pa.Array) else pa.array(list(texts), pa.large_string())
    found = pc.match_substring_regex(column, pattern)
    if pc.any(found).as_py():
        text = column[pc.index(found, True).as_py()].as_py()
        raise OutputError(
            f"an .mpx file cannot hold the {what} {quoted(text)}: commas, line breaks, blanks at an end "
            "and '#' or '--' at the start of a name mean something else there; use the parquet format"
        )
