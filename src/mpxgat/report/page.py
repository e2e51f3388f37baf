"""What a page is made of: sections with figures and tables, in one HTML file that needs no network.

Style, scripts and data stand inside the page. Data are JSON in elements of their own, written so that no text in them
can end the element; all other text is escaped by the template. A policy in the head of the page forbids the browser
every request, so that a mistake could not make one either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from mpxgat import __version__
from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.report import charts
from mpxgat.report.charts import Rows, Spec, Value

_ANCHOR = re.compile(r"[a-z][a-z0-9-]*")
_SHOWN_CHARACTERS = 600  # of a text in a table
_LONG = 60  # characters of a text that should have room


@dataclass(frozen=True)
class Figure:
    """Records, and a Vega-Lite specification that draws them. The page, the files beside it and a paper show the same.

    name        of its files and its place in the page: lower-case letters, digits and hyphens
    title       plain text, short
    caption     plain text: what is to be seen, and where the numbers come from
    spec        without data; has a height, in pixels or for each row of the chart ({"step": pixels})
    """

    name: str
    title: str
    caption: str
    rows: Rows
    spec: Mapping[str, Any]

    def in_page(self) -> dict[str, object]:
        """What a page needs to draw it; as wide as its place."""
        return charts.in_page(self.spec, self.rows)

    def on_paper(self) -> Spec:
        """A whole specification of fixed width, on white."""
        return charts.on_paper(self.spec, self.rows)


@dataclass(frozen=True)
class Table:
    """Records shown as they are; their columns, in their order, are those of the table.

    name        of its files: lower-case letters, digits and hyphens
    caption     plain text
    """

    name: str
    caption: str
    rows: Rows

    def columns(self) -> dict[str, str]:
        """Each column's kind: "number", "long" text or "short" text."""
        return {name: _kind([row[name] for row in self.rows]) for name in (self.rows[0] if self.rows else ())}


@dataclass(frozen=True)
class Fragment:
    """HTML of our own inside a section, and what it needs.

    html        trusted: holds nothing that was read from a file
    style       CSS
    script      JavaScript, run after the page is there; reads its data by ``pageData(anchor)``
    data        what can be written as JSON, for the script
    """

    html: str
    style: str = ""
    script: str = ""
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """A part of the page: a few sentences, figures, tables, and perhaps a fragment.

    anchor      its id in the page: lower-case letters, digits and hyphens
    title       plain text, shown as heading and in the table of contents
    summary     plain text
    """

    anchor: str
    title: str
    summary: str = ""
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    fragment: Fragment | None = None

    def records(self) -> dict[str, Rows]:
        """The records of its figures and tables by name."""
        shown: list[Figure | Table] = [*self.figures, *self.tables]
        return {one.name: one.rows for one in shown}

    def data(self) -> dict[str, object]:
        """What its scripts read, as values of JSON."""
        drawn = {"figures": {figure.name: figure.in_page() for figure in self.figures}} if self.figures else {}
        return {**(self.fragment.data if self.fragment else {}), **drawn}


@dataclass(frozen=True)
class Page:
    """A page before it is written.

    title, summary      plain text
    numbers             those to know first, under the summary
    """

    title: str
    sections: Sequence[Section]
    summary: str = ""
    numbers: Mapping[str, str] = field(default_factory=dict)

    def html(self) -> str:
        """The page as text; the same page gives the same bytes. SettingError for an anchor that cannot be one."""
        _check_anchors(self.sections)
        fragments = [section.fragment for section in self.sections if section.fragment]
        library = [charts.chart_script()] if any(section.figures for section in self.sections) else []
        own = dict.fromkeys(fragment.script for fragment in fragments if fragment.script)
        scripts = [*map(_scoped, library), asset("page.js"), *map(_scoped, own)]
        styles = dict.fromkeys([asset("page.css"), *(fragment.style for fragment in fragments if fragment.style)])
        return _template().render(
            page=self,
            version=__version__,
            styles=[_inside(style, "style") for style in styles],
            scripts=[_inside(script, "script") for script in scripts],
        )


def sizes(graph: MultiplexGraph) -> dict[str, str]:
    """A network's sizes, for the head of a page."""
    return {
        "layers": f"{graph.n_layers:,}",
        "nodes": f"{graph.n_nodes:,}",
        "known units": f"{graph.n_units:,}",
        "links within layers": f"{graph.n_intra:,}",
        "links between layers": f"{graph.n_inter:,}",
    }


def asset(name: str) -> str:
    """The text of a file in the folder ``assets``."""
    return (files("mpxgat.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    made = Environment(
        loader=FunctionLoader(asset), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # ASCII: half of a character that stands alone could not be written as UTF-8.
    made.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":"), "ensure_ascii": True}
    made.filters["shown"] = _shown
    made.filters["trusted"] = Markup
    return made.get_template("page.html")


def _check_anchors(sections: Iterable[Section]) -> None:
    seen: set[str] = set()
    for section in sections:
        if not _ANCHOR.fullmatch(section.anchor) or section.anchor in seen:
            raise SettingError(
                f"a section's anchor is {quoted(section.anchor)}, expected lower-case letters, digits and hyphens, "
                "and no anchor twice"
            )
        seen.add(section.anchor)


def _scoped(script: str) -> str:
    """The script with names of its own: a bundle's short names must not meet those of other scripts."""
    return f"(() => {{\n{script}\n}})();"


def _inside(text: str, element: str) -> Markup:
    """A style or script of ours, which must not hold the end of its element."""
    if f"</{element}" in text.lower() or "<!--" in text:
        raise SettingError(f"a {element} of the page holds the end of its element")
    return Markup(text)


def _kind(values: Sequence[Value]) -> str:
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return "number"
    return "long" if any(len(_shown(value)) > _LONG for value in values) else "short"


def _shown(value: Value) -> str:
    """A value as a table shows it."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.3f}"
    return value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…"
