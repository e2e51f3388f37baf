"""The ``.mpx`` files of uunet (Python) and multinet (R): sections of comma-separated rows.

What becomes of them here:

- Directed layers become undirected; loops leave their node; the largest weight of repeated edges stays.
- Type multiplex (the default): nodes that share an actor are linked. Type multilayer: inter links are exactly the rows
  that join two layers, if there are such rows, if #LAYERS declares a pair of different layers, or if a section
  #INTERLAYER EDGES occurs; otherwise nodes that share an actor are linked.
- A node is an actor in a layer: in an edge, in a loop, or under #VERTICES. An actor that is only under #ACTORS is none.
- Layers come in the order of #LAYERS; without that section, in the order in which vertices and then edges name them.
- The numeric edge attribute ``weight`` is the weight; other edge attributes are passed over.
- Numeric vertex attributes called ``h:NAME`` and ``v:NAME`` are horizontal and vertical features. All other attributes
  of vertices and actors are kept as text. (Actor attributes are never features: they would tell who is who.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.builder import EdgeTable, NodeTable, RowError, build
from mpxgat.errors import InputError, printable, quoted
from mpxgat.features import Features
from mpxgat.graph import MultiplexGraph
from mpxgat.identity import link_by_id
from mpxgat.io.files import read_text
from mpxgat.io.limits import check_filled, taken
from mpxgat.io.mpx_schema import Columns, Schema, read_schema
from mpxgat.io.mpx_sections import Sections, cut
from mpxgat.io.mpx_values import Places, Values, check_width, first_true, layer_numbers, layers_in_order, values_of
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
    return _with_actor_attributes(graph, sections, schema, path, len(text))


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


def _features(values: Values, prefix: str, declared: Columns, path: Path) -> Features | None:
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
    def columns_of(number: int) -> Columns:
        one, other = divmod(number, len(layers))
        return schema.edge_columns(layers[one], layers[other])

    values = values_of(place, layer[0] * max(len(layers), 1) + layer[1], columns_of, path)
    source, target = (field for field, name in enumerate(place.named) if name == "actor")
    return EdgeTable(
        source=place.rows.column(source),
        source_layer=layer[0],
        target=place.rows.column(target),
        target_layer=layer[1],
        weight=values.numbers("weight", 1.0, path),
    )


def _joined(tables: Sequence[EdgeTable]) -> EdgeTable:
    weight = None
    if any(table.weight is not None for table in tables):
        weight = np.concatenate([np.ones(len(t.source)) if t.weight is None else t.weight for t in tables])
    return EdgeTable(
        source=pa.chunked_array([table.source for table in tables], pa.large_string()),
        source_layer=np.concatenate([table.source_layer for table in tables]),
        target=pa.chunked_array([table.target for table in tables], pa.large_string()),
        target_layer=np.concatenate([table.target_layer for table in tables]),
        weight=weight,
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


FORMAT = Format(
    name="mpx",
    suffixes=(".mpx",),
    description="uunet/multinet sections (#LAYERS, #VERTICES, #EDGES, …)",
    read=read,
    write=write,
)
