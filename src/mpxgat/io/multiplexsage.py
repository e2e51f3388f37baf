"""The node-link JSON of MultiplexSAGE: nodes have a ``sheet`` (layer), links ``inter_layer`` and ``train_removed``.

- An id names one node in the whole file, so ids do not tell who is who: inter links are the links between sheets.
  ``inter_layer``, where given, must agree with the sheets of both ends.
- ``source`` and ``target`` are ids. Files written by networkx 1 hold positions in the list of nodes instead. Where ids
  count 0, 1, 2, … along the list, as in the published files, both are the same; where all ids are texts, a number can
  only be a position and is read as one; in any other file nothing tells, and numbers are ids.
- In a file that says ``"directed": true`` links within a sheet go from source to target; those that stand both ways go
  both ways. Inter links have no direction.
- ``train_removed`` marks links that the file's author held out. `read` takes them in, `read_training` leaves them out.
- We write ids 0, 1, 2, …, which public readers of this format count on, and our own id as ``name``; sheets 0, 1, 2, …
  with the layers' names under ``graph.layers``; ``weight`` on links, features as lists ``h`` and ``v``, texts as an
  object ``attributes``. The reader takes all of these where present. Entries it does not know (``val``, ``test``,
  ``marked``, …) are passed over.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from mpxgat.build import EdgeTable, NodeTable, RowError, build
from mpxgat.errors import GraphError, InputError, quoted
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io.files import check_filled, read_text, write_files
from mpxgat.io.registry import Format
from mpxgat.pairs import arcs_of, pick_weight

__all__ = ["FORMAT", "read", "read_training", "write", "write_with_held_out"]

Entry = dict[str, Any]
_LARGEST = float(np.finfo(np.float32).max)


def read(path: Path) -> MultiplexGraph:
    """Read all links of a file. Problems are InputErrors that name the entry, as in ``links[3]``."""
    return _read(path, with_removed=True)


def read_training(path: Path) -> MultiplexGraph:
    """Read a file without the links that are marked ``train_removed``; all its nodes stay."""
    return _read(path, with_removed=False)


def _read(path: Path, *, with_removed: bool) -> MultiplexGraph:
    content, size = _load(path)
    head = content.get("graph")
    head = head if isinstance(head, dict) else {}  # networkx 1 wrote a list of pairs
    nodes, links = _entries(content, path)
    layers, layer = _sheets(nodes, head, path)
    names = [entry.get("name", entry["id"]) for entry in nodes]
    for number, (entry, name) in enumerate(zip(nodes, names, strict=True)):
        if "name" in entry and not isinstance(name, str):
            raise _problem(path, "nodes", number, f"name {quoted(name)}, expected text")
    ids = _texts([str(name) for name in names], "nodes", path)
    declared = NodeTable(
        ids=ids,
        layer=layer,
        horizontal_features=_features(nodes, "h", head.get("horizontal_features"), path, size),
        vertical_features=_features(nodes, "v", head.get("vertical_features"), path, size),
        attributes=_attributes(nodes, head, path, size),
    )
    kept, ends, weight = _links(nodes, links, layer, path, with_removed=with_removed)
    source, target = ends[:, 0], ends[:, 1]
    one_way = np.ones(len(ends), dtype=bool) if content.get("directed") is True else None
    table = EdgeTable(
        ids.take(pa.array(source)), layer[source], ids.take(pa.array(target)), layer[target], weight, one_way
    )
    try:
        return build(layers, table, declared)
    except RowError as problem:
        row = problem.row if problem.table == "nodes" else kept[problem.row]
        raise _problem(path, "nodes" if problem.table == "nodes" else "links", row, problem.message) from None
    except GraphError as problem:
        raise InputError(str(problem), path) from None


def _problem(path: Path, table: str, row: int, message: str) -> InputError:
    return InputError(f"{table}[{row}]: {message}", path)


def _load(path: Path) -> tuple[Entry, int]:
    """The object in a file, and the file's size in bytes."""
    text = read_text(path)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as problem:
        raise InputError(f"column {problem.colno}: not valid JSON: {problem.msg}", path, problem.lineno) from None
    except RecursionError:
        raise InputError("nested too deeply, expected an object with nodes and links", path) from None
    except ValueError:  # Python refuses to make so long a number
        raise InputError("a number of thousands of digits, expected an object with nodes and links", path) from None
    if not isinstance(content, dict):
        raise InputError(f"a JSON {type(content).__name__}, expected an object with nodes and links", path)
    return content, len(text)


