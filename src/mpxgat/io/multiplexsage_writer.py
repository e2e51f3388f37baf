"""Writing the node-link JSON of MultiplexSAGE, whole or with links marked as held out.

Ids and sheets are the numbers 0, 1, 2, … that the public readers of this format count on; names stand beside them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpxgat.features import Features
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import write_files

Entry = dict[str, Any]
_FEATURES = (("h", "horizontal_features"), ("v", "vertical_features"))


def write(graph: MultiplexGraph, path: Path) -> list[Path]:
    """Write a graph; no link is marked ``train_removed``."""
    none = np.empty((0, 2), dtype=np.int32)
    return write_with_held_out(graph, none, none, path)


def write_with_held_out(
    graph: MultiplexGraph, held_out_intra: ArrayLike, held_out_inter: ArrayLike, path: Path
) -> list[Path]:
    """Write a graph with some of its links, (k, 2) node positions each, marked ``train_removed``.

    The ends of those links are ``marked``. A pair that is no link of ``graph`` is a GraphError.
    """
    marked = np.zeros(graph.n_nodes, dtype=bool)
    removed = []
    for kind, known, pairs in (("intra", graph.intra, held_out_intra), ("inter", graph.inter, held_out_inter)):
        rows = np.zeros(len(known), dtype=bool)
        rows[graph.link_rows(kind, pairs)] = True
        marked[known[rows]] = True
        removed.append(rows)
    head = {"num_layers": graph.n_layers, "layers": graph.layers, "attributes": list(graph.attributes)} | {
        name: part.names for _, name in _FEATURES if (part := getattr(graph, name))
    }
    links = _link_entries(graph.intra, graph.intra_weight, removed[0], inter_layer=False)
    links += _link_entries(graph.inter, graph.inter_weight, removed[1], inter_layer=True)
    text = (
        '{"directed": false, "multigraph": false, "graph": '
        f'{_dump(head)}, "nodes": {_dump_list(_node_entries(graph, marked))}, "links": {_dump_list(links)}}}\n'
    )
    return write_files({path: text.encode()})


# ---- writing -------------------------------------------------------------------------------------------


def _node_entries(graph: MultiplexGraph, marked: NDArray[np.bool_]) -> list[Entry]:
    entries: list[Entry] = [
        {"id": number, "name": name, "sheet": sheet, "val": False, "test": False, "marked": mark}
        for number, (name, sheet, mark) in enumerate(
            zip(graph.ids.to_pylist(), graph.node_layer.tolist(), marked.tolist(), strict=True)
        )
    ]
    for key, name in _FEATURES:
        features: Features | None = getattr(graph, name)
        for entry, row in zip(entries, features.values.tolist() if features else (), strict=False):
            entry[key] = row
    names = list(graph.attributes)
    if names:
        columns = zip(*(column.to_pylist() for column in graph.attributes.values()), strict=True)
        for entry, values in zip(entries, columns, strict=True):
            entry["attributes"] = dict(zip(names, values, strict=True))
    return entries


def _link_entries(
    links: NDArray[np.int32],
    weight: NDArray[np.float64] | None,
    removed: NDArray[np.bool_],
    *,
    inter_layer: bool,
) -> list[Entry]:
    entries: list[Entry] = [
        {"source": source, "target": target, "train_removed": out, "inter_layer": inter_layer}
        for (source, target), out in zip(links.tolist(), removed.tolist(), strict=True)
    ]
    for entry, value in zip(entries, [] if weight is None else weight.tolist(), strict=False):
        entry["weight"] = value
    return entries


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _dump_list(entries: list[Entry]) -> str:
    """One entry a line, so that an editor or a line-wise tool can look at it."""
    return "[" + ",".join(f"\n{_dump(entry)}" for entry in entries) + "\n]"
