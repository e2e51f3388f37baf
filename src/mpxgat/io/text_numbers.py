"""Numbers written as text, taken strictly: no 'nan', no 'inf', no hexadecimal, no '1_000'."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.builder import RowError
from mpxgat.errors import printable, quoted


def parse_numbers(texts: pa.ChunkedArray, what: str, table: str) -> NDArray[np.float64]:
    """(n,) finite numbers; `RowError` in ``table`` names the first text that is none. ``what`` is said of it."""
    readable = len(texts)
    try:
        numbers = _cast(texts)
    except pa.ArrowInvalid:
        readable = _first_unreadable(texts)
        numbers = _cast(texts.slice(0, readable))
    infinite = np.flatnonzero(~np.isfinite(numbers))
    row = int(infinite[0]) if len(infinite) else readable
    if row < len(texts):
        raise RowError(f"{printable(what)} is {quoted(texts[row].as_py())}, expected a finite number", table, row)
    return numbers


def _cast(texts: pa.ChunkedArray) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = texts.cast(pa.float64()).to_numpy()
    return numbers


def _first_unreadable(texts: pa.ChunkedArray) -> int:
    """Row of the first text that is no number; there must be one. Halves the stretch in which it lies."""
    low, high = 0, len(texts)  # the first one is in [low, high)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _cast(texts.slice(low, middle - low))
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low
