"""A graph as a dictionary of plain numpy arrays, for files that hold more than a graph (no pickle)."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mpxgat.build import validate
from mpxgat.errors import GraphError, InputError, printable
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io.files import read_bytes, write_files

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


# Named arrays with a header in one file: safetensors, which holds data only and cannot run code.
#
# Not a graph format: the container of splits and, later, of fitted models.


_HEADER, _CHECKSUM = "header", "checksum"


def write_arrays(path: Path, kind: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file of the given kind; the same content gives the same bytes."""
    content = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps({"kind": kind, **header, _CHECKSUM: _checksum(content)}).encode()
    # safetensors' own metadata keeps no order of keys, so the header goes in as an array of bytes.
    write_files({path: save({_HEADER: np.frombuffer(text, dtype=np.uint8)} | content)})


def read_arrays(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file of the given kind; InputError if it is damaged or something else."""
    content = read_bytes(path)
    try:
        arrays = load(content)
        header = json.loads(arrays.pop(_HEADER).tobytes())
        found = header["kind"]
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise InputError(f"not a file of kind {kind}, or a damaged one ({printable(problem)})", path) from None
    if found != kind:
        raise InputError(f"the file is of kind {printable(found)}, expected {kind}", path)
    if header.pop(_CHECKSUM, None) not in (None, _checksum(arrays)):  # files of earlier versions have none
        raise InputError("the file is damaged: its numbers are not those that were written", path)
    return header, arrays


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> int:
    """CRC-32 of all arrays with their names, types and shapes."""
    found = 0
    for name in sorted(arrays):
        array = arrays[name]
        found = zlib.crc32(f"{name} {array.dtype.str} {array.shape}".encode(errors="replace"), found)
        found = zlib.crc32(array.reshape(-1).view(np.uint8).data if array.size else b"", found)
    return found
