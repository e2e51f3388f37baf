"""`mpxgat results`: the table of recorded results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mpxgat.cli.options import DEFAULT_PROTOCOL, KnownShareOption, LayoutOption, ProtocolOption


def results(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="JSONL files that `mpxgat record` wrote.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A file for LaTeX (.tex) or CSV (.csv), or a Markdown file with a section for it.",
        ),
    ] = None,
    protocol: ProtocolOption = None,
    known: KnownShareOption = None,
    section: Annotated[str, typer.Option(help="Name of the section in the Markdown file.")] = "marked",
    layout: LayoutOption = None,
) -> None:
    """Print the table of recorded results in Markdown, LaTeX or CSV, write it, or put it into a section of a file."""
    from mpxgat.experiments.layouts import MARKDOWN, chosen_layout
    from mpxgat.experiments.records import ResultsFile
    from mpxgat.experiments.tables import results_table, write_section
    from mpxgat.io.files import write_files
    from mpxgat.splits import protocol_text

    how = protocol_text(protocol or DEFAULT_PROTOCOL, known)
    chosen = chosen_layout(layout, output) or MARKDOWN
    records = [record for file in files for record in ResultsFile(file).read()]
    table = results_table(records, how, chosen)
    if output is None:
        sys.stdout.write(table)
    elif chosen == MARKDOWN:
        write_section(output, section, table)
    else:
        write_files({output: table.encode()})
