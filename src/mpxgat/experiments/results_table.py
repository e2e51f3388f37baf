"""Recorded cells as a Markdown table: our figures, leak-free, beside the rules of thumb and the published ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, SettingError, quoted
from mpxgat.experiments.published import PUBLISHED_AUC
from mpxgat.experiments.records import CellRecord
from mpxgat.io.files import write_files
from mpxgat.repetitions import Summary

_HEADER = (
    "data set", "model", "seeds", "epochs (H, V)", "intra AUC", "published", "inter AUC", "published",
    "inter AUC, hard", "MRR", "hits@1", "overall AUC", "published",
)  # fmt: skip
_DATASETS = ("fftwyt", "drosophila", "arxiv")
BEGIN, END = "<!-- results {name}: begin -->", "<!-- results {name}: end -->"


@dataclass(frozen=True)
class _Row:
    """The cells of one data set, model and choice of settings, one for each seed."""

    dataset: str
    model: str
    settings: dict[str, Any]
    cells: list[CellRecord]

    @property
    def label(self) -> str:
        preset = self.settings.get("preset")
        return self.model if preset is None else f"{self.model}, preset {preset}"


def markdown_table(records: Iterable[CellRecord], protocol: str) -> str:
    """A row for each data set, model and settings; mean ± standard deviation over the seeds."""
    rows = sorted(_grouped(r for r in records if r.key.protocol == protocol), key=_order)
    lines = [_line(_HEADER), _line(["---"] * len(_HEADER))]
    lines += [_line(_values(row)) for row in rows]
    return "\n".join(lines) + "\n"


def write_section(path: Path, name: str, content: str) -> None:
    """Put ``content`` between the markers of section ``name`` in a Markdown file, in place of what is there."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise InputError(f"no lines {quoted(begin)} and {quoted(end)}, between which the table would go", path)
    write_files({path: f"{before}{begin}\n\n{content}\n{end}{after}".encode()})


def _grouped(records: Iterable[CellRecord]) -> list[_Row]:
    groups: dict[str, _Row] = {}
    for record in records:
        key = record.key
        text = json.dumps([key.dataset, key.model, dict(key.settings)], sort_keys=True)
        row = groups.setdefault(text, _Row(key.dataset, key.model, dict(key.settings), []))
        if any(cell.key.seed == key.seed for cell in row.cells):
            raise SettingError(f"two results on record for {key.text()}, expected one")
        row.cells.append(record)
    return list(groups.values())


def _order(row: _Row) -> tuple[int, str, bool, str]:
    known = _DATASETS.index(row.dataset) if row.dataset in _DATASETS else len(_DATASETS)
    return known, row.dataset, row.model != "rules", row.label


def _values(row: _Row) -> list[str]:
    published = PUBLISHED_AUC.get((row.model, row.dataset))
    seeds = sorted(cell.key.seed for cell in row.cells)
    return [
        row.dataset,
        row.label,
        f"{len(seeds)} ({', '.join(map(str, seeds))})",
        _epochs(row.cells),
        _summary(row.cells, "intra", "auc"),
        published.text("intra") if published else "",
        _summary(row.cells, "inter", "auc"),
        published.text("inter") if published else "",
        _summary(row.cells, "inter", "auc_hard"),
        _summary(row.cells, "inter", "mrr"),
        _summary(row.cells, "inter", "hits@1"),
        _summary(row.cells, "overall", "auc"),
        f"{published.overall:.2f}" if published else "",
    ]


def _summary(cells: Sequence[CellRecord], kind: str, measure: str) -> str:
    values = [cell.measures[kind][measure] for cell in cells]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return "–"
    summary = Summary.of(known)
    return f"{summary.mean:.3f}" + (f" ± {summary.std:.3f}" if len(known) > 1 else "")


def _epochs(cells: Sequence[CellRecord]) -> str:
    """Smallest and largest number of epochs that the layers and the vertical network were trained."""
    horizontal: list[int] = []
    vertical: list[int] = []
    for cell in cells:
        for label, part in cell.training.get("parts", {}).items():
            (vertical if label == "between layers" else horizontal).append(part["epochs"])
    return ", ".join(_range(numbers) for numbers in (horizontal, vertical) if numbers)


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"


def _line(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"
