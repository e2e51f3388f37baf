"""The ``.mpx`` files of uunet (Python) and multinet (R): sections of comma-separated rows.

A section starts with a line ``#NAME`` (any case) and may occur anywhere, more than once. Rows are fields separated by
commas; blanks around a field do not count, and there is no quoting. Empty lines and lines that start with ``--`` say
nothing. Rows before the first section are edges. `#TYPE` and `#VERSION` hold one value, on the next line or, in old
files, on their own.

What becomes of them here:

- Edges of directed layers go one way; those between layers do not. Loops leave their node; the largest weight of
  repeated edges stays.
- Type multiplex (the default): nodes that share an actor are linked. Type multilayer: inter links are exactly the
  rows that join two layers, if there are such rows, if #LAYERS declares a pair of different layers, or if a section
  #INTERLAYER EDGES occurs; otherwise nodes that share an actor are linked.
- A node is an actor in a layer: in an edge, in a loop, or under #VERTICES. An actor that is only under #ACTORS is
  none.
- Layers come in the order of #LAYERS; without that section, in the order in which vertices and then edges name them.
- The numeric edge attribute ``weight`` is the weight; other edge attributes are passed over.
- Numeric vertex attributes called ``h:NAME`` and ``v:NAME`` are horizontal and vertical features. All other
  attributes of vertices and actors are kept as text. (Actor attributes are never features: they would tell who is
  who.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.build import MAX_ID_BYTES, EdgeTable, NodeTable, RowError, build, link_by_id
from mpxgat.errors import InputError, listed, printable, quoted, warn_of_data
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io.columns import number_layers, parse_numbers
from mpxgat.io.files import check_filled, read_text, taken
from mpxgat.io.mpx_writer import write
from mpxgat.io.registry import Format

_INTRA = (("actor", "actor", "layer"), (2, 2))
_INTER = (("actor", "layer", "actor", "layer"), (1, 3))


def read(path: Path) -> MultiplexGraph:
    """Read a file; see the module for what becomes of its parts. Every problem is an InputError with its line."""
    text = read_text(path)
    sections = cut(text, path)
    schema = read_schema(sections, path)
    vertices = Places(sections.get("VERTICES"), ("actor", "layer"), (1,))
    edges = [
        Places(sections.get("EDGES"), *(_INTRA if schema.is_multiplex else _INTER)),
        Places(sections.get("INTRALAYER EDGES"), *_INTRA),
        Places(sections.get("INTERLAYER EDGES"), *_INTER),
    ]
    if not sections.present and not len(edges[0].rows):
        raise InputError("no edges and no sections, expected a multiplex in the .mpx format", path)
    places = [vertices, *edges]
    for place in places:
        check_width(place, path)
    most_nodes = len(vertices.rows) + 2 * sum(len(place.rows) for place in edges)
    attributes = {attribute for columns in schema.vertex.values() for attribute in columns}
    check_filled(most_nodes, len(attributes) + len(schema.actor), len(text), path)
    layers = schema.layers if schema.layers is not None else layers_in_order(places, path)
    numbers = [layer_numbers(place, layers, path) for place in places]

    nodes = _node_table(vertices, numbers[0][0], layers, schema, path)
    tables = [_edge_table(*parts, layers, schema, path) for parts in zip(edges, numbers[1:], strict=True)]
    table = _joined(tables)
    lines = {"nodes": vertices.rows.line, "edges": np.concatenate([place.rows.line for place in edges])}
    try:
        graph = build(layers, table, nodes)
    except RowError as problem:
        raise InputError(problem.message, path, int(lines[problem.table][problem.row])) from None
    explicit = schema.declares_pairs or "INTERLAYER EDGES" in sections.present or graph.n_inter > 0
    if not explicit:
        graph = link_by_id(graph)
    _say_what_is_passed_over(schema, path)
    return _with_actor_attributes(graph, sections, schema, path, len(text))


def _say_what_is_passed_over(schema: Schema, path: Path) -> None:
    if pairs := sorted("-".join(keys) for keys in schema.directed if keys[0] != keys[1]):
        warn_of_data(f"edges between layers {listed(pairs)} are directed: read as undirected", path)
    of_edges = [*schema.edge.values(), schema.every_intra_edge, schema.every_inter_edge]
    others = {name for columns in of_edges for name, is_number in columns if name != "weight" or not is_number}
    if others:
        warn_of_data(
            f"attributes of edges passed over: {listed(sorted(others))}; of them, a numeric weight is read", path
        )
    numbers = {name for columns in [*schema.vertex.values(), schema.actor] for name, is_number in columns if is_number}
    as_text = sorted(name for name in numbers if not name.startswith(("h:", "v:")))
    if as_text:
        warn_of_data(
            f"numeric attributes kept as text: {listed(as_text)}; called h:NAME or v:NAME, they are features", path
        )


def _node_table(place: Places, layer: NDArray[np.int64], layers: list[str], schema: Schema, path: Path) -> NodeTable:
    values = values_of(place, layer, lambda number: schema.vertex.get(layers[number], []), path)
    declared = list(dict.fromkeys(attribute for columns in schema.vertex.values() for attribute in columns))
    features = {attribute.name for attribute in declared if attribute.is_number and attribute.name[:2] in ("h:", "v:")}
    texts = dict.fromkeys(name for name, is_number in declared if not (is_number and name in features))
    return NodeTable(
        ids=place.rows.column(0),
        layer=layer,
        horizontal_features=_features(values, "h:", declared, path),
        vertical_features=_features(values, "v:", declared, path),
        attributes={name: pc.fill_null(place.rows.scattered(_text_field(values, name)), "") for name in texts},
    )


def _text_field(values: Values, name: str) -> NDArray[np.int64]:
    """The field of a text attribute; one called as a feature is no text where it is numeric."""
    field = values.wanted(name, numbers=False)
    if name[:2] in ("h:", "v:"):
        field = np.where(values.wanted(name, numbers=True) >= 0, -1, field)
    return field


def _features(values: Values, prefix: str, declared: Attributes, path: Path) -> Features | None:
    """Numeric attributes whose names start with ``prefix``; zero in layers that do not declare them."""
    names = [name for name, is_number in declared if is_number and name.startswith(prefix)]
    if not names:
        return None
    columns = [values.numbers(name, 0.0, path) for name in names]
    zeros = np.zeros(len(values.rows))
    with np.errstate(over="ignore"):  # a value beyond float32 becomes infinite, which Features refuses
        matrix = np.stack([zeros if column is None else column for column in columns], axis=1).astype(np.float32)
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise InputError(f"{printable(names[column])} is too large for a feature", path, int(values.rows.line[row]))
    return Features(tuple(name.removeprefix(prefix) for name in names), matrix)


def _edge_table(
    place: Places, layer: list[NDArray[np.int64]], layers: list[str], schema: Schema, path: Path
) -> EdgeTable:
    def columns_of(number: int) -> Attributes:
        one, other = divmod(number, len(layers))
        return schema.edge_columns(layers[one], layers[other])

    values = values_of(place, layer[0] * max(len(layers), 1) + layer[1], columns_of, path)
    source, target = (field for field, name in enumerate(place.named) if name == "actor")
    directed = np.array([(name, name) in schema.directed for name in layers], dtype=bool)
    return EdgeTable(
        source=place.rows.column(source),
        source_layer=layer[0],
        target=place.rows.column(target),
        target_layer=layer[1],
        weight=values.numbers("weight", 1.0, path),
        one_way=directed[layer[0]] & (layer[0] == layer[1]) if directed.any() else None,
    )


def _joined(tables: Sequence[EdgeTable]) -> EdgeTable:
    weight = None
    if any(table.weight is not None for table in tables):
        weight = np.concatenate([np.ones(len(t.source)) if t.weight is None else t.weight for t in tables])
    ways = [table.one_way for table in tables if table.one_way is not None]
    return EdgeTable(
        source=pa.chunked_array([table.source for table in tables], pa.large_string()),
        source_layer=np.concatenate([table.source_layer for table in tables]),
        target=pa.chunked_array([table.target for table in tables], pa.large_string()),
        target_layer=np.concatenate([table.target_layer for table in tables]),
        weight=weight,
        one_way=np.concatenate(ways) if ways else None,  # of all tables or of none
    )


def _with_actor_attributes(
    graph: MultiplexGraph, sections: Sections, schema: Schema, path: Path, size: int
) -> MultiplexGraph:
    """Attributes of actors given to each of their nodes, where the vertex has no value of that name itself."""
    place = Places(sections.get("ACTORS"), ("actor",), ())
    values = values_of(place, np.zeros(len(place.rows), dtype=np.int64), lambda _: schema.actor, path)
    actors = place.rows.column(0)
    first = pc.index_in(actors, value_set=actors).to_numpy(zero_copy_only=False)
    row = first_true(first != np.arange(len(actors)))
    if row is not None:
        raise InputError(
            f"actor {quoted(actors[row].as_py())} is listed twice, expected once", path, int(place.rows.line[row])
        )
    attributes = dict(graph.attributes)
    row_of_node = pc.index_in(graph.ids, value_set=actors)
    for name, _ in schema.actor:
        of_actors = place.rows.scattered(values.wanted(name, numbers=False))
        column = pc.fill_null(taken(of_actors, row_of_node, name, size, path), "")
        own = attributes.get(name)
        attributes[name] = column if own is None else pc.if_else(pc.equal(own, ""), column, own)
    return replace(graph, attributes=attributes)


# ---- rows placed in their layers, and the values that follow in them as declared ---------------------


@dataclass(frozen=True)
class Places:
    """Rows of a section whose fields ``layer_fields`` name layers; the first fields are called ``named``."""

    rows: Rows
    named: tuple[str, ...]
    layer_fields: tuple[int, ...]


def check_width(place: Places, path: Path) -> None:
    """Every row has at least the fields that say what it is about."""
    row = first_true(place.rows.count < len(place.named))
    if row is not None:
        raise InputError(_wrong_width(place.rows, row, place.named), path, int(place.rows.line[row]))


def _wrong_width(rows: Rows, row: int, expected: Sequence[str]) -> str:
    found = quoted(",".join(rows.row(row)))
    return f"{found} has {rows.count[row]} values, expected {len(expected)}: {printable(','.join(expected), 200)}"


def layers_in_order(places: Sequence[Places], path: Path) -> list[str]:
    """Layers as the rows name them, each when first seen."""
    names: dict[str, None] = {}
    for place in places:
        # Field by field within a row: two columns side by side, read along the rows.
        columns = [place.rows.column(field) for field in dict.fromkeys(place.layer_fields)]
        along = np.arange(len(place.rows) * len(columns)).reshape(len(columns), -1).T.ravel()
        found = pc.unique(pa.chunked_array(columns, pa.large_string()).take(pa.array(along))).to_pylist()
        for name in found:
            problem = layer_name_problem(name)
            if problem:
                hits = [pc.index(column, name).as_py() for column in columns]
                row = min(hit for hit in hits if hit >= 0)
                raise InputError(problem, path, int(place.rows.line[row]))
        names.update(dict.fromkeys(found))
    return list(names)


def layer_numbers(place: Places, layers: list[str], path: Path) -> list[NDArray[np.int64]]:
    """For every layer field its layers' numbers, one for each row."""

    def error(message: str, row: int) -> InputError:
        return InputError(message, path, int(place.rows.line[row]))

    return [number_layers(pa.chunked_array([place.rows.column(f)]), layers, error) for f in place.layer_fields]


