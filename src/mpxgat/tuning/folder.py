"""A search's folder: what is searched, which trials are running, and the best settings so far.

OUT/search.json     model, measure, seed, data: written first, never changed
OUT/trials.jsonl    a grid's trials; OUT/study.db: those of optuna
OUT/best.toml       the best settings so far, for `mpxgat train --config`
OUT/.running/       for each running trial a lock and its checkpoints
OUT/.turn           held while a process takes or records a trial

Several processes may work in one folder. A process that is killed lets go of its locks, so that another one takes up
its trial; the checkpoints say where.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from mpxgat.errors import InputError, OutputError, SettingError, TrainingError, printable, quoted
from mpxgat.io.files import read_bytes, write_files
from mpxgat.tuning.task import Task
from mpxgat.tuning.toml_files import toml_lines
from mpxgat.tuning.trials import Trial, ranked

KIND = "mpxgat-search-1"
_SEARCH = "search.json"


@dataclass(frozen=True, eq=False)
class Claim:
    """A trial that this process has taken on: a folder for its checkpoints, and a lock that says so."""

    folder: Path
    lock: FileLock

    def close(self) -> None:
        """The trial is on record; call it in the same `turn`."""
        self.lock.release()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass(frozen=True)
class SearchFolder:
    """The folder of a search, which may not be there yet."""

    path: Path

    @property
    def best_path(self) -> Path:
        """Where the best settings are."""
        return self.path / "best.toml"

    @property
    def begun(self) -> bool:
        """Whether a search was begun here."""
        return (self.path / _SEARCH).exists()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep other processes from taking or recording a trial meanwhile."""
        try:
            lock = FileLock(self.path / ".turn")
            lock.acquire()
        except OSError as problem:
            raise OutputError(f"{printable(self.path, 300)}: cannot write here: {problem.strerror}") from None
        try:
            yield
        finally:
            lock.release()

    def begin(self, search: Mapping[str, Any]) -> None:
        """Write down what is searched, or check that it is what is searched here; SettingError says what differs."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as problem:  # ValueError: a NUL character in the path
            reason = printable(getattr(problem, "strerror", None) or problem)
            raise OutputError(f"{printable(self.path, 300)}: cannot make a folder: {reason}") from None
        file = self.path / _SEARCH
        with self.turn():
            if not file.exists():
                self._check_empty()
                write_files({file: (json.dumps({"kind": KIND, **search}, indent=1) + "\n").encode()})
            begun = _read(file)
            for leftover in self.path.glob(".best.toml.*"):  # of writers that were killed
                leftover.unlink(missing_ok=True)
        for name in search:
            if begun.get(name) != search[name]:
                before, now = (printable(json.dumps(value)) for value in (begun.get(name), search[name]))
                raise SettingError(
                    f"{printable(self.path, 300)} holds another search: {name} was {before}, now {now}; "
                    "expected the same, or another folder"
                )

    def claim(self, name: str) -> Claim | None:
        """Take on the trial of that name (the same when it is taken up again), unless a living process has it.

        Call it in `turn`.
        """
        folder = self.path / ".running" / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / "lock")
            lock.acquire(timeout=0)
        except Timeout:
            return None
        except OSError as problem:
            raise OutputError(f"{printable(folder, 300)}: cannot write here: {problem.strerror}") from None
        return Claim(folder, lock)

    def write_best(self, task: Task, data: str, varied: Sequence[str], trials: Sequence[Trial]) -> None:
        """Put the best settings so far in their file; call it in `turn`. Without a finished trial there is none."""
        best = ranked(trials)[:1]
        if not best:
            return
        settings = best[0].settings
        lines = [
            f"# The best of {len(trials)} trial(s): {task.measure} AUC {best[0].value:.4f} on validation links.",
            f"# model {task.model}, data {printable(data, 300)}, seed {task.seed}",
            f"# mpxgat train DATA --model {task.model} --config best.toml -o RUN",
            *toml_lines({name: settings[name] for name in varied}),
            "",
            "# the other settings",
            *toml_lines({name: value for name, value in settings.items() if name not in varied}),
        ]
        write_files({self.best_path: ("\n".join(lines) + "\n").encode()})

    def _check_empty(self) -> None:
        foreign = sorted(entry.name for entry in self.path.iterdir() if not entry.name.startswith("."))
        if foreign:
            raise TrainingError(
                f"{printable(self.path, 300)} holds {quoted(foreign[0])} and no search, "
                "expected an empty or a new folder"
            )


def _read(file: Path) -> dict[str, Any]:
    try:
        begun = json.loads(read_bytes(file))
    except (ValueError, RecursionError) as problem:
        raise InputError(f"damaged, or no JSON ({printable(problem)})", file) from None
    if not isinstance(begun, dict) or begun.get("kind") != KIND:
        raise InputError(f"no search of kind {KIND}", file)
    return begun
