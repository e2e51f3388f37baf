"""How well hidden links are told from non-links: ROC, precision and recall, AUC of each layer and pair of layers."""

from __future__ import annotations

import math

from mpxgat.report import charts
from mpxgat.report.figure import Figure
from mpxgat.report.link_curve import LinkCurve, thinned
from mpxgat.report.network import shown_layers, which_layers
from mpxgat.report.records import Row, Rows
from mpxgat.report.section import Section, section
from mpxgat.report.told_apart import Judged

_UNIT = {"domain": [0, 1]}
_FEW_LAYERS = 8  # that leave room for three decimals


def curves_section(judged: Judged) -> Section:
    """Figures about a model's predictions of hidden links."""
    kinds = {"within layers": judged.intra, "between layers": judged.inter}
    curves = {kind: told.together for kind, told in kinds.items() if told.together.links and told.together.non_links}
    figures = [_roc(curves), _precision_recall(curves)] if curves else []
    figures += [figure for figure in (_by_layer(judged), _by_layer_pair(judged)) if figure.rows]
    lead = judged.held_out.words if curves else "No link could be hidden, so nothing can be said of predictions."
    return section("prediction", "Predicting hidden links", lead, figures)


def _roc(curves: dict[str, LinkCurve]) -> Figure:
    rows: list[Row] = []
    for kind, curve in curves.items():
        label, (false, true) = f"{kind}, AUC {curve.auc():.3f}", curve.roc()
        for order, place in enumerate(thinned(false, true)):
            rows.append({"links": label, "order": order, "false": float(false[place]), "true": float(true[place])})
    spec = charts.lines_and_diagonal(
        charts.number("false", "share of non-links taken for links", scale=_UNIT, axis={"format": "%"}),
        charts.number("true", "share of hidden links found", scale=_UNIT, axis={"format": "%"}),
        charts.colour("links"),
        "order",
        charts.tooltip({"links": "links", "true": "links found", "false": "non-links taken"}, true=".1%", false=".2%"),
    )
    counts = "; ".join(
        f"{kind}: {curve.links:,} hidden links among {curve.non_links:,} non-links" for kind, curve in curves.items()
    )
    caption = f"Receiver operating characteristic ({counts}). The dashed line is chance."
    return Figure("roc", "ROC: found against mistaken", caption, rows, spec)


def _precision_recall(curves: dict[str, LinkCurve]) -> Figure:
    rows: list[Row] = []
    for kind, curve in curves.items():
        label, (recall, precision) = f"{kind}, AP {curve.average_precision():.3f}", curve.precision_recall()
        for order, place in enumerate(thinned(recall, precision)):
            point = {"recall": float(recall[place]), "precision": float(precision[place])}
            rows.append({"links": label, "order": order, **point})
    spec = charts.lines(
        charts.number("recall", "share of hidden links found (recall)", scale=_UNIT, axis={"format": "%"}),
        charts.number("precision", "share of links among those taken (precision)", scale=_UNIT, axis={"format": "%"}),
        charts.colour("links"),
        "order",
        charts.tooltip({"links": "links", "recall": "recall", "precision": "precision"}, recall=".1%", precision=".1%"),
    )
    shares = "; ".join(f"{kind} {curve.links / (curve.links + curve.non_links):.2%}" for kind, curve in curves.items())
    caption = f"Precision against recall. A guess would have the share of links among all pairs: {shares}."
    return Figure("precision-recall", "Precision and recall", caption, rows, {**spec, "height": 320})


def _by_layer(judged: Judged) -> Figure:
    graph = judged.held_out.model.graph
    rows: Rows = [
        {"layer": graph.layers[a], "AUC": curve.auc(), "hidden links": curve.links, "non-links": curve.non_links}
        for (a, _), curve in sorted(judged.intra.by_layers.items())
        if a in set(shown_layers(graph)) and not math.isnan(curve.auc())
    ]
    hints = charts.tooltip(
        {"layer": "layer", "AUC": "AUC", "hidden links": "hidden links", "non-links": "non-links"},
        **{"AUC": ".4f", "hidden links": ",", "non-links": ","},
    )
    value = charts.number("AUC", "AUC within the layer", scale=_UNIT)
    spec = charts.bars(value, charts.category("layer", None), hints, ".3f")
    caption = "AUC of hidden links within each layer; 0.5 is chance." + which_layers(graph)
    return Figure("auc-by-layer", "AUC of each layer", caption, rows, spec)


def _by_layer_pair(judged: Judged) -> Figure:
    graph = judged.held_out.model.graph
    shown = shown_layers(graph)
    rows: list[Row] = []
    found = judged.inter.by_layers
    if any(not math.isnan(curve.auc()) for curve in found.values()):
        for a in shown:
            for b in shown:
                curve = found.get((min(a, b), max(a, b))) if a != b else None
                value = math.nan if curve is None else curve.auc()
                rows.append(
                    {
                        "layer": graph.layers[a],
                        "other layer": graph.layers[b],
                        "AUC": None if math.isnan(value) else value,
                        "hidden links": 0 if curve is None else curve.links,
                    }
                )
    hints = charts.tooltip(
        {"layer": "layer", "other layer": "other layer", "AUC": "AUC", "hidden links": "hidden links"}, AUC=".4f"
    )
    spec = charts.heat_map(
        "other layer", "layer", "AUC", len(shown), hints, ".3f" if len(shown) <= _FEW_LAYERS else ".2f", [0.5, 1]
    )
    caption = "AUC of hidden links between each two layers; 0.5 is chance." + which_layers(graph)
    return Figure("auc-by-layer-pair", "AUC of each pair of layers", caption, rows, spec)
