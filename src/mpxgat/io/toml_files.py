"""TOML files, read with every mishap named.

They hold settings and are small. A larger one, or a key of hundreds of parts, for which the parser would take memory
in the square of their number, is refused.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, printable
from mpxgat.io.files import read_text

_MOST_BYTES = 1 << 20
_MOST_DOTS = 200
_NUMBER = re.compile(rb"(?<![.\w])[0-9_]+\.[0-9_]+(?:[eE][-+]?[0-9]+)?(?![.\w])")
_PLACE_IN_MESSAGE = re.compile(r" \(at line (\d+), column \d+\)$")


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; InputError, with the line where it is known, if it is none."""
    content = read_text(path)
    if len(content) > _MOST_BYTES:
        raise InputError(f"{len(content)} bytes, expected a TOML file of at most {_MOST_BYTES}", path)
    for place, line in enumerate(content.split(b"\n"), 1):
        if line.count(b".") > _MOST_DOTS and _NUMBER.sub(b"", line).count(b".") > _MOST_DOTS:
            raise InputError(f"more than {_MOST_DOTS} dots in a line, expected keys of few parts", path, place)
    try:
        return tomllib.loads(content.decode())
    except tomllib.TOMLDecodeError as problem:
        message = str(problem)
        found = _PLACE_IN_MESSAGE.search(message)
        number = int(found[1]) if found else None
        raise InputError(f"not TOML: {_PLACE_IN_MESSAGE.sub('', message)}", path, number) from None
    except (ValueError, RecursionError) as problem:  # a number of thousands of digits, lists within lists without end
        raise InputError(f"not TOML: {printable(problem)}", path) from None
