"""A graph as a dictionary of plain numpy arrays, for files that hold more than a graph (no pickle)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.errors import GraphError
from mpxgat.features import Features
from mpxgat.graph import MultiplexGraph
from mpxgat.validation import validate

Arrays = dict[str, NDArray[Any]]


def graph_to_arrays(graph: MultiplexGraph) -> Arrays:
    """All parts of a graph; texts become their UTF-8 bytes and offsets."""
    arrays: Arrays = {
        "layer_start": graph.layer_start,
        "intra": graph.intra,
        "inter": graph.inter,
        **strings_to_arrays("layers", graph.layers),
        **_column_to_arrays("ids", graph.ids),
        **strings_to_arrays("attributes", list(graph.attributes)),
    }
    for number, column in enumerate(graph.attributes.values()):
        arrays |= _column_to_arrays(f"attribute.{number}", column)
    for name in ("intra_weight", "inter_weight"):
        if (weight := getattr(graph, name)) is not None:
            arrays[name] = weight
    for name in ("horizontal_features", "vertical_features"):
        if (features := getattr(graph, name)) is not None:
            arrays[name] = features.values
            arrays |= strings_to_arrays(f"{name}.names", features.names)
    return arrays


def graph_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> MultiplexGraph:
    """The reverse of `graph_to_arrays`; the graph is checked, GraphError says what is wrong."""
    try:
        graph = MultiplexGraph(
            layers=tuple(strings_from_arrays("layers", arrays)),
            layer_start=arrays["layer_start"],
            ids=_column_from_arrays("ids", arrays),
            intra=arrays["intra"],
            inter=arrays["inter"],
            intra_weight=arrays.get("intra_weight"),
            inter_weight=arrays.get("inter_weight"),
            horizontal_features=_features_from_arrays("horizontal_features", arrays),
            vertical_features=_features_from_arrays("vertical_features", arrays),
            attributes={
                name: _column_from_arrays(f"attribute.{number}", arrays)
                for number, name in enumerate(strings_from_arrays("attributes", arrays))
            },
        )
    except KeyError as missing:
        raise GraphError(f"the part {missing} is missing") from None
    validate(graph)
    return graph


def strings_to_arrays(name: str, strings: Sequence[str]) -> Arrays:
    """Texts as two arrays: ``name.offsets`` (k+1,) and ``name.bytes``."""
    return _column_to_arrays(name, pa.array(list(strings), pa.large_string()))


def strings_from_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """The reverse of `strings_to_arrays`."""
    strings: list[str] = _column_from_arrays(name, arrays).to_pylist()
    return strings


def _column_to_arrays(name: str, column: pa.LargeStringArray) -> Arrays:
    # take() makes an array that starts at offset 0 and owns just its own bytes
    column = column.take(pa.array(np.arange(len(column))))
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64, count=len(column) + 1) if len(column) else np.zeros(1, dtype=np.int64)
    text = np.frombuffer(data or b"", dtype=np.uint8, count=int(ends[-1]))
    return {f"{name}.offsets": ends, f"{name}.bytes": text}


def _column_from_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> pa.LargeStringArray:
    offsets, text = arrays[f"{name}.offsets"], arrays[f"{name}.bytes"]
    well_formed = (
        offsets.dtype == np.int64
        and text.dtype == np.uint8
        and offsets.ndim == text.ndim == 1
        and len(offsets) > 0
        and offsets[0] == 0
        and offsets[-1] == len(text)
        and (np.diff(offsets) >= 0).all()
    )
    if not well_formed:
        raise GraphError(f"the texts of {name!r} are damaged")
    column = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(text))
    try:
        column.validate(full=True)  # also checks UTF-8
    except pa.ArrowInvalid:
        raise GraphError(f"the texts of {name!r} are not UTF-8") from None
    return column


def _features_from_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> Features | None:
    if name not in arrays:
        return None
    return Features(tuple(strings_from_arrays(f"{name}.names", arrays)), arrays[name])
