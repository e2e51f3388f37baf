"""Search by optuna: settings drawn where trials went well so far (TPE), poor trials pruned, SQLite storage.

The space is given by ranges and choices, by name of the setting, as in a TOML file:

lr = {low = 1e-5, high = 1e-2, log = true}
hidden = {choices = [32, 64, 128]}
dropout = 0.6          # a plain value is the same in all trials

Chance comes from the seed, the trial's number and the setting's name. So a search that was killed goes on as if it
had not been; only processes side by side make the outcome depend on who was quicker.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.exceptions import StorageInternalError
from optuna.trial import TrialState
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from mpxgat.errors import InputError, OutputError, SettingError, printable
from mpxgat.models import make_model
from mpxgat.system import is_out_of_memory
from mpxgat.tuning.search import Method, Objective, Reservation, RunningTrial, SearchFolder, TrialPruned, read_values
from mpxgat.tuning.trials import FINISHED, PRUNED, Trial, trial_from

if TYPE_CHECKING:
    from mpxgat.training.loop import EpochReport


Space = dict[str, Any]

_WIDTHS = {"choices": [16, 32, 64, 128, 256]}
_RATE = {"low": 1e-5, "high": 3e-2, "log": True}
_SCALE = {"low": 0.01, "high": 10.0, "log": True}  # Glorot's is about .01 for 10,000 nodes
_DECAY = {"low": 1e-6, "high": 1e-1, "log": True}
_HEADS = {"low": 1, "high": 6}
# By name, for every model that has such a setting; the published values lie inside.
_USUAL: Space = {
    "hidden": _WIDTHS, "out": _WIDTHS, "heads": _HEADS, "dropout": {"low": 0.0, "high": 0.8},
    "lr": _RATE, "weight_decay": _DECAY,
    "vertical_hidden": _WIDTHS, "vertical_heads": _HEADS, "vertical_lr": _RATE, "vertical_weight_decay": _DECAY,
    "one_hot_scale": _SCALE, "vertical_one_hot_scale": _SCALE, "dimensions": _WIDTHS,
    "edge_dimensions": {"choices": [5, 10, 20]}, "attention_dimensions": {"choices": [10, 20, 40]},
}  # fmt: skip

_STATES = {FINISHED: TrialState.COMPLETE, PRUNED: TrialState.PRUNED}  # or else it failed
_RECORD, _PARTS = "record", "parts"  # names of a trial's attributes in the storage
_SECONDS_TO_WAIT = 60  # for another process that writes
_WARM_UP = 0.2  # share of a part's epochs before which trials are not compared
_EPOCHS = 1_000_000  # more than a part ever has
_UNWRITABLE = ("disk", "full", "readonly", "unable to open", "locked")  # in SQLite's messages


def default_space(model: str) -> Space:
    """Usual ranges of the settings that the model has: rates, dropout, widths, heads."""
    known = make_model(model).settings
    return {name: spec for name, spec in _USUAL.items() if name in known}


def read_space(path: Path) -> Space:
    """A space from a TOML file; InputError for a range or a choice that is none."""
    space = read_values(path)
    for name, spec in space.items():
        problem = _problem(spec)
        if problem:
            raise InputError(f"{printable(name)} {problem}", path)
    return space


def check_space(model: str, space: Space) -> None:
    """SettingError if nothing varies, or for a setting or a value that the model does not take."""
    if not varied(space):
        raise SettingError("no setting varies, expected a range or choices for at least one")
    plain = {name: spec for name, spec in space.items() if not isinstance(spec, dict)}
    make_model(model, **plain)
    for name in varied(space):
        spec = space[name]
        for value in spec.get("choices") or (spec["low"], spec["high"]):
            make_model(model, **{**plain, name: value})


def varied(space: Space) -> tuple[str, ...]:
    """Names of the settings that are not the same in all trials."""
    return tuple(name for name, spec in space.items() if isinstance(spec, dict))


def suggest(trial: optuna.Trial, name: str, spec: Mapping[str, Any], default: Any) -> Any:
    """A value for a setting; whole numbers between whole bounds, unless its ``default`` is no whole number."""
    if "choices" in spec:
        return trial.suggest_categorical(name, spec["choices"])
    low, high, log = spec["low"], spec["high"], spec.get("log", False)
    if isinstance(default, float) or not (isinstance(low, int) and isinstance(high, int)):
        return trial.suggest_float(name, low, high, log=log)
    return trial.suggest_int(name, low, high, log=log)


def _problem(spec: Any) -> str:
    """What is wrong with a range or a choice, in words; empty for a good one and for a plain value."""
    if isinstance(spec, list):
        return "is a list, expected {choices = […]}; lists are for --grid"
    if not isinstance(spec, dict):
        return ""
    if "choices" in spec:
        good = len(spec) == 1 and isinstance(spec["choices"], list) and spec["choices"]
        return "" if good else "has no list of choices, expected {choices = [32, 64]}"
    numbers = all(type(spec.get(bound)) in (int, float) for bound in ("low", "high"))
    log = spec.get("log", False)
    if not numbers or not spec.keys() <= {"low", "high", "log"} or not isinstance(log, bool):
        return "is no range, expected {low = 1e-5, high = 1e-2, log = true} or {choices = [32, 64]}"
    if not spec["low"] < spec["high"] or (log and spec["low"] <= 0):
        return f"ranges from {spec['low']} to {spec['high']}, expected low < high, and above 0 on a log scale"
    return ""


def optuna_method(model: str, space: Space, total: int, *, prune: bool = True) -> Method:
    """So many trials in a space; SettingError for a space that does not fit the model.

    Values drawn in one space say nothing of another, so the space must stay the same; the number of trials may grow.
    """
    check_space(model, space)
    identity = {"method": "optuna", "space": space}
    return Method(varied(space), total, identity, partial(OptunaStorage, space, total, prune))


class OptunaStorage:
    """The trials of a study in the folder's file ``study.db``."""

    def __init__(self, space: Space, total: int, prune: bool, folder: SearchFolder, objective: Objective):
        self._space, self._total, self._folder, self._objective = space, total, folder, objective
        self._running: optuna.Trial | None = None
        self._path = folder.path / "study.db"
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with _storage_errors(self._path), folder.locked():
            if not self._path.exists():
                _make_storage(self._path)
            self._study = _open_study(self._path)
        self._study.pruner = optuna.pruners.MedianPruner() if prune else optuna.pruners.NopPruner()

    def trials(self) -> list[Trial]:
        """All trials on record."""
        with _storage_errors(self._path):
            found = [trial for trial in self._study.get_trials(deepcopy=False) if trial.state.is_finished()]
            return [trial_from(trial.user_attrs[_RECORD]) for trial in found if _RECORD in trial.user_attrs]

    def next(self) -> RunningTrial | None:
        """A trial that a killed process has left, or a new one if there are not enough yet."""
        with _storage_errors(self._path):
            known = self._study.get_trials(deepcopy=False)
            for left in known:
                if left.state == TrialState.RUNNING and (reservation := self._reserve(left.number)):
                    trial = optuna.Trial(self._study, left._trial_id)  # settings drawn so far are in the storage
                    return self._start(trial, set(left.intermediate_values), reservation)
            if len(known) >= self._total:
                return None
            trial = self._study.ask()
            reservation = self._reserve(trial.number)
            assert reservation is not None, "a new trial cannot be run by another process"
            return self._start(trial, set(), reservation)

    def record(self, running: RunningTrial, trial: Trial) -> None:
        """Tell optuna."""
        assert self._running is not None
        value = trial.value if trial.state == FINISHED else None
        with _storage_errors(self._path):
            self._running.set_user_attr(_RECORD, asdict(trial))
            self._study.tell(self._running, value, _STATES.get(trial.state, TrialState.FAIL))

    def _reserve(self, number: int) -> Reservation | None:
        return self._folder.reserve(f"trial-{number:06d}")

    def _start(self, trial: optuna.Trial, reported: set[int], reservation: Reservation) -> RunningTrial:
        given = {name: self._value(trial, name) for name in self._space}
        self._running = trial
        reporter = _Reporter(trial, reported, self._objective.measure, self._path)
        return RunningTrial(trial.number + 1, self._objective.settings(given), reservation, reporter)

    def _value(self, trial: optuna.Trial, name: str) -> Any:
        spec = self._space[name]
        if not isinstance(spec, dict):
            return spec
        state = np.random.SeedSequence((self._objective.seed, trial.number, zlib.crc32(name.encode())))
        self._study.sampler = optuna.samplers.TPESampler(seed=int(state.generate_state(1)[0]))
        return suggest(trial, name, spec, self._objective.settings({})[name])


