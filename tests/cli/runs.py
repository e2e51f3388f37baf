"""Small runs that tests of several commands use."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from mpxgat.cli.app import app
from mpxgat.io import write
from mpxgat.synthetic import social

SETTINGS = ("--set", "hidden=4", "--set", "out=3", "--set", "heads=2", "--set", "check_every=2", "--epochs", "4")
SMALL = ("--model", "mpxgat", *SETTINGS)


def run(*arguments: object) -> Result:
    """The command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def network(folder: Path) -> Path:
    """A file with a planted network of three layers: friends, work, messages."""
    path = folder / "net.parquet"
    write(social(people=60, layers=3, seed=0), path)
    return path
