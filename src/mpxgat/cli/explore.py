"""`mpxgat explore`: a run's network as a page to walk through."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from mpxgat.cli.options import RunArgument, check_page, with_decisions_of
from mpxgat.cli.output import print_note, progress
from mpxgat.errors import printable

_PAGE = Path("explorer.html")


def explore(
    run: RunArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write: a name in .html.")] = _PAGE,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only write the page, do not open it.")] = False,
) -> None:
    """Write a page that shows a node's neighbours in every layer, who it could be in others, and why; and open it."""
    from mpxgat.io.files import write_files
    from mpxgat.matching import Matcher
    from mpxgat.report.explorer import explorer_section
    from mpxgat.report.page import Page
    from mpxgat.runs import RunFolder

    check_page(output)
    with progress(f"reading {run}"):
        folder = RunFolder(run)
        model, data = folder.model(), folder.config().data
        decided = with_decisions_of(run, model) if isinstance(model, Matcher) else model
    with progress("looking for candidates and reasons"):
        title = f"{Path(data).name}: who is connected, who is who"
        write_files({output: Page(title, [explorer_section(decided)]).html().encode()})
    print_note(f"wrote {printable(output, 300)}")
    if not no_open and not webbrowser.open(output.resolve().as_uri()):
        print_note("no browser could be opened; open the page yourself")