class _Reporter:
    """Reports each validation to optuna and prunes the trial if the median of the others was better by then.

    A trial's value is the mean, over the parts trained so far, of their best validation AUC. The number of earlier
    parts is added: optuna compares the best value of all steps, and this way it is one of the part in training.
    """

    def __init__(self, trial: optuna.Trial, reported: set[int], measure: str, path: Path):
        self._trial, self._reported, self._measure, self._path = trial, reported, measure, path
        self._best: dict[str, float] = trial.user_attrs.get(_PARTS, {})

    def __call__(self, part: str, report: EpochReport) -> None:
        """After an epoch."""
        if report.validation is None or report.epoch < _WARM_UP * report.epochs or not _concerns(part, self._measure):
            return
        with _storage_errors(self._path):
            self._report(part, report.validation, report.epoch)

    def _report(self, part: str, validation: float, epoch: int) -> None:
        if part not in self._best or validation > self._best[part]:
            self._best[part] = validation
            self._trial.set_user_attr(_PARTS, self._best)
        earlier = list(self._best).index(part)
        step = earlier * _EPOCHS + epoch
        if step not in self._reported:  # by a process that was killed
            self._trial.report(earlier + fmean(list(self._best.values())[: earlier + 1]), step)
        if self._trial.should_prune():
            raise TrialPruned


