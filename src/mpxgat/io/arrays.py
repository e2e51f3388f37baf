"""Named arrays with a header in one file, the container of splits, checkpoints and fitted models; no graph format.

The file is safetensors, which any tool can read, which holds data only and cannot run code. Besides the arrays it has
two of bytes: ``header``, a JSON object that tells what the file is (``kind``), which version of mpxgat wrote it
(``version``) and whatever its writer adds; and ``checksum``, the SHA-256 of all the file's bytes with zeros in its own
place. A file of which a single bit is not as it was written is refused.

A graph goes into such a file as a dictionary of arrays, too: `graph_to_arrays`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mpxgat import __version__
from mpxgat.build import validate
from mpxgat.errors import GraphError, InputError, printable
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io.files import read_bytes, write_files
from mpxgat.pairs import no_pairs

Arrays = dict[str, NDArray[Any]]

_HEADER, _CHECKSUM = "header", "checksum"
_DIGEST_BYTES = hashlib.sha256().digest_size
_AGAIN = "made by another version of mpxgat; make it again (train the model, or cut the split)"


def write_arrays(path: Path, kind: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file of the given kind; the same content gives the same bytes."""
    text = json.dumps({**header, "kind": kind, "version": __version__}).encode()
    # safetensors' own metadata keeps no order of keys, so the header goes in as an array of bytes.
    added = {_HEADER: np.frombuffer(text, dtype=np.uint8), _CHECKSUM: np.zeros(_DIGEST_BYTES, dtype=np.uint8)}
    content = save(added | {name: np.asarray(array, order="C") for name, array in arrays.items()})

    def write(temporary: Path) -> None:  # in parts: no second copy of a large model in memory
        with open(temporary, "wb") as stream:
            stream.writelines(sealed(content))

    write_files({path: write})


def sealed(content: bytes) -> list[memoryview]:
    """The bytes of a safetensors file with room for a checksum, in parts, with the checksum in its place."""
    place, view = _checksum_place(content), memoryview(content)
    return [view[:place], memoryview(_digest(content, place)), view[place + _DIGEST_BYTES :]]


def read_arrays(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file of the given kind; InputError if it is damaged, edited or something else."""
    content = read_bytes(path)
    try:
        arrays = load(content)
        header = json.loads(arrays.pop(_HEADER).tobytes())
        found = header["kind"]
        checksum = arrays.pop(_CHECKSUM, None)
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise InputError(f"not a file of kind {kind}, or a damaged one ({printable(problem)})", path) from None
    if checksum is not None and checksum.tobytes() != _digest(content, _checksum_place(content)):
        raise InputError("the file is damaged or was edited: its content does not fit its checksum", path)
    if found != kind and _without_number(str(found)) != _without_number(kind):
        raise InputError(f"the file is of kind {printable(found)}, expected {kind}", path)
    if found != kind or checksum is None:
        raise InputError(_AGAIN, path)
    return header, arrays


def _checksum_place(content: bytes) -> int:
    """Where the checksum begins in the bytes of a safetensors file that has one, by its table of arrays."""
    length = int.from_bytes(content[:8], "little")
    table = json.loads(content[8 : 8 + length])
    return 8 + length + int(table[_CHECKSUM]["data_offsets"][0])


def _digest(content: bytes, place: int) -> bytes:
    """SHA-256 of a file's bytes with zeros for its checksum, which begins at ``place``."""
    view = memoryview(content)
    digest = hashlib.sha256(view[:place])
    digest.update(bytes(_DIGEST_BYTES))
    digest.update(view[place + _DIGEST_BYTES :])
    return digest.digest()


def _without_number(kind: str) -> str:
    """``mpxgat-split-2`` is ``mpxgat-split``, of whatever version."""
    return kind.rstrip("0123456789")


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
    for name in ("intra_weight", "inter_weight", "intra_arcs"):
        if (weight := getattr(graph, name)) is not None:
            arrays[name] = weight
    if len(graph.apart):
        arrays["apart"] = graph.apart
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
            intra_arcs=arrays.get("intra_arcs"),
            horizontal_features=_features_from_arrays("horizontal_features", arrays),
            vertical_features=_features_from_arrays("vertical_features", arrays),
            attributes={
                name: _column_from_arrays(f"attribute.{number}", arrays)
                for number, name in enumerate(strings_from_arrays("attributes", arrays))
            },
            apart=arrays["apart"] if "apart" in arrays else no_pairs(),
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
