"""A trial on record, and a file of them: one line of JSON for each.

Lines are appended whole; one that was cut off by a crash is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, OutputError, printable

FINISHED, PRUNED, FAILED = "finished", "pruned", "failed"


@dataclass(frozen=True)
class Trial:
    """A choice of settings and what it reached on the validation links.

    number      1, 2, …: its place in the grid, or among optuna's trials
    settings    all settings of the model, defaults included
    state       "finished", "pruned" (given up early) or "failed"
    auc         by kind: intra, inter, overall (None where there is nothing to tell apart); empty unless finished
    epochs      of the part that was trained longest; None unless finished
    problem     why it failed
    """

    number: int
    settings: Mapping[str, Any]
    state: str
    measure: str
    auc: Mapping[str, float | None]
    epochs: int | None
    seconds: float
    problem: str = ""

    @property
    def value(self) -> float:
        """What a finished trial is judged by."""
        value = self.auc[self.measure]
        assert value is not None
        return value


def settings_key(settings: Mapping[str, Any]) -> str:
    """The same text for the same settings."""
    return json.dumps(dict(settings), sort_keys=True)


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """The finished ones, best first; of equally good ones the smaller number first."""
    return sorted((trial for trial in trials if trial.state == FINISHED), key=lambda t: (-t.value, t.number))


class TrialsFile:
    """A JSONL file of trials; one process at a time may append."""

    def __init__(self, path: Path):
        self.path = path

    def read(self) -> list[Trial]:
        """All trials; InputError names a line that is none. A last line without its end is passed over."""
        if not self.path.exists():
            return []
        content = self.path.read_bytes()
        lines = content[: content.rfind(b"\n") + 1].splitlines()
        return [self._trial(line, number) for number, line in enumerate(lines, 1)]

    def append(self, trial: Trial) -> None:
        """Add a trial at the end, on disk when this returns."""
        try:
            with open(self.path, "ab+") as stream:
                stream.seek(0)
                stream.truncate(stream.read().rfind(b"\n") + 1)
                stream.write(json.dumps(asdict(trial), allow_nan=False).encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as problem:
            raise OutputError(f"{printable(self.path, 300)}: cannot write: {printable(problem.strerror)}") from None

    def _trial(self, line: bytes, number: int) -> Trial:
        try:
            trial = Trial(**json.loads(line))
            _ = settings_key(trial.settings), ranked([trial])
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as problem:
            raise InputError(f"not a trial ({printable(problem)})", self.path, number) from None
        return trial
