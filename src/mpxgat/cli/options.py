"""DATA, the argument of every command: the name of a data set, or a path."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.errors import DatasetError, InputError, SettingError, printable, quoted

if TYPE_CHECKING:
    from mpxgat.graph import MultiplexGraph
    from mpxgat.matching import Matcher
    from mpxgat.training.parallel import Engine


DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="A data set's name (see `mpxgat datasets`) or a file.")
]
FormatOption = Annotated[str | None, typer.Option("--format", help="The file's format, if its suffix does not tell.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


def load_data(text: str, format: str | None = None) -> tuple[MultiplexGraph, str]:
    """The graph that ``text`` names, and a label for it: the data set's name or the path as given.

    A file of that name comes before a data set. A text with a separator or a suffix is a path in any case.
    """
    from mpxgat import datasets, io

    if is_path(text):
        return io.read(text, format), text
    if text not in datasets.names():
        if _exists(text) or format is not None:
            return io.read(text, format), text
        try:
            datasets.dataset(text)
        except DatasetError as problem:
            raise DatasetError(f"no file {quoted(text)} and {problem}") from None
    if format is not None:
        raise SettingError(f"a format was given ({quoted(format)}), but {quoted(text)} is a data set, expected a file")
    return datasets.load(text), text


def is_path(text: str) -> bool:
    """Whether ``text`` must be a path: it is a file, or it has a separator or a suffix."""
    path = Path(text)
    return "/" in text or "\\" in text or bool(path.suffix) or (_exists(text) and path.is_file())


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # a name too long for the system, or one it forbids
        return False


# A model's settings from the command line: published, a TOML file, ``--set key=value``, ``--epochs`` and ``--batch``.
#
# Names and values are checked by the model itself; here they are only read and put together.


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
    from mpxgat.models.mpxgat import PUBLISHED

    if name not in PUBLISHED:
        raise SettingError(f"no published settings for {quoted(name)}; known are {', '.join(PUBLISHED)}")
    return PUBLISHED[name]


def _read_config(path: Path) -> dict[str, Any]:
    from mpxgat.io.files import read_toml

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


# Where work runs side by side, from the command line: ``--jobs`` processes here, or ``--engine ray``.


EngineOption = Annotated[
    str | None,
    typer.Option("--engine", help="Where work runs side by side: processes (of this machine; the default) or ray."),
]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", help="With --engine ray: the address of a cluster. Without it, a Ray of this machine."),
]
JobsOption = Annotated[
    int, typer.Option(min=1, help="Layers or self-made splits learned side by side, each in a process.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, help="With --engine ray: pieces of work at a time. Default: this machine's processors."
    ),
]
_PROCESSES, _RAY = "processes", "ray"


def chosen_engine(name: str | None, address: str | None, workers: int | None, jobs: int) -> Engine:
    """The engine asked for; SettingError if options do not go together or Ray is not installed."""
    from mpxgat.training.parallel import Processes

    if name not in (None, _PROCESSES, _RAY):
        raise SettingError(f"no engine {quoted(name)}; known are {_PROCESSES}, {_RAY}")
    if name != _RAY:
        for option, value in (("--address", address), ("--workers", workers)):
            if value is not None:
                raise SettingError(f"{option} {quoted(value)} without --engine ray, expected both or neither")
        return Processes(jobs)
    if jobs != 1:
        raise SettingError(f"--jobs {jobs} beside --engine ray, expected --workers {jobs}")
    from mpxgat.distributed.ray import RayEngine, ray_library

    ray_library()  # says how to install it, before anything is read
    return RayEngine(workers or os.cpu_count() or 1, address)


# RUN, where nodes are to be matched: the run of a model that can do it.


def load_matcher(run: Path) -> tuple[Matcher, str]:
    """The trained model in a run's folder and its name; SettingError if it cannot match nodes."""
    from mpxgat.matching import Matcher
    from mpxgat.runs import RunFolder

    model = RunFolder(run).model()
    if not isinstance(model, Matcher):
        names = ", ".join(_names_of_matchers()) or "none"
        raise SettingError(f"the model {model.name!r} cannot match nodes; models that can: {names}")
    return model, model.name


def _names_of_matchers() -> list[str]:
    from mpxgat.models.base import model_class, model_names

    # A class cannot be asked whether it fulfils a protocol that has properties, so ask for the methods.
    return [name for name in model_names() if hasattr(model_class(name), "candidates")]
