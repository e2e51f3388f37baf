"""How training went: loss, validation and β over the epochs; what was tried where a model chooses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from mpxgat.models.auto import Auto
from mpxgat.models.base import Model
from mpxgat.models.evidence.model import Evidence
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.nn.attention import Neighbourhood
from mpxgat.report import charts
from mpxgat.report.network import which_layers
from mpxgat.report.page import Figure, Row, Rows, Section, section

History = Mapping[str, Sequence[Mapping[str, float]]]
_MOST_PARTS = 12
_BETA = "beta"


def training_section(model: Model) -> Section | None:
    """Figures about a model's training; None if nothing was trained."""
    figures = [trials_figure(model)] if isinstance(model, Auto) and model.trials else []
    history, whose = _history(model)
    figures += history_figures(history)
    if not figures:
        return None
    return section("training", "Training", f"How the model {model.name!r} was trained.{whose}", figures)


def history_figures(history: History) -> list[Figure]:
    """Loss, validation and β over the epochs, as far as the history has them."""
    shown = dict(list(history.items())[-_MOST_PARTS:])  # the part between layers is the last
    return [figure for figure in (_loss(shown), _validation(shown), _beta(shown)) if figure.rows]


def _history(model: Model) -> tuple[History, str]:
    """The rows of a model's training, and a sentence if it is the training of a part of it."""
    chosen = model.chosen if isinstance(model, Auto) else model
    sentence = f" Chosen was {chosen.name!r}." if chosen is not model else ""
    if isinstance(chosen, Evidence):
        embeddings = chosen.anchored
        if embeddings is None:
            return {}, sentence
        return embeddings.history, f"{sentence} The curves are those of the embeddings that are part of its evidence."
    history: History = getattr(chosen, "history", {})  # only models that are trained have one
    return history, sentence


def trials_figure(model: Auto) -> Figure:
    """Validation AUC of everything that was tried."""
    rows: Rows = [
        {"model": name, "validation AUC": value, "chosen": name == model.chosen.name}
        for name, value in model.trials.items()
    ]
    hints = charts.tooltip({"model": "model", "validation AUC": "AUC", "chosen": "chosen"}, **{"validation AUC": ".4f"})
    value = charts.number("validation AUC", "mean of intra and inter AUC", scale={"domain": [0, 1]})
    spec = charts.bars(value, charts.category("model", None), hints, ".3f")
    caption = f"Judged on links hidden again from the training links; {model.chosen.name!r} was taken."
    return Figure("trials", "What was tried", caption, rows, spec)


def _loss(history: History) -> Figure:
    spec = _over_epochs("loss", "loss", {"zero": False})
    return Figure("loss", "Loss", "Loss over the epochs of each part.", _column(history, "loss"), spec)


def _validation(history: History) -> Figure:
    spec = _over_epochs("validation AUC", "validation AUC", {"zero": False})
    caption = "AUC on links cut from the training links; training stops when it no longer rises, and the best is kept."
    rows: Rows = [
        {"part": row["part"], "epoch": row["epoch"], "validation AUC": row["validation"]}
        for row in _column(history, "validation")
    ]
    return Figure("validation", "Validation", caption, rows, spec)


def _beta(history: History) -> Figure:
    rows: list[Row] = []
    for part, points in history.items():
        for name in dict.fromkeys(key for point in points for key in point if key.startswith(_BETA)):
            block = name.removeprefix(_BETA).strip("_")
            label = f"block {block}" if block else part
            rows += [{"part": label, "epoch": int(p["epoch"]), "beta": p[name]} for p in points if name in p]
    spec = _over_epochs("beta", "β", {"zero": False})
    caption = "β, learned: ReLU(β) is the weight of the part within layers, 1 − ReLU(β) that of the part between them."
    return Figure("beta", "β over time", caption, rows, spec)


def _column(history: History, name: str) -> Rows:
    return [
        {"part": part, "epoch": int(point["epoch"]), name: point[name]}
        for part, points in history.items()
        for point in points
        if name in point
    ]


