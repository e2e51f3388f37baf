"""The ``.mpxg`` format: a graph as it is in memory, in one Arrow file that is mapped instead of read.

For networks that are too large to be read and put in order every time: convert once, then loading is checking. All
parts of a `MultiplexGraph` are there in their final order, one column for each, in a single row of lists; any Arrow
library can read them. Whatever can be wrong with a graph is checked, in passes over arrays that follow one another.

The file is trusted in nothing. It is read message by message, since that shows a compressed batch before it is unpacked
(a few bytes may stand for gigabytes), and so nothing is copied: arrays lie where the file lies. A checksum over all
values tells damage from data.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc

from mpxgat.build import validate
from mpxgat.errors import GraphError, InputError, printable
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io.files import check_readable, read_bytes, write_files
from mpxgat.io.registry import Format
from mpxgat.pairs import no_pairs

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
_FURTHER = pa.schema({"intra_arcs": pa.large_list(pa.uint8()), "apart": _PAIRS})  # where a graph has them
_ALWAYS_THERE = ("layers", "layer_start", "ids", "intra", "inter", "attribute_names", "attributes")


def read_mpxg(path: Path) -> MultiplexGraph:
    """The graph in a file, whose arrays are views of the file; InputError if anything about it is not as promised."""
    batch = map_batch(path, KIND, _SCHEMA, _FURTHER)
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
    if graph.intra_arcs is not None:
        columns["intra_arcs"] = _numbers(graph.intra_arcs)
    if len(graph.apart):
        columns["apart"] = pa.FixedSizeListArray.from_arrays(_numbers(graph.apart), 2)
    schema = pa.schema([*_SCHEMA, *(field for field in _FURTHER if field.name in columns)])
    row = [_in_one_row(columns[field.name], field.type) for field in schema]
    return write_batch(path, KIND, pa.RecordBatch.from_arrays(row, schema=schema))


# ---- from the columns ----------------------------------------------------------------------------------


def _graph_of(batch: pa.RecordBatch) -> MultiplexGraph:
    """GraphError or ValueError where parts do not fit together; what is in them is not looked at."""
    columns = zip(batch.schema.names, batch.columns, strict=True)
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
        intra_arcs=_array(part["intra_arcs"]) if "intra_arcs" in part else None,
        horizontal_features=_features(part, "horizontal"),
        vertical_features=_features(part, "vertical"),
        attributes={name: attributes[place].values for place, name in enumerate(names)},
        apart=_array(part["apart"].flatten()).reshape(-1, 2) if "apart" in part else no_pairs(),
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


# ---- one record batch in an Arrow file ---------------------------------------------------------------

_MAGIC = b"ARROW1"
_FIRST_MESSAGE = 8  # after the magic, padded
_GZIP = b"\x1f\x8b"
_KIND, _CHECKSUM = b"mpxgat.kind", b"mpxgat.crc32"
_NONE = pa.schema([])
# Where a flatbuffer's table of offsets has that of a message's header, and of a record batch's compression.
_HEADER_SLOT, _COMPRESSION_SLOT = 8, 10


def write_batch(path: Path, kind: str, batch: pa.RecordBatch) -> list[Path]:
    """Write a file of a kind; the same batch gives the same bytes. Arrays must begin at the start of their buffers."""
    checksum = f"{_checksum(batch):08x}"
    schema = batch.schema.with_metadata({_KIND: kind, _CHECKSUM: checksum})

    def write(place: Path) -> None:
        with pa.OSFile(str(place), "wb") as sink, ipc.new_file(sink, schema) as writer:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))

    return write_files({path: write})


def map_batch(path: Path, kind: str, schema: pa.Schema, further: pa.Schema = _NONE) -> pa.RecordBatch:
    """The batch of a file of a kind; its arrays are views of the file, which must not be changed in place meanwhile.

    ``further`` are columns that may be missing, and stand behind the others where they are there.
    A gzip file, or a pipe, is read into memory. InputError if the file is damaged, or something else; texts are UTF-8,
    and nothing is missing (null) below the columns themselves.
    """
    content = _mapped(path)
    if content[: len(_MAGIC)].to_pybytes() != _MAGIC:
        raise InputError("this is no Arrow file, expected it to begin with 'ARROW1'", path)
    if content[-len(_MAGIC) :].to_pybytes() != _MAGIC:
        raise InputError("the Arrow file is cut off, expected it to end with 'ARROW1'", path)
    try:
        messages = ipc.MessageReader.open_stream(pa.BufferReader(content.slice(_FIRST_MESSAGE)))
        found = ipc.read_schema(_next(messages, "schema", path))
        schema = pa.schema([*schema, *(field for field in further if field.name in found.names)])
        _check_schema(found, kind, schema, path)
        message = _next(messages, "record batch", path)
        if _is_compressed(message):
            raise InputError("the file is compressed, expected it as it is to lie in memory", path)
        batch = ipc.read_record_batch(message, schema)
        batch.validate(full=True)  # also that texts are UTF-8
    except (pa.ArrowException, OSError, ValueError, StopIteration, struct.error) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise InputError(f"the file is damaged ({printable(reason, 200)})", path) from None
    if batch.num_rows != 1 or any(_has_gaps(column) for column in batch.columns):
        raise InputError("the file is damaged: it has several rows, or values are missing", path)
    if f"{_checksum(batch):08x}".encode() != found.metadata[_CHECKSUM]:
        raise InputError("the file is damaged: its values do not fit its checksum", path)
    return batch


def _next(messages: ipc.MessageReader, expected: str, path: Path) -> ipc.Message:
    """The next message, which Arrow takes for what it is expected to be whatever it is."""
    message = messages.read_next_message()
    if message.type != expected:
        raise InputError(f"the file is damaged: it has a part {message.type}, expected {expected}", path)
    return message


def _mapped(path: Path) -> pa.Buffer:
    """The content of a file without reading it; in memory if it is gzip, or a pipe."""
    check_readable(path)
    if not path.is_file():
        return pa.py_buffer(read_bytes(path))
    try:
        with open(path, "rb") as stream:
            if stream.read(len(_GZIP)) == _GZIP:
                return pa.py_buffer(read_bytes(path))
            return pa.py_buffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as problem:  # ValueError: the file was emptied in between
        raise InputError(f"the file cannot be mapped into memory ({printable(problem)})", path) from None


def _check_schema(found: pa.Schema, kind: str, expected: pa.Schema, path: Path) -> None:
    metadata = found.metadata or {}
    if metadata.get(_KIND) != kind.encode():
        named = printable(metadata.get(_KIND, b"none").decode(errors="replace"))
        raise InputError(f"the Arrow file is of the kind {named}, expected {kind}", path)
    if not found.equals(expected) or _CHECKSUM not in metadata:
        raise InputError("the file is damaged: its columns are not those of its kind, or it has no checksum", path)


def _is_compressed(message: ipc.Message) -> bool:
    """Whether a record batch says how it is compressed; its metadata are a flatbuffer that Arrow has checked."""
    metadata = message.metadata.to_pybytes()
    (root,) = struct.unpack_from("<I", metadata, 0)
    place = root + _slot(metadata, root, _HEADER_SLOT)
    header = place + struct.unpack_from("<I", metadata, place)[0]
    return _slot(metadata, header, _COMPRESSION_SLOT) != 0


def _slot(metadata: bytes, table: int, slot: int) -> int:
    """Where in a flatbuffer's table a field is, counted from the table; 0 if it is not there."""
    offsets = table - struct.unpack_from("<i", metadata, table)[0]
    (size,) = struct.unpack_from("<H", metadata, offsets)
    return int(struct.unpack_from("<H", metadata, offsets + slot)[0]) if slot < size else 0