def _entries(content: Entry, path: Path) -> tuple[list[Entry], list[Entry]]:
    """Lists of nodes and links (newer networkx calls them edges) with all that every entry needs."""
    link_key = "edges" if "links" not in content and "edges" in content else "links"
    tables = []
    for key, needed in (("nodes", ("id", "sheet")), (link_key, ("source", "target"))):
        entries = content.get(key)
        if not isinstance(entries, list):
            raise InputError(f"no list {quoted(key)}, expected a node-link object", path)
        for row, entry in enumerate(entries):
            if not isinstance(entry, dict):
                raise _problem(path, key, row, f"{quoted(entry)}, expected an object")
            for field in needed:
                if type(entry.get(field)) not in (int, str):
                    found = quoted(entry[field]) if field in entry else "nothing"
                    raise _problem(path, key, row, f"{field} is {found}, expected a whole number or text")
        tables.append(entries)
    return tables[0], tables[1]


def _sheets(nodes: list[Entry], head: Entry, path: Path) -> tuple[list[str], NDArray[np.int64]]:
    """Names of the layers and every node's layer. Without a list of names, sheets in order of appearance."""
    names = head.get("layers")
    if names is None:
        number = {sheet: row for row, sheet in enumerate(dict.fromkeys(str(entry["sheet"]) for entry in nodes))}
        layer = [number[str(entry["sheet"])] for entry in nodes]
        _texts([str(entry["sheet"]) for entry in nodes], "nodes", path)
        return list(number), np.array(layer, dtype=np.int64)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"graph.layers is {quoted(names)}, expected a list of names", path)
    _texts(names, "graph.layers", path)
    place = {
        name: row for row, name in reversed(list(enumerate(names)))
    }  # the first of equals, which are refused later
    layer = []
    for row, entry in enumerate(nodes):
        sheet = entry["sheet"]
        if isinstance(sheet, str):
            sheet = place.get(sheet, sheet)
        if not isinstance(sheet, int) or not 0 <= sheet < len(names):
            raise _problem(
                path, "nodes", row, f"unknown sheet {quoted(sheet)}, expected one of the {len(names)} of graph.layers"
            )
        layer.append(sheet)
    return names, np.array(layer, dtype=np.int64)


def _links(
    nodes: list[Entry], links: list[Entry], layer: NDArray[np.int64], path: Path, *, with_removed: bool
) -> tuple[list[int], NDArray[np.int64], NDArray[np.float64] | None]:
    """Rows taken from the list of links, their ends as positions in the list of nodes, and their weights."""
    position: dict[int | str, int] = {}
    for row, entry in enumerate(nodes):
        if position.setdefault(entry["id"], row) != row:
            raise _problem(path, "nodes", row, f"id {quoted(entry['id'])} occurs twice, expected once")
    if not any(isinstance(name, int) for name in position):
        position.update((row, row) for row in range(len(nodes)))  # a number among texts can only be a position
    sheet = layer.tolist()
    kept, ends, weights = [], [], []
    for row, link in enumerate(links):
        pair = []
        for field in ("source", "target"):
            if link[field] not in position:
                raise _problem(path, "links", row, f"{field} {quoted(link[field])} is no node's id")
            pair.append(position[link[field]])
        crosses = sheet[pair[0]] != sheet[pair[1]]
        if _flag(link, "inter_layer", crosses, row, path) != crosses:
            found = "two sheets" if crosses else "one sheet"
            raise _problem(path, "links", row, f"inter_layer is {str(not crosses).lower()} but the ends are in {found}")
        if _flag(link, "train_removed", False, row, path) and not with_removed:
            continue
        kept.append(row)
        ends.append(pair)
        weights.append(_number(link.get("weight", 1), "weight", "links", row, path))
    weight = np.array(weights, dtype=np.float64)
    return kept, np.array(ends, dtype=np.int64).reshape(-1, 2), None if (weight == 1).all() else weight


