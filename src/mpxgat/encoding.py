"""From ids as text to ids as numbers, in the order in which a graph keeps them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# Whole numbers of up to this many digits are sorted as numbers; ten to this power times 32 still fits 63 bits.
_MAX_DIGITS = 17
# Up to this many cells for each value (and these many in all) a table finds a number's rank; else a search.
_CELLS_FOR_EACH = 8
_MAX_TABLE_CELLS = 200_000_000


def encode(columns: Sequence[pa.Array | pa.ChunkedArray]) -> tuple[pa.LargeStringArray, NDArray[np.int32]]:
    """Distinct ids in bytewise order, and for every value of the columns, one after another, its number.

    The columns hold text, plain or as dictionaries, without nulls. Ids that are whole numbers ("17") are
    by far the most common in large files and take a way that is several times as fast.
    """
    chunks: list[pa.Array] = []
    for column in columns:
        chunks += column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    chunks = [chunk for chunk in chunks if len(chunk)]
    if not chunks:
        return pa.array([], pa.large_string()), np.empty(0, dtype=np.int32)
    if any(pa.types.is_dictionary(chunk.type) for chunk in chunks):
        return _encode_text(pa.chunked_array([_as_dictionary(chunk) for chunk in chunks]).unify_dictionaries())
    numbers = _whole_numbers(chunks)
    if numbers is not None:
        return _encode_numbers(numbers)
    whole = pa.chunked_array([chunk.cast(pa.large_string()) for chunk in chunks])
    return _encode_text(whole.dictionary_encode())


def _as_dictionary(chunk: pa.Array) -> pa.DictionaryArray:
    if not pa.types.is_dictionary(chunk.type):
        chunk = chunk.cast(pa.large_string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int32()), chunk.dictionary.cast(pa.large_string()))


def _encode_text(whole: pa.ChunkedArray) -> tuple[pa.LargeStringArray, NDArray[np.int32]]:
    """All chunks of ``whole`` share one dictionary, in which a text may stand that no value uses."""
    dictionary = whole.chunk(0).dictionary
    order = _sorted_bytewise(dictionary)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    code = np.concatenate([chunk.indices.to_numpy() for chunk in whole.chunks])
    return dictionary.take(pa.array(order)), rank[code]


def _sorted_bytewise(strings: pa.LargeStringArray) -> NDArray[np.int64]:
    """Order that sorts strings as `MultiplexGraph` sorts ids: by their UTF-8 bytes."""
    order: NDArray[np.int64] = pc.sort_indices(strings).to_numpy().astype(np.int64)
    return order


def _whole_numbers(chunks: Sequence[pa.Array]) -> NDArray[np.int64] | None:
    """The values as numbers if each is written as the shortest form of a number from 0 on, else None."""
    if not chunks[0][0].as_py().isdecimal():  # spares text the attempt, nothing more
        return None
    try:
        values: NDArray[np.int64] = np.concatenate([chunk.cast(pa.int64()).to_numpy() for chunk in chunks])
    except pa.ArrowInvalid:
        return None
    if values.min() < 0 or values.max() >= 10**_MAX_DIGITS or any(map(_has_letters, chunks)):
        return None
    # Any other way to write a number in digits ("007", "+7") is longer than the shortest, so the totals tell.
    written = sum(pc.sum(pc.binary_length(chunk)).as_py() for chunk in chunks)
    shortest = len(values)
    power = 10
    while (longer := int(np.count_nonzero(values >= power))) > 0:
        shortest += longer
        power *= 10
    return values if written == shortest else None


def _has_letters(chunk: pa.Array) -> bool:
    """Whether a character above "9" occurs: pyarrow reads "0x989680", no longer than "10000000", as that number."""
    offset_type = np.int64 if pa.types.is_large_string(chunk.type) else np.int32
    _, offsets, data = chunk.buffers()
    ends = np.frombuffer(offsets, dtype=offset_type)[[chunk.offset, chunk.offset + len(chunk)]]
    return bool(np.frombuffer(data or b"", dtype=np.uint8)[ends[0] : ends[1]].max(initial=0) > ord("9"))


def _encode_numbers(values: NDArray[np.int64]) -> tuple[pa.LargeStringArray, NDArray[np.int32]]:
    """As `encode`, for whole numbers from 0 on."""
    cells = int(values.max()) + 1
    if cells > min(_MAX_TABLE_CELLS, _CELLS_FOR_EACH * len(values) + 1024):
        distinct, place = np.unique(values, return_inverse=True)
    else:
        present = np.zeros(cells, dtype=bool)
        present[values] = True
        distinct, place = np.flatnonzero(present), values
    order = _order_as_text(distinct)
    rank = np.empty(cells if place is values else len(distinct), dtype=np.int32)
    rank[distinct[order] if place is values else order] = np.arange(len(order), dtype=np.int32)
    return pa.array(distinct[order]).cast(pa.large_string()), rank[place]


def _order_as_text(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order that sorts whole numbers as their decimal texts sort: "10" before "2", "1" before "10"."""
    digits = np.ones(len(numbers), dtype=np.int64)
    for power in range(1, _MAX_DIGITS):
        digits += numbers >= 10**power
    filled = numbers * 10 ** (digits.max() - digits)  # "2" as "20" beside "10"; the shorter of equals goes first
    return np.argsort(filled * 32 + digits)
