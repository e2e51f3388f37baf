"""DATA, the argument of every command: the name of a data set, or a path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpxgat.errors import DatasetError, SettingError, quoted

if TYPE_CHECKING:
    from mpxgat.graph import MultiplexGraph

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
