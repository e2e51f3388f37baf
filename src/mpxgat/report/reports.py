"""Which sections a run, the demonstration and recorded results have, and the files of a report."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpxgat.errors import InputError, OutputError, printable
from mpxgat.evaluation import Repetitions
from mpxgat.experiments.records import CellRecord, ResultsFile
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import Content, check_readable, write_files
from mpxgat.matching.match import Matcher, match_all
from mpxgat.models.auto import Auto
from mpxgat.models.base import Model
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.report.calibration import calibration_section, link_calibration_section
from mpxgat.report.charts import Rows, to_png, to_svg
from mpxgat.report.comparison import models_section, results_sections, rules_section
from mpxgat.report.curves import HeldOut, curves_section, score
from mpxgat.report.embedding import embedding_section
from mpxgat.report.explorer import explorer_section
from mpxgat.report.matches import matches_section
from mpxgat.report.network import network_section
from mpxgat.report.page import Page, Section
from mpxgat.report.training import attention_section, demo_training_section, training_section
from mpxgat.splits import Split

_NOT_EVALUATED = (
    "Not evaluated: the run has seen every link of its network, and no second fit without some of them was asked for. "
    "Make the report without --no-refit to have curves and figures on hidden links."
)


@dataclass(frozen=True)
class Stage:
    """A step on the way to a report, so that a command can say what it is doing.

    make    its sections in order, None for one that the model has nothing for
    """

    title: str
    make: Callable[[], Sequence[Section | None]]

    def sections(self) -> list[Section]:
        """Do it."""
        return [section for section in self.make() if section is not None]


def run_stages(
    model: Model,
    dataset: str,
    held_out: HeldOut | None,
    *,
    decided: Model | Matcher | None = None,
    reviewed: Sequence[str] = (),
) -> list[Stage]:
    """The steps to the report of a fitted model: its network, what it learned, how well it predicts, who is who.

    dataset     its name, which tells the published figures
    held_out    the model to be evaluated, or None: then nothing is said of predictions
    decided     the model on the network with what people decided about pairs, if they did; it matches
    reviewed    what people's answers say about the matches, in words
    """
    matching = model if decided is None else decided
    return [
        Stage("looking at the network", lambda: [network_section(model.graph)]),
        Stage("looking at the training", lambda: [training_section(model), attention_section(model)]),
        Stage("drawing maps of the embeddings", lambda: [embedding_section(model)]),
        Stage("evaluating predictions", lambda: _prediction(held_out, dataset)),
        Stage("matching", lambda: _matches(matching, None, reviewed)),
        Stage(
            "checking probabilities",
            lambda: [calibration_section(held_out) if held_out else None, link_calibration_section(model)],
        ),
        Stage("making the explorer", lambda: [explorer_section(matching)]),
    ]


def _prediction(held_out: HeldOut | None, dataset: str) -> list[Section | None]:
    if held_out is None:
        return [Section("prediction", "Predicting hidden links", _NOT_EVALUATED)]
    scored = score(held_out)
    return [curves_section(scored), rules_section(scored, dataset)]


def demo_stages(
    graph: MultiplexGraph, split: Split, auto: Auto, mpxgat: MPXGAT, results: Sequence[tuple[str, Repetitions]]
) -> list[Stage]:
    """The steps to the report of the demonstration: results first, then how the models came to them.

    graph       planted; both models were fitted on the training graph of its split
    results     of all models that were compared, by name
    """
    held_out = HeldOut(auto, split, graph, refitted=False)
    return [
        Stage("looking at the network", lambda: [network_section(graph)]),
        Stage("comparing models", lambda: [models_section(results)]),
        Stage("evaluating predictions", lambda: [curves_section(score(held_out))]),
        Stage("matching", lambda: _matches(auto, graph)),
        Stage("checking probabilities", lambda: [calibration_section(held_out), link_calibration_section(auto)]),
        Stage("looking at the training", lambda: [demo_training_section(auto, mpxgat), attention_section(mpxgat)]),
        Stage("drawing maps of the embeddings", lambda: [embedding_section(mpxgat)]),
        Stage("making the explorer", lambda: [explorer_section(auto)]),
    ]


def _matches(
    model: Model | Matcher, truth: MultiplexGraph | None, reviewed: Sequence[str] = ()
) -> list[Section | None]:
    if not isinstance(model, Matcher) or model.graph.n_layers < 2:
        return []
    return [matches_section(model, match_all(model), truth, reviewed)]


def results_stages(records: Sequence[CellRecord]) -> list[Stage]:
    """The steps to the report of recorded results: models beside each other, data set by data set."""
    return [Stage("comparing models", lambda: results_sections(records))]


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


def write_report(path: Path, page: Page) -> Path:
    """Write the page, and in the folder beside it that `records_folder` names each figure's records as JSON and CSV.

    All are written or none; files of an older report are replaced.
    """
    text = page.html()
    folder = records_folder(path)
    files: dict[Path, Content] = {}
    for section in page.sections:
        for name, rows in section.records().items():
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
    for section in sections:
        for figure in section.figures:
            files[folder / f"{figure.name}.svg"] = to_svg(figure.on_paper())
            files[folder / f"{figure.name}.png"] = to_png(figure.on_paper())
    return write_files(files)


def json_file(rows: Rows) -> bytes:
    """A list of objects, one a line."""
    lines = ",\n".join(json.dumps(dict(row), allow_nan=False) for row in rows)
    return f"[\n{lines}\n]\n".encode()


def csv_file(rows: Rows) -> bytes:
    """A header and a line for each row, None as nothing; only the header's line end if there are no rows."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows([dict(row) for row in rows])
    return text.getvalue().encode(errors="backslashreplace")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as problem:  # ValueError: a NUL character in the path
        reason = printable(getattr(problem, "strerror", None) or problem)
        raise OutputError(f"{printable(folder, 300)}: cannot make it: {reason}") from None
