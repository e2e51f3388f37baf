"""The ``.mpxg`` format: a graph as it is in memory, in one Arrow file that is mapped instead of read.

For networks that are too large to be read and put in order every time: convert once, then loading is checking. All
parts of a `MultiplexGraph` are there in their final order, one column for each, in a single row of lists; any Arrow
library can read them. Whatever can be wrong with a graph is checked, in passes over arrays that follow one another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.errors import GraphError, InputError, printable
from mpxgat.features import Features
from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrow_files import map_batch, write_batch
from mpxgat.io.registry import Format
from mpxgat.validation import validate

KIND = "mpxg-1"
_TEXTS = pa.large_list(pa.large_string())
_PAIRS = pa.large_list(pa.list_(pa.int32(), 2))
_SCHEMA = pa.schema(
    {
        "layers": _TEXTS,
        "layer_start": pa.large_list(pa.int64()),
        "ids": _TEXTS,
        "intra": _PAIRS,
        "inter": _PAIRS,
        "intra_weight": pa.large_list(pa.float64()),
        "inter_weight": pa.large_list(pa.float64()),
        "horizontal_names": _TEXTS,
        "horizontal_features": pa.large_list(pa.float32()),  # node after node
        "vertical_names": _TEXTS,
        "vertical_features": pa.large_list(pa.float32()),
        "attribute_names": _TEXTS,
        "attributes": pa.large_list(_TEXTS),
    }
)
_ALWAYS_THERE = ("layers", "layer_start", "ids", "intra", "inter", "attribute_names", "attributes")


def read_mpxg(path: Path) -> MultiplexGraph:
    """The graph in a file, whose arrays are views of the file; InputError if anything about it is not as promised."""
    batch = map_batch(path, KIND, _SCHEMA)
    try:
        graph = _graph_of(batch)
        validate(graph)
    except GraphError as problem:
        raise InputError(str(problem), path) from None
    except ValueError as problem:  # lengths that do not fit
        raise InputError(f"the graph is damaged ({printable(problem)})", path) from None
    return graph


def write_mpxg(graph: MultiplexGraph, path: Path) -> list[Path]:
    """Write all of a graph, without copying its arrays."""
    columns = {
        "layers": _texts(graph.layers),
        "layer_start": _numbers(graph.layer_start),
        "ids": _from_start(graph.ids),
        "intra": pa.FixedSizeListArray.from_arrays(_numbers(graph.intra), 2),
        "inter": pa.FixedSizeListArray.from_arrays(_numbers(graph.inter), 2),
        "intra_weight": _numbers(graph.intra_weight),
        "inter_weight": _numbers(graph.inter_weight),
        "attribute_names": _texts(list(graph.attributes)),
        "attributes": _joined(list(graph.attributes.values())),
    }
    for part, features in (("horizontal", graph.horizontal_features), ("vertical", graph.vertical_features)):
        columns[f"{part}_names"] = None if features is None else _texts(features.names)
        columns[f"{part}_features"] = None if features is None else _numbers(features.values)
    row = [_in_one_row(columns[field.name], field.type) for field in _SCHEMA]
    return write_batch(path, KIND, pa.RecordBatch.from_arrays(row, schema=_SCHEMA))


# ---- from the columns ----------------------------------------------------------------------------------


def _graph_of(batch: pa.RecordBatch) -> MultiplexGraph:
    """GraphError or ValueError where parts do not fit together; what is in them is not looked at."""
    columns = zip(_SCHEMA.names, batch.columns, strict=True)
    part: dict[str, pa.Array] = {name: column.flatten() for name, column in columns if not column.null_count}
    for name in _ALWAYS_THERE:
        if name not in part:
            raise GraphError(f"the part {name} is missing")
    names, attributes = part["attribute_names"].to_pylist(), part["attributes"]
    if not len(set(names)) == len(names) == len(attributes):
        raise GraphError("the names of attributes are not different ones, as many as there are attributes")
    return MultiplexGraph(
        layers=tuple(part["layers"].to_pylist()),
        layer_start=_array(part["layer_start"]),
        ids=part["ids"],
        intra=_array(part["intra"].flatten()).reshape(-1, 2),
        inter=_array(part["inter"].flatten()).reshape(-1, 2),
        intra_weight=_array(part["intra_weight"]) if "intra_weight" in part else None,
        inter_weight=_array(part["inter_weight"]) if "inter_weight" in part else None,
        horizontal_features=_features(part, "horizontal"),
        vertical_features=_features(part, "vertical"),
        attributes={name: attributes[place].values for place, name in enumerate(names)},
    )


def _array(column: pa.Array) -> NDArray[Any]:
    """A view; a copy where a file is so odd that numbers lie astride of their places."""
    return np.require(column.to_numpy(), requirements="A")


def _features(part: Mapping[str, pa.Array], kind: str) -> Features | None:
    names, values = part.get(f"{kind}_names"), part.get(f"{kind}_features")
    if names is None or values is None:
        return None
    return Features(tuple(names.to_pylist()), _array(values).reshape(len(part["ids"]), len(names)))


# ---- to the columns ------------------------------------------------------------------------------------


def _in_one_row(column: pa.Array | None, kind: pa.DataType) -> pa.Array:
    """A column as a list in a single row; a missing one as null."""
    if column is None:
        return pa.nulls(1, kind)
    return pa.LargeListArray.from_arrays(pa.array([0, len(column)], pa.int64()), column)


def _joined(columns: Sequence[pa.LargeStringArray]) -> pa.Array:
    """Columns of texts as lists, one after the other."""
    if not columns:
        return pa.array([], _TEXTS)
    ends = np.cumsum([0, *(len(column) for column in columns)])
    return pa.LargeListArray.from_arrays(pa.array(ends), _from_start(pa.concat_arrays(columns)))


def _numbers(values: NDArray[Any] | None) -> pa.Array | None:
    return None if values is None else pa.array(np.ascontiguousarray(values).reshape(-1))


def _texts(strings: Sequence[str]) -> pa.LargeStringArray:
    return pa.array(list(strings), pa.large_string())


def _from_start(column: pa.LargeStringArray) -> pa.LargeStringArray:
    """The same texts, at the start of their buffers."""
    if not len(column) or not (column.offset or np.frombuffer(column.buffers()[1], dtype=np.int64, count=1)[0]):
        return column
    return column.take(pa.array(np.arange(len(column))))


FORMAT = Format(
    name="mpxg",
    suffixes=(".mpxg",),
    description="a graph ready for use in one Arrow file, mapped into memory: for large networks",
    read=read_mpxg,
    write=write_mpxg,
)
