"""What the commands print and show. Results go to standard output, notes and progress to standard error.

Texts from files are shown as they are, never as markup, with control characters escaped.
"""

from __future__ import annotations

import io
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from mpxgat.errors import DataWarning, OutputError, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID
    from rich.text import Text

    from mpxgat.training.loop import EpochReport
    from mpxgat.training.parallel import Report


_SHOWN_CHARACTERS = 400
_SMALLEST_DECIMAL = 0.001
# Where no terminal limits the width: wide enough for most tables, narrow enough to be read.
_WIDTH_OF_A_FILE = 160


@contextmanager
def all_output_written() -> Iterator[None]:
    """The block's output is out at its end; OutputError if it cannot be written, unless its reader went away."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter is no reason to fail
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as problem:  # those of files have names already
        _drop_output()
        raise OutputError(f"cannot write the result: {printable(problem.strerror or problem)}") from None


def _drop_output() -> None:
    """Let what could not be written go, or Python would try again at its end."""
    with suppress(OSError, ValueError):  # ValueError: a stream that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Percent(float):
    """A share from 0 to 1 that is shown as a percentage."""


def print_json(value: Mapping[str, Any]) -> None:
    """Exactly one JSON object on standard output, keys in the order given; what is not finite becomes null."""
    sys.stdout.write(json.dumps(_json_value(value), indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()


def _json_value(value: Any) -> Any:
    """``value`` in terms of JSON. Arrays become lists, keys text, NaN and infinities None."""
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if hasattr(value, "tolist"):  # numpy's arrays and numbers, without importing numpy
        return _json_value(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_error(problem: Exception) -> None:
    """One line on standard error."""
    print_note(f"error: {problem}", limit=4000)


def print_note(text: str, *, limit: int = _SHOWN_CHARACTERS) -> None:
    """One line on standard error: what a user should know besides the result."""
    sys.stderr.write(printable(text, limit) + "\n")


def print_fields(fields: Mapping[str, object]) -> None:
    """Names and values, one pair a line, the values aligned; long ones wrap."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in fields.items():
        grid.add_row(cell(name), cell(value))
    console_for(sys.stdout).print(grid)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str | None = None) -> None:
    """A table; numbers stand right. Texts too long for their column go on below, nothing is cut off."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        title=None if title is None else cell(title),
        title_justify="left",
    )
    for number, name in enumerate(columns):
        numeric = any(isinstance(row[number], int | float) for row in rows)
        table.add_column(cell(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell(value) for value in row))
    console = console_for(sys.stdout)
    console.print()
    console.print(table)


def cell(value: object) -> Text:
    """A value as rich text: no markup, no control characters; counts with separators, others with three decimals."""
    from rich.text import Text

    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Text("-")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, int):
        return Text(f"{value:,}")
    if isinstance(value, Percent):
        return Text(f"{value:.1%}")
    if isinstance(value, float):
        return Text(f"{value:.3f}" if value == 0 or abs(value) >= _SMALLEST_DECIMAL else f"{value:.1e}")
    return Text(printable(value, _SHOWN_CHARACTERS))


def console_for(stream: TextIO) -> Console:
    """A console that writes to ``stream``, as wide as the terminal or as a file that is to be read."""
    from rich.console import Console

    bounded = stream.isatty() or "COLUMNS" in os.environ
    return Console(file=stream, highlight=False, width=None if bounded else _WIDTH_OF_A_FILE)


@contextmanager
def progress(description: str, total: int | None = None, *, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A bar on standard error that vanishes at the end; gives a function to call with the number of steps done.

    Without ``total`` it only shows that something goes on. Nothing is shown when ``quiet`` or when standard error is
    not a terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console_for(sys.stderr), transient=True) as bar:
        task = bar.add_task(printable(description), total=total)
        yield lambda steps: bar.advance(task, steps)


@contextmanager
def training_progress(*, quiet: bool = False) -> Iterator[Report]:
    """A bar on standard error that vanishes at the end; gives the function that a `Session` reports to.

    It shows part, epoch, loss, validation AUC, β and the time left, which is the part's own, at most: it may stop
    early. Nothing is shown when ``quiet`` or when standard error is not a terminal.
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


def show_warnings_as_notes() -> None:
    """What is to be known of data is told once, in a line; other warnings are shown as Python does."""
    warnings.simplefilter("once", DataWarning)
    warnings.showwarning = _show_warning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, DataWarning):
        print_note(f"note: {message}", limit=1000)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))
