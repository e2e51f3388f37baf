"""Models beside each other, beside the rules of thumb and beside published figures, with error bars."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mpxgat.evaluation import Summary
from mpxgat.experiments.graphs import GraphSpec
from mpxgat.experiments.records import CellRecord
from mpxgat.experiments.tables import published_figures, summary_of
from mpxgat.report import charts
from mpxgat.report.page import Figure, Section, Value, section

HERE, PUBLISHED = "measured here", "published"
MEASURES = {
    "intra.auc": "AUC within layers",
    "inter.auc": "AUC between layers",
    "inter.auc_hard": "AUC between layers, hard pairs",
    "inter.mrr": "mean reciprocal rank of the counterpart",
}
_CAPTIONS = {
    "intra.auc": "Hidden links within layers against non-links; 0.5 is chance.",
    "inter.auc": "Hidden links between layers against non-links; 0.5 is chance.",
    "inter.auc_hard": "Only pairs that neither transitivity nor uniqueness decides.",
    "inter.mrr": "1 if the true counterpart always ranks first among all nodes of the other layer.",
}
_WHISKERS = " Whiskers: one standard deviation over the seeds to each side."


@dataclass(frozen=True)
class Reached:
    """What a model reached on a data set; measures as in `MEASURES`."""

    model: str
    label: str
    measures: Mapping[str, Summary]


def comparison_figures(reached: Sequence[Reached], dataset: str, key: str) -> list[Figure]:
    """A figure for each measure that at least one model has. ``key`` begins the figures' names."""
    figures = []
    for measure, title in MEASURES.items():
        rows = []
        for one in sorted(reached, key=lambda one: (one.model != "rules", one.label)):
            if measure in one.measures:
                summary = one.measures[measure]
                rows.append(_row(one.label, HERE, summary.mean, summary.std, len(summary.values)))
                rows += _published(one, dataset, measure)
        sources = {row["source"] for row in rows}
        whiskers = _WHISKERS if any(row["low"] != row["high"] for row in rows) else ""
        if rows:
            name = f"{key}-{measure.replace('.', '-').replace('_', '-')}"
            figures.append(Figure(name, _capital(title), _CAPTIONS[measure] + whiskers, rows, _spec(title, sources)))
    return figures


def results_sections(records: Iterable[CellRecord]) -> list[Section]:
    """A section for each data set and protocol on record.

    Parts of data sets and planted networks are left to the studies that they belong to, unless there is nothing else.
    """
    known = list(records)
    whole = [record for record in known if GraphSpec.parse(record.key.dataset).is_whole_dataset]
    groups: dict[tuple[str, str], list[CellRecord]] = {}
    for record in whole or known:
        groups.setdefault((record.key.dataset, record.key.protocol), []).append(record)
    sections = []
    for number, ((dataset, protocol), found) in enumerate(sorted(groups.items()), 1):
        reached = _reached(found)
        lead = f"Links hidden by the protocol {protocol!r}. No model saw a link that it is judged on."
        figures = comparison_figures(reached, dataset if protocol == "marked" else "", f"results-{number}")
        if any(row["source"] == PUBLISHED for figure in figures for row in figure.rows):
            lead += " Published figures are those of the MPXGAT paper, beside the models that it names."
        sections.append(section(f"results-{number}", f"{dataset}, protocol {protocol}", lead, figures))
    return sections


def _reached(records: Sequence[CellRecord]) -> list[Reached]:
    """One for each model and choice of settings; where settings alone differ, the label says which is which."""
    groups: dict[str, list[CellRecord]] = {}
    for record in records:
        groups.setdefault(json.dumps([record.key.model, dict(record.key.settings)], sort_keys=True), []).append(record)
    found: list[Reached] = []
    labels: Counter[str] = Counter()
    for group in groups.values():
        key = group[0].key
        preset = key.settings.get("preset")
        label = f"{key.model}, {preset}" if preset else key.model
        labels[label] += 1
        summaries = {measure: summary_of(group, measure) for measure in MEASURES}
        measures = {measure: summary for measure, summary in summaries.items() if summary is not None}
        which = f"{label} ({labels[label]})" if labels[label] > 1 else label
        found.append(Reached(key.model, f"{which}, {len(group)} seed{'s' if len(group) > 1 else ''}", measures))
    return found


def _row(label: str, source: str, mean: float, std: float, seeds: int | None) -> dict[str, Value]:
    known = None if math.isnan(mean) else mean
    low, high = (None, None) if known is None or math.isnan(std) else (mean - std, mean + std)
    return {"model": label, "source": source, "mean": known, "low": low, "high": high, "seeds": seeds}


def _published(one: Reached, dataset: str, measure: str) -> list[dict[str, Value]]:
    figure = published_figures(one.model, dataset).get(measure.removesuffix(".auc"))
    if figure is None or figure.std is None or measure == "overall.auc":
        return []
    return [_row(one.label, PUBLISHED, figure.mean, figure.std, None)]


def _spec(title: str, sources: Collection[Value]) -> charts.Spec:
    hints = charts.tooltip(
        {"model": "model", "source": "figure", "mean": "mean", "low": "low", "high": "high", "seeds": "seeds"},
        mean=".4f", low=".4f", high=".4f",
    )  # fmt: skip
    value = charts.number("mean", title, scale={"zero": False, "nice": False, "padding": 12})
    source = charts.colour("source") | ({} if len(sources) > 1 else {"legend": None})
    return charts.dots(charts.category("model", None), source, value, hints)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