def _over_epochs(column: str, title: str, scale: Mapping[str, object]) -> charts.Spec:
    return charts.lines(
        charts.number("epoch", "epoch", scale={"zero": False, "nice": False}),
        charts.number(column, title, scale=dict(scale)),
        charts.colour("part"),
        "epoch",
        charts.tooltip({"part": "part", "epoch": "epoch", column: title}, **{column: ".4f"}),
    )


# Whom nodes listen to: how evenly MPXGAT's attention is spread, and how much of it a node gives itself.


_PERCENTILES = (5, 25, 50, 75, 95)
_MOST_SPREADS = 25


@dataclass(frozen=True, eq=False)
class Spread:
    """(k,) of the nodes of a part that have someone else to listen to; means over blocks and heads.

    evenness        entropy of the weights over its largest possible value: 1 if all weigh the same, 0 if one has all
    own             weight of the node itself
    """

    part: str
    evenness: NDArray[np.float64]
    own: NDArray[np.float64]


def attention_section(model: Model) -> Section | None:
    """Figures about attention; None for models without it."""
    if not isinstance(model, MPXGAT):
        return None
    spreads = [spread for spread in attention_spreads(model) if len(spread.own)][-_MOST_SPREADS:]
    if not spreads:
        return None
    figures = [
        _figure(
            "attention-evenness",
            "How evenly attention is spread",
            "1: a node listens to all its neighbours alike; 0: to one alone. Line: 5th to 95th percentile of the "
            "nodes, bar: middle half, tick: median." + which_layers(model.graph),
            "evenness",
            [(spread.part, spread.evenness) for spread in spreads],
        ),
        _figure(
            "attention-own",
            "How much a node listens to itself",
            "Weight of the node itself among those it listens to; percentiles as before." + which_layers(model.graph),
            "own weight",
            [(spread.part, spread.own) for spread in spreads],
        ),
    ]
    lead = (
        "A node's vector is a mean of its neighbours' and its own, weighted by attention. Means over blocks and heads; "
        "nodes without neighbours are left out."
    )
    return section("attention", "Attention", lead, figures)


def attention_spreads(model: MPXGAT) -> Iterator[Spread]:
    """One for each layer, then one for the links between layers."""
    for label, around, blocks in model.attention_by_part():
        weights = torch.cat(list(blocks), dim=1).numpy().astype(np.float64)
        yield _spread(label, weights, around)


def _spread(label: str, weights: NDArray[np.float64], around: Neighbourhood) -> Spread:
    """From (E, blocks * heads) weights."""
    offsets = around.offsets.numpy()
    sizes = np.diff(offsets)
    receiver = np.repeat(np.arange(len(sizes)), sizes)
    terms = -weights * np.log(np.where(weights > 0, weights, 1))
    entropy = np.add.reduceat(terms, offsets[:-1], axis=0)  # every node hears itself, so none is empty
    own = weights[around.senders.numpy() == receiver].mean(axis=1)
    social = sizes > 1
    evenness = entropy[social].mean(axis=1) / np.log(sizes[social])
    return Spread(label, np.clip(evenness, 0, 1), own[social])


def _figure(name: str, title: str, caption: str, axis: str, values: list[tuple[str, NDArray[np.float64]]]) -> Figure:
    rows: list[Row] = []
    for part, found in values:
        levels = np.percentile(found, _PERCENTILES).tolist()
        rows.append(
            {
                "part": part,
                "nodes": len(found),
                **{f"p{p}": level for p, level in zip(_PERCENTILES, levels, strict=True)},
            }
        )
    formats = {f"p{p}": ".3f" for p in _PERCENTILES}
    hints = charts.tooltip({"part": "part", "nodes": "nodes", "p50": "median", "p5": "5%", "p95": "95%"}, **formats)
    return Figure(name, title, caption, rows, charts.spreads(charts.category("part", None), axis, hints, [0, 1]))
