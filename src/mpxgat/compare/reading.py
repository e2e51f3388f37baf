"""What a text says: a number, a date, a list of numbers. A ValueError if it says nothing of the kind."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

NUMBER_EXPECTED, DATE_EXPECTED = "a number such as 4000 or 0.5", "a date such as 2021-03-31"
LIST_EXPECTED = "numbers separated by spaces, commas or semicolons, or a JSON list of them"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST = 1e100  # of a number: differences and their squares stay finite
_LARGEST_LISTED = float(np.finfo(np.float32).max)
_ISO = re.compile(r"(\d{4})([-/])(\d{2})\2(\d{2})(?:[T ](.+))?", re.ASCII)
_GERMAN = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[T ](.+))?", re.ASCII)
_SEPARATOR = re.compile(r"[\s,;]+")


def read_number(text: str) -> float:
    """ValueError if a text is no number, or a larger one than can be reckoned with."""
    value = float(text)
    if "_" in text or not abs(value) <= _LARGEST:
        raise ValueError
    return value


def read_date(text: str) -> float:
    """Days since 1970 of a date, or of a date and time (without a zone: UTC); ValueError if a text is none."""
    if found := _ISO.fullmatch(text):
        year, _, month, day, time = found.groups()
    elif found := _GERMAN.fullmatch(text):
        day, month, year, time = found.groups()
    else:
        raise ValueError
    moment = datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}" + (f"T{time}" if time else ""))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) / timedelta(days=1)


def read_list(text: str) -> NDArray[np.float64]:
    """ValueError if a text is no list of numbers that float32 can hold."""
    if text.startswith("["):
        try:
            numbers = json.loads(text)
        except (json.JSONDecodeError, RecursionError):
            raise ValueError from None
        if not all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers):
            raise ValueError
        try:
            found = np.array(numbers, dtype=np.float64)
        except OverflowError:  # an integer of hundreds of digits
            raise ValueError from None
    else:
        found = np.array([float(part) for part in _SEPARATOR.split(text) if part], dtype=np.float64)
    if not (np.abs(found) <= _LARGEST_LISTED).all():  # NaN neither
        raise ValueError
    return found