@dataclass(frozen=True)
class Values:
    """The declared values behind the key fields of rows: row r has the columns ``columns[kind[r]]``."""

    rows: Rows
    kind: NDArray[np.int64]
    columns: list[Attributes]
    first: int

    def wanted(self, name: str, *, numbers: bool) -> NDArray[np.int64]:
        """(rows,) the field that holds attribute ``name``, or -1; ``numbers``: only if it is declared numeric."""
        position = np.full(max(len(self.columns), 1), -1, dtype=np.int64)
        for kind, place in self._places[numbers].get(name, ()):
            position[kind] = self.first + place
        return position[self.kind]

    @cached_property
    def _places(self) -> dict[bool, dict[str, list[tuple[int, int]]]]:
        """Of numeric attributes, and of all: by name the kinds that have it, each with its place (the last wins)."""
        places: dict[bool, dict[str, list[tuple[int, int]]]] = {True: {}, False: {}}
        for kind, columns in enumerate(self.columns):
            for place, attribute in enumerate(columns):
                for found in (places[False], *([places[True]] if attribute.is_number else [])):
                    found.setdefault(attribute.name, []).append((kind, place))
        return places

    def numbers(self, name: str, default: float, path: Path) -> NDArray[np.float64] | None:
        """(rows,) values of a numeric attribute; None where no row has it."""
        field = self.wanted(name, numbers=True)
        if (field < 0).all():
            return None
        having = np.flatnonzero(field >= 0)
        texts = self.rows.fields.take(pa.array(self.rows.start[having] + field[having]))
        values = np.full(len(field), default)
        try:
            values[having] = parse_numbers(pa.chunked_array([texts]), printable(name), "values")
        except RowError as problem:
            raise InputError(problem.message, path, int(self.rows.line[having[problem.row]])) from None
        return values


