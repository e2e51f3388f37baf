"""What a model learned: loss, validation and β over the epochs, what was tried where a model chooses, and attention.

Attention: how evenly MPXGAT's is spread over a node's neighbours, and how much of it a node gives itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.models.base import Model
from mpxgat.models.mpxgat_parts import BETWEEN_LAYERS, layer_label
from mpxgat.nn.attention import Neighbourhood
from mpxgat.report import charts
from mpxgat.report.charts import Row, Rows
from mpxgat.report.network import which_layers
from mpxgat.report.page import Figure, Section

History = Mapping[str, Sequence[Mapping[str, float]]]
_MOST_PARTS = 12
_MOST_SPREADS = 25
_PERCENTILES = (5, 25, 50, 75, 95)
_BETA = "beta"


def training_section(model: Model) -> Section | None:
    """Figures about a model's training; None if nothing was trained."""
    history, whose = _history(model)
    figures = [*_trials(model), *_over_time(model.graph, history)]
    summary = f"How the model {model.name!r} was trained.{whose}"
    return Section("training", "Training", summary, figures) if figures else None


def demo_training_section(auto: Model, mpxgat: Model) -> Section:
    """The trials of one model and the training of another."""
    summary = (
        "What 'auto' tried before it chose, and how 'mpxgat' was trained: each layer for itself, then between layers."
    )
    return Section("training", "Training", summary, [*_trials(auto), *_over_time(mpxgat.graph, mpxgat.history)])


def _history(model: Model) -> tuple[History, str]:
    """The rows of a model's training, and a sentence if it is the training of a part of it."""
    chosen = model.chosen
    sentence = f" Chosen was {chosen.name!r}." if chosen is not model else ""
    if chosen.history or chosen.embedding is None:
        return chosen.history, sentence
    sentence += " The curves are those of the embeddings that are part of its evidence."
    return chosen.embedding.history, sentence


def _trials(model: Model) -> list[Figure]:
    """Validation AUC of everything that was tried, if anything was."""
    if not model.trials:
        return []
    rows: Rows = [
        {"model": name, "validation AUC": value, "chosen": name == model.chosen.name}
        for name, value in model.trials.items()
    ]
    hints = charts.tooltip({"model": "model", "validation AUC": "AUC", "chosen": "chosen"}, **{"validation AUC": ".4f"})
    value = charts.number("validation AUC", "mean of intra and inter AUC", scale=charts.UNIT)
    spec = charts.bars(value, charts.category("model"), hints, ".3f")
    caption = f"Evaluated on links hidden again from the training links; {model.chosen.name!r} was taken."
    return [Figure("trials", "What was tried", caption, rows, spec)]


def _over_time(graph: MultiplexGraph, history: History) -> list[Figure]:
    """Loss, validation and β over the epochs, as far as the history has them."""
    shown = dict(list(history.items())[-_MOST_PARTS:])  # the part between layers is the last
    return [figure for figure in (_loss(graph, shown), _validation(graph, shown), _beta(shown)) if figure.rows]


def _loss(graph: MultiplexGraph, history: History) -> Figure:
    rows = _column(history, "loss", "loss")
    spec = _by_epoch("loss", "loss", _part(graph, rows))
    return Figure("loss", "Loss", "Loss over the epochs of each part.", rows, spec)


def _validation(graph: MultiplexGraph, history: History) -> Figure:
    rows = _column(history, "validation", "validation AUC")
    spec = _by_epoch("validation AUC", "validation AUC", _part(graph, rows))
    caption = "AUC on links cut from the training links; training stops when it no longer rises, and the best is kept."
    return Figure("validation", "Validation", caption, rows, spec)


def _beta(history: History) -> Figure:
    rows: list[Row] = []
    for part, points in history.items():
        for name in dict.fromkeys(key for point in points for key in point if key.startswith(_BETA)):
            block = name.removeprefix(_BETA).strip("_")
            rows += _column({f"block {block}" if block else part: points}, name, "beta")
    caption = "β, learned: ReLU(β) is the weight of the part within layers, 1 − ReLU(β) that of the part between them."
    return Figure("beta", "β over time", caption, rows, _by_epoch("beta", "β", charts.category("part")))


def _column(history: History, name: str, shown: str) -> Rows:
    return [
        {"part": part, "epoch": int(point["epoch"]), shown: point[name]}
        for part, points in history.items()
        for point in points
        if name in point
    ]


def _part(graph: MultiplexGraph, rows: Rows) -> charts.Channel:
    """Parts of a training; those that are layers have their layers' colours."""
    colours = {layer_label(graph, n): c for n, c in enumerate(charts.layer_colours(graph.layers).values())}
    colours[BETWEEN_LAYERS] = charts.NO_LAYER
    known = all(row["part"] in colours for row in rows)
    return charts.coloured("part", colours, rows) if known else charts.category("part")


def _by_epoch(column: str, title: str, part: charts.Channel) -> charts.Spec:
    return charts.lines(
        charts.number("epoch", "epoch", scale={"zero": False, "nice": False}),
        charts.number(column, title, scale={"zero": False}),
        part,
        "epoch",
        charts.tooltip({"part": "part", "epoch": "epoch", column: title}, **{column: ".4f"}),
    )


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
    spreads = [spread for spread in attention_spreads(model) if len(spread.own)][-_MOST_SPREADS:]
    if not spreads:
        return None
    figures = [
        _percentiles(
            "attention-evenness",
            "How evenly attention is spread",
            "1: a node listens to all its neighbours alike; 0: to one alone. Line: 5th to 95th percentile of the "
            "nodes, bar: middle half, tick: median." + which_layers(model.graph),
            "evenness",
            model.graph,
            {spread.part: spread.evenness for spread in spreads},
        ),
        _percentiles(
            "attention-own",
            "How much a node listens to itself",
            "Weight of the node itself among those it listens to; percentiles as before." + which_layers(model.graph),
            "own weight",
            model.graph,
            {spread.part: spread.own for spread in spreads},
        ),
    ]
    summary = (
        "A node's vector is a mean of its neighbours' and its own, weighted by attention. Means over blocks and heads; "
        "nodes without neighbours are left out."
    )
    return Section("attention", "Attention", summary, figures)


def attention_spreads(model: Model) -> Iterator[Spread]:
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


def _percentiles(
    name: str, title: str, caption: str, axis: str, graph: MultiplexGraph, parts: Mapping[str, NDArray[np.float64]]
) -> Figure:
    rows: Rows = [
        {
            "part": part,
            "nodes": len(values),
            **{f"p{p}": float(np.percentile(values, p)) for p in _PERCENTILES},
        }
        for part, values in parts.items()
    ]
    formats = {f"p{p}": ".3f" for p in _PERCENTILES}
    hints = charts.tooltip({"part": "part", "nodes": "nodes", "p50": "median", "p5": "5%", "p95": "95%"}, **formats)
    spec = charts.spreads(charts.category("part"), axis, hints, [0, 1], _part(graph, rows))
    return Figure(name, title, caption, rows, spec)
