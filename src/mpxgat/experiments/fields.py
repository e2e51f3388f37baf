"""Fields of a TOML table, taken one by one; what is missing, of the wrong type or left over is named with its place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, MpxgatError, quoted

_REQUIRED: Any = object()


class Fields:
    """The fields of one table. ``place`` says where it is in the file, such as "cell 3"; "" for the top."""

    def __init__(self, values: Mapping[str, Any], path: Path, place: str):
        self.values = values
        self.place = place
        self._path = path
        self._taken: set[str] = set()

    def problem(self, message: str) -> InputError:
        """An error at this place, to be raised."""
        return InputError(f"{self.place}: {message}" if self.place else message, self._path)

    @contextmanager
    def at_this_place(self) -> Iterator[None]:
        """What goes wrong in the block goes wrong at this place."""
        try:
            yield
        except MpxgatError as problem:
            raise self.problem(str(problem)) from None

    def text(self, name: str, default: str = _REQUIRED) -> str:
        """A text."""
        return str(self._take(name, default, _is_text, "a text"))

    def optional_text(self, name: str) -> str | None:
        """A text, or None without the field."""
        return self.text(name) if self._has(name) else None

    def whole(self, name: str, default: int = _REQUIRED) -> int:
        """A whole number from 1 to 2³¹ - 1."""
        return int(self._take(name, default, lambda v: type(v) is int and 1 <= v < 2**31, "a whole number from 1 on"))

    def optional_whole(self, name: str) -> int | None:
        """Such a whole number, or None without the field."""
        return self.whole(name) if self._has(name) else None

    def optional_number(self, name: str) -> float | None:
        """A number, or None without the field."""
        return float(self._take(name, _REQUIRED, _is_number, "a number")) if self._has(name) else None

    def texts(self, name: str, default: Sequence[str] = _REQUIRED) -> list[str]:
        """A list of texts."""
        return list(self._take(name, default, lambda v: _all(v, _is_text), "a list of texts"))

    def numbers(self, name: str, default: Sequence[float] = _REQUIRED) -> list[int | float]:
        """A list of numbers, as they are written."""
        return list(self._take(name, default, lambda v: _all(v, _is_number), "a list of numbers"))

    def table(self, name: str) -> Fields:
        """A table; without fields if there is none."""
        value = self._take(name, {}, lambda v: isinstance(v, dict), "a table")
        return Fields(value, self._path, f"{self.place}, {name}" if self.place else name)

    def tables(self, name: str) -> list[Fields]:
        """A list of tables, their places counted from 1."""
        rows = self._take(name, [], lambda v: _all(v, lambda x: isinstance(x, dict)), f"tables [[{name}]]")
        return [Fields(row, self._path, f"{name} {number}") for number, row in enumerate(rows, 1)]

    def subtables(self) -> dict[str, Fields]:
        """All fields, each of them a table."""
        return {name: self.table(name) for name in self.values}

    def finish(self) -> None:
        """InputError for a field that nobody took."""
        for name in self.values:
            if name not in self._taken:
                raise self.problem(f"no field {quoted(name)} is known here; known are {', '.join(sorted(self._taken))}")

    def _has(self, name: str) -> bool:
        self._taken.add(name)
        return name in self.values

    def _take(self, name: str, default: Any, fits: Callable[[Any], bool], expected: str) -> Any:
        if not self._has(name):
            if default is _REQUIRED:
                raise self.problem(f"no field {quoted(name)}, expected {expected}")
            return default
        value = self.values[name]
        if not fits(value):
            raise self.problem(f"{name} is {quoted(value)}, expected {expected}")
        return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, float)


def _all(values: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(values, list) and all(fits(value) for value in values)
