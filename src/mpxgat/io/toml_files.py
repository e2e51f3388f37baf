"""TOML files, read with every mishap named."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, printable
from mpxgat.io.files import read_text

_PLACE_IN_MESSAGE = re.compile(r" \(at line (\d+), column \d+\)$")


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; InputError, with the line where it is known, if it is none."""
    try:
        return tomllib.loads(read_text(path).decode())
    except tomllib.TOMLDecodeError as problem:
        message = str(problem)
        place = _PLACE_IN_MESSAGE.search(message)
        line = int(place[1]) if place else None
        raise InputError(f"not TOML: {_PLACE_IN_MESSAGE.sub('', message)}", path, line) from None
    except (ValueError, RecursionError) as problem:  # a number of thousands of digits, lists within lists without end
        raise InputError(f"not TOML: {printable(problem)}", path) from None
