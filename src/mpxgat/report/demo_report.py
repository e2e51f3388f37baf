"""The report of the demonstration: a planted network, links hidden from it, and two models that predict them."""

from __future__ import annotations

from collections.abc import Sequence

from mpxgat.graph import MultiplexGraph
from mpxgat.models.auto import Auto
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.repetitions import Repetitions, Summary
from mpxgat.report.attention import attention_section
from mpxgat.report.calibration import calibration_section
from mpxgat.report.comparison import MEASURES, Reached, comparison_figures
from mpxgat.report.curves import curves_section
from mpxgat.report.embedding import embedding_section
from mpxgat.report.explorer import explorer_fragment
from mpxgat.report.held_out import HeldOut, words_of_split
from mpxgat.report.matches import matches_section
from mpxgat.report.network import network_section
from mpxgat.report.section import Section, section
from mpxgat.report.stage import Stage, only
from mpxgat.report.told_apart import judge
from mpxgat.report.training import history_figures, trials_figure
from mpxgat.splits import Split


def demo_stages(
    graph: MultiplexGraph, split: Split, auto: Auto, mpxgat: MPXGAT, results: Sequence[tuple[str, Repetitions]]
) -> list[Stage]:
    """The steps to the report; both models were fitted on the training graph of the split."""
    held_out = HeldOut(auto, split, graph, words_of_split(split))
    return [
        Stage("looking at the network", lambda: [network_section(graph)]),
        Stage("comparing models", lambda: [_comparison(results)]),
        Stage("judging predictions", lambda: [curves_section(judge(held_out))]),
        Stage("checking probabilities", lambda: only(calibration_section(held_out))),
        Stage("matching", lambda: only(matches_section(auto, graph))),
        Stage("looking at the training", lambda: [_training(auto, mpxgat)]),
        Stage("drawing maps of the embeddings", lambda: only(embedding_section(mpxgat))),
        Stage("summing up attention", lambda: only(attention_section(mpxgat))),
        Stage("making the explorer", lambda: [Section(explorer_fragment(auto))]),
    ]


def _comparison(results: Sequence[tuple[str, Repetitions]]) -> Section:
    found = [Reached(name, name, _measures(repetitions)) for name, repetitions in results]
    times = {1: "once"}.get(seeds := len(results[0][1].seeds), f"{seeds} times")
    lead = (
        f"Links were hidden {times}; each model was fitted on the rest and predicted the hidden ones. The "
        "model 'auto' takes the best of several by itself; 'mpxgat' is the paper's; 'rules' learns nothing; 'degree' "
        "only counts links."
    )
    return section("comparison", "Models beside each other", lead, comparison_figures(found, "", "comparison"))


def _measures(repetitions: Repetitions) -> dict[str, Summary]:
    found = {}
    for measure in MEASURES:
        kind, _, name = measure.partition(".")
        values = [
            getattr(one, kind).values[name] for one in repetitions.evaluations if name in getattr(one, kind).values
        ]
        if values:
            found[measure] = Summary.of(values)
    return found


def _training(auto: Auto, mpxgat: MPXGAT) -> Section:
    figures = [*([trials_figure(auto)] if auto.trials else []), *history_figures(mpxgat.history)]
    lead = (
        "What 'auto' tried before it chose, and how 'mpxgat' was trained: each layer for itself, then between layers."
    )
    return section("training", "Training", lead, figures)
