"""Running a search: trial after trial, in this process or in several side by side."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from mpxgat.errors import TrainingError
from mpxgat.graph import MultiplexGraph
from mpxgat.training.session import Report
from mpxgat.training.workers import workers
from mpxgat.tuning.book import Book, Plan
from mpxgat.tuning.folder import SearchFolder
from mpxgat.tuning.task import Task
from mpxgat.tuning.trials import Trial, settings_key

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
