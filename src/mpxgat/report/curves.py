"""How well hidden links are ranked above non-links: ROC, precision and recall, AUC of each layer and pair of layers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.errors import SettingError
from mpxgat.graph import MultiplexGraph
from mpxgat.metrics import StreamedRanking
from mpxgat.models.base import Model
from mpxgat.report import charts
from mpxgat.report.charts import Row, Rows
from mpxgat.report.network import layer_pair_rows, shown_layers, which_layers
from mpxgat.report.page import Figure, Section
from mpxgat.splits import InterTargets, IntraTargets, Split

_MOST_POINTS = 400
_FEW_LAYERS = 8  # that leave room for three decimals


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Links that a model has not seen, and the model: all that a report may evaluate by.

    The model was fitted on ``split.train`` and nothing else; SettingError if it was fitted on other links.

    whole       the graph that the split was made of: the truth
    refitted    whether the model is a second fit, made for the report beside a run that has seen every link
    """

    model: Model
    split: Split
    whole: MultiplexGraph
    refitted: bool

    def __post_init__(self) -> None:
        fitted, train = self.model.graph, self.split.train
        same = np.array_equal(fitted.intra, train.intra) and np.array_equal(fitted.inter, train.inter)
        if fitted.n_nodes != train.n_nodes or not same:
            raise SettingError(
                "the model was fitted on other links than those left by the split; fit it on split.train"
            )

    def description(self) -> str:
        """Sentences that say how model and links came about."""
        intra, inter = len(self.split.intra.positives), len(self.split.inter.positives)
        hidden = f"{intra:,} links within layers and {inter:,} between layers"
        if self.refitted:
            return (
                "The run has seen every link of its network, so its own scores would prove nothing. What is evaluated "
                f"is a second fit with the same settings, from which {hidden} were hidden."
            )
        return f"Evaluated on links hidden from training: {hidden}."


@dataclass(frozen=True, eq=False)
class Rankings:
    """Scored pairs of one kind: all together, and those of each two layers (the same one twice within a layer)."""

    together: StreamedRanking
    by_layers: dict[tuple[int, int], StreamedRanking]


@dataclass(frozen=True, eq=False)
class Scored:
    """All targets of a split as a model ranks them."""

    held_out: HeldOut
    intra: Rankings
    inter: Rankings


def score(held_out: HeldOut) -> Scored:
    """Score hidden links and non-links in one pass."""
    model, split = held_out.model, held_out.split
    return Scored(held_out, _rankings(model, split.intra), _rankings(model, split.inter))


def _rankings(model: Model, targets: IntraTargets | InterTargets) -> Rankings:
    scores = model.score(targets.positives)
    layers = model.graph.node_layer[targets.positives].reshape(-1, 2)
    together = StreamedRanking(scores)
    by_layers = {
        (a, b): StreamedRanking(scores[(layers == (a, b)).all(axis=1)])
        for a, b in np.unique(layers, axis=0).tolist()
    }  # fmt: skip
    for block in targets.negatives.blocks():
        of_non_links = model.score_block(block.rows, block.cols)[block.mask]
        together.add(of_non_links)
        if block.layers in by_layers:
            by_layers[block.layers].add(of_non_links)
    return Rankings(together, by_layers)


def curves_section(scored: Scored) -> Section:
    """Figures about a model's predictions of hidden links."""
    kinds = {"within layers": scored.intra.together, "between layers": scored.inter.together}
    known = {kind: ranking for kind, ranking in kinds.items() if ranking.n_positives and ranking.n_negatives}
    figures = [_roc(known), _precision_recall(known)] if known else []
    figures += [figure for figure in (_by_layer(scored), _by_layer_pair(scored)) if figure.rows]
    nothing = "No link could be hidden, so nothing can be said of predictions."
    summary = scored.held_out.description() if known else nothing
    return Section("prediction", "Predicting hidden links", summary, figures)


def thinned(x: NDArray[np.float64], y: NDArray[np.float64], most: int = _MOST_POINTS) -> NDArray[np.int64]:
    """At most about ``most`` places on a curve, evenly along its length, both ends among them."""
    if len(x) <= most:
        return np.arange(len(x))
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    places = np.searchsorted(length, np.linspace(0, length[-1], most))
    return np.unique(np.concatenate([[0], np.minimum(places, len(x) - 1), [len(x) - 1]]))


