"""A search for settings: trials that are fitted without the validation links and evaluated on them, kept in a folder.

OUT/search.json     model, measure, seed, data: written first, never changed
OUT/trials.jsonl    a grid's trials; OUT/study.db: those of optuna
OUT/best.toml       the best settings so far, for `mpxgat train --config`
OUT/.running/       for each running trial a lock and its checkpoints
OUT/.lock           held while a process begins or records a trial

Several processes may work in one folder. A process that is killed lets go of its locks, so that another one continues
its trial from the checkpoints, which optuna's own retries would begin anew.
"""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import tomli_w
from filelock import FileLock, Timeout

from mpxgat.errors import (
    InputError,
    MpxgatError,
    OutputError,
    ResumeError,
    SettingError,
    TrainingError,
    printable,
    quoted,
)
from mpxgat.evaluation import evaluate
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import json_bytes, read_json, read_toml, write_files
from mpxgat.models import make_model
from mpxgat.splits import Split
from mpxgat.training.parallel import Report, Session, workers
from mpxgat.tuning.trials import FAILED, FINISHED, MEASURES, PRUNED, Trial, ranked, settings_key

if TYPE_CHECKING:
    from mpxgat.training.loop import EpochReport

Show = Callable[[], AbstractContextManager[Report]]
"""Opens a display for one trial."""
Done = Callable[[Trial], None]
_KIND = "mpxgat-search-1"
_SEARCH = "search.json"
_SECONDS_BETWEEN_LOOKS = 0.5


class TrialPruned(Exception):  # noqa: N818 - a signal, like KeyboardInterrupt
    """Raised by what hears a trial's reports, to end a trial that promises little."""


def read_values(path: Path) -> dict[str, Any]:
    """The settings in a TOML file and their values; InputError if it is none or empty, SettingError for a seed."""
    content = read_toml(path)
    if not content:
        raise InputError("no settings in the file, expected lines such as: lr = [0.001, 0.0005]", path)
    if "seed" in content:
        raise SettingError("seed is no setting of a model, expected it as --seed")
    return content


def check_measure(measure: str) -> None:
    """SettingError unless there is a measure of this name."""
    if measure not in MEASURES:
        raise SettingError(f"no measure {quoted(measure)}; known are {', '.join(MEASURES)}")


@dataclass(frozen=True, eq=False)
class Objective:
    """Model, measure and seed of a search, and the split that its trials are fitted and evaluated on.

    SettingError if the split hides no link that the measure asks about.
    """

    model: str
    measure: str
    seed: int
    validation: Split

    def __post_init__(self) -> None:
        hidden = {"intra": len(self.validation.intra.positives), "inter": len(self.validation.inter.positives)}
        if not sum(hidden[kind] for kind in hidden if self.measure in (kind, "overall")):
            raise SettingError(
                f"the validation part of the data has no links for the measure {self.measure}; "
                "expected some: take another measure, another seed or more data"
            )

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All settings of the model, defaults included."""
        return make_model(self.model, seed=self.seed, **given).settings

    def run(self, number: int, settings: Mapping[str, Any], session: Session) -> Trial:
        """One trial. What a user could mend in its settings makes it a failed one; it never raises for that."""
        start = time.perf_counter()
        state, problem, epochs = FINISHED, "", None
        auc: dict[str, float | None] = {}
        try:
            model = make_model(self.model, seed=self.seed, **settings).fit(self.validation.train, session)
            found = evaluate(model, self.validation)
            values = (found.intra.values["auc"], found.inter.values["auc"], found.overall_auc)
            auc = {kind: None if math.isnan(value) else value for kind, value in zip(MEASURES, values, strict=True)}
            epochs = max((part["epochs"] for part in model.training_summary().get("parts", {}).values()), default=None)
            if auc[self.measure] is None:
                state, problem = FAILED, f"the {self.measure} AUC is undefined"
        except TrialPruned:
            state = PRUNED
        except (OutputError, ResumeError):  # a full disk or a damaged checkpoint is no fault of the settings
            raise
        except (MpxgatError, MemoryError, RuntimeError) as reason:  # torch's errors are RuntimeErrors
            state, problem = FAILED, printable(reason, 300) or type(reason).__name__
        seconds = round(time.perf_counter() - start, 2)
        return Trial(number, dict(settings), state, self.measure, auc, epochs, seconds, problem)


@dataclass(frozen=True, eq=False)
class Reservation:
    """Of a trial for this process: a folder for its checkpoints, and a lock that other processes see."""

    folder: Path
    lock: FileLock

    def close(self) -> None:
        """The trial is on record; call it while the search's folder is `locked`."""
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
    def locked(self) -> Iterator[None]:
        """Keep other processes from beginning or recording a trial meanwhile."""
        try:
            lock = FileLock(self.path / ".lock")
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
        with self.locked():
            if not file.exists():
                self._check_empty()
                write_files({file: json_bytes({"kind": _KIND, **search})})
            begun = read_json(file, _KIND)
            for leftover in self.path.glob(".best.toml.*"):  # of writers that were killed
                leftover.unlink(missing_ok=True)
        for name in search:
            if begun.get(name) != search[name]:
                before, now = (printable(json.dumps(value)) for value in (begun.get(name), search[name]))
                raise SettingError(
                    f"{printable(self.path, 300)} holds another search: {name} was {before}, now {now}; "
                    "expected the same, or another folder"
                )

    def _check_empty(self) -> None:
        foreign = sorted(entry.name for entry in self.path.iterdir() if not entry.name.startswith("."))
        if foreign:
            raise TrainingError(
                f"{printable(self.path, 300)} holds {quoted(foreign[0])} and no search, "
                "expected an empty or a new folder"
            )

    def reserve(self, name: str) -> Reservation | None:
        """The trial of that name (the same when it is continued), unless a living process has it; call it `locked`."""
        folder = self.path / ".running" / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / "lock")
            lock.acquire(timeout=0)
        except Timeout:
            return None
        except OSError as problem:
            raise OutputError(f"{printable(folder, 300)}: cannot write here: {problem.strerror}") from None
        return Reservation(folder, lock)

    def write_best(self, objective: Objective, data: str, varied: Sequence[str], trials: Sequence[Trial]) -> None:
        """Put the best settings so far in their file; call it `locked`. Without a finished trial there is none."""
        best = ranked(trials)[:1]
        if not best:
            return
        # TOML has no null, and None is the default of those settings that can be.
        known = {name: value for name, value in best[0].settings.items() if value is not None}
        text = (
            f"# The best of {len(trials)} trial(s): {objective.measure} AUC {best[0].value:.4f} on validation links.\n"
            f"# data {printable(data, 300)}, seed {objective.seed}\n"
            "# mpxgat train DATA --config best.toml -o RUN\n"
            f"{tomli_w.dumps({'model': objective.model})}\n"
            f"{tomli_w.dumps({name: known[name] for name in varied if name in known})}\n"
            f"# the other settings\n{tomli_w.dumps({name: known[name] for name in known if name not in varied})}"
        )
        write_files({self.best_path: text.encode()})


