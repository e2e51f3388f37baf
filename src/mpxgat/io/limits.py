"""How much a file may grow to when it is read; what would grow to more was made to fill the memory, or by mistake.

Packed bytes are unpacked, cells that a file leaves out are filled up, what is said once of a unit is given to all its
nodes. Each is useful, and each can make gigabytes of a few kilobytes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mpxgat.errors import InputError, quoted

# Text of networks packs to a tenth or so. What packs to less than a hundredth says the same again and again.
_UNPACKED_FOR_A_BYTE, _LEAST_UNPACKED = 100, 1 << 24
# A cell that is there takes two bytes and more of the file.
_CELLS_FOR_A_BYTE, _LEAST_CELLS = 5, 1 << 21
_REPEATED_FOR_A_BYTE, _LEAST_REPEATED = 5, 1 << 26


def most_unpacked(packed: int, least: int = _LEAST_UNPACKED) -> int:
    """Bytes that so many packed bytes may unpack to."""
    return max(least, _UNPACKED_FOR_A_BYTE * packed)


def check_filled(rows: int, columns: int, size: int, path: Path) -> None:
    """InputError if a table with a cell for every node and column is too large for a file of ``size`` bytes."""
    most = max(_LEAST_CELLS, _CELLS_FOR_A_BYTE * size)
    if rows * columns > most:
        raise InputError(
            f"{columns} columns about {rows} nodes, most of them left out, would fill up to {rows * columns} cells, "
            f"expected at most {most} in a file of this size",
            path,
        )


def taken(column: pa.LargeStringArray, rows: pa.Array, name: str, size: int, path: Path) -> pa.LargeStringArray:
    """``column.take(rows)``; InputError if texts that stand in the file once would be repeated too often."""
    lengths = np.append(pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False), 0)
    total = int(lengths[pc.fill_null(rows, len(column)).to_numpy(zero_copy_only=False)].sum())
    most = max(_LEAST_REPEATED, _REPEATED_FOR_A_BYTE * size)
    if total > most:
        raise InputError(
            f"{quoted(name)} given to every node would take {total} bytes, expected at most {most} "
            "for a file of this size",
            path,
        )
    return column.take(rows)
