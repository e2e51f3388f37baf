"""Models beside each other, beside the rules of thumb and beside published figures, with error bars."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mpxgat.evaluation import Repetitions, Summary
from mpxgat.experiments.graphs import GraphSpec
from mpxgat.experiments.records import CellRecord
from mpxgat.experiments.tables import published_figures, summary_of
from mpxgat.models.base import make_model
from mpxgat.report import charts
from mpxgat.report.charts import Value
from mpxgat.report.curves import Scored, score
from mpxgat.report.page import Figure, Section

_HERE, _PUBLISHED = "measured here", "published"
# Title and caption of each measure.
_MEASURES = {
    "intra.auc": ("AUC within layers", "Hidden links within layers against non-links; 0.5 is chance."),
    "inter.auc": ("AUC between layers", "Hidden links between layers against non-links; 0.5 is chance."),
    "inter.auc_hard": (
        "AUC between layers, hard pairs",
        "Only pairs that neither transitivity nor uniqueness decides.",
    ),
    "inter.mrr": (
        "mean reciprocal rank of the counterpart",
        "1 if the true counterpart always ranks first among all nodes of the other layer.",
    ),
}
_WHISKERS = " Whiskers: one standard deviation over the seeds to each side, but not beyond 0 and 1."


@dataclass(frozen=True)
class Reached:
    """What a model reached on a data set; measures as in `_MEASURES`."""

    model: str
    label: str
    measures: Mapping[str, Summary]


def rules_section(scored: Scored, dataset: str) -> Section | None:
    """A run's model on hidden links, beside the rules of thumb; None if there were none to hide.

    dataset     its name, which tells the published figures
    """
    held_out = scored.held_out
    found = [_of_one_split(scored)]
    if held_out.model.name != "rules":
        rules = make_model("rules").fit(held_out.split.train)
        found.append(_of_one_split(score(replace(held_out, model=rules))))
    figures = _figures(found, dataset, "comparison")
    summary = (
        "The rules of thumb (transitivity, uniqueness, shared neighbours) are the yardstick: they learn nothing. Where "
        f"the MPXGAT paper has figures for this data set and model, they stand beside. {held_out.description()}"
    )
    return Section("comparison", "Beside the rules of thumb", summary, figures) if figures else None


def models_section(results: Sequence[tuple[str, Repetitions]]) -> Section:
    """The demonstration's models by name, all on the same splits."""
    found = [Reached(name, name, _of_repetitions(repetitions)) for name, repetitions in results]
    seeds = len(results[0][1].seeds)
    summary = (
        f"Links were hidden {'once' if seeds == 1 else f'{seeds} times'}; each model was fitted on the rest and "
        "predicted the hidden ones. The model 'auto' takes the best of several by itself; 'mpxgat' is the paper's; "
        "'rules' learns nothing; 'degree' only counts links."
    )
    return Section("comparison", "Models beside each other", summary, _figures(found, "", "comparison"))


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
        figures = _figures(_of_records(found), dataset if protocol == "marked" else "", f"results-{number}")
        summary = f"Links hidden by the protocol {protocol!r}. No model saw a link that it is evaluated on."
        if any(row["source"] == _PUBLISHED for figure in figures for row in figure.rows):
            summary += " Published figures are those of the MPXGAT paper, beside the models that it names."
        sections.append(Section(f"results-{number}", f"{dataset}, protocol {protocol}", summary, figures))
    return sections


def _of_one_split(scored: Scored) -> Reached:
    model = scored.held_out.model
    label = model.name if model.chosen is model else f"{model.name} ({model.chosen.name})"
    values = {"intra.auc": scored.intra.together.auc(), "inter.auc": scored.inter.together.auc()}
    known = {measure: Summary.of([value]) for measure, value in values.items() if not math.isnan(value)}
    return Reached(model.name, label, known)


def _of_repetitions(repetitions: Repetitions) -> dict[str, Summary]:
    found = {}
    for measure in _MEASURES:
        kind, _, name = measure.partition(".")
        values = [getattr(one, kind).values for one in repetitions.evaluations]
        if known := [each[name] for each in values if name in each]:
            found[measure] = Summary.of(known)
    return found


def _of_records(records: Sequence[CellRecord]) -> list[Reached]:
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
        summaries = {measure: summary_of(group, measure) for measure in _MEASURES}
        measures = {measure: summary for measure, summary in summaries.items() if summary is not None}
        which = f"{label} ({labels[label]})" if labels[label] > 1 else label
        found.append(Reached(key.model, f"{which}, {len(group)} seed{'s' if len(group) > 1 else ''}", measures))
    return found


def _figures(reached: Sequence[Reached], dataset: str, key: str) -> list[Figure]:
    """A figure for each measure that at least one model has. ``key`` begins the figures' names."""
    figures = []
    for measure, (title, caption) in _MEASURES.items():
        rows = []
        for one in sorted(reached, key=lambda one: (one.model != "rules", one.label)):
            if measure in one.measures:
                summary = one.measures[measure]
                rows.append(_row(one.label, _HERE, summary.mean, summary.std, len(summary.values)))
                rows += _published(one, dataset, measure)
        if rows:
            name = f"{key}-{measure.replace('.', '-').replace('_', '-')}"
            whiskers = _WHISKERS if any(row["low"] != row["high"] for row in rows) else ""
            spec = _spec(title, len({row["source"] for row in rows}))
            figures.append(Figure(name, title[0].upper() + title[1:], caption + whiskers, rows, spec))
    return figures


def _row(label: str, source: str, mean: float, std: float, seeds: int | None) -> dict[str, Value]:
    known = None if math.isnan(mean) else mean
    low, high = (None, None) if known is None or math.isnan(std) else (max(mean - std, 0), min(mean + std, 1))
    return {"model": label, "source": source, "mean": known, "low": low, "high": high, "seeds": seeds}


def _published(one: Reached, dataset: str, measure: str) -> list[dict[str, Value]]:
    figure = published_figures(one.model, dataset).get(measure.removesuffix(".auc"))
    if figure is None or figure.std is None or measure == "overall.auc":
        return []
    return [_row(one.label, _PUBLISHED, figure.mean, figure.std, None)]


def _spec(title: str, sources: int) -> charts.Spec:
    hints = charts.tooltip(
        {"model": "model", "source": "figure", "mean": "mean", "low": "low", "high": "high", "seeds": "seeds"},
        mean=".4f", low=".4f", high=".4f",
    )  # fmt: skip
    value = charts.number("mean", title, scale={"zero": False, "nice": False, "padding": 12})
    source = charts.category("source", **({} if sources > 1 else {"legend": None}))
    return charts.dots(charts.category("model"), source, value, hints)