def _flag(link: Entry, field: str, default: bool, row: int, path: Path) -> bool:
    value = link.get(field, default)
    if not isinstance(value, bool):
        raise _problem(path, "links", row, f"{field} is {quoted(value)}, expected true or false")
    return value


def _number(value: Any, field: str, table: str, row: int, path: Path, largest: float = float("inf")) -> float:
    if type(value) in (int, float):
        try:
            number = float(value)
        except OverflowError:
            number = float("inf")
        if abs(number) <= largest and number not in (float("inf"), float("-inf")):
            return number
    raise _problem(path, table, row, f"{field} is {quoted(value)}, expected a finite number")


def _texts(values: list[str], what: str, path: Path) -> pa.LargeStringArray:
    """Texts as an array; half a surrogate pair, which JSON can spell, is an error."""
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError as problem:
        row = values.index(problem.object)
        raise _problem(
            path, what, row, f"{quoted(problem.object)} holds half a surrogate pair, expected text"
        ) from None


def _features(nodes: list[Entry], key: str, names: Any, path: Path, size: int) -> Features | None:
    """Lists ``h`` or ``v`` of the nodes; a node without one has zeros."""
    if names is None:
        first = next((entry[key] for entry in nodes if isinstance(entry.get(key), list)), None)
        if first is None:
            return None
        names = [str(column) for column in range(len(first))]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"the names of features {key!r} are {quoted(names)}, expected a list of texts", path)
    _texts(names, "graph features", path)
    check_filled(len(nodes), len(names), size, path)
    values = np.zeros((len(nodes), len(names)), dtype=np.float32)
    for row, entry in enumerate(nodes):
        found = entry.get(key, [0] * len(names))
        if not isinstance(found, list) or len(found) != len(names):
            raise _problem(path, "nodes", row, f"{key} is {quoted(found)}, expected a list of {len(names)} numbers")
        values[row] = [_number(value, key, "nodes", row, path, _LARGEST) for value in found]
    return Features(tuple(names), values)


def _attributes(nodes: list[Entry], head: Entry, path: Path, size: int) -> dict[str, pa.LargeStringArray]:
    """Objects ``attributes`` of the nodes, texts by name; a node without one of the names has an empty text."""
    names = head.get("attributes", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"graph.attributes is {quoted(names)}, expected a list of names", path)
    found = dict.fromkeys(names)
    for row, entry in enumerate(nodes):
        values = entry.get("attributes", {})
        if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
            raise _problem(path, "nodes", row, f"attributes is {quoted(values)}, expected an object of texts")
        found.update(dict.fromkeys(values))
    _texts(list(found), "attributes", path)
    check_filled(len(nodes), len(found), size, path)
    return {
        name: _texts([entry.get("attributes", {}).get(name, "") for entry in nodes], "nodes", path) for name in found
    }


# ---- writing -----------------------------------------------------------------------------------------

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
    links = _link_entries(*_rows(graph, "intra", removed[0]), inter_layer=False)
    links += _link_entries(*_rows(graph, "inter", removed[1]), inter_layer=True)
    directed = "false" if graph.intra_arcs is None else "true"
    text = (
        f'{{"directed": {directed}, "multigraph": false, "graph": '
        f'{_dump(head)}, "nodes": {_dump_list(_node_entries(graph, marked))}, "links": {_dump_list(links)}}}\n'
    )
    return write_files({path: text.encode()})


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


def _rows(
    graph: MultiplexGraph, kind: str, removed: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None, NDArray[np.bool_]]:
    """Links of a kind, their weights, and which are removed; of a directed graph one row for each way."""
    links, weight = getattr(graph, kind), getattr(graph, f"{kind}_weight")
    if graph.intra_arcs is None:
        return links, weight, removed
    ends, row = arcs_of(links, graph.intra_arcs if kind == "intra" else None)
    return ends, pick_weight(weight, row), removed[row]


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


FORMAT = Format(
    name="multiplexsage",
    suffixes=(".json",),
    description="MultiplexSAGE node-link JSON (sheet, inter_layer, train_removed)",
    read=read,
    write=write,
    leaves_out=frozenset({"apart"}),
)
