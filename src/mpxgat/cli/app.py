"""The command `mpxgat`: one file for each verb, one line here to add it.

A verb imports what is heavy (graphs, formats, models) inside its function, so that help comes at once.
"""

from __future__ import annotations

import os
import sys

import typer

from mpxgat.cli import benchmark
from mpxgat.cli.audit import audit
from mpxgat.cli.check_model import check_model
from mpxgat.cli.convert import convert
from mpxgat.cli.datasets import datasets
from mpxgat.cli.demo import demo
from mpxgat.cli.embed import embed
from mpxgat.cli.evaluate import evaluate
from mpxgat.cli.explain import explain
from mpxgat.cli.explore import explore
from mpxgat.cli.info import info
from mpxgat.cli.match import match
from mpxgat.cli.options import VersionOption
from mpxgat.cli.output import all_output_written, print_error, print_note
from mpxgat.cli.predict import predict
from mpxgat.cli.record import record
from mpxgat.cli.report import report
from mpxgat.cli.results import results
from mpxgat.cli.split import split
from mpxgat.cli.train import train
from mpxgat.cli.tune import tune
from mpxgat.errors import MpxgatError, printable
from mpxgat.system import is_out_of_memory, keep_freed_memory

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
    app.command(verb.__name__.replace("_", "-"))(verb)
app.add_typer(benchmark.app, name="benchmark")


@app.callback()
def set_up(version: VersionOption = False) -> None:
    """Networks with several layers: who is connected, and who is who."""
    # Torch's threads wait for each other after every operation. Spinning while they wait makes training a hundred
    # times slower as soon as another program wants a core; this must be said before torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    keep_freed_memory()
    # For --model package.module:Class. Last, so that no file in the folder takes the place of an installed package.
    if "" not in sys.path:
        sys.path.append("")


def main() -> None:
    """Run the command line. Exit code 0, or 2 for what a user can mend (one line on standard error), 130 if stopped."""
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
