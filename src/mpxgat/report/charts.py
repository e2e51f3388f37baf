"""Charts as Vega-Lite specifications: the kinds that reports have, how they look, and drawing them.

A specification is a dictionary without data. One serves the page and the picture for a paper, so what is printed is
what was on the screen. Columns are named as in the records, and categories stand in the order of the records; texts
from networks are only ever data, never part of a specification. The package vl-convert brings the scripts that draw.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from mpxgat.errors import MissingExtraError
from mpxgat.plots import COLOURS as _CATEGORIES

Value = str | int | float | bool | None
Row = Mapping[str, Value]
Rows = Sequence[Row]
"""Plain rows with the same columns; what is not known or not finite is None."""
Spec = dict[str, Any]
Channel = dict[str, Any]

ACCENT = "#2b7fc4"
NO_LAYER = "#808080"  # where layers have colours, of what lies between them
_FAINT = "#80808018"
# Text and axes have the colour of the text around them, so one drawing is right in light, in dark and in print.
_INK = "currentColor"
_GRID = "#80808038"
_CONFIG: Mapping[str, Any] = {
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
UNIT: Mapping[str, Any] = {"domain": [0, 1]}
"""The scale of shares, probabilities and AUC."""
_PAPER_WIDTH = 480
_PIXELS = 2.0  # of a PNG for one of the chart
_CLIP = re.compile(r'(clip-path="url\(#|<clipPath id=")clip(\d+)')
_SYMBOL, _CHARACTER = 36, 6.2  # pixels in a legend
_LABEL = 40  # pixels of a bar's number
_ROW, _ROW_PADDING = 24, 0.28  # height of a category's row; the part of it between bars
_LINE_HEIGHT, _SQUARE_HEIGHT = 240, 320
_ANGLE = -40
_FEW_CELLS = 8  # in a row, whose numbers can be written large
_DARK = 0.62  # of the scale: from here on white can be read better than black


def number(column: str, title: str | None, **more: Any) -> Channel:
    """A quantity; ``scale``, ``axis`` and the like as Vega-Lite has them."""
    return {"field": column, "type": "quantitative", "title": title, **more}


def category(column: str, title: str | None = None, **more: Any) -> Channel:
    """A category, in the order of the records."""
    return {"field": column, "type": "nominal", "title": title, "sort": None, **more}


def layer_colours(layers: Sequence[str]) -> dict[str, str]:
    """The colour of each layer of a network, by its place there: the same in all charts of a report."""
    return {layer: _CATEGORIES[place % len(_CATEGORIES)] for place, layer in enumerate(layers)}


def coloured(column: str, colours: Mapping[str, str], rows: Rows, **more: Any) -> Channel:
    """A category whose values have colours of their own; others have none. ``rows`` are the chart's."""
    there = {row[column] for row in rows}
    shown = {name: colour for name, colour in colours.items() if name in there}
    return category(column, scale={"domain": list(shown), "range": list(shown.values())}, **more)


def tooltip(columns: Mapping[str, str], **formats: str) -> list[Channel]:
    """What is shown at the pointer: columns with their titles, numbers in the format named for their column."""
    return [
        {"field": name, "title": title, **({"format": formats[name]} if name in formats else {})}
        for name, title in columns.items()
    ]


def bars(value: Channel, by: Channel, hints: Sequence[Channel], labels: str, colours: Channel | None = None) -> Spec:
    """A bar for each category from left to right, with its number in the format ``labels``."""
    colour = {} if colours is None else {"color": {**colours, "legend": None}}
    return {
        "height": {"step": _ROW},
        "padding": {"left": 5, "right": _LABEL, "top": 5, "bottom": 5},  # the longest bar's number stands beyond it
        "encoding": {"y": {**by, "axis": _plain_axis(by["title"]), "scale": {"padding": _ROW_PADDING}}, "x": value},
        "layer": [
            {
                "mark": {"type": "bar", "color": ACCENT, "cornerRadiusEnd": 2},
                "encoding": {"tooltip": list(hints), **colour},
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "color": "currentColor"},
                "encoding": {"text": {"field": value["field"], "type": "quantitative", "format": labels}},
            },
        ],
    }


def lines(x: Channel, y: Channel, by: Channel, order: str, hints: Sequence[Channel]) -> Spec:
    """A line for each category, through its records in the order of a column."""
    return {
        "height": _LINE_HEIGHT,
        "mark": {"type": "line", "strokeWidth": 2, "clip": True},
        "encoding": {
            "x": x,
            "y": y,
            "color": by,
            "order": {"field": order, "type": "quantitative"},
            "tooltip": list(hints),
        },
    }


def lines_and_diagonal(x: Channel, y: Channel, by: Channel, order: str, hints: Sequence[Channel]) -> Spec:
    """As `lines`, with the line from (0, 0) to (1, 1)."""
    line = lines(x, y, by, order, hints)
    del line["height"]  # a layer has that of the whole
    return {"height": _SQUARE_HEIGHT, "layer": [_diagonal(x["title"], y["title"]), line]}