def _roc(rankings: dict[str, StreamedRanking]) -> Figure:
    rows: list[Row] = []
    for kind, ranking in rankings.items():
        label, (false, true) = f"{kind}, AUC {ranking.auc():.3f}", ranking.roc()
        for order, place in enumerate(thinned(false, true)):
            rows.append({"links": label, "order": order, "false": float(false[place]), "true": float(true[place])})
    spec = charts.lines_and_diagonal(
        charts.number("false", "share of non-links taken for links", scale=charts.UNIT, axis={"format": "%"}),
        charts.number("true", "share of hidden links found", scale=charts.UNIT, axis={"format": "%"}),
        charts.category("links"),
        "order",
        charts.tooltip({"links": "links", "true": "links found", "false": "non-links taken"}, true=".1%", false=".2%"),
    )
    counts = "; ".join(
        f"{kind}: {ranking.n_positives:,} hidden links among {ranking.n_negatives:,} non-links"
        for kind, ranking in rankings.items()
    )
    caption = f"Receiver operating characteristic ({counts}). The dashed line is chance."
    return Figure("roc", "ROC: found against mistaken", caption, rows, spec)


def _precision_recall(rankings: dict[str, StreamedRanking]) -> Figure:
    rows: list[Row] = []
    for kind, ranking in rankings.items():
        label, (recall, precision) = f"{kind}, AP {ranking.average_precision():.3f}", ranking.precision_recall()
        # From recall 0 on, or a model that gives all links one score would have a point and no line.
        recall, precision = np.concatenate([[0.0], recall]), np.concatenate([precision[:1], precision])
        for order, place in enumerate(thinned(recall, precision)):
            point = {"recall": float(recall[place]), "precision": float(precision[place])}
            rows.append({"links": label, "order": order, **point})
    taken = "share of links among those taken (precision)"
    spec = charts.lines(
        charts.number("recall", "share of hidden links found (recall)", scale=charts.UNIT, axis={"format": "%"}),
        charts.number("precision", taken, scale=charts.UNIT, axis={"format": "%"}),
        charts.category("links"),
        "order",
        charts.tooltip({"links": "links", "recall": "recall", "precision": "precision"}, recall=".1%", precision=".1%"),
    )
    shares = "; ".join(
        f"{kind} {ranking.n_positives / (ranking.n_positives + ranking.n_negatives):.2%}"
        for kind, ranking in rankings.items()
    )
    caption = f"Precision against recall. A guess would have the share of links among all pairs: {shares}."
    return Figure("precision-recall", "Precision and recall", caption, rows, {**spec, "height": 320})


def _by_layer(scored: Scored) -> Figure:
    graph = scored.held_out.model.graph
    shown = set(shown_layers(graph))
    rows: Rows = [
        {
            "layer": graph.layers[a],
            "AUC": ranking.auc(),
            "hidden links": ranking.n_positives,
            "non-links": ranking.n_negatives,
        }
        for (a, _), ranking in sorted(scored.intra.by_layers.items())
        if a in shown and not math.isnan(ranking.auc())
    ]
    hints = charts.tooltip(
        {"layer": "layer", "AUC": "AUC", "hidden links": "hidden links", "non-links": "non-links"},
        **{"AUC": ".4f", "hidden links": ",", "non-links": ","},
    )
    value = charts.number("AUC", "AUC within the layer", scale=charts.UNIT)
    caption = "AUC of hidden links within each layer; 0.5 is chance." + which_layers(graph)
    colours = charts.coloured("layer", charts.layer_colours(graph.layers), rows)
    spec = charts.bars(value, charts.category("layer"), hints, ".3f", colours)
    return Figure("auc-by-layer", "AUC of each layer", caption, rows, spec)


def _by_layer_pair(scored: Scored) -> Figure:
    graph, found = scored.held_out.model.graph, scored.inter.by_layers

    def values(a: int, b: int) -> Row:
        ranking = found.get((min(a, b), max(a, b))) if a != b else None
        auc = math.nan if ranking is None else ranking.auc()
        return {"AUC": None if math.isnan(auc) else auc, "hidden links": ranking.n_positives if ranking else 0}

    rows = layer_pair_rows(graph, values)
    hints = charts.tooltip(
        {"layer": "layer", "other layer": "other layer", "AUC": "AUC", "hidden links": "hidden links"}, AUC=".4f"
    )
    cells = len(shown_layers(graph))
    labels = ".3f" if cells <= _FEW_LAYERS else ".2f"
    spec = charts.heat_map("other layer", "layer", "AUC", cells, hints, labels, [0.5, 1])
    caption = "AUC of hidden links between each two layers; 0.5 is chance." + which_layers(graph)
    known = any(row["AUC"] is not None for row in rows)
    return Figure("auc-by-layer-pair", "AUC of each pair of layers", caption, rows if known else [], spec)
