"""Every exception this package raises on purpose.

MpxgatError                  anything a user can mend; the command line prints it and exits with code 2
├── InputError               a file or table that cannot be read as a multiplex (says file, line, what was expected)
├── OutputError              a file that cannot be written, or a format that cannot hold the graph
├── GraphError               values that contradict the assumptions of a multiplex (names the nodes)
├── SettingError             an option or setting outside its range
├── DatasetError             a named data set that is unknown, absent or damaged
├── TrainingError            a training that cannot start, go on or be resumed
│   └── ResumeError          a checkpoint that is damaged, or of another training
└── MissingExtraError        an optional dependency that is not installed

And one warning: DataWarning, for data that was read though not all of it was used, or perhaps not as it was meant.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from os import PathLike

_SHOWN_CHARACTERS = 60
_MESSAGE_CHARACTERS = 1000
_HINT = re.compile(r"; (.+)|, (expected .+)")  # as messages are written: what was found, then what to do


class MpxgatError(Exception):
    """Base of all errors that a user can mend."""

    @property
    def hint(self) -> str | None:
        """The part of the message that says what was expected or what to do; None if it says neither."""
        found = _HINT.search(printable(self, _MESSAGE_CHARACTERS))
        return None if found is None else found[1] or found[2]


class InputError(MpxgatError):
    """A file or table that cannot be read: says where, what was found and what was expected."""

    def __init__(self, message: str, path: str | PathLike[str] | None = None, line: int | None = None):
        self.message = message
        self.path = None if path is None else str(path)
        self.line = line
        super().__init__(message)

    def __str__(self) -> str:
        where = "" if self.path is None else printable(self.path, 300)
        if self.line is not None:
            where = f"{where}:{self.line}" if where else f"row {self.line}"
        message = printable(self.message, _MESSAGE_CHARACTERS)  # one line, whatever was quoted from the file
        return f"{where}: {message}" if where else message


class OutputError(MpxgatError):
    """A file that cannot be written, or a format that cannot hold the graph."""


class GraphError(MpxgatError):
    """Values that contradict the assumptions of a multiplex."""


class SettingError(MpxgatError):
    """An option or setting outside its range."""


class DatasetError(MpxgatError):
    """A named data set that is unknown, absent or damaged."""


class TrainingError(MpxgatError):
    """A training that cannot start, go on or be resumed."""


class ResumeError(TrainingError):
    """A checkpoint that is damaged, or of another training."""


class MissingExtraError(MpxgatError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str):
        super().__init__(f"{purpose} needs the package {package}; install it with: pip install 'mpxgat[{extra}]'")


class DataWarning(UserWarning):
    """Data that was read, though part of it was passed over, or perhaps not as it was meant.

    The command line prints it as a note on standard error. `warnings.simplefilter("error", DataWarning)` makes an error
    of it.
    """


def warn_of_data(message: str, path: str | PathLike[str] | None = None) -> None:
    """Issue a `DataWarning`, one line that names the file."""
    warnings.warn(DataWarning(str(InputError(message, path))), stacklevel=3)


def listed(names: Iterable[object], most: int = 5) -> str:
    """Names from a file, quoted, the first few of them."""
    shown = [quoted(name) for name in names]
    return ", ".join(shown[:most]) + (f", … ({len(shown)})" if len(shown) > most else "")


def printable(value: object, limit: int = _SHOWN_CHARACTERS) -> str:
    """``value`` on one line: control characters escaped, cut after ``limit`` characters."""
    try:
        text = str(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists within lists without end
        text = f"({type(value).__name__} too long to be shown)"
    total = len(text)
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:limit])
    return text if total <= limit else f"{text}… ({total} characters)"


def quoted(value: object, limit: int = _SHOWN_CHARACTERS) -> str:
    """``printable`` in quotes, for a value found in a file."""
    return f"'{printable(value, limit)}'"
