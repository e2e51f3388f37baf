"""The report of the demonstration: a planted network, links hidden from it, and two models that predict them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mpxgat.errors import InputError, OutputError, printable
from mpxgat.evaluation import Repetitions, Summary
from mpxgat.experiments.records import CellRecord, ResultsFile
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import Content, check_readable, write_files
from mpxgat.models.auto import Auto
from mpxgat.models.base import Model, make_model
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.report.calibration import calibration_section
from mpxgat.report.charts import chart_script, to_png, to_svg
from mpxgat.report.comparison import MEASURES, Reached, comparison_figures, results_sections
from mpxgat.report.curves import HeldOut, Judged, curves_section, judge, words_of_split
from mpxgat.report.embedding import embedding_section
from mpxgat.report.explorer import explorer_fragment
from mpxgat.report.matches import matches_section
from mpxgat.report.network import network_section
from mpxgat.report.page import Section, Stage, csv_file, json_file, only, page, section
from mpxgat.report.training import attention_section, history_figures, training_section, trials_figure
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


# The report of recorded results: models beside each other, data set by data set.


def read_results(paths: Sequence[Path]) -> list[CellRecord]:
    """All records of JSONL files, each once; InputError if a file is not there, damaged or without results."""
    found: dict[str, CellRecord] = {}
    for path in paths:
        check_readable(path)
        records = ResultsFile(path).read()
        if not records:
            raise InputError("no results here, expected a JSONL file that mpxgat record wrote", path)
        found |= {record.key.text(): record for record in records}
    return list(found.values())


def results_stages(records: Sequence[CellRecord]) -> list[Stage]:
    """The steps to the report."""
    return [Stage("comparing models", lambda: results_sections(records))]


# The report of a run: its network, its training, its predictions, its embeddings, its matches, and an explorer.


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


# The files of a report: the page, the records of its figures and tables beside it, and pictures for papers.


def write_report(path: Path, title: str, lead: str, sections: Sequence[Section]) -> Path:
    """Write the page, and in the folder beside it that `records_folder` names each figure's records as JSON and CSV.

    All are written or none; files of an older report are replaced.
    """
    drawn = any(section.figures for section in sections)
    text = page(
        title, [section.fragment for section in sections], lead=lead, libraries=[chart_script()] if drawn else []
    )
    folder = records_folder(path)
    files: dict[Path, Content] = {}
    for each in sections:
        for name, rows in each.records().items():
            files[folder / f"{name}.json"] = json_file(rows)
            files[folder / f"{name}.csv"] = csv_file(rows)
    if files:
        _make(folder)
    files[path] = text.encode()  # last: where the page is, everything is
    write_files(files)
    return path


def records_folder(path: Path) -> Path:
    """``report.html`` has its records in ``report_data``."""
    return path.with_name(f"{path.stem}_data")


def write_figures(folder: Path, sections: Sequence[Section]) -> list[Path]:
    """Write each figure as SVG and PNG into a folder; the same records give the same bytes."""
    _make(folder)
    files: dict[Path, Content] = {}
    for each in sections:
        for figure in each.figures:
            files[folder / f"{figure.name}.svg"] = to_svg(figure.on_paper())
            files[folder / f"{figure.name}.png"] = to_png(figure.on_paper())
    return write_files(files)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as problem:  # ValueError: a NUL character in the path
        reason = printable(getattr(problem, "strerror", None) or problem)
        raise OutputError(f"{printable(folder, 300)}: cannot make it: {reason}") from None
