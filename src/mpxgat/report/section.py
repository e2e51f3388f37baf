"""A section of a report: a few sentences, figures and tables, and what of them goes into files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from mpxgat.report.figure import Figure
from mpxgat.report.fragment import Fragment
from mpxgat.report.records import Rows
from mpxgat.report.table import Table


@dataclass(frozen=True)
class Section:
    """A piece of the page, and the figures and tables in it."""

    fragment: Fragment
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()

    def records(self) -> dict[str, Rows]:
        """The records of its figures and tables by name."""
        return {one.name: one.rows for one in self.figures} | {one.name: one.rows for one in self.tables}


def section(
    anchor: str, title: str, lead: str, figures: Sequence[Figure] = (), tables: Sequence[Table] = ()
) -> Section:
    """A section of plain text (``lead``), then figures, then tables."""
    parts = [f"<p>{escape(lead)}</p>"] if lead else []
    if figures:
        parts.append('<div class="figures">\n' + "\n".join(figure.html() for figure in figures) + "\n</div>")
    parts += [table.html() for table in tables]
    fragment = Fragment(
        anchor=anchor,
        title=title,
        html="\n".join(parts),
        script=f'drawCharts("{anchor}");' if figures else "",
        data={"figures": {figure.name: figure.in_page() for figure in figures}} if figures else {},
    )
    return Section(fragment, tuple(figures), tuple(tables))