def values_of(place: Places, kind: NDArray[np.int64], columns_of: Callable[[int], Attributes], path: Path) -> Values:
    """Rows with their columns, told by ``kind`` (a number); every row must have exactly the declared values."""
    kinds, kind_of_row = np.unique(kind, return_inverse=True)
    columns = [columns_of(number) for number in kinds.tolist()]
    width = np.array([len(place.named) + len(declared) for declared in columns] or [0])
    row = first_true(place.rows.count != width[kind_of_row])
    if row is not None:
        expected = [*place.named, *(attribute.name for attribute in columns[kind_of_row[row]])]
        raise InputError(_wrong_width(place.rows, row, expected), path, int(place.rows.line[row]))
    return Values(place.rows, kind_of_row, columns, len(place.named))


def first_true(mask: NDArray[np.bool_]) -> int | None:
    return int(mask.argmax()) if mask.any() else None


# ---- what the head declares: its type, its layers and the attributes of their rows -------------------

_NUMBER_TYPES = frozenset({"NUMERIC", "DOUBLE", "INTEGER", "INT"})
_TEXT_TYPES = frozenset({"STRING", "TEXT", "TIME", "STRINGSET", "TIMESET", "INTEGERSET", "DOUBLESET"})
_VERSIONS = frozenset({"1", "1.0", "2", "2.0", "3", "3.0"})
_DIRECTIONS = frozenset({"DIRECTED", "UNDIRECTED"})


