"""Settings of a model as a frozen dataclass: checked names and types, plain values in and out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from mpxgat.errors import SettingError, quoted

_BEYOND_WHOLE = 2**63  # of 64 bits, with which everything computes
AUTO, FULL = "auto", "full"  # what ``batch`` may be beside a number
_WORDS = {"int": "a whole number", "float": "a number", "str": "a text"}


@dataclass(frozen=True)
class Settings:
    """Base of settings classes. Fields are ``int``, ``float`` or ``str``, each with a default, or one of them or None,
    or several of them.

    A class checks ranges in its ``__post_init__``.
    """

    @classmethod
    def of(cls, /, **settings: Any) -> Self:
        """Settings by name; SettingError for a name or a type that does not fit."""
        kinds = {field.name: str(field.type) for field in fields(cls)}
        for name, value in settings.items():
            if name not in kinds:
                raise SettingError(f"no setting {quoted(name)}; known are {', '.join(kinds)}")
            _check_type(name, value, kinds[name])
        return cls(**settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def check_at_least(self, least: float, *names: str) -> None:
        """SettingError for the first of these that is smaller (or no number at all)."""
        for name in names:
            value = getattr(self, name)
            if not value >= least:
                raise SettingError(f"{name} is {value}, expected at least {least}")

    def check_share(self, *names: str) -> None:
        """SettingError for the first of these that is not at least 0 and less than 1."""
        for name in names:
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise SettingError(f"{name} is {value}, expected at least 0 and less than 1")


def _check_type(name: str, value: Any, kind: str) -> None:
    """An int of 64 bits where an int is expected (not a bool), a number where a float is, a text where a text is."""
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _BEYOND_WHOLE
    fits = {
        "int": whole,
        "float": whole or isinstance(value, float),
        "str": isinstance(value, str),
        "None": value is None,
    }
    kinds = kind.split(" | ")
    if not any(fits[each] for each in kinds):
        expected = " or ".join(_WORDS[each] for each in kinds if each in _WORDS)
        raise SettingError(f"{name} is {quoted(value)}, expected {expected}")


def check_batch(batch: int | str) -> None:
    """SettingError unless it is auto, full or a whole number of at least 1."""
    if batch not in (AUTO, FULL) and (isinstance(batch, str) or batch < 1):
        raise SettingError(f"batch is {quoted(batch)}, expected auto, full or a whole number of at least 1")
