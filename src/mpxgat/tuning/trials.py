"""A trial on record, and a file of them: one line of JSON for each."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, printable, quoted
from mpxgat.io.files import append_json_line, read_json_lines

FINISHED, PRUNED, FAILED = "finished", "pruned", "failed"
MEASURES = ("intra", "inter", "overall")


@dataclass(frozen=True)
class Trial:
    """A choice of settings and what it reached on the validation links.

    number      1, 2, …: its position in the grid, or among optuna's trials
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
        """What a finished trial is evaluated by."""
        value = self.auc[self.measure]
        assert value is not None
        return value


def settings_key(settings: Mapping[str, Any]) -> str:
    """The same text for the same settings."""
    return json.dumps(dict(settings), sort_keys=True)


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """The finished ones, best first; of equally good ones the smaller number first."""
    return sorted((trial for trial in trials if trial.state == FINISHED), key=lambda t: (-t.value, t.number))


@dataclass(frozen=True)
class TrialsFile:
    """A JSONL file of trials; one process at a time may append. A line that was cut off by a crash is dropped."""

    path: Path

    def read(self) -> list[Trial]:
        """All trials; InputError names a line that is none."""
        return [self._trial(row, number) for number, row in read_json_lines(self.path, "a trial")]

    def append(self, trial: Trial) -> None:
        """Add a trial at the end, on disk when this returns."""
        append_json_line(self.path, asdict(trial))

    def _trial(self, row: Mapping[str, Any], number: int) -> Trial:
        try:
            return trial_from(row)
        except ValueError as problem:
            raise InputError(f"not a trial ({problem})", self.path, number) from None


def trial_from(row: Mapping[str, Any]) -> Trial:
    """The trial that ``asdict`` made these values of; ValueError says what is wrong with them."""
    try:
        trial = Trial(**row)
    except TypeError as problem:
        raise ValueError(printable(problem)) from None
    wrong = _wrong_part(trial)
    if wrong:
        raise ValueError(f"{wrong} is {quoted(row.get(wrong))}")
    return trial


def _wrong_part(trial: Trial) -> str | None:
    """The name of a part that is not what a trial holds; None if all are."""
    finished = trial.state == FINISHED and trial.measure in MEASURES
    auc: Mapping[str, object] = trial.auc if isinstance(trial.auc, dict) else {"": ""}
    parts = {
        "number": type(trial.number) is int,
        "settings": isinstance(trial.settings, dict),
        "state": trial.state in (FINISHED, PRUNED, FAILED),
        "measure": trial.measure in MEASURES,
        "auc": all(value is None or _is_number(value, 1) for value in auc.values())
        and (not finished or (auc.keys() >= {*MEASURES} and auc[trial.measure] is not None)),
        "epochs": trial.epochs is None or type(trial.epochs) is int,
        "seconds": _is_number(trial.seconds, sys.float_info.max),
        "problem": isinstance(trial.problem, str),
    }
    return next((name for name, right in parts.items() if not right), None)


def _is_number(value: object, largest: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= largest
