"""`mpxgat results`: the table of recorded results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mpxgat.cli.options import DEFAULT_PROTOCOL, KnownShareOption, ProtocolOption


def results(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="JSONL files that `mpxgat record` wrote.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A Markdown file with the markers of the section.")
    ] = None,
    protocol: ProtocolOption = None,
    known: KnownShareOption = None,
    section: Annotated[str, typer.Option(help="Name of the section in the Markdown file.")] = "marked",
) -> None:
    """Print the table of recorded results in Markdown, or put it into a section of a file."""
    from mpxgat.experiments.records import ResultsFile
    from mpxgat.experiments.tables import markdown_table, write_section
    from mpxgat.splits import protocol_text

    how = protocol_text(protocol or DEFAULT_PROTOCOL, known)
    records = [record for file in files for record in ResultsFile(file).read()]
    table = markdown_table(records, how)
    if output is None:
        sys.stdout.write(table)
    else:
        write_section(output, section, table)