class Attribute(NamedTuple):
    """A declared column of values."""

    name: str
    is_number: bool


Attributes = list[Attribute]


@dataclass
class Schema:
    """Declarations of a file. ``layers`` is None where the file does not declare its layers.

    ``directed`` has a pair of layers for each that is declared to be, twice the same for edges within it.

    Values of an edge follow in the order: those of its layer (or pair of layers), then those of all edges.
    """

    is_multiplex: bool
    layers: list[str] | None
    declares_pairs: bool
    directed: set[tuple[str, str]]
    actor: Attributes = field(default_factory=list)
    vertex: dict[str, Attributes] = field(default_factory=dict)
    edge: dict[tuple[str, str], Attributes] = field(default_factory=dict)
    every_intra_edge: Attributes = field(default_factory=list)
    every_inter_edge: Attributes = field(default_factory=list)

    def edge_columns(self, one: str, other: str) -> Attributes:
        """Attributes of the values of an edge between two layers, or within one."""
        general = self.every_intra_edge if one == other else self.every_inter_edge
        return [*self.edge.get(_pair(one, other), []), *general]


def read_schema(sections: Sections, path: Path) -> Schema:
    """The declarations of a file; the first wrong line is an InputError."""
    is_multiplex = _is_multiplex(sections, path)
    schema = Schema(is_multiplex, *_layers(sections.get("LAYERS"), is_multiplex, path))
    layers = schema.layers
    known = None if layers is None else set(layers)
    seen: set[tuple[int, str]] = set()
    for _, attribute, line in _declarations(sections, "ACTOR ATTRIBUTES", (0,), path):
        _add(schema.actor, attribute, seen, path, line)
    for keys, attribute, line in _declarations(sections, "VERTEX ATTRIBUTES", (1,), path):
        _check_known(keys, known, path, line)
        _add(schema.vertex.setdefault(keys[0], []), attribute, seen, path, line)
    for section, allowed, general in (
        ("EDGE ATTRIBUTES", (0, 1, 2), (schema.every_intra_edge, schema.every_inter_edge)),
        ("INTRALAYER EDGE ATTRIBUTES", (0, 1), (schema.every_intra_edge,)),
        ("INTERLAYER EDGE ATTRIBUTES", (0, 2), (schema.every_inter_edge,)),
    ):
        for keys, attribute, line in _declarations(sections, section, allowed, path):
            _check_known(keys, known, path, line)
            columns = (schema.edge.setdefault(_pair(keys[0], keys[-1]), []),) if keys else general
            for column in columns:
                _add(column, attribute, seen, path, line)
    return schema


