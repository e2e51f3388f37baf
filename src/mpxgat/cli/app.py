"""The command `mpxgat`: one file for each verb, one line here to add it.

A verb imports what is heavy (graphs, formats, models) inside its function, so that help comes at once.
"""

from __future__ import annotations

import sys

import typer

from mpxgat.cli import benchmark
from mpxgat.cli.audit import audit
from mpxgat.cli.check_model import check_model
from mpxgat.cli.convert import SeveralNodes, convert
from mpxgat.cli.datasets import datasets
from mpxgat.cli.demo import demo
from mpxgat.cli.embed import embed
from mpxgat.cli.evaluate import evaluate
from mpxgat.cli.explain import explain
from mpxgat.cli.explore import explore
from mpxgat.cli.info import info
from mpxgat.cli.match import match
from mpxgat.cli.options import ImportOption, VersionOption, import_own
from mpxgat.cli.output import all_output_written, print_error, print_note, show_warnings_as_notes
from mpxgat.cli.predict import predict
from mpxgat.cli.record import record
from mpxgat.cli.report import report
from mpxgat.cli.results import results
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
    info, convert, split, train, embed, predict, match, explain, explore, evaluate, report, record, results, tune,
    audit, check_model, datasets, demo,
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
    """Run the command line. Exit code 0, 2 for errors that a user can fix (one line on stderr), 130 if stopped."""
    try:
        _run()
    except KeyboardInterrupt:  # before typer watched for it, or after
        print_note("stopped")
        sys.exit(_STOPPED)


def _run() -> None:
    try:
        with all_output_written():
            app()
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


if __name__ == "__main__":
    main()
