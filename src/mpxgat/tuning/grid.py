"""Grid search: every combination of the values in a TOML file, each a trial. It needs no optuna.

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
from mpxgat.tuning.search import Method, Objective, RunningTrial, SearchFolder, read_values
from mpxgat.tuning.trials import Trial, TrialsFile, settings_key

_MOST_COMBINATIONS = 100_000


def read_grid(path: Path) -> dict[str, list[Any]]:
    """Values to combine, by name of the setting; InputError for a setting without values or with a range."""
    grid = {name: value if isinstance(value, list) else [value] for name, value in read_values(path).items()}
    for name, values in grid.items():
        if not values:
            raise InputError(f"{printable(name)} has no values, expected at least one", path)
        if any(isinstance(value, dict) for value in values):
            raise InputError(
                f"{printable(name)} is a table, expected values such as [64, 128]; ranges are for --trials and --space",
                path,
            )
    return grid


def grid_method(model: str, grid: Mapping[str, list[Any]]) -> Method:
    """All combinations in the order of the file, the last setting changing fastest.

    SettingError for a setting that the model does not know or a value it does not take. A grid may grow while it is
    searched: trials are known by their settings.
    """
    count = math.prod(len(values) for values in grid.values())
    if count > _MOST_COMBINATIONS:
        raise SettingError(f"the grid has {count} combinations, expected at most {_MOST_COMBINATIONS}")
    rows = (dict(zip(grid, row, strict=True)) for row in product(*grid.values()))
    distinct = {settings_key(full): full for full in (make_model(model, **row).settings for row in rows)}
    varied = tuple(name for name, values in grid.items() if len(values) > 1)
    return Method(varied, len(distinct), {"method": "grid"}, partial(GridStorage, distinct))


class GridStorage:
    """The trials of a grid, full settings by `settings_key`, in the folder's file ``trials.jsonl``."""

    def __init__(self, combinations: Mapping[str, Mapping[str, Any]], folder: SearchFolder, objective: Objective):
        self._combinations, self._folder = combinations, folder
        self._file = TrialsFile(folder.path / "trials.jsonl")

    def trials(self) -> list[Trial]:
        """All trials on record."""
        return self._file.read()

    def next(self) -> RunningTrial | None:
        """The first combination that is neither on record nor run by another process."""
        recorded = {settings_key(trial.settings) for trial in self.trials()}
        for number, (key, settings) in enumerate(self._combinations.items(), 1):
            if key not in recorded:
                reservation = self._folder.reserve(hashlib.sha256(key.encode()).hexdigest()[:16])
                if reservation is not None:
                    return RunningTrial(number, settings, reservation)
        return None

    def record(self, running: RunningTrial, trial: Trial) -> None:
        """Append the trial."""
        self._file.append(trial)