def dotted_line_and_diagonal(x: Channel, y: Channel, size: Channel, hints: Sequence[Channel]) -> Spec:
    """One line with a dot at each record, as large as a column says, and the line from (0, 0) to (1, 1)."""
    line = {"mark": {"type": "line", "color": ACCENT, "strokeWidth": 1.5}, "encoding": {"x": x, "y": y}}
    area = {**size, "legend": None, "scale": {"type": "sqrt", "range": [30, 400]}}
    dot = {
        "mark": {"type": "circle", "color": ACCENT, "opacity": 0.85},
        "encoding": {"x": x, "y": y, "size": area, "tooltip": list(hints)},
    }
    return {"height": _SQUARE_HEIGHT, "layer": [_diagonal(x["title"], y["title"]), line, dot]}


def heat_map(
    x: str, y: str, value: str, cells: int, hints: Sequence[Channel], labels: str, domain: list[float]
) -> Spec:
    """A square for each pair of categories, ``cells`` of them in a row, its number written in it, if it has one."""
    known = [{"filter": f"isValid(datum['{value}'])"}]
    dark_from = domain[0] + _DARK * (domain[1] - domain[0])
    # Dark figures on pale squares and the other way round.
    ink = {"condition": {"test": f"datum['{value}'] > {dark_from}", "value": "#ffffff"}, "value": "#1d2430"}
    return {
        "height": {"step": max(26, min(44, 300 // max(cells, 1)))},
        "encoding": {
            "x": category(x, None, axis={"labelAngle": _ANGLE, "domain": False, "ticks": False}),
            "y": category(y, None, axis=_plain_axis(None)),
        },
        "layer": [
            {"mark": {"type": "rect", "cornerRadius": 2, "color": _FAINT}},  # every place, so that the order is theirs
            {
                "transform": known,
                "mark": {"type": "rect", "cornerRadius": 2},
                "encoding": {
                    "color": number(value, None, scale={"domain": domain, "scheme": "blues"}, legend=None),
                    "tooltip": list(hints),
                },
            },
            {
                "transform": known,
                "mark": {"type": "text", "fontSize": 11 if cells <= _FEW_CELLS else 8},
                "encoding": {"text": number(value, None, format=labels), "color": ink},
            },
        ],
    }


def points(x: str, y: str, by: Channel, hints: Sequence[Channel]) -> Spec:
    """A cloud of points; its axes have no meaning of their own and are left out."""
    axis = {"axis": None, "scale": {"zero": False, "nice": False, "padding": 8}}
    return {
        "height": _SQUARE_HEIGHT,
        "mark": {"type": "circle", "size": 22, "opacity": 0.75},
        "encoding": {
            "x": number(x, None, **axis),
            "y": number(y, None, **axis),
            "color": by,
            "tooltip": list(hints),
        },
    }


def spreads(
    by: Channel, title: str, hints: Sequence[Channel], domain: list[float], colours: Channel | None = None
) -> Spec:
    """For each category from the 5th to the 95th percentile, the middle half, and the median (p5, p25, … p95)."""

    def span(low: str, high: str) -> Channel:
        colour = {} if colours is None else {"color": {**colours, "legend": None}}
        return {"x": number(low, title, scale={"domain": domain}), "x2": {"field": high}, **colour}

    return {
        "height": {"step": _ROW},
        "encoding": {"y": {**by, "axis": _plain_axis(by["title"])}, "tooltip": list(hints)},
        "layer": [
            {"mark": {"type": "rule", "color": ACCENT}, "encoding": span("p5", "p95")},
            {"mark": {"type": "bar", "color": ACCENT, "opacity": 0.55, "height": 12}, "encoding": span("p25", "p75")},
            {
                "mark": {"type": "tick", "color": "currentColor", "thickness": 2},
                "encoding": {"x": number("p50", title, scale={"domain": domain})},
            },
        ],
    }


def dots(by: Channel, source: Channel, value: Channel, hints: Sequence[Channel]) -> Spec:
    """A dot (mean) with whiskers (low, high) for each category and source; the sources stand below each other."""
    aside = {"yOffset": {"field": source["field"], "type": "nominal", "sort": None}}
    return {
        "height": {"step": _ROW},
        "encoding": {"y": {**by, "axis": {**_plain_axis(by["title"]), "grid": True}}, **aside, "color": source},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 1.5, "clip": True},
                "encoding": {"x": {**value, "field": "low"}, "x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {"x": value, "tooltip": list(hints)},
            },
        ],
    }


def stacked(value: Channel, by: Channel, part: Channel, hints: Sequence[Channel]) -> Spec:
    """A bar for each category, made of parts."""
    return {
        "height": {"step": _ROW},
        "mark": {"type": "bar"},
        "encoding": {
            "y": {**by, "axis": _plain_axis(by["title"]), "scale": {"padding": _ROW_PADDING}},
            "x": {**value, "stack": "zero"},
            "color": part,
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": list(hints),
        },
    }


def _plain_axis(title: str | None) -> Spec:
    return {"title": title, "domain": False, "ticks": False, "labelPadding": 6}


def _diagonal(x_title: str | None, y_title: str | None) -> Spec:
    ends = {"values": [{"at": 0}, {"at": 1}]}
    x, y = number("at", x_title), number("at", y_title)
    mark = {"type": "line", "color": "#80808099", "strokeDash": [4, 4], "strokeWidth": 1}
    return {"data": ends, "mark": mark, "encoding": {"x": x, "y": y}}


def in_page(spec: Mapping[str, Any], rows: Rows) -> dict[str, object]:
    """What a page's script needs to draw a chart as wide as its place."""
    size = {"width": "container", "autosize": {"type": "fit-x", "contains": "padding"}}
    drawn = {"config": _CONFIG, **size, **_with_safe_keys(spec), "height": _height(spec, rows)}
    return {"spec": drawn, "rows": rows, "legendEntry": _legend_entry(spec, rows)}


def on_paper(spec: Mapping[str, Any], rows: Rows) -> Spec:
    """A whole specification of fixed width, on white, its data inside."""
    columns = max(1, _PAPER_WIDTH // _legend_entry(spec, rows))
    config = {**_CONFIG, "background": "white", "legend": {**_CONFIG["legend"], "columns": columns}}
    size = {"width": _PAPER_WIDTH, "height": _height(spec, rows)}
    return {"config": config, **_with_safe_keys(spec), **size, "data": {"values": rows}}


def to_svg(spec: Spec) -> bytes:
    """A chart from `on_paper` as SVG; the same chart gives the same bytes."""
    require_charts()
    import vl_convert

    # Vega numbers the areas it clips by through all charts of a process; here every chart begins with 1.
    known: dict[str, int] = {}
    svg = str(vl_convert.vegalite_to_svg(spec))
    return _CLIP.sub(lambda found: f"{found[1]}clip{known.setdefault(found[2], len(known) + 1)}", svg).encode()


def to_png(spec: Spec) -> bytes:
    """A chart from `on_paper` as PNG."""
    require_charts()
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(spec, scale=_PIXELS))


@cache
def chart_script() -> str:
    """JavaScript that gives a page ``window.vegaEmbed``; about 0.9 MB."""
    require_charts()
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))


