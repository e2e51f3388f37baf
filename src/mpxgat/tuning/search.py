"""What all trials of a search have in common, and one trial: fit without the validation links, be judged on them."""

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
from mpxgat.io.files import read_bytes, write_files
from mpxgat.models import make_model
from mpxgat.splits import Split
from mpxgat.training.parallel import Report, Session, workers
from mpxgat.tuning.trials import (
    FAILED,
    FINISHED,
    MEASURES,
    PRUNED,
    Trial,
    ranked,
    settings_key,
    toml_lines,
)

if TYPE_CHECKING:
    from mpxgat.training.loop import EpochReport


class GiveUp(Exception):  # noqa: N818 - a signal, like KeyboardInterrupt
    """Raised by who hears a trial's reports, to end a trial that promises little."""


def check_measure(measure: str) -> None:
    """SettingError unless there is a measure of this name."""
    if measure not in MEASURES:
        raise SettingError(f"no measure {quoted(measure)}; known are {', '.join(MEASURES)}")


@dataclass(frozen=True, eq=False)
class Task:
    """Model, measure and seed of a search, and the split that its trials are fitted and judged on.

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
            auc = {kind: _known(value) for kind, value in zip(MEASURES, values, strict=True)}
            epochs = max((part["epochs"] for part in model.training_summary().get("parts", {}).values()), default=None)
            if auc[self.measure] is None:
                state, problem = FAILED, f"the {self.measure} AUC is undefined"
        except GiveUp:
            state = PRUNED
        except (OutputError, ResumeError):  # a full disk or a damaged checkpoint is no fault of the settings
            raise
        except (MpxgatError, MemoryError, RuntimeError) as reason:  # torch's errors are RuntimeErrors
            state, problem = FAILED, printable(reason, 300) or type(reason).__name__
        seconds = round(time.perf_counter() - start, 2)
        return Trial(number, dict(settings), state, self.measure, auc, epochs, seconds, problem)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


# A search's folder: what is searched, which trials are running, and the best settings so far.
#
# OUT/search.json     model, measure, seed, data: written first, never changed
# OUT/trials.jsonl    a grid's trials; OUT/study.db: those of optuna
# OUT/best.toml       the best settings so far, for `mpxgat train --config`
# OUT/.running/       for each running trial a lock and its checkpoints
# OUT/.turn           held while a process takes or records a trial
#
# Several processes may work in one folder. A process that is killed lets go of its locks, so that another one takes up
# its trial; the checkpoints say where.


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


# What grid search and optuna have in common: a book of trials, from which the next one is taken.


@dataclass(frozen=True, eq=False)
class Taken:
    """A trial to be run by this process; ``watch`` hears its reports and may give it up."""

    number: int
    settings: Mapping[str, Any]
    claim: Claim
    watch: Report | None = None

    def session(self, show: Report) -> Session:
        """Checkpoints in the claim's folder; reports go to ``show`` first."""

        def report(part: str, epoch: EpochReport) -> None:
            show(part, epoch)
            if self.watch is not None:
                self.watch(part, epoch)

        return Session(self.claim.folder, {"trial": settings_key(self.settings)}, report)


class Book(Protocol):
    """The trials of a search. `take` and `record` are called in the folder's `turn`."""

    def trials(self) -> list[Trial]:
        """Those on record."""

    def take(self) -> Taken | None:
        """The next one to run, None if none is left for this process."""

    def record(self, taken: Taken, trial: Trial) -> None:
        """Put it on record."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Which trials to run: a plain value that can be sent to another process.

    varied      names of the settings that trials differ in
    total       number of trials in the end
    identity    what must stay the same when the search goes on, as plain values
    open        the book in a folder in which the search was begun
    """

    varied: tuple[str, ...]
    total: int
    identity: Mapping[str, Any]
    open: Callable[[SearchFolder, Task], Book]


# Running a search: trial after trial, in this process or in several side by side.


Show = Callable[[], AbstractContextManager[Report]]
"""Opens a display for one trial."""
Done = Callable[[Trial], None]
_SECONDS_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True, eq=False)
class Search:
    """What is searched, how, and where it is kept. ``data`` is what the user calls the data."""

    folder: SearchFolder
    task: Task
    plan: Plan
    data: str

    def begin(self, graph: MultiplexGraph) -> None:
        """Make the folder, or check that it holds this search on this graph."""
        task = self.task
        self.folder.begin(
            {
                "model": task.model,
                "measure": task.measure,
                "seed": task.seed,
                **self.plan.identity,
                "data": f"{graph.n_nodes} nodes, checksum {graph.fingerprint()[:16]}",
                "protocol": task.validation.protocol,
            }
        )

    def trials(self) -> list[Trial]:
        """All trials on record."""
        return self._open().trials()

    def run(self, show: Show, done: Done) -> None:
        """Run trials until none is left for this process; the best settings are on disk before each."""
        book = self._open()
        while True:
            with self.folder.turn():
                self.folder.write_best(self.task, self.data, self.plan.varied, book.trials())
                taken = book.take()
            if taken is None:
                return
            try:
                with show() as report:
                    trial = self.task.run(taken.number, taken.settings, taken.session(report))
                with self.folder.turn():
                    book.record(taken, trial)
                    taken.claim.close()
            finally:
                taken.claim.lock.release()
            done(trial)

    def run_side_by_side(self, jobs: int, done: Done) -> None:
        """The same in several processes, each with its share of the threads."""
        book = self._open()
        known = {_name(trial) for trial in book.trials()}
        with workers(jobs) as pool:
            running = {pool.submit(_run_in_process, self, jobs) for _ in range(jobs)}
            while running:
                ended, running = wait(running, timeout=_SECONDS_BETWEEN_LOOKS)
                for trial in book.trials():
                    if _name(trial) not in known:
                        known.add(_name(trial))
                        done(trial)
                try:
                    for worker in ended:
                        worker.result()
                except BrokenProcessPool:
                    raise TrainingError(
                        "a worker process died, maybe for lack of memory; the same command goes on, with fewer --jobs"
                    ) from None

    def _open(self) -> Book:
        return self.plan.open(self.folder, self.task)


def _name(trial: Trial) -> tuple[int, str]:
    return trial.number, settings_key(trial.settings)


def _run_in_process(search: Search, jobs: int) -> None:
    import torch

    torch.set_num_threads(max(1, torch.get_num_threads() // jobs))
    search.run(lambda: nullcontext(lambda part, report: None), lambda trial: None)