@dataclass(frozen=True, eq=False)
class RunningTrial:
    """A trial that this process runs; ``watch`` hears its reports and may prune it."""

    number: int
    settings: Mapping[str, Any]
    reservation: Reservation
    watch: Report | None = None

    def session(self, show: Report) -> Session:
        """Checkpoints in the folder reserved; reports go to ``show`` first."""

        def report(part: str, epoch: EpochReport) -> None:
            show(part, epoch)
            if self.watch is not None:
                self.watch(part, epoch)

        return Session(self.reservation.folder, {"trial": settings_key(self.settings)}, report)


class Storage(Protocol):
    """The trials of a search. `next` and `record` are called with the folder `locked`."""

    def trials(self) -> list[Trial]:
        """Those on record."""

    def next(self) -> RunningTrial | None:
        """The next one to run, None if none is left for this process."""

    def record(self, running: RunningTrial, trial: Trial) -> None:
        """Put it on record."""


@dataclass(frozen=True, eq=False)
class Method:
    """Which trials to run: a plain value that can be sent to another process.

    varied      names of the settings that trials differ in
    total       number of trials in the end
    identity    what must stay the same when the search goes on, as plain values
    storage     of the trials, in a folder in which the search was begun
    """

    varied: tuple[str, ...]
    total: int
    identity: Mapping[str, Any]
    storage: Callable[[SearchFolder, Objective], Storage]


@dataclass(frozen=True, eq=False)
class Search:
    """What is searched, how, and where it is kept. ``data`` is what the user calls the data."""

    folder: SearchFolder
    objective: Objective
    method: Method
    data: str

    def begin(self, graph: MultiplexGraph) -> None:
        """Make the folder, or check that it holds this search on this graph."""
        objective = self.objective
        self.folder.begin(
            {
                "model": objective.model,
                "measure": objective.measure,
                "seed": objective.seed,
                **self.method.identity,
                "data": f"{graph.n_nodes} nodes, checksum {graph.fingerprint()[:16]}",
                "protocol": objective.validation.protocol,
            }
        )

    def trials(self) -> list[Trial]:
        """All trials on record."""
        return self._storage().trials()

    def run(self, show: Show, done: Done) -> None:
        """Run trials until none is left for this process; the best settings are on disk before each."""
        storage = self._storage()
        while True:
            with self.folder.locked():
                self.folder.write_best(self.objective, self.data, self.method.varied, storage.trials())
                running = storage.next()
            if running is None:
                return
            try:
                with show() as report:
                    trial = self.objective.run(running.number, running.settings, running.session(report))
                with self.folder.locked():
                    storage.record(running, trial)
                    running.reservation.close()
            finally:
                running.reservation.lock.release()
            done(trial)

    def run_side_by_side(self, jobs: int, done: Done) -> None:
        """The same in several processes, each with its share of the threads."""
        storage = self._storage()
        known = {_name(trial) for trial in storage.trials()}
        with workers(jobs) as pool:
            running = {pool.submit(_run_in_process, self, jobs) for _ in range(jobs)}
            while running:
                ended, running = wait(running, timeout=_SECONDS_BETWEEN_LOOKS)
                for trial in storage.trials():
                    if _name(trial) not in known:
                        known.add(_name(trial))
                        done(trial)
                try:
                    for worker in ended:
                        worker.result()
                except BrokenProcessPool:
                    raise TrainingError(
                        "a worker process died, maybe for lack of memory; the same command continues, with fewer --jobs"
                    ) from None

    def _storage(self) -> Storage:
        return self.method.storage(self.folder, self.objective)


def _name(trial: Trial) -> tuple[int, str]:
    return trial.number, settings_key(trial.settings)


def _run_in_process(search: Search, jobs: int) -> None:
    import torch

    torch.set_num_threads(max(1, torch.get_num_threads() // jobs))
    search.run(lambda: nullcontext(lambda part, report: None), lambda trial: None)
