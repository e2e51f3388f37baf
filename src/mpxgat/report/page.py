"""A piece of a page: what it shows, how it looks, what it does, and the data it does it with."""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat import __version__
from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph


@dataclass(frozen=True)
class Fragment:
    """One section of a page.

    anchor      its id in the page: lower-case letters and hyphens
    title       as plain text, shown as heading and in the table of contents
    html        what is inside the section; ids of nodes, layers and files are escaped already
    style       CSS, needed once in a page
    script      JavaScript, run after the page is there; reads its data by ``pageData(anchor)``
    data        what can be written as JSON, for the script
    """

    anchor: str
    title: str
    html: str
    style: str = ""
    script: str = ""
    data: dict[str, object] = field(default_factory=dict)


# Numbers in a page: base64 of the smallest type that holds them, which is a third of the size of JSON's digits.


_WHOLE = ("uint8", "uint16", "int32")


def packed(numbers: NDArray[Any]) -> dict[str, str]:
    """Whole or real numbers, row after row, as ``{"type": …, "base64": …}``, little-endian.

    Whole numbers become uint8, uint16 or int32, real ones float32. OverflowError beyond int32.
    """
    name = "float32" if np.issubdtype(numbers.dtype, np.floating) else _smallest(numbers)
    array = np.ascontiguousarray(numbers, dtype=np.dtype(name).newbyteorder("<"))
    return {"type": name, "base64": b64encode(array.tobytes()).decode()}


def _smallest(numbers: NDArray[Any]) -> str:
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    for name in _WHOLE:
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return name
    raise OverflowError(f"numbers from {low} to {high}, expected those of int32")


# Records: what a figure or a table is made of, and the files they are kept in.


Value = str | int | float | bool | None
Row = Mapping[str, Value]
Rows = Sequence[Row]
"""Plain rows with the same columns; what is not known or not finite is None."""


def json_file(rows: Rows) -> bytes:
    """A list of objects, one a line."""
    lines = ",\n".join(json.dumps(dict(row), allow_nan=False) for row in rows)
    return f"[\n{lines}\n]\n".encode()


