"""Tables of experiments and of recorded results: our figures, leak-free, beside the published ones."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mpxgat.datasets import dataset, load
from mpxgat.errors import InputError, SettingError, printable, quoted
from mpxgat.evaluation import Summary
from mpxgat.experiments.config import CONFIGS, Cell, Experiment, Fields, PublishedFigure, read_config
from mpxgat.experiments.graphs import GraphSpec
from mpxgat.experiments.layouts import CSV, LATEX, MARKDOWN, csv_lines, latex_lines, latex_table, markdown_lines
from mpxgat.experiments.records import CellRecord
from mpxgat.io.files import read_toml, write_files
from mpxgat.metrics import welch

_BEGIN, _END = "<!-- results {name}: begin -->", "<!-- results {name}: end -->"
_MISSING = "–"
_BETWEEN_LAYERS = "between layers"  # the part of a model that is trained on inter links
_FEWEST_FOR_A_TEST = 2
_SMALLEST_DECIMAL = 0.01
_SIZES = (
    "data set", "layers", "nodes", "published", "inter links", "published", "average degree", "published",
    "intra links",
)  # fmt: skip
_SIZES_NOTE = (
    "Undirected, unweighted, copies of a unit linked pairwise, largest connected component. What the paper calls edges "
    "are the inter links, and its average degree is their number divided by that of the nodes; it prints no numbers of "
    "layers and intra links."
)
_HEADER = (
    "data set", "model", "seeds", "epochs (H, V)", "intra AUC", "published", "inter AUC", "published",
    "inter AUC, hard", "MRR", "hits@1", "overall AUC", "published",
)  # fmt: skip
PAPERS_DATASETS = ("fftwyt", "drosophila", "arxiv")


@dataclass(frozen=True)
class ResultsTable:
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

    def text(self, layout: str) -> str:
        """As Markdown or LaTeX with title and notes, or as CSV without them."""
        if layout == LATEX:
            return latex_table(self.title, self.notes, self.columns, self.rows)
        return csv_lines(self.columns, self.rows) if layout == CSV else self.markdown()

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


def make_table(experiment: Experiment, on_record: Mapping[str, CellRecord]) -> ResultsTable:
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
                line.append(_text(row.cell.figures, measure))
        line += [_p_text(p) if row.cell.against else ""] * compared
        line += [_published_p(row.cell)] * published_p
        lines.append(tuple(line))
    values = [_values(row, p, experiment.measures) for row, p in zip(rows, p_values, strict=True)]
    return ResultsTable(
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
        return _MISSING
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


@dataclass(frozen=True)
class PublishedSizes:
    """Sizes of a data set as printed."""

    name: str
    nodes: int
    inter_links: int
    average_degree: float


@dataclass(frozen=True)
class SizesTable:
    """What the table is made of."""

    path: Path
    title: str
    entries: tuple[PublishedSizes, ...]

    def make(self, wanted: Sequence[str] = ()) -> ResultsTable:
        """Read the data sets (only those wanted, if any are named) and count."""
        rows, values = [], []
        for entry in self.entries:
            if wanted and entry.name not in wanted:
                continue
            graph = load(entry.name)
            sizes = {
                "layers": graph.n_layers,
                "nodes": graph.n_nodes,
                "inter_links": graph.n_inter,
                "average_degree": round(graph.n_inter / graph.n_nodes, 2),
                "intra_links": graph.n_intra,
            }
            published = {
                "nodes": entry.nodes,
                "inter_links": entry.inter_links,
                "average_degree": entry.average_degree,
            }
            numbers = (graph.n_layers, graph.n_nodes, entry.nodes, graph.n_inter, entry.inter_links)
            degrees = (f"{sizes['average_degree']:.2f}", f"{entry.average_degree:.2f}")
            rows.append((entry.name, *(f"{number:,}" for number in numbers), *degrees, f"{graph.n_intra:,}"))
            values.append({"graph": entry.name, "sizes": sizes, "published": published})
        return ResultsTable(self.path.stem, self.title, (_SIZES_NOTE,), _SIZES, tuple(rows), tuple(values))


def read_dataset_table(path: Path) -> SizesTable:
    """The table in a TOML file; InputError names what does not fit."""
    top = Fields(read_toml(path), path, "")
    title = top.text("title")
    entries = []
    for fields in top.tables("dataset"):
        entry = PublishedSizes(
            fields.text("name"), fields.whole("nodes"), fields.whole("inter_links"), fields.number("average_degree")
        )
        fields.finish()
        with fields.at_this_place():
            dataset(entry.name)
        entries.append(entry)
    top.finish()
    return SizesTable(path, title, tuple(entries))


@dataclass(frozen=True)
class _ResultRow:
    """The cells of one data set, model and choice of settings, one for each seed."""

    dataset: str
    model: str
    settings: dict[str, Any]
    cells: list[CellRecord]

    @property
    def label(self) -> str:
        preset, batch = self.settings.get("preset"), self.settings.get("batch")
        if preset is None:
            return self.model
        words = [self.model, f"preset {preset}"]
        if self._are_published:
            words.append("published settings")
        if self.settings.get("epochs") == 0:
            words.append("untrained")
        return ", ".join(words if batch is None else [*words, f"batch {batch}"])

    @property
    def _are_published(self) -> bool:
        from mpxgat.models.mpxgat import PUBLISHED

        published = {k: v for k, v in PUBLISHED.get(self.dataset, {}).items() if k != "epochs"}
        return bool(published) and all(self.settings.get(name) == value for name, value in published.items())


def results_table(records: Iterable[CellRecord], protocol: str, layout: str = MARKDOWN) -> str:
    """A row for each data set, model and settings; mean ± standard deviation over the seeds.

    Parts of data sets and planted networks are left to the studies that they belong to.
    """
    shown = (r for r in records if r.key.protocol == protocol and GraphSpec.parse(r.key.dataset).is_whole_dataset)
    rows = [_row_values(row) for row in sorted(_grouped(shown), key=_order)]
    return {MARKDOWN: markdown_lines, LATEX: latex_lines, CSV: csv_lines}[layout](_HEADER, rows)


def _grouped(records: Iterable[CellRecord]) -> list[_ResultRow]:
    groups: dict[str, _ResultRow] = {}
    for record in records:
        key = record.key
        text = json.dumps([key.dataset, key.model, dict(key.settings)], sort_keys=True)
        row = groups.setdefault(text, _ResultRow(key.dataset, key.model, dict(key.settings), []))
        if any(cell.key.seed == key.seed for cell in row.cells):
            raise SettingError(f"two results on record for {key.text()}, expected one")
        row.cells.append(record)
    return list(groups.values())


def _order(row: _ResultRow) -> tuple[int, str, bool, str]:
    known = PAPERS_DATASETS.index(row.dataset) if row.dataset in PAPERS_DATASETS else len(PAPERS_DATASETS)
    return known, row.dataset, row.model != "rules", row.label


def _row_values(row: _ResultRow) -> list[str]:
    published = published_figures(row.model, row.dataset)
    seeds = sorted(cell.key.seed for cell in row.cells)
    return [
        row.dataset,
        row.label,
        f"{len(seeds)} ({', '.join(map(str, seeds))})",
        epochs_run(row.cells),
        mean_and_spread(summary_of(row.cells, "intra.auc")),
        _text(published, "intra"),
        mean_and_spread(summary_of(row.cells, "inter.auc")),
        _text(published, "inter"),
        mean_and_spread(summary_of(row.cells, "inter.auc_hard")),
        mean_and_spread(summary_of(row.cells, "inter.mrr")),
        mean_and_spread(summary_of(row.cells, "inter.hits@1")),
        mean_and_spread(summary_of(row.cells, "overall.auc")),
        f"{published['overall'].mean:.2f}" if published else "",
    ]


def _text(figures: Mapping[str, PublishedFigure], kind: str) -> str:
    return figures[kind].text() if kind in figures else ""


@cache
def _published() -> dict[tuple[str, str], dict[str, PublishedFigure]]:
    """From Table 3 (intra and inter) and Table 4 (overall) of the paper, as the cells of our own carry them."""
    figures: dict[tuple[str, str], dict[str, PublishedFigure]] = {}
    for table in ("table3", "table4"):
        for cell in read_config(CONFIGS / f"{table}.toml").cells:
            figures.setdefault((cell.model, str(cell.graph.dataset)), {}).update(cell.figures)
    return figures


def published_figures(model: str, data: str) -> Mapping[str, PublishedFigure]:
    """The paper's AUC of a model on a data set, by kind: intra, inter, overall; empty if it has none."""
    return _published().get((model, data), {})


