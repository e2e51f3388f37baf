"""Charts of results for notebooks, by Altair. A layer has the same colour in all of them: that of its number.

Rows are counted before they are drawn, so a chart is small however large the network is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mpxgat.errors import MissingExtraError, printable

if TYPE_CHECKING:
    import altair as alt

COLOURS = (
    "#2b7fc4", "#e07b1f", "#2a9d5c", "#c9518f", "#8a6fd1", "#b58900",
    "#1aa6b7", "#d1495b", "#7c8a99", "#8f6a4e", "#5b8c2a", "#6a6ad6",
)  # fmt: skip
"""Of layers, by their numbers; they begin again where there are more layers. Reports have the same."""
Rows = Sequence[Mapping[str, Any]]
Spec = dict[str, Any]
_OUTCOMES = {"matched": "#3b4252", "below threshold": "#9aa3b2", "outdone": "#c9b28f", "no candidate": "#e3e6eb"}
_WIDTH, _HEIGHT, _STEP = 420, 200, 20


def colours_of(layers: Sequence[str]) -> dict[str, str]:
    """The colour of every layer of a network, given in the network's order."""
    return {layer: COLOURS[number % len(COLOURS)] for number, layer in enumerate(layers)}


def measures_by_layer(layers: Sequence[str], title: str, least: float, within: Rows, between: Rows) -> alt.VConcatChart:
    """A dot for each layer and each pair of layers, filled in the colour of one and edged in that of the other.

    Rows have the columns label, first, second, value and links. The axis goes from ``least``, or the smallest value, to
    1: from chance, if that is what it is.
    """
    least = min([least, *(row["value"] for row in (*within, *between))])
    charts = [
        _dots(layers, rows, f"{title} {where}", least)
        for rows, where in ((within, "within layers"), (between, "between layers"))
        if rows
    ]
    return _below_each_other(charts, {})


def _dots(layers: Sequence[str], rows: Rows, title: str, least: float) -> Spec:
    fill, edge = _by_layer("first", layers), {**_by_layer("second", layers), "legend": None}
    dot = {
        "data": {"values": [_with_keys(row, "first", "second") for row in rows]},
        "mark": {"type": "point", "size": 110, "strokeWidth": 3, "opacity": 1},
        "encoding": {
            "x": _number("value", title, scale={"domain": [least, 1]}),
            "y": {"field": "label", "type": "nominal", "title": None, "sort": None},
            "fill": fill,
            "stroke": edge,
            "tooltip": [{"field": "label"}, {"field": "value", "format": ".4f"}, {"field": "links", "format": ","}],
        },
    }
    return {"width": _WIDTH, "height": {"step": _STEP}, **dot}


def outcomes_and_probabilities(
    layers: Sequence[str], outcomes: Rows, probabilities: Rows, threshold: float
) -> alt.VConcatChart:
    """What became of the nodes, and how probable their best candidates are.

    outcomes            rows of pair, outcome, nodes, and place (of the outcome in the bar)
    probabilities       rows of layer (of the node), low and high (the ends of a bin) and nodes
    threshold           a dashed line
    """
    colours = {"domain": [*_OUTCOMES], "range": [*_OUTCOMES.values()]}
    became = {
        "width": _WIDTH,
        "height": {"step": _STEP},
        "data": {"values": list(outcomes)},
        "mark": "bar",
        "encoding": {
            "x": _number("nodes", "nodes"),
            "y": {"field": "pair", "type": "nominal", "title": None, "sort": None},
            "color": {"field": "outcome", "type": "nominal", "title": None, "sort": None, "scale": colours},
            "order": {"field": "place", "type": "quantitative"},
            "tooltip": [{"field": "pair"}, {"field": "outcome"}, {"field": "nodes", "format": ","}],
        },
    }
    bars = {
        "data": {"values": [_with_keys(row, "layer") for row in probabilities]},
        "mark": "bar",
        "encoding": {
            "x": _number("low", "probability of the best candidates listed", bin="binned", scale={"domain": [0, 1]}),
            "x2": {"field": "high"},
            "y": _number("nodes", "nodes"),
            "color": _by_layer("layer", layers),
            "tooltip": [{"field": "layer"}, {"field": "low"}, {"field": "high"}, {"field": "nodes", "format": ","}],
        },
    }
    line = {
        "data": {"values": [{"threshold": threshold}]},
        "mark": {"type": "rule", "strokeDash": [4, 4]},
        "encoding": {"x": {"field": "threshold", "type": "quantitative"}},
    }
    how_sure = {"width": _WIDTH, "height": _HEIGHT, "layer": [bars, line]}
    return _below_each_other([became, how_sure], {"scale": {"color": "independent"}})


def _below_each_other(charts: Sequence[Spec], resolve: Spec) -> alt.VConcatChart:
    if find_spec("altair") is None:
        raise MissingExtraError("altair", "plots", "a chart")
    import altair as alt

    return alt.VConcatChart.from_dict({"vconcat": list(charts), "resolve": resolve})


def _number(column: str, title: str, **more: Any) -> Spec:
    return {"field": column, "type": "quantitative", "title": title, **more}


def _by_layer(column: str, layers: Sequence[str]) -> Spec:
    """A colour for each layer of a network, the same in every chart."""
    colours = colours_of(layers)
    scale = {"domain": [_key(layer) for layer in colours], "range": list(colours.values())}
    legend = {"labelExpr": "replace(datum.label, /^=/, '')"}
    return {"field": _key(column), "type": "nominal", "title": "layer", "scale": scale, "legend": legend}


def _with_keys(row: Mapping[str, Any], *columns: str) -> Spec:
    """A row with a column "=layer" for the column "layer", its text "=work" for "work".

    Vega groups records by the properties of plain objects, in which "constructor" exists already: layers of such names
    would be lost. No property begins with "=".
    """
    return {**row, **{_key(column): _key(row[column]) for column in columns}}


def _key(name: str) -> str:
    return f"={name}"


def pair_label(*layers: str) -> str:
    """A layer, or two of them, as a row of a chart is called."""
    return " – ".join(printable(layer) for layer in dict.fromkeys(layers))
