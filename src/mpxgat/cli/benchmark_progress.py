"""How a benchmark is shown while it goes on: cells done and to do, those in work, time left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from statistics import mean
from typing import TYPE_CHECKING

from mpxgat.cli.output import console_for, print_note
from mpxgat.errors import printable

if TYPE_CHECKING:
    from mpxgat.experiments.records import CellKey
    from mpxgat.experiments.runner import Event


def describe(key: CellKey) -> str:
    """A cell in few words."""
    return printable(f"{key.dataset}, {key.model}, seed {key.seed}", 200)


class TimeLeft:
    """How long cells will take: as long as those done of the same model and data set, or model, or at all."""

    def __init__(self, keys: Sequence[CellKey], jobs: int):
        self._to_do = list(keys)
        self._jobs = jobs
        self._seconds: dict[tuple[str, ...], list[float]] = {}

    def done(self, key: CellKey, seconds: float) -> None:
        """A cell is done and took so long."""
        self._to_do.remove(key)
        for kind in _kinds(key):
            self._seconds.setdefault(kind, []).append(seconds)

    def text(self) -> str:
        """Hours, minutes and seconds; a question mark before the first is done."""
        if not self._seconds:
            return "?"
        known = [next(self._seconds[kind] for kind in _kinds(key) if kind in self._seconds) for key in self._to_do]
        return str(timedelta(seconds=round(sum(map(mean, known)) / self._jobs)))


def _kinds(key: CellKey) -> tuple[tuple[str, ...], ...]:
    return (key.model, key.dataset), (key.model,), ()


@contextmanager
def benchmark_progress(keys: Sequence[CellKey], jobs: int, *, quiet: bool = False) -> Iterator[Callable[[Event], None]]:
    """Gives the function to call with every event. Standard error has a bar, or a line a cell if it is no terminal."""
    if quiet or not keys:
        yield lambda event: None
    elif sys.stderr.isatty():
        with _bar(keys, jobs) as show:
            yield show
    else:
        done = 0

        def note(event: Event) -> None:
            nonlocal done
            if not _is_start(event):
                done += 1
                print_note(f"{done} of {len(keys)}: {describe(event.key)}: {_outcome(event)}")

        yield note


@contextmanager
def _bar(keys: Sequence[CellKey], jobs: int) -> Iterator[Callable[[Event], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console_for(sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=len(keys))
        left = TimeLeft(keys, jobs)
        begun: dict[str, float] = {}
        in_work: dict[str, str] = {}

        def show(event: Event) -> None:
            if _is_start(event):
                begun[event.key.text()] = bar.get_time()
                in_work[event.key.text()] = describe(event.key)
            else:
                left.done(event.key, bar.get_time() - begun[event.key.text()])
                name = in_work.pop(event.key.text())
                bar.advance(task)
                bar.console.print(f"{name}: {_outcome(event)}", markup=False, highlight=False)
            bar.update(task, description=f"about {left.text()} left · {' · '.join(in_work.values())}")

        yield show


def _is_start(event: Event) -> bool:
    from mpxgat.experiments.runner import Started

    return isinstance(event, Started)


def _outcome(event: Event) -> str:
    from mpxgat.experiments.runner import Finished

    if not isinstance(event, Finished):
        return "failed"
    measures = event.record.measures
    aucs = {kind: measures[kind]["auc"] for kind in ("intra", "inter")}
    return ", ".join(f"{kind} AUC {auc:.4f}" for kind, auc in aucs.items() if auc is not None) or "no links to tell"