def csv_file(rows: Rows) -> bytes:
    """A header and a line for each row, None as nothing; only the header's line end if there are no rows."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows([dict(row) for row in rows])
    return text.getvalue().encode(errors="backslashreplace")


# A figure: plain records, and how they are drawn. The page, the files beside it and a paper show the same.


_PAPER_WIDTH = 480
_SYMBOL, _CHARACTER = 36, 6.2  # pixels in a legend
# Text and axes have the colour of the text around them, so one drawing is right in light, in dark and in print.
_INK = "currentColor"
_GRID = "#80808038"
_CATEGORIES = (
    "#2b7fc4", "#e07b1f", "#2a9d5c", "#c9518f", "#8a6fd1", "#b58900",
    "#1aa6b7", "#d1495b", "#7c8a99", "#8f6a4e", "#5b8c2a", "#6a6ad6",
)  # fmt: skip
CONFIG: Mapping[str, Any] = {
    "background": "transparent",
    "aria": False,  # the figure's own label is read, not thousands of marks
    "font": "system-ui, 'Segoe UI', Roboto, Helvetica, Arial, 'DejaVu Sans', sans-serif",
    "view": {"stroke": "transparent"},
    "axis": {
        "labelColor": _INK, "titleColor": _INK, "domainColor": _GRID, "tickColor": _GRID, "gridColor": _GRID,
        "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": 500, "titlePadding": 6, "labelLimit": 180,
    },
    "legend": {
        "labelColor": _INK, "titleColor": _INK, "orient": "top", "labelFontSize": 11, "titleFontSize": 11,
        "titleFontWeight": 500, "labelLimit": 200, "symbolLimit": 24, "rowPadding": 2, "columnPadding": 12,
    },
    "axisX": {"labelFlush": False, "tickCount": 6},
    "text": {"fontSize": 11},
    "range": {"category": list(_CATEGORIES), "heatmap": {"scheme": "blues"}, "ramp": {"scheme": "blues"}},
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """What is shown, in words and as records, and a Vega-Lite specification (without data) that draws it.

    name        of its files and its place in the page: lower-case letters, digits and hyphens
    title       plain text, short
    caption     plain text: what is to be seen, and where the numbers come from
    spec        has a height, in pixels or for each row of the chart ({"step": pixels}); the width is that of the place
    """

    name: str
    title: str
    caption: str
    rows: Rows
    spec: Mapping[str, Any]

    def in_page(self) -> dict[str, object]:
        """What a page needs to draw it; as wide as its place."""
        size = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
        spec = {"config": CONFIG, **size, **self.spec, "height": self._height()}
        return {"spec": spec, "rows": self.rows, "legendEntry": self._legend_entry()}

    def on_paper(self) -> dict[str, Any]:
        """A whole specification of fixed width, on white."""
        columns = max(1, _PAPER_WIDTH // self._legend_entry())
        config = {**CONFIG, "background": "white", "legend": {**CONFIG["legend"], "columns": columns}}
        return {
            "config": config,
            "width": _PAPER_WIDTH,
            **self.spec,
            "height": self._height(),
            "data": {"values": self.rows},
        }

    def _height(self) -> int:
        """In pixels; a height given for each row of a chart is taken times their number."""
        height = self.spec["height"]
        if isinstance(height, Mapping):
            column = self.spec["encoding"]["y"]["field"]
            return int(height["step"]) * len({row[column] for row in self.rows})
        return int(height)

    def _legend_entry(self) -> int:
        """About how many pixels an entry of its legend is wide; a page puts as many beside each other as fit."""
        layers = [self.spec, *self.spec.get("layer", ())]
        columns = {each.get("encoding", {}).get("color", {}).get("field") for each in layers} - {None}
        longest = max((len(str(row[name])) for name in columns for row in self.rows), default=0)
        return _SYMBOL + min(int(CONFIG["legend"]["labelLimit"]), round(_CHARACTER * longest))

    def html(self) -> str:
        """Its place in a page, to be filled by a script."""
        label = escape(f"{self.title}. {self.caption}", quote=True)
        return (
            f'<figure id="figure-{self.name}">\n<h3>{escape(self.title)}</h3>\n'
            f'<div class="chart" data-figure="{self.name}" role="img" aria-label="{label}"></div>\n'
            f"<figcaption>{escape(self.caption)}</figcaption>\n</figure>"
        )


# A table: records shown as they are.


_SHOWN_CHARACTERS = 600
_LONG = 60  # characters of a text that should have room


@dataclass(frozen=True)
class Table:
    """Records under a caption; the columns of the records, in their order, are those of the table.

    name        of its files: lower-case letters, digits and hyphens
    """

    name: str
    caption: str
    rows: Rows

    def html(self) -> str:
        """The table, every text escaped; a region that can be moved by keyboard, as it may be wider than a phone."""
        columns = list(self.rows[0]) if self.rows else []
        numeric = {name for name in columns if all(_is_number(row[name]) for row in self.rows)}
        kinds = {name: "number" if name in numeric else _kind([row[name] for row in self.rows]) for name in columns}
        head = "".join(_cell("th", name, kinds[name]) for name in columns)
        body = "\n".join(
            f"<tr>{''.join(_cell('td', row[name], kinds[name]) for name in columns)}</tr>" for row in self.rows
        )
        label = escape(self.caption, quote=True)
        return (
            f'<div class="table" role="region" tabindex="0" aria-label="{label}">\n<table>\n'
            f"<caption>{escape(self.caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
        )


def _kind(values: list[Value]) -> str:
    return "long" if any(len(_text(value)) > _LONG for value in values) else "short"


def _cell(element: str, value: Value, kind: str) -> str:
    scope = ' scope="col"' if element == "th" else ""
    # Set apart, so that an id written from right to left does not turn its neighbours around.
    text = f"<bdi>{escape(_text(value))}</bdi>"
    shown = f"<div>{text}</div>" if kind == "long" else text
    return f'<{element}{scope} class="{kind}">{shown}</{element}>'


def _text(value: Value) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
    return value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…"


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# A section of a report: a few sentences, figures and tables, and what of them goes into files.


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


# A step on the way to a report, so that a command can say what it is doing.


@dataclass(frozen=True)
class Stage:
    """What is being done, in words, and doing it: sections of the report, in order."""

    title: str
    make: Callable[[], list[Section]]


def only(part: Section | None) -> list[Section]:
    """The section, if there is one."""
    return [] if part is None else [part]


# One HTML file that needs no network: its style, its scripts and its data are inside.
#
# Data stand in the page as JSON in elements of their own, written so that no text in them can end the element. A policy
# in the head of the page forbids the browser every request, so that a mistake could not make one either.


_ANCHOR = re.compile(r"[a-z][a-z0-9-]*")
# unsafe-eval: Vega makes functions of its own expressions. Nothing but what is in the page can be evaluated.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page(title: str, fragments: Sequence[Fragment], *, lead: str = "", libraries: Iterable[str] = ()) -> str:
    """The page as text; the same fragments give the same bytes.

    title       plain text
    lead        HTML below the title
    libraries   scripts that the fragments' scripts call
    """
    _check_anchors(fragments)
    scripts = [_scope(library) for library in libraries]
    scripts += [asset("page.js"), *(_scope(text) for text in _different(f.script for f in fragments))]
    styles = [asset("page.css"), *_different(f.style for f in fragments)]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="mpxgat {__version__}">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            *(f"<style>\n{_inside(style, 'style')}\n</style>" for style in styles),
            "</head>",
            "<body>",
            '<a class="skip" href="#content">Skip to the content</a>',
            f"<header>\n<h1>{escape(title)}</h1>\n{lead}\n</header>",
            _contents(fragments),
            '<main id="content">',
            *(_section(fragment) for fragment in fragments),
            "</main>",
            f"<footer>Made with mpxgat {__version__}. This page makes no network request.</footer>",
            *(_data(fragment.anchor, fragment.data) for fragment in fragments if fragment.data),
            *(f"<script>\n{_inside(script, 'script')}\n</script>" for script in scripts),
            "</body>",
            "</html>",
            "",
        ]
    )


def asset(name: str) -> str:
    """The text of a file in the folder ``assets``."""
    return (files("mpxgat.report") / "assets" / name).read_text(encoding="utf-8")


def json_in_page(value: object) -> str:
    """JSON in which nothing can be taken for HTML or for the end of a line of JavaScript."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A half of a character that stands alone cannot be written as UTF-8.
    return re.sub("[<>&\u2028\u2029\ud800-\udfff]", lambda found: _escaped(found.group()), text)