def layer_name_problem(name: str) -> str | None:
    """What is wrong with a layer's name, or None."""
    if not name:
        return "an empty layer name, expected at least one character"
    if len(name.encode()) > MAX_ID_BYTES:
        return f"layer {quoted(name)} has a name of more than {MAX_ID_BYTES} bytes"
    return None


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


def _is_multiplex(sections: Sections, path: Path) -> bool:
    version, kind = sections.value("VERSION"), sections.value("TYPE")
    if version and version[0] not in _VERSIONS:
        raise InputError(f"version {quoted(version[0])}, expected 3.0", path, version[1])
    if kind and kind[0].lower() not in ("multiplex", "multilayer"):
        raise InputError(f"type {quoted(kind[0])}, expected multiplex or multilayer", path, kind[1])
    is_multiplex = kind is None or kind[0].lower() == "multiplex"
    for name in ("INTERLAYER EDGES", "INTERLAYER EDGE ATTRIBUTES"):
        if is_multiplex and len(sections.get(name)):
            line = int(sections.get(name).line[0])
            raise InputError(f"#{name} in a file of type multiplex, expected #TYPE multilayer", path, line)
    return is_multiplex


def _layers(rows: Rows, is_multiplex: bool, path: Path) -> tuple[list[str] | None, bool, set[tuple[str, str]]]:
    """Declared layers in order, or None; whether a pair of different layers is among them; which pairs are directed."""
    names: dict[str, bool] = {}  # is the layer itself declared, or only a pair with it?
    pairs, directed = False, set()
    width = 1 if is_multiplex else 2
    expected = "layer," * width + "DIRECTED or " + "layer," * width + "UNDIRECTED"
    for number in range(len(rows)):
        fields, line = rows.row(number), int(rows.line[number])
        keys, flags = fields[:width], fields[width:]
        if not _DIRECTIONS & {flag.upper() for flag in flags}:
            raise InputError(f"{quoted(','.join(fields))}, expected {expected}", path, line)
        for name in keys:
            problem = layer_name_problem(name)
            if problem:
                raise InputError(problem, path, line)
        if "DIRECTED" in {flag.upper() for flag in flags}:
            directed.add((keys[0], keys[-1]))
        if keys[0] != keys[-1]:
            pairs = True
            for name in keys:
                names.setdefault(name, False)
        elif names.get(keys[0]):
            raise InputError(f"layer {quoted(keys[0])} is declared twice, expected once", path, line)
        else:
            names[keys[0]] = True
    return list(names) or None, pairs, directed