def summary_of(records: Sequence[CellRecord], measure: str) -> Summary | None:
    """A measure such as ``inter.mrr`` (``inter`` is its AUC) over the records; None if one of them lacks it."""
    kind, _, name = measure.partition(".")
    values = [record.measures.get(kind, {}).get(name or "auc") for record in records]
    known = [value for value in values if value is not None]
    return Summary.of(known) if known and len(known) == len(values) else None


def mean_and_spread(summary: Summary | None) -> str:
    """Mean ± sample standard deviation; the mean alone for one seed."""
    if summary is None:
        return _MISSING
    return f"{summary.mean:.3f}" + (f" ± {summary.std:.3f}" if len(summary.values) > 1 else "")


def epochs_run(records: Sequence[CellRecord]) -> str:
    """Smallest and largest number of epochs: of the layers, then of the part between layers; "" if nothing trains."""
    horizontal: list[int] = []
    vertical: list[int] = []
    for record in records:
        for label, part in record.training.get("parts", {}).items():
            (vertical if label == _BETWEEN_LAYERS else horizontal).append(part["epochs"])
    return ", ".join(_range(numbers) for numbers in (horizontal, vertical) if numbers)


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"


def write_section(path: Path, name: str, content: str) -> None:
    """Put ``content`` between the markers of section ``name`` in a Markdown file, in place of what is there."""
    before, after = find_section(path, name)
    write_files({path: f"{before}\n\n{content}\n{after}".encode()})


def find_section(path: Path, name: str) -> tuple[str, str]:
    """A file's text up to and with the marker at which a section begins, and from the one on at which it ends."""
    begin, end = _BEGIN.format(name=name), _END.format(name=name)
    try:
        text = path.read_bytes().decode("utf-8") if path.exists() else ""
    except OSError as problem:
        raise InputError(f"cannot read: {printable(problem.strerror)}", path) from None
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise InputError(f"byte 0x{problem.object[problem.start]:02x} is not UTF-8 text", path, line) from None
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise InputError(f"no lines {quoted(begin)} and {quoted(end)}, between which the table would go", path)
    return before + begin, end + after