def _escaped(character: str) -> str:
    return _ESCAPED.get(character) or f"\\u{ord(character):04x}"


def _check_anchors(fragments: Sequence[Fragment]) -> None:
    seen: set[str] = set()
    for fragment in fragments:
        if not _ANCHOR.fullmatch(fragment.anchor) or fragment.anchor in seen:
            raise SettingError(
                f"a section's anchor is {quoted(fragment.anchor)}, expected lower-case letters, digits and hyphens, "
                "and no anchor twice"
            )
        seen.add(fragment.anchor)


def _contents(fragments: Sequence[Fragment]) -> str:
    entries = "\n".join(f'<li><a href="#{f.anchor}">{escape(f.title)}</a></li>' for f in fragments)
    return f'<nav aria-label="Contents">\n<ol>\n{entries}\n</ol>\n</nav>'


def _section(fragment: Fragment) -> str:
    heading = f'<h2 id="{fragment.anchor}-title">{escape(fragment.title)}</h2>'
    opening = f'<section id="{fragment.anchor}" aria-labelledby="{fragment.anchor}-title">'
    return f"{opening}\n{heading}\n{fragment.html}\n</section>"


def _data(anchor: str, data: Mapping[str, object]) -> str:
    return f'<script type="application/json" id="{anchor}-data">{json_in_page(data)}</script>'


def _scope(script: str) -> str:
    """The script with names of its own: a bundle's short names must not meet those of other scripts."""
    return f"(() => {{\n{script}\n}})();"


def _inside(text: str, element: str) -> str:
    """A style or script of ours, which must not hold the end of its element."""
    if f"</{element}" in text.lower() or "<!--" in text:
        raise SettingError(f"a {element} of the page holds the end of its element")
    return text


def _different(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


# The head of a report: a sentence or two, and the numbers to know first.


def lead(sentences: str, numbers: Mapping[str, str]) -> str:
    """HTML; the texts are escaped here."""
    tiles = "\n".join(f"<li><b>{escape(value)}</b>{escape(name)}</li>" for name, value in numbers.items())
    return f"<p>{escape(sentences)}</p>\n" + (f'<ul class="tiles">\n{tiles}\n</ul>' if numbers else "")


def sizes(graph: MultiplexGraph) -> dict[str, str]:
    """A network's sizes, for `lead`."""
    return {
        "layers": f"{graph.n_layers:,}",
        "nodes": f"{graph.n_nodes:,}",
        "known units": f"{graph.n_units:,}",
        "links within layers": f"{graph.n_intra:,}",
        "links between layers": f"{graph.n_inter:,}",
    }
