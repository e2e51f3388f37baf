"""Grid search: every combination of the values in a TOML file, each a trial.

hidden = [64, 128]
lr = [1e-3, 5e-4]
dropout = 0.6          # a plain value is the same in all trials
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, SettingError, printable
from mpxgat.models import make_model
from mpxgat.tuning.search import Plan, SearchFolder, Taken, Task
from mpxgat.tuning.trials import Trial, TrialsFile, read_table, settings_key

_MOST_COMBINATIONS = 100_000


def read_grid(path: Path) -> dict[str, list[Any]]:
    """Values to combine, by name of the setting; InputError for a setting without values or with a range."""
    grid = {name: value if isinstance(value, list) else [value] for name, value in read_table(path).items()}
    for name, values in grid.items():
        if not values:
            raise InputError(f"{printable(name)} has no values, expected at least one", path)
        if any(isinstance(value, dict) for value in values):
            raise InputError(
                f"{printable(name)} is a table, expected values such as [64, 128]; ranges are for --trials and --space",
                path,
            )
    return grid


def grid_plan(model: str, grid: Mapping[str, list[Any]]) -> Plan:
    """All combinations in the order of the file, the last setting changing fastest.

    SettingError for a setting that the model does not know or a value it does not take. A grid may grow while it is
    searched: trials are told by their settings.
    """
    count = math.prod(len(values) for values in grid.values())
    if count > _MOST_COMBINATIONS:
        raise SettingError(f"the grid has {count} combinations, expected at most {_MOST_COMBINATIONS}")
    rows = (dict(zip(grid, row, strict=True)) for row in product(*grid.values()))
    distinct = {settings_key(full): full for full in (make_model(model, **row).settings for row in rows)}
    varied = tuple(name for name, values in grid.items() if len(values) > 1)
    return Plan(varied, len(distinct), {"method": "grid"}, partial(GridBook, distinct))


class GridBook:
    """The trials of a grid, full settings by `settings_key`, in the folder's file ``trials.jsonl``."""

    def __init__(self, combinations: Mapping[str, Mapping[str, Any]], folder: SearchFolder, task: Task):
        self._combinations, self._folder = combinations, folder
        self._file = TrialsFile(folder.path / "trials.jsonl")

    def trials(self) -> list[Trial]:
        """All trials on record."""
        return self._file.read()

    def take(self) -> Taken | None:
        """The first combination that is neither on record nor in work elsewhere."""
        recorded = {settings_key(trial.settings) for trial in self.trials()}
        for number, (key, settings) in enumerate(self._combinations.items(), 1):
            if key not in recorded:
                claim = self._folder.claim(hashlib.sha256(key.encode()).hexdigest()[:16])
                if claim is not None:
                    return Taken(number, settings, claim)
        return None

    def record(self, taken: Taken, trial: Trial) -> None:
        """Append the trial."""
        self._file.append(trial)