def _declarations(
    sections: Sections, section: str, allowed: tuple[int, ...], path: Path
) -> list[tuple[list[str], Attribute, int]]:
    """Rows ``[layer,[layer,]]name,TYPE`` as (layers, attribute, line); ``allowed`` numbers of layers."""
    rows = sections.get(section)
    found = []
    for number in range(len(rows)):
        fields, line = rows.row(number), int(rows.line[number])
        if len(fields) - 2 not in allowed:
            forms = " or ".join("layer," * count + "name,TYPE" for count in allowed)
            raise InputError(f"{quoted(','.join(fields))}, expected {forms}", path, line)
        *keys, name, kind = fields
        if kind.upper() not in _NUMBER_TYPES | _TEXT_TYPES:
            raise InputError(f"attribute type {quoted(kind)}, expected STRING or NUMERIC", path, line)
        if not name:
            raise InputError("an attribute with an empty name, expected at least one character", path, line)
        found.append((keys, Attribute(name, kind.upper() in _NUMBER_TYPES), line))
    return found


def _check_known(keys: list[str], layers: set[str] | None, path: Path, line: int) -> None:
    for name in keys:
        if layers is not None and name not in layers:
            raise InputError(f"unknown layer {quoted(name)}, expected one of those under #LAYERS", path, line)


def _add(columns: Attributes, attribute: Attribute, seen: set[tuple[int, str]], path: Path, line: int) -> None:
    """Add an attribute; ``seen`` holds the names that lists of columns, known by their identity, have already."""
    key = (id(columns), attribute.name)
    if key in seen:
        raise InputError(f"attribute {quoted(attribute.name)} is declared twice, expected once", path, line)
    seen.add(key)
    columns.append(attribute)


# ---- the text cut into sections, and sections into fields, with the line of every row ----------------

_BLANKS = " \t"
_ALIASES = {
    "NODE ATTRIBUTES": "VERTEX ATTRIBUTES",
    "NODES": "VERTICES",
    "VERTEXES": "VERTICES",
}
_SECTIONS = (
    "VERSION",
    "TYPE",
    "LAYERS",
    "ACTOR ATTRIBUTES",
    "VERTEX ATTRIBUTES",
    "EDGE ATTRIBUTES",
    "INTRALAYER EDGE ATTRIBUTES",
    "INTERLAYER EDGE ATTRIBUTES",
    "ACTORS",
    "VERTICES",
    "EDGES",
    "INTRALAYER EDGES",
    "INTERLAYER EDGES",
)


@dataclass(frozen=True)
class Rows:
    """Field k of row r is ``fields[start[r] + k]`` for k < ``count[r]``; the row stands in line ``line[r]``."""

    fields: pa.LargeStringArray
    start: NDArray[np.int64]
    count: NDArray[np.int64]
    line: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start)

    def column(self, position: int) -> pa.LargeStringArray:
        """Field ``position`` of every row; every row must have it."""
        return self.fields.take(pa.array(self.start + position))

    def scattered(self, position: NDArray[np.int64]) -> pa.LargeStringArray:
        """Field ``position[r]`` of row r; null where that is negative."""
        return self.fields.take(pa.array(self.start + position, mask=position < 0))

    def row(self, number: int) -> list[str]:
        """All fields of one row."""
        fields: list[str] = self.fields.slice(self.start[number], self.count[number]).to_pylist()
        return fields


