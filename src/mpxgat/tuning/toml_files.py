"""Settings in TOML files: read with every mishap named, written so that `mpxgat train --config` takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError
from mpxgat.io.toml_files import read_toml


def read_table(path: Path) -> dict[str, Any]:
    """The keys of a TOML file and their values; InputError if it is none, or if it holds no key at all."""
    content = read_toml(path)
    if not content:
        raise InputError("no settings in the file, expected lines such as: lr = [0.001, 0.0005]", path)
    return content


def toml_lines(settings: Mapping[str, Any]) -> list[str]:
    """A line for each setting but those that are None: TOML has no such value, and None is their default."""
    return [f"{name} = {_toml_value(value)}" for name, value in settings.items() if value is not None]


def _toml_value(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML's escapes, and one more
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)
