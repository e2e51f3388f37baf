"""A program that reads a .mat file (standard input) and writes an .npz (standard output).

Damaged bytes can end the process that reads them: scipy's reader is compiled and trusts the lengths it finds. So
`mpxgat.io.alignment_files` has it run in a process of its own, which imports nothing of mpxgat. Arguments are names of
arrays; in the .npz the array ``names`` has all names in the file, and those asked for are ``K.dense``, or ``K.data``,
``K.indices``, ``K.indptr``, ``K.shape`` of a sparse matrix by columns, or ``K.type`` of what is neither, K being the
argument's number.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import io as scipy_io
from scipy import sparse


def main(wanted: Sequence[str]) -> int:
    """0 if the file was read; 1, and the reason on standard error, if it was not."""
    content = sys.stdin.buffer.read()
    try:
        names = [name for name, _, _ in scipy_io.whosmat(io.BytesIO(content))]
        found = scipy_io.loadmat(io.BytesIO(content), variable_names=[name for name in wanted if name in names])
    except Exception as problem:
        sys.stderr.write(f"{type(problem).__name__}: {problem}")
        return 1
    arrays = {"names": np.array(names, dtype=str)}
    for number, name in enumerate(wanted):
        if name in found:
            arrays |= {f"{number}.{part}": array for part, array in parts_of(found[name]).items()}
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]  # the names may be any
    sys.stdout.buffer.write(packed.getvalue())
    return 0


def parts_of(value: Any) -> dict[str, Any]:
    """The arrays that a value is kept as."""
    if sparse.issparse(value):
        return {"data": value.data, "indices": value.indices, "indptr": value.indptr, "shape": np.array(value.shape)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "iufbcUS":
        return {"dense": value}
    return {"type": np.array(type(value).__name__)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
