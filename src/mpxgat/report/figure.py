"""A figure: plain records, and how they are drawn. The page, the files beside it and a paper show the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from mpxgat.report.records import Rows

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
