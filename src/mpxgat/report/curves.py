"""ROC and precision-recall curves over more non-links than fit in memory; exact, ties included."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpxgat.errors import SettingError
from mpxgat.graph import MultiplexGraph
from mpxgat.models.base import Model, make_model
from mpxgat.report import charts
from mpxgat.report.network import shown_layers, which_layers
from mpxgat.report.page import Figure, Row, Rows, Section, section
from mpxgat.splits import InterTargets, IntraTargets, Split
from mpxgat.training.parallel import Session

Numbers = NDArray[np.float64]
_MOST_POINTS = 400


class LinkCurve:
    """How links rank among non-links that arrive block by block.

    Keeps for every distinct score of a link how many non-links score as high or higher, and how many higher: between
    two such scores a curve has no corner.
    """

    def __init__(self, links: ArrayLike):
        self._level, self._count = np.unique(np.asarray(links, dtype=np.float64), return_counts=True)  # ascending
        self._above = np.zeros(len(self._level) + 1, dtype=np.int64)  # non-links by the levels that they exceed
        self._from = np.zeros(len(self._level) + 1, dtype=np.int64)  # by the levels that they reach
        self.links = int(self._count.sum())
        self.non_links = 0

    def add(self, non_links: ArrayLike) -> None:
        """Take in a block of scores of non-links, in any order."""
        scores = np.asarray(non_links, dtype=np.float64).ravel()
        places = len(self._level) + 1
        self._above += np.bincount(np.searchsorted(self._level, scores, "left"), minlength=places)
        self._from += np.bincount(np.searchsorted(self._level, scores, "right"), minlength=places)
        self.non_links += len(scores)

    def roc(self) -> tuple[Numbers, Numbers]:
        """(k,) shares of non-links and of links that score at least so high, from (0, 0) to (1, 1); every corner."""
        false, true = self._corners()
        return false / max(self.non_links, 1), true / max(self.links, 1)

    def precision_recall(self) -> tuple[Numbers, Numbers]:
        """(k,) recall, ascending, and precision there: one point for each distinct score of a link."""
        true = np.cumsum(self._count[::-1])
        return true / max(self.links, 1), true / (true + _reached(self._from)[::-1])

    def auc(self) -> float:
        """Area under `roc`; NaN without links or non-links."""
        if not self.links or not self.non_links:
            return math.nan
        false, true = self._corners()
        return float((np.diff(false) * (true[1:] + true[:-1])).sum() / (2 * self.links * self.non_links))

    def average_precision(self) -> float:
        """Mean precision over the links, each taken at its own score; NaN without links."""
        if not self.links:
            return math.nan
        _, precision = self.precision_recall()
        return float((self._count[::-1] * precision).sum() / self.links)

    def _corners(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of non-links and links: at every level, highest first, above it and from it on."""
        true = np.concatenate([[0], np.cumsum(self._count[::-1])])
        false_above, false_from = _reached(self._above)[::-1], _reached(self._from)[::-1]
        false = np.stack([false_above, false_from], axis=1).ravel()
        corners = np.stack([true[:-1], true[1:]], axis=1).ravel()
        return (
            np.concatenate([[0], false, [self.non_links]]),
            np.concatenate([[0], corners, [self.links]]),
        )


def _reached(by_levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """(levels,) how many reach each level, given how many reach exactly 0, 1, … levels."""
    return np.cumsum(by_levels[::-1])[::-1][1:]


def thinned(x: Numbers, y: Numbers, most: int = _MOST_POINTS) -> NDArray[np.int64]:
    """At most about ``most`` places on a curve, evenly along its length, both ends among them."""
    if len(x) <= most:
        return np.arange(len(x))
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    wanted = np.searchsorted(length, np.linspace(0, length[-1], most))
    return np.unique(np.concatenate([[0], np.minimum(wanted, len(x) - 1), [len(x) - 1]]))


# Hidden links and non-links as a model scores them: one pass over all pairs, curves of all and of each layer pair.


Layers = tuple[int, int]


@dataclass(frozen=True, eq=False)
class ToldApart:
    """Pairs of one kind: all together, and those of each pair of layers (the same one twice within a layer)."""

    together: LinkCurve
    by_layers: dict[Layers, LinkCurve]


@dataclass(frozen=True, eq=False)
class Judged:
    """What came of judging a model on held-out links."""

    held_out: HeldOut
    intra: ToldApart
    inter: ToldApart


def judge(held_out: HeldOut) -> Judged:
    """Score all targets of a split."""
    model, split = held_out.model, held_out.split
    return Judged(held_out, _tell(model, split.intra), _tell(model, split.inter))


def _tell(model: Model, targets: IntraTargets | InterTargets) -> ToldApart:
    scores = model.score(targets.positives)
    layers = model.graph.node_layer[targets.positives].reshape(-1, 2)
    together = LinkCurve(scores)
    by_layers: dict[Layers, LinkCurve] = {}
    for a, b in np.unique(layers, axis=0).tolist():
        by_layers[a, b] = LinkCurve(scores[(layers == (a, b)).all(axis=1)])
    for block in targets.negatives.blocks():
        of_non_links = model.score_block(block.rows, block.cols)[block.mask]
        together.add(of_non_links)
        if block.layers in by_layers:
            by_layers[block.layers].add(of_non_links)
    return ToldApart(together, by_layers)


# Links that a model has not seen, and the model that has not seen them: all that a report may judge by.


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A model fitted on ``split.train`` and nothing else; SettingError if it was fitted on another graph.

    whole       the graph that the split was made of: the truth
    words       sentences for captions: how the two came about
    """

    model: Model
    split: Split
    whole: MultiplexGraph
    words: str

    def __post_init__(self) -> None:
        fitted, train = self.model.graph, self.split.train
        same = np.array_equal(fitted.intra, train.intra) and np.array_equal(fitted.inter, train.inter)
        if fitted.n_nodes != train.n_nodes or not same:
            raise SettingError(
                "the model was fitted on other links than those left by the split; fit it on split.train"
            )


def fit_again(model: Model, split: Split, session: Session | None = None) -> HeldOut:
    """The same model with the same settings, fitted on what a split of its graph leaves."""
    again = make_model(model.name, seed=model.seed, **model.settings).fit(split.train, session)
    return HeldOut(again, split, model.graph, words_of_second_fit(split))


def words_of_second_fit(split: Split) -> str:
    """How the judged model came about, for captions."""
    return (
        f"The run has seen every link of its network, so its own scores would prove nothing. Judged is a second fit "
        f"with the same settings, from which {_hidden(split)} were hidden."
    )


def words_of_split(split: Split) -> str:
    """The same for a model that was fitted on a split in the first place."""
    return f"Judged on links hidden from training: {_hidden(split)}."


def _hidden(split: Split) -> str:
    return f"{len(split.intra.positives):,} links within layers and {len(split.inter.positives):,} between layers"


# How well hidden links are told from non-links: ROC, precision and recall, AUC of each layer and pair of layers.


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
