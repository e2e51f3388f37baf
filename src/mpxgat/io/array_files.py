"""Named arrays with a header in one file: safetensors, which holds data only and cannot run code.

Not a graph format: the container of splits and, later, of fitted models.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from mpxgat.errors import InputError, printable
from mpxgat.io.files import read_bytes, write_files

_HEADER = "header"


def write_arrays(path: Path, kind: str, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file of the given kind; the same content gives the same bytes."""
    text = json.dumps({"kind": kind, **header}).encode()
    # safetensors' own metadata keeps no order of keys, so the header goes in as an array of bytes.
    content = {_HEADER: np.frombuffer(text, dtype=np.uint8)} | dict(arrays)
    write_files({path: save({name: np.asarray(array, order="C") for name, array in content.items()})})


def read_arrays(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file of the given kind; InputError if it is damaged or something else."""
    content = read_bytes(path)
    try:
        arrays = load(content)
        header = json.loads(arrays.pop(_HEADER).tobytes())
        found = header["kind"]
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise InputError(f"not a file of kind {kind}, or a damaged one ({printable(problem)})", path) from None
    if found != kind:
        raise InputError(f"the file is of kind {printable(found)}, expected {kind}", path)
    return header, arrays
