"""Numbers in a page: base64 of the smallest type that holds them, which is a third of the size of JSON's digits."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WHOLE = ("uint8", "uint16", "int32")


def packed(numbers: NDArray[Any]) -> dict[str, str]:
    """Whole or real numbers, row after row, as ``{"type": …, "base64": …}``, little-endian.

    Whole numbers become uint8, uint16 or int32, real ones float32. OverflowError beyond int32.
    """
    name = "float32" if np.issubdtype(numbers.dtype, np.floating) else _smallest(numbers)
    array = np.ascontiguousarray(numbers, dtype=np.dtype(name).newbyteorder("<"))
    return {"type": name, "base64": b64encode(array.tobytes()).decode()}


def _smallest(numbers: NDArray[Any]) -> str:
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    for name in _WHOLE:
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return name
    raise OverflowError(f"numbers from {low} to {high}, expected those of int32")
