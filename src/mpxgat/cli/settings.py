"""A model's settings from the command line: published, a TOML file, ``--set key=value``, ``--epochs`` and ``--batch``.

Names and values are checked by the model itself; here they are only read and put together.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from mpxgat.errors import InputError, SettingError, printable, quoted

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the model; may be given several times."),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="A TOML file with settings: plain keys, or a table named settings.")
]
PublishedOption = Annotated[
    str | None, typer.Option("--published", metavar="NAME", help="Begin with the settings published for a data set.")
]
EpochsOption = Annotated[int | None, typer.Option("--epochs", min=0, help="Train at most so long; as --set epochs=N.")]
BatchOption = Annotated[
    str | None,
    typer.Option(
        "--batch", metavar="auto|full|N", help="Links in a step: all, N, or what the memory allows; as --set batch=N."
    ),
]

_TABLE = "settings"


def parse_settings(
    sets: list[str], config: Path | None, published: str | None, epochs: int | None, batch: str | None = None
) -> dict[str, Any]:
    """All settings given; each source takes the place of those before it: published, config, sets, epochs and batch.

    A value of ``sets`` is what TOML reads in it (a number, true, "a text" …), or else the text itself.
    """
    settings: dict[str, Any] = {}
    if published is not None:
        settings |= _published(published)
    if config is not None:
        settings |= _read_config(config)
    settings |= dict(_parse_set(text) for text in sets)
    if epochs is not None:
        settings["epochs"] = epochs
    if batch is not None:
        settings["batch"] = _parse_value(batch)
    if "seed" in settings:
        raise SettingError("seed is no setting of a model, expected it as --seed")
    return settings


def _published(name: str) -> dict[str, Any]:
    from mpxgat.models.mpxgat_settings import PUBLISHED

    if name not in PUBLISHED:
        raise SettingError(f"no published settings for {quoted(name)}; known are {', '.join(PUBLISHED)}")
    return PUBLISHED[name]


def _read_config(path: Path) -> dict[str, Any]:
    from mpxgat.io.toml_files import read_toml

    content = read_toml(path)
    settings = content
    if isinstance(content.get(_TABLE), dict):
        others = [name for name in content if name != _TABLE]
        if others:
            raise InputError(f"{quoted(others[0])} stands beside the table [{_TABLE}], expected it inside", path)
        settings = content[_TABLE]
    for name, value in settings.items():
        if isinstance(value, dict):
            raise InputError(f"a table [{printable(name)}], expected plain keys or one table [{_TABLE}]", path)
    return settings


def _parse_set(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise SettingError(f"--set {quoted(text)}, expected KEY=VALUE")
    return key, _parse_value(value.strip())


def _parse_value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value = parsed["value"]
    # Dates and further lines are TOML too, but what was meant is a text.
    return value if len(parsed) == 1 and isinstance(value, bool | int | float | str | list) else text