def require_charts() -> None:
    """MissingExtraError unless vl-convert is installed."""
    if find_spec("vl_convert") is None:
        raise MissingExtraError("vl-convert-python", "report", "drawing the charts of a report")


def _with_safe_keys(spec: Mapping[str, Any]) -> Spec:
    """The same chart, its categories drawn by keys ("=work") whose labels leave out the first character.

    Vega groups records by the properties of plain JavaScript objects, in which ``__proto__``, ``constructor`` and
    ``toString`` exist already, so layers of these names were lost. No such property begins with "=".
    """
    columns: dict[str, None] = {}

    def keyed(name: str, channel: Any) -> Any:
        if not isinstance(channel, Mapping) or channel.get("type") != "nominal":
            return channel
        columns[channel["field"]] = None
        guide = {"x": "axis", "y": "axis", "color": "legend"}.get(name)
        label = {"labelExpr": "replace(datum.label, /^=/, '')"}
        shown = {guide: {**channel.get(guide, {}), **label}} if guide and channel.get(guide, {}) is not None else {}
        if domain := channel.get("scale", {}).get("domain"):
            shown["scale"] = {**channel["scale"], "domain": [f"={value}" for value in domain]}
        return {**channel, "field": _key(channel["field"]), **shown}

    def in_view(view: Mapping[str, Any]) -> Spec:
        made = dict(view)
        if "encoding" in view:
            made["encoding"] = {name: keyed(name, channel) for name, channel in view["encoding"].items()}
        if "layer" in view:
            made["layer"] = [in_view(each) for each in view["layer"]]
        return made

    made = in_view(spec)
    keys = [{"calculate": f"'=' + datum['{column}']", "as": _key(column)} for column in columns]
    return {**made, "transform": [*keys, *made.get("transform", ())]}


def _key(column: str) -> str:
    return f"{column} key"


def _height(spec: Mapping[str, Any], rows: Rows) -> int:
    """In pixels; a height given for each row of a chart is taken times their number."""
    height = spec["height"]
    if isinstance(height, Mapping):
        column = spec["encoding"]["y"]["field"]
        return int(height["step"]) * len({row[column] for row in rows})
    return int(height)


def _legend_entry(spec: Mapping[str, Any], rows: Rows) -> int:
    """About how many pixels an entry of the legend is wide; a page puts as many beside each other as fit."""
    views = [spec, *spec.get("layer", ())]
    columns = {view.get("encoding", {}).get("color", {}).get("field") for view in views} - {None}
    longest = max((len(str(row[name])) for name in columns for row in rows), default=0)
    return _SYMBOL + min(int(_CONFIG["legend"]["labelLimit"]), round(_CHARACTER * longest))
