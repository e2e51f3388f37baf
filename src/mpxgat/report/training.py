"""How training went: loss, validation and β over the epochs; what was tried where a model chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpxgat.models.auto import Auto
from mpxgat.models.base import Model
from mpxgat.models.evidence import Evidence
from mpxgat.report import charts
from mpxgat.report.figure import Figure
from mpxgat.report.records import Row, Rows
from mpxgat.report.section import Section, section

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
