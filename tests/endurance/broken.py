"""Readers that break each promise, to see that fuzzing notices; they are fuzzed only when named."""

from __future__ import annotations

import os
import time
from pathlib import Path

from mpxgat.errors import InputError
from tests.endurance.mutations import Random
from tests.endurance.subjects import Subject


def _make(folder: Path, rng: Random) -> None:
    (folder / "file").write_bytes(b"good")


def _is_good(folder: Path) -> bool:
    """The file as it was made must be read, or the subject is none."""
    return (folder / "file").read_bytes() == b"good"


def _raises(folder: Path) -> None:
    if not _is_good(folder):
        raise KeyError("not a named error")


def _hangs(folder: Path) -> None:
    while not _is_good(folder):
        pass


def _waits(folder: Path) -> None:
    if not _is_good(folder):
        time.sleep(1000)


def _eats(folder: Path) -> None:
    if not _is_good(folder):
        assert b"\1" * (600 << 20)


def _dies(folder: Path) -> None:
    if not _is_good(folder):
        os.abort()


def _babbles(folder: Path) -> None:
    if not _is_good(folder):
        raise InputError("fine so far") if (folder / "file").stat().st_size % 2 else _BabbleError("two\nlines")


class _BabbleError(InputError):
    def __str__(self) -> str:
        return self.message


def broken_subjects() -> list[Subject]:
    """One for each promise."""
    reads = {
        "raises": _raises, "hangs": _hangs, "waits": _waits, "eats": _eats, "dies": _dies, "babbles": _babbles,
    }  # fmt: skip
    return [Subject(f"broken: {name}", _make, read) for name, read in reads.items()]
