"""The command `mpxgat`: one file for each verb, one line here to add it.

A verb imports what is heavy (graphs, formats, models) inside its function, so that help comes at once.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from contextlib import suppress
from typing import Annotated, TextIO

import typer

from mpxgat import __version__
from mpxgat.cli import (
    audit,
    benchmark,
    convert,
    datasets,
    demo,
    embed,
    evaluate,
    explain,
    explore,
    info,
    match,
    predict,
    record,
    report,
    split,
    train,
    tune,
)
from mpxgat.cli import record as results
from mpxgat.cli.output import print_error, print_note
from mpxgat.errors import DataWarning, MpxgatError, OutputError, printable
from mpxgat.system import is_out_of_memory, keep_freed_memory, set_reproducible_maths

_STOPPED = 130  # what typer makes of Ctrl-C

app = typer.Typer(
    name="mpxgat",
    help="Networks with several layers: who is connected, and who is who.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("info")(info.info)
app.command("convert")(convert.convert)
app.command("split")(split.split)
app.command("train")(train.train)
app.command("embed")(embed.embed)
app.command("predict")(predict.predict)
app.command("match")(match.match)
app.command("explain")(explain.explain)
app.command("explore")(explore.explore)
app.command("evaluate")(evaluate.evaluate)
app.command("report")(report.report)
app.command("record")(record.record)
app.command("results")(results.results)
app.add_typer(benchmark.app, name="benchmark")
app.command("tune")(tune.tune)
app.command("audit")(audit.audit)
app.command("datasets")(datasets.datasets)
app.command("demo")(demo.demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"mpxgat {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Networks with several layers: who is connected, and who is who."""


def main() -> None:
    """Run the command line. Exit code 0, or 2 for what a user can mend (one line on standard error), 130 if stopped."""
    try:
        _run()
    except KeyboardInterrupt:  # before typer watched for it, or after
        print_note("stopped")
        sys.exit(_STOPPED)


def _run() -> None:
    set_reproducible_maths()
    keep_freed_memory()
    warnings.simplefilter("once", DataWarning)
    warnings.showwarning = _show_warning
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter is no reason to fail
    try:
        _app_with_output()
    except MpxgatError as problem:
        print_error(problem)
        sys.exit(2)
    except SystemExit as end:
        if end.code == _STOPPED:
            print_note("stopped")
        raise
    except Exception as problem:
        if not is_out_of_memory(problem):
            raise
        reason = f" ({printable(problem, 200)})" if str(problem) else ""
        print_error(MpxgatError(f"not enough memory{reason}"))
        sys.exit(2)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """What is to be known of data is a note; anything else as Python shows it."""
    if issubclass(category, DataWarning):
        print_note(f"note: {message}", limit=1000)
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def _app_with_output() -> None:
    """The command with all its output out; OutputError if that cannot be written, unless its reader went away."""
    try:
        try:
            app()
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


if __name__ == "__main__":
    main()