@dataclass(frozen=True)
class Sections:
    """A file's sections: rows by section name, and which names occur (an empty section occurs too)."""

    rows: dict[str, Rows]
    present: frozenset[str]

    def get(self, name: str) -> Rows:
        """The rows of a section; none if it does not occur."""
        return self.rows[name]

    def value(self, name: str) -> tuple[str, int] | None:
        """The single value of `TYPE` or `VERSION` and its line; the last one if there are several."""
        rows = self.rows[name]
        return (rows.fields[int(rows.start[-1])].as_py(), int(rows.line[-1])) if len(rows) else None


def cut(text: bytes, path: Path) -> Sections:
    """The sections of a file; an unknown section's name is an error with its line."""
    # One array that holds the whole text, seen as a string without copying it.
    offsets = pa.py_buffer(np.array([0, len(text)], dtype=np.int64))
    whole = pa.LargeStringArray.from_buffers(1, offsets, pa.py_buffer(text))
    lines = pc.ascii_trim(pc.split_pattern(whole, "\n").flatten(), characters=_BLANKS)
    starts_section = pc.starts_with(lines, "#").to_numpy(zero_copy_only=False)
    silent = pc.or_(pc.equal(pc.binary_length(lines), 0), pc.starts_with(lines, "--")).to_numpy(zero_copy_only=False)
    is_row = ~(starts_section | silent)

    heads = np.flatnonzero(starts_section)
    kinds = np.full(len(heads) + 1, _SECTIONS.index("EDGES"))
    for number, line in enumerate(heads.tolist(), start=1):
        name, inline = _head(lines[line].as_py(), path, line + 1)
        kinds[number] = _SECTIONS.index(name)
        is_row[line] = inline
    kind_of_line = np.where(is_row, kinds[np.cumsum(starts_section)], -1)
    rows = {name: _split(lines, np.flatnonzero(kind_of_line == kind)) for kind, name in enumerate(_SECTIONS)}
    for name in ("TYPE", "VERSION"):
        rows[name] = _without_heads(rows[name], name)
    return Sections(rows, frozenset(_SECTIONS[kind] for kind in kinds[1:]))


def _head(text: str, path: Path, line: int) -> tuple[str, bool]:
    """Name of the section that starts here, and whether the line also holds its value."""
    words = text[1:].partition("--")[0].upper().split()
    if words and words[0] in ("TYPE", "VERSION"):
        return words[0], len(words) > 1
    name = " ".join(words)
    name = _ALIASES.get(name, name)
    if name not in _SECTIONS:
        raise InputError(
            f"unknown section {quoted(text)}, expected one such as #LAYERS, #ACTORS, #VERTICES or #EDGES", path, line
        )
    return name, False


def _split(lines: pa.LargeStringArray, which: NDArray[np.int64]) -> Rows:
    split = pc.split_pattern(lines.take(pa.array(which)), ",")
    count = pc.list_value_length(split).to_numpy(zero_copy_only=False).astype(np.int64)
    return Rows(
        fields=pc.ascii_trim(split.flatten(), characters=_BLANKS),
        start=np.cumsum(count) - count,
        count=count,
        line=which + 1,
    )


def _without_heads(rows: Rows, name: str) -> Rows:
    """Values that stand on the line of their section's name, freed from that name and a comment behind them."""
    pattern = rf"(?i)^#[ \t]*{name}[ \t]*|[ \t]*--.*$"
    return Rows(pc.replace_substring_regex(rows.fields, pattern, ""), rows.start, rows.count, rows.line)


FORMAT = Format(
    name="mpx",
    suffixes=(".mpx",),
    description="uunet/multinet sections (#LAYERS, #VERTICES, #EDGES, …)",
    read=read,
    write=write,
    leaves_out=frozenset({"apart"}),
)
