"""Columns of layer names to layer numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.errors import InputError, quoted

_SHOWN_NAMES = 10


def names_in_order(columns: Sequence[pa.ChunkedArray]) -> list[str]:
    """Distinct names in the order in which they first appear, column after column."""
    names: dict[str, None] = {}
    for column in columns:
        names |= dict.fromkeys(pc.unique(column).to_pylist())
    return list(names)


def number_layers(
    column: pa.ChunkedArray, names: Sequence[str], error: Callable[[str, int], InputError]
) -> NDArray[np.int64]:
    """(n,) position in ``names`` of every value; a value that is not there is an ``error(message, row)``."""
    known = pa.array(list(names), column.type)
    found = pc.index_in(column, value_set=known)
    if found.null_count:
        row = int(np.flatnonzero(found.is_null().to_numpy())[0])
        expected = ", ".join(quoted(name) for name in names[:_SHOWN_NAMES])
        if len(names) > _SHOWN_NAMES:
            expected += f", … ({len(names)} layers)"
        raise error(f"unknown layer {quoted(column[row].as_py())}, expected one of {expected}", row)
    numbers: NDArray[np.int64] = found.to_numpy().astype(np.int64)
    return numbers
