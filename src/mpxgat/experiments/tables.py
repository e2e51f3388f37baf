"""An experiment and what is on record of it, as a table: our figures beside the published ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mpxgat.experiments.experiment import Cell, Experiment
from mpxgat.experiments.markdown import markdown_lines
from mpxgat.experiments.records import CellRecord
from mpxgat.experiments.summaries import MISSING, epochs_run, mean_and_spread, summary_of
from mpxgat.metrics import welch
from mpxgat.repetitions import Summary

_FEWEST_FOR_A_TEST = 2
_SMALLEST_DECIMAL = 0.01


@dataclass(frozen=True)
class Table:
    """A table in words, and the numbers it was made from, one mapping for each row."""

    name: str
    title: str
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    values: tuple[Mapping[str, Any], ...]

    def markdown(self) -> str:
        """Title, notes and the table; ends with a line feed."""
        notes = "".join(f"{note}\n" for note in self.notes)
        return f"**{self.title}**\n\n{notes}\n{markdown_lines(self.columns, self.rows)}"

    def to_record(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"name": self.name, "title": self.title, "notes": list(self.notes), "rows": list(self.values)}


@dataclass(frozen=True)
class _Row:
    """A cell and its records, one for each seed that is there."""

    cell: Cell
    records: Sequence[CellRecord]

    def summary(self, measure: str) -> Summary | None:
        return summary_of(self.records, measure)


def make_table(experiment: Experiment, on_record: Mapping[str, CellRecord]) -> Table:
    """The table of an experiment from what is on record by key; what is not there shows as a dash."""
    rows = [_row(experiment, cell, on_record) for cell in experiment.cells]
    by_label = {(row.cell.graph, row.cell.label): row for row in rows}
    p_values = [_p_value(row, by_label, experiment.measures[-1]) for row in rows]
    compared = any(row.cell.against for row in rows)
    figures = {m: any(m in row.cell.figures for row in rows) for m in experiment.measures}
    columns = ["graph" if experiment.sweep else "data set", "model", "seeds", "epochs"]
    for measure in experiment.measures:
        columns += [_column(measure), *(["published"] if figures[measure] else [])]
    published_p = any(row.cell.published_p is not None for row in rows)
    columns += ["Welch p"] * compared + ["published p"] * published_p
    lines = []
    for row, p in zip(rows, p_values, strict=True):
        line = [_graph(row.cell, experiment), row.cell.label, _seeds(row), epochs_run(row.records)]
        for measure in experiment.measures:
            line.append(mean_and_spread(row.summary(measure)))
            if figures[measure]:
                line.append(row.cell.figures[measure].text() if measure in row.cell.figures else "")
        line += [_p_text(p) if row.cell.against else ""] * compared
        line += [_published_p(row.cell)] * published_p
        lines.append(tuple(line))
    values = [_values(row, p, experiment.measures) for row, p in zip(rows, p_values, strict=True)]
    return Table(
        experiment.name, experiment.title, _notes(experiment, rows), tuple(columns), tuple(lines), tuple(values)
    )


def _row(experiment: Experiment, cell: Cell, on_record: Mapping[str, CellRecord]) -> _Row:
    keys = [cell.key(experiment.protocol, seed).text() for seed in experiment.seeds]
    return _Row(cell, [on_record[key] for key in keys if key in on_record])


def _p_value(row: _Row, by_label: Mapping[Any, _Row], measure: str) -> float | None:
    """Two-sided p of Welch's test against the row it is compared with; None with fewer than two seeds on a side."""
    if row.cell.against is None:
        return None
    ours, theirs = row.summary(measure), by_label[row.cell.graph, row.cell.against].summary(measure)
    if ours is None or theirs is None or min(len(ours.values), len(theirs.values)) < _FEWEST_FOR_A_TEST:
        return None
    if ours.std == theirs.std == 0:  # no spread, no test
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # scipy's, where one side has no spread: exact all the same
        return welch(ours.values, theirs.values).p_value


def _notes(experiment: Experiment, rows: Sequence[_Row]) -> tuple[str, ...]:
    notes = [experiment.note] if experiment.note else []
    notes.append(
        f"Protocol {experiment.protocol}, leak-free; mean ± standard deviation over the seeds. Epochs: those run, for "
        "the layers and then between them; the fewest and the most."
    )
    compared = sorted({f"{row.cell.label} against {row.cell.against}" for row in rows if row.cell.against})
    if compared:
        notes.append(f"Welch p: two-sided, {_column(experiment.measures[-1])} of {', '.join(compared)}.")
    return tuple(notes)


def _column(measure: str) -> str:
    kind, _, name = measure.partition(".")
    return f"{kind} {name.replace('auc_hard', 'AUC, hard') or 'AUC'}"


def _graph(cell: Cell, experiment: Experiment) -> str:
    """A data set's name; in a sweep, what was varied."""
    if experiment.sweep is None:
        return cell.graph.label
    varied = f"{experiment.sweep.argument} = {cell.x:g}"
    return f"{cell.graph.dataset}, {varied}" if cell.graph.dataset else varied


def _seeds(row: _Row) -> str:
    seeds = [record.key.seed for record in row.records]
    return f"{len(seeds)} ({', '.join(map(str, seeds))})" if seeds else "0"


def _p_text(p: float | None) -> str:
    if p is None:
        return MISSING
    return f"{p:.3f}" if p >= _SMALLEST_DECIMAL else f"{p:.1e}"


def _published_p(cell: Cell) -> str:
    return "" if cell.published_p is None else _p_text(cell.published_p)


def _values(row: _Row, p: float | None, measures: Sequence[str]) -> dict[str, Any]:
    cell = row.cell
    summaries = {measure: row.summary(measure) for measure in measures}
    return {
        "graph": cell.graph.label,
        "model": cell.model,
        "label": cell.label,
        "x": cell.x,
        "seeds": [record.key.seed for record in row.records],
        "epochs": epochs_run(row.records),
        "measures": {name: None if s is None else s.to_record() for name, s in summaries.items()},
        "published": {name: {"mean": f.mean, "std": f.std} for name, f in cell.figures.items()},
        "against": cell.against,
        "p_value": p,
        "published_p": cell.published_p,
    }