def _has_gaps(column: pa.Array) -> bool:
    """Whether a value below a column is missing."""
    inside = column
    while pa.types.is_large_list(inside.type) or pa.types.is_fixed_size_list(inside.type):
        inside = inside.values
        if inside.null_count:
            return True
    return False


def _checksum(batch: pa.RecordBatch) -> int:
    """CRC-32 over all values of a batch, and where texts and lists begin."""
    checksum = 0
    for column in batch.columns:
        checksum = zlib.crc32(bytes([column.null_count]), checksum)
        for piece in _pieces(column):
            checksum = zlib.crc32(piece, checksum)
    return checksum


def _pieces(array: pa.Array) -> Iterator[memoryview]:
    """The buffers of an array that begins at their start, as far as it uses them."""
    if pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        if pa.types.is_large_list(array.type):
            yield from _pieces(array.offsets)
        yield from _pieces(array.values)
        return
    if not len(array):
        return
    buffers = array.buffers()
    if not pa.types.is_large_string(array.type):
        yield memoryview(buffers[1])[: len(array) * array.type.bit_width // 8]
        return
    ends = np.frombuffer(buffers[1], dtype=np.int64, count=len(array) + 1)
    yield ends.data.cast("B")
    yield memoryview(buffers[2] or b"")[: int(ends[-1])]


FORMAT = Format(
    name="mpxg",
    suffixes=(".mpxg",),
    description="a graph ready for use in one Arrow file, mapped into memory: for large networks",
    read=read_mpxg,
    write=write_mpxg,
)
