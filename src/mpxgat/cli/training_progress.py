"""How a training is shown while it goes on: part, epoch, loss, validation AUC, β, time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mpxgat.cli.output import console_for
from mpxgat.errors import printable

if TYPE_CHECKING:
    from rich.progress import TaskID

    from mpxgat.training.loop import EpochReport
    from mpxgat.training.session import Report


@contextmanager
def training_progress(*, quiet: bool = False) -> Iterator[Report]:
    """A bar on standard error that vanishes at the end; gives the function that a `Session` reports to.

    The time left is the part's own, at most: it may stop early. Nothing is shown when ``quiet`` or when standard error
    is not a terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda part, report: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[numbers]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console_for(sys.stderr), transient=True) as bar:
        tasks: dict[str, TaskID] = {}
        validations: dict[str, float] = {}

        def show(part: str, report: EpochReport) -> None:
            if report.validation is not None:
                validations[part] = report.validation
            numbers = describe(report, validations.get(part))
            if part not in tasks:
                for finished in tasks.values():
                    bar.update(finished, visible=False)
                tasks[part] = bar.add_task(
                    printable(part), total=report.epochs, completed=report.epoch, numbers=numbers
                )
            bar.update(tasks[part], completed=report.epoch, numbers=numbers)

        yield show


def describe(report: EpochReport, validation: float | None) -> str:
    """An epoch's numbers; ``validation`` is the latest, which may be of an earlier epoch."""
    words = [f"loss {report.loss:.4f}"]
    if validation is not None:
        words.append(f"AUC {validation:.3f}")
    betas = [value for name, value in report.readings.items() if name.startswith("beta")]
    if betas:
        words.append("β " + " ".join(f"{beta:.2f}" for beta in betas))
    return ", ".join(words)
