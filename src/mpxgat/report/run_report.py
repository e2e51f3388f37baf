"""The report of a run: its network, its training, its predictions, its embeddings, its matches, and an explorer."""

from __future__ import annotations

from mpxgat.models.auto import Auto
from mpxgat.models.base import Model
from mpxgat.models.registry import make_model
from mpxgat.repetitions import Summary
from mpxgat.report.attention import attention_section
from mpxgat.report.calibration import calibration_section
from mpxgat.report.comparison import Reached, comparison_figures
from mpxgat.report.curves import curves_section
from mpxgat.report.embedding import embedding_section
from mpxgat.report.explorer import explorer_fragment
from mpxgat.report.held_out import HeldOut
from mpxgat.report.matches import matches_section
from mpxgat.report.network import network_section
from mpxgat.report.section import Section, section
from mpxgat.report.stage import Stage, only
from mpxgat.report.told_apart import Judged, judge
from mpxgat.report.training import training_section

_NOT_JUDGED = (
    "Not judged: the run has seen every link of its network, and no second fit without some of them was asked for. "
    "Make the report without --no-refit to have curves and figures on hidden links."
)


def run_stages(model: Model, dataset: str, held_out: HeldOut | None) -> list[Stage]:
    """The steps to the report of a fitted model.

    dataset     its name, which tells the published figures
    held_out    the model to be judged, or None: then nothing is said of predictions
    """
    judging = [Stage("judging predictions", lambda: only(_not_judged()))]
    if held_out is not None:
        judging = [
            Stage("judging predictions", lambda: judged_sections(held_out, dataset)),
            Stage("checking probabilities", lambda: only(calibration_section(held_out))),
        ]
    return [
        Stage("looking at the network", lambda: [network_section(model.graph)]),
        Stage("looking at the training", lambda: only(training_section(model))),
        *judging,
        Stage("drawing maps of the embeddings", lambda: only(embedding_section(model))),
        Stage("summing up attention", lambda: only(attention_section(model))),
        Stage("matching", lambda: only(matches_section(model, None))),
        Stage("making the explorer", lambda: [Section(explorer_fragment(model))]),
    ]


def judged_sections(held_out: HeldOut, dataset: str) -> list[Section]:
    """How well a model predicts hidden links, and how well the rules of thumb do."""
    judged = judge(held_out)
    found = [_reached(judged)]
    if held_out.model.name != "rules":
        rules = make_model("rules").fit(held_out.split.train)
        found.append(_reached(judge(HeldOut(rules, held_out.split, held_out.whole, held_out.words))))
    figures = comparison_figures(found, dataset, "comparison")
    lead = (
        "The rules of thumb (transitivity, uniqueness, shared neighbours) are the yardstick: they learn nothing. Where "
        "the MPXGAT paper has figures for this data set and model, they stand beside."
    )
    compared = section("comparison", "Beside the rules of thumb", f"{lead} {held_out.words}", figures)
    return [curves_section(judged), *([compared] if figures else [])]


def _reached(judged: Judged) -> Reached:
    """AUC of one split."""
    model = judged.held_out.model
    label = f"auto ({model.chosen.name})" if isinstance(model, Auto) else model.name
    values = {"intra.auc": judged.intra.together.auc(), "inter.auc": judged.inter.together.auc()}
    known = {measure: Summary.of([value]) for measure, value in values.items() if value == value}  # without NaN
    return Reached(model.name, label, known)


def _not_judged() -> Section:
    return section("prediction", "Predicting hidden links", _NOT_JUDGED)
