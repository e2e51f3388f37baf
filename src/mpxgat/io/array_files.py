"""Named arrays with a header in one file: safetensors, which holds data only and cannot run code.

Not a graph format: the container of splits and, later, of fitted models.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mpxgat.errors import InputError, printable
from mpxgat.io.files import read_bytes, write_files

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
