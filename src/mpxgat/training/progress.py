"""What is shown while a model trains: a bar, in a terminal on standard error, in a notebook below the cell.

It is gone at the end. Where there is neither a terminal nor a notebook, nothing is shown. Commands have a bar of their
own (`mpxgat.cli.output`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from html import escape
from typing import TYPE_CHECKING, Any

from mpxgat.errors import printable

if TYPE_CHECKING:
    from rich.console import Console

    from mpxgat.training.loop import EpochReport

Draw = Callable[[str, int, int | None, str], None]
"""Shows what is done: its name, how much of how much (None: not known), and further numbers in words."""
_SECONDS = 0.1  # between two drawings in a notebook, each of which is a message to the browser


class Watch:
    """What a `mpxgat.training.parallel.Session` reports to: a call after every epoch, and the beginning of a stage."""

    def __init__(self, draw: Draw):
        self._draw = draw
        self._validations: dict[str, float] = {}

    def __call__(self, part: str, report: EpochReport) -> None:
        if report.validation is not None:
            self._validations[part] = report.validation
        self._draw(part, report.epoch, report.epochs, describe(report, self._validations.get(part)))

    def stage(self, name: str) -> None:
        """Work without epochs has begun."""
        self._draw(name, 0, None, "")


def describe(report: EpochReport, validation: float | None) -> str:
    """An epoch's numbers; ``validation`` is the latest, which may be of an earlier epoch."""
    words = [f"loss {report.loss:.4f}"]
    if validation is not None:
        words.append(f"AUC {validation:.3f}")
    betas = [value for name, value in report.readings.items() if name.startswith("beta")]
    if betas:
        words.append("β " + " ".join(f"{beta:.2f}" for beta in betas))
    return ", ".join(words)


@contextmanager
def watching() -> Iterator[Watch]:
    """A bar for a training, where there is a place for it."""
    with _bar() as draw:
        yield Watch(draw)


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar for work of ``total`` steps, where there is a place for it; gives the function to call with steps done."""
    done = 0
    with _bar() as draw:

        def advance(steps: int) -> None:
            nonlocal done
            done += steps
            draw(what, min(done, total), total, "")

        yield advance


def _bar() -> AbstractContextManager[Draw]:
    if _is_notebook():
        return in_notebook()
    if sys.stderr.isatty():
        from rich.console import Console

        return in_terminal(Console(file=sys.stderr, highlight=False))
    return nullcontext(lambda part, done, total, numbers: None)


def _is_notebook() -> bool:
    """Whether this is a kernel of Jupyter; IPython in a terminal is a terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def in_terminal(console: Console) -> Iterator[Draw]:
    """A bar of rich. The time left is that of the part, at most: it may stop early."""
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[count]}", markup=False),
        TextColumn("{task.fields[numbers]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def draw(part: str, done: int, total: int | None, numbers: str) -> None:
            count = f"{done}/{total}" if total else ""
            if part not in tasks:
                for finished in tasks.values():
                    bar.update(finished, visible=False)
                tasks[part] = bar.add_task(printable(part), total=total, completed=done, count=count, numbers=numbers)
            bar.update(tasks[part], completed=done, count=count, numbers=numbers)

        yield draw


@contextmanager
def in_notebook() -> Iterator[Draw]:
    """A bar of HTML, which needs no widgets."""
    from IPython.display import HTML, display

    handle: Any = display(HTML(""), display_id=True)  # type: ignore[no-untyped-call]
    begun: dict[str, float] = {}
    last = 0.0

    def draw(part: str, done: int, total: int | None, numbers: str) -> None:
        nonlocal last
        now = time.monotonic()
        new = part not in begun
        begun.setdefault(part, now)
        if new or done == total or now - last > _SECONDS:
            last = now
            handle.update(HTML(_as_html(part, done, total, numbers, now - begun[part])))  # type: ignore[no-untyped-call]

    try:
        yield draw
    finally:
        handle.update(HTML(""))  # type: ignore[no-untyped-call]


def _as_html(part: str, done: int, total: int | None, numbers: str, seconds: float) -> str:
    value = f' value="{done}" max="{total}"' if total else ""
    words = [f"{done}/{total}"] if total else []
    words += [f"{seconds:.0f} s", *([numbers] if numbers else [])]
    return f"<div>{escape(printable(part, 200))} <progress{value}></progress> {escape(', '.join(words))}</div>"
