"""The command `mpxgat`: one file for each verb, one line here to add it.

A verb imports what is heavy (graphs, formats, models) inside its function, so that help comes at once.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import typer

from mpxgat.cli import benchmark
from mpxgat.cli.audit import audit
from mpxgat.cli.check_model import check_model
from mpxgat.cli.completion import answer_shells, completion
from mpxgat.cli.convert import SeveralNodes, convert
from mpxgat.cli.datasets import datasets
from mpxgat.cli.demo import demo
from mpxgat.cli.embed import embed
from mpxgat.cli.evaluate import evaluate
from mpxgat.cli.explain import explain
from mpxgat.cli.explore import explore
from mpxgat.cli.info import info
from mpxgat.cli.match import match
from mpxgat.cli.models import models
from mpxgat.cli.options import ImportOption, VersionOption, import_own
from mpxgat.cli.output import all_output_written, print_error, print_json_error, print_note, show_warnings_as_notes
from mpxgat.cli.predict import predict
from mpxgat.cli.record import record
from mpxgat.cli.report import report
from mpxgat.cli.results import results
from mpxgat.cli.review import review
from mpxgat.cli.split import split
from mpxgat.cli.train import train
from mpxgat.cli.tune import tune
from mpxgat.errors import MpxgatError, printable
from mpxgat.system import is_out_of_memory, keep_freed_memory, set_reproducible_maths

_STOPPED = 130  # what typer makes of Ctrl-C

app = typer.Typer(
    name="mpxgat",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (
    info, convert, split, train, embed, predict, match, explain, explore, review, evaluate, report, record, results,
    tune, audit, check_model, models, datasets, demo, completion,
):  # fmt: skip
    app.command(verb.__name__.replace("_", "-"), cls=SeveralNodes if verb is convert else None)(verb)
app.add_typer(benchmark.app, name="benchmark")


@app.callback()
def set_up(version: VersionOption = False, modules: ImportOption = None) -> None:
    """Networks with several layers: who is connected, and who is who."""
    set_reproducible_maths()
    keep_freed_memory()
    show_warnings_as_notes()
    for name in modules or []:
        import_own(name)


def main() -> None:
    """Run the command line. Exit code 0, 2 for errors that a user can fix (one line on stderr), 130 if stopped.

    With --json that line is a JSON object.
    """
    try:
        _run(as_json="--json" in sys.argv[1:])
    except KeyboardInterrupt:  # before typer watched for it, or after
        print_note("stopped")
        sys.exit(_STOPPED)


def _run(*, as_json: bool) -> None:
    try:
        answer_shells()
        with all_output_written():
            code = app(standalone_mode=not as_json)  # which raises what is wrong with the usage, or prints it
        if code:
            sys.exit(code)
    except MpxgatError as problem:
        _end_with(problem, as_json=as_json)
    except SystemExit as end:
        if end.code == _STOPPED:
            print_note("stopped")
        raise
    except Exception as problem:
        if as_json and hasattr(problem, "format_message"):  # typer's, for wrong usage
            _end_with_usage(problem)
        if not is_out_of_memory(problem):
            raise
        reason = f" ({printable(problem, 200)})" if str(problem) else ""
        _end_with(MpxgatError(f"not enough memory{reason}"), as_json=as_json)


def _end_with(problem: MpxgatError, *, as_json: bool) -> NoReturn:
    if as_json:
        print_json_error(problem, problem.hint)
    else:
        print_error(problem)
    sys.exit(2)


def _end_with_usage(problem: Any) -> NoReturn:
    command = getattr(getattr(problem, "ctx", None), "command_path", "mpxgat")
    print_json_error(UsageError(problem.format_message()), f"see {command} --help")
    sys.exit(2)


class UsageError(Exception):
    """Arguments and options that do not fit a command; the name is what a program reads."""


if __name__ == "__main__":
    main()
