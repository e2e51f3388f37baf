"""JSON Lines files that are added to: a value a line, each written whole; a last line that a crash cut off is none."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, OutputError, printable

Line = tuple[int, dict[str, Any]]
"""A line's number, from 1, and the object on it."""


def read_json_lines(path: Path, what: str) -> list[Line]:
    """The objects in a file, none if there is no file; InputError names a line that is "not ``what``"."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise InputError(f"cannot read: {printable(problem.strerror)}", path) from None
    lines = content[: content.rfind(b"\n") + 1].split(b"\n")
    return [(number, _parsed(line, what, path, number)) for number, line in enumerate(lines, 1) if line.strip()]


def append_json_line(path: Path, value: Mapping[str, Any]) -> None:
    """Add a line at the end, on disk when this returns; OutputError, and the file as it was, if that cannot be."""
    line = json.dumps(value, allow_nan=False).encode() + b"\n"
    try:
        with open(path, "ab+") as stream:
            stream.seek(0)
            end = stream.read().rfind(b"\n") + 1
            try:
                stream.truncate(end)
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                os.truncate(path, end)
                raise
    except OSError as problem:
        raise OutputError(f"{printable(path, 300)}: cannot write: {printable(problem.strerror)}") from None


def _parsed(line: bytes, what: str, path: Path, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"not {what} ({printable(problem)})", path, number) from None
    if not isinstance(value, dict):
        raise InputError(f"not {what} (a JSON {type(value).__name__})", path, number)
    return value
