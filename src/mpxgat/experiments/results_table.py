"""Recorded cells as a Markdown table: our figures, leak-free, beside the rules of thumb and the published ones."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mpxgat.errors import SettingError
from mpxgat.experiments.graphs import GraphSpec
from mpxgat.experiments.markdown import markdown_lines, write_section
from mpxgat.experiments.published import PUBLISHED_AUC
from mpxgat.experiments.records import CellRecord
from mpxgat.experiments.summaries import epochs_run, mean_and_spread, summary_of

__all__ = ["markdown_table", "write_section"]

_HEADER = (
    "data set", "model", "seeds", "epochs (H, V)", "intra AUC", "published", "inter AUC", "published",
    "inter AUC, hard", "MRR", "hits@1", "overall AUC", "published",
)  # fmt: skip
_DATASETS = ("fftwyt", "drosophila", "arxiv")


@dataclass(frozen=True)
class _Row:
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
        return f"{self.model}, preset {preset}" + ("" if batch is None else f", batch {batch}")


def markdown_table(records: Iterable[CellRecord], protocol: str) -> str:
    """A row for each data set, model and settings; mean ± standard deviation over the seeds.

    Parts of data sets and planted networks are left to the studies that they belong to.
    """
    shown = (r for r in records if r.key.protocol == protocol and GraphSpec.parse(r.key.dataset).is_whole_dataset)
    return markdown_lines(_HEADER, [_values(row) for row in sorted(_grouped(shown), key=_order)])


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
        epochs_run(row.cells),
        mean_and_spread(summary_of(row.cells, "intra.auc")),
        published.text("intra") if published else "",
        mean_and_spread(summary_of(row.cells, "inter.auc")),
        published.text("inter") if published else "",
        mean_and_spread(summary_of(row.cells, "inter.auc_hard")),
        mean_and_spread(summary_of(row.cells, "inter.mrr")),
        mean_and_spread(summary_of(row.cells, "inter.hits@1")),
        mean_and_spread(summary_of(row.cells, "overall.auc")),
        f"{published.overall:.2f}" if published else "",
    ]