def _open_study(path: Path) -> optuna.Study:
    """The study in a file, made if it is not there."""
    connect = partial(sqlite3.connect, path, timeout=_SECONDS_TO_WAIT, check_same_thread=False)
    engine = {"creator": connect, "poolclass": NullPool}
    storage = optuna.storages.RDBStorage("sqlite:///study.db", engine_kwargs=engine)
    return optuna.create_study(storage=storage, study_name="tune", direction="maximize", load_if_exists=True)


def _make_storage(path: Path) -> None:
    """A storage with a study in which nothing was tried: there whole, or not at all.

    Optuna makes its tables one by one. Killed, or out of space, between two of them, it would leave a file that it
    does not take for its own any more.
    """
    unfinished = path.with_name(f".{path.name}.new")
    leftovers = (unfinished, path.with_name(f"{unfinished.name}-journal"))
    try:
        for leftover in leftovers:
            leftover.unlink(missing_ok=True)
        _open_study(unfinished)
        os.replace(unfinished, path)
    except OSError as problem:
        raise OutputError(f"{printable(path, 300)}: cannot write: {printable(problem.strerror)}") from None
    finally:
        for leftover in leftovers:
            with suppress(OSError):  # who may not write may not remove either
                leftover.unlink(missing_ok=True)


@contextmanager
def _storage_errors(path: Path) -> Iterator[None]:
    """What goes wrong with the storage in the block is an OutputError if it cannot be written, else an InputError."""
    try:
        yield
    except (DatabaseError, StorageInternalError) as problem:
        reason = str(getattr(problem.__cause__ or problem, "orig", ""))  # SQLite's own words
        if any(words in reason for words in _UNWRITABLE):
            raise OutputError(f"{printable(path, 300)}: cannot write: {printable(reason)}") from None
        raise InputError("this is no storage of optuna's, or a damaged one", path) from None
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"optuna's storage is damaged ({printable(problem)})", path) from None
    except RuntimeError as problem:
        if is_out_of_memory(problem):
            raise
        # Optuna's word for a storage of another version.
        raise InputError(f"optuna cannot use this storage ({printable(problem, 200)})", path) from None


def _concerns(part: str, measure: str) -> bool:
    """Whether the measure depends on a part of the model: inter AUC does not on MPXGAT's layers."""
    if part == "between layers":
        return measure != "intra"
    return measure != "inter" or not part.startswith("layer ")
