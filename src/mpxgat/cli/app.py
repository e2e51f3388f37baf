"""The command `mpxgat`: one file for each verb, one line here to add it.

A verb imports what is heavy (graphs, formats, models) inside its function, so that help comes at once.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from mpxgat import __version__
from mpxgat.cli import convert, datasets, demo, evaluate, info, split
from mpxgat.cli.output import print_error
from mpxgat.errors import MpxgatError

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
app.command("evaluate")(evaluate.evaluate)
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
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a letter is no reason to fail
    try:
        app()
    except MpxgatError as problem:
        print_error(problem)
        sys.exit(2)


if __name__ == "__main__":
    main()
