"""Files changed in their own terms, so that the damage gets past the first check: JSON, safetensors and Parquet."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mpxgat.io.arrays import sealed
from tests.endurance.mutations import NASTY, NUMBERS, Random, chosen

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 10**400, 0.5, -0.0, 1e300, float("inf"), float("nan"), "", "x",
    "rules", "\0", "\ud800", "\x1b[31m", "1", "a" * 300, [], [[]], {}, {"": None}, [1, "a"], [None] * 20,
)  # fmt: skip
_DTYPES = ("BOOL", "U8", "I8", "I16", "U16", "I32", "U32", "I64", "U64", "F16", "BF16", "F32", "F64", "F8_E4M3", "C64")
_ARROW_TYPES = (
    pa.string(), pa.large_string(), pa.binary(), pa.int8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(),
    pa.float64(), pa.bool_(), pa.null(), pa.date32(), pa.timestamp("ns"), pa.decimal128(20, 3), pa.list_(pa.int32()),
    pa.struct([("a", pa.int8())]), pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.int64()),
)  # fmt: skip


def json_mutated(content: bytes, rng: Random) -> bytes:
    """A JSON file with one value somewhere in it changed, dropped or doubled; anything else as it is."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return content
    return json.dumps(_changed(value, rng)).encode()


def jsonl_mutated(content: bytes, rng: Random) -> bytes:
    """A JSONL file with one of its lines changed as `json_mutated` does."""
    lines = content.splitlines()
    place = int(rng.integers(len(lines))) if lines else 0
    return b"".join(json_mutated(line, rng) + b"\n" if n == place else line + b"\n" for n, line in enumerate(lines))


def _changed(value: Any, rng: Random) -> Any:
    """The value, or one inside it, replaced by another one."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = list(value)[int(rng.integers(len(value)))]
        action = rng.random()
        if action < 0.15:
            return {name: inner for name, inner in value.items() if name != key}
        if action < 0.25:
            return {**value, str(_VALUES[rng.integers(len(_VALUES))]): value[key]}
        return {**value, key: _changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        place = int(rng.integers(len(value)))
        action = rng.random()
        if action < 0.15:
            return value[:place] + value[place + 1 :]
        if action < 0.25:
            return [*value, value[place]]
        return [*value[:place], _changed(value[place], rng), *value[place + 1 :]]
    if isinstance(value, int) and rng.random() < 0.4:
        return value + int(rng.integers(-2, 3))
    return _VALUES[int(rng.integers(len(_VALUES)))]


def arrays_mutated(content: bytes, rng: Random) -> bytes:
    """A safetensors file with a lying header, or a true one over other arrays."""
    try:
        return _lying_header(content, rng) if rng.random() < 0.4 else _other_arrays(content, rng)
    except (ValueError, TypeError, OverflowError, struct.error, SafetensorError):  # damaged already
        return content


def _lying_header(content: bytes, rng: Random) -> bytes:
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    entry = header[list(header)[int(rng.integers(len(header)))]]
    action = int(rng.integers(5))
    if action == 0:
        entry["dtype"] = _DTYPES[int(rng.integers(len(_DTYPES)))]
    elif action == 1:
        entry["shape"] = [int(n) for n in rng.choice([0, 1, 2, 3, 2**20, 2**40, 2**62], size=rng.integers(4))]
    elif action == 2:
        entry["data_offsets"] = [int(n) for n in rng.choice([0, 1, 8, 100, 2**40, 2**63], size=2)]
    else:
        header = _changed(header, rng)
    text = json.dumps(header).encode()
    claimed = int(rng.choice([0, 1, 2**31, 2**62])) if rng.random() < 0.1 else len(text)
    return struct.pack("<Q", claimed) + text + content[8 + size :]


def _other_arrays(content: bytes, rng: Random) -> bytes:
    arrays = load(content)
    name = list(arrays)[int(rng.integers(len(arrays)))]
    if name == "header" or rng.random() < 0.4:
        name = "header"
        header = json_mutated(arrays[name].tobytes(), rng)
        arrays[name] = np.frombuffer(header, dtype=np.uint8)
        return _saved(arrays)
    array = arrays[name].copy()
    action = int(rng.integers(6))
    if action == 0:
        del arrays[name]
        return _saved(arrays)
    if action == 1 and array.size:
        array.flat[int(rng.integers(array.size))] = 0 if array.dtype == bool else _extreme(array.dtype, rng)
    elif action == 2:
        array = np.ascontiguousarray(array[: len(array) // 2]) if array.ndim else array.reshape(1)
    elif action == 3:
        array = np.ascontiguousarray(array.reshape(-1))
    elif action == 4:
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(["<i4", "<i8", "<f4", "<f8", "u1", "?"]))
    else:
        rng.shuffle(array.reshape(-1))
    arrays[name] = array
    return _saved(arrays)


def _saved(arrays: dict[str, Any]) -> bytes:
    """A file whose checksum is right, so that the reader goes on to what is in it."""
    if "checksum" in arrays:
        arrays["checksum"] = np.zeros(32, dtype=np.uint8)
    return b"".join(sealed(save(arrays))) if "checksum" in arrays else save(arrays)


def _extreme(dtype: np.dtype[Any], rng: Random) -> Any:
    if dtype.kind == "f":
        return rng.choice([0.0, -1.0, np.inf, np.nan, 1e30])
    limits = np.iinfo(dtype)
    return rng.choice([0, 1, limits.min, limits.max])


def parquet_mutated(content: bytes, rng: Random) -> bytes:
    """A Parquet file whose table has a column of another type, with nulls, with other values, or none of it."""
    try:
        table = parquet.ParquetFile(pa.BufferReader(content)).read()
        changed = _other_table(table, rng)
        sink = io.BytesIO()
        parquet.write_table(changed, sink, compression=str(rng.choice(["none", "snappy", "zstd"])))
    except (pa.ArrowException, OSError, ValueError):  # damaged already, or a change that Parquet cannot hold
        return content
    return sink.getvalue()


def _other_table(table: pa.Table, rng: Random) -> pa.Table:
    if not table.num_columns:
        return table
    place = int(rng.integers(table.num_columns))
    name, column = table.column_names[place], table.column(place)
    action = int(rng.integers(6))
    if action == 0:
        return table.drop_columns([name])
    if action == 1:
        return table.append_column(rng.choice(table.column_names), column)
    if action == 2:
        return table.slice(0, int(rng.integers(len(table) + 1)))
    if action == 3:
        column = pa.array(column.to_pylist(), column.type, mask=rng.random(len(column)) < 0.2)
    elif action == 4:
        kind = _ARROW_TYPES[int(rng.integers(len(_ARROW_TYPES)))]
        column = pa.nulls(len(column), kind) if rng.random() < 0.3 else column.cast(kind)
    else:
        texts = [chosen(NASTY + NUMBERS, rng).decode(errors="replace") for _ in range(len(column))]
        column = pa.array(texts, pa.string()) if rng.random() < 0.5 else pa.array(rng.normal(size=len(column)) * 1e300)
    return table.set_column(place, name, column)
