"""Whether probabilities of matches can be believed: how often matches of probability p come true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.matching.calibration import expected_calibration_error
from mpxgat.matching.match import DEFAULT_K, Matcher, layer_pairs
from mpxgat.report import charts
from mpxgat.report.charts import Rows
from mpxgat.report.curves import HeldOut
from mpxgat.report.page import Figure, Section

_BINS = 10
_LEAST = 0.01  # a million candidates about which nothing is claimed would hide the others


@dataclass(frozen=True, eq=False)
class _Claims:
    """(k,) probabilities of candidates, and whether each came true."""

    probability: NDArray[np.float64]
    true: NDArray[np.bool_]


def calibration_section(held_out: HeldOut) -> Section | None:
    """The reliability curve of a model that gives probabilities; None if it gives none."""
    model = held_out.model
    if not isinstance(model, Matcher) or model.graph.n_layers < 2:
        return None
    claims = _claims(model, held_out)
    if not len(claims.probability):
        return None
    rows = reliability_rows(claims.probability, claims.true)
    error = expected_calibration_error(claims.probability, claims.true)
    summary = (
        f"{held_out.description()} A candidate counts as right if the whole network has the link; one that is right "
        f"but not known there counts as wrong. {int(claims.true.sum()):,} of {len(claims.true):,} candidates are "
        f"right. Expected calibration error: {error:.3f}."
    )
    figures = [_reliability(rows), _numbers(rows)]
    return Section("calibration", "Can the probabilities be believed?", summary, figures)


def reliability_rows(probability: NDArray[np.float64], true: NDArray[np.bool_], bins: int = _BINS) -> Rows:
    """For each bin of equal width that holds candidates: mean probability, share of true ones, how many."""
    place = np.minimum((probability * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    claimed, came_true = (np.bincount(place, values, bins) for values in (probability, true.astype(float)))
    return [
        {
            "probability": float(claimed[b] / count[b]),
            "true": float(came_true[b] / count[b]),
            "candidates": int(count[b]),
            "from": b / bins,
            "to": (b + 1) / bins,
        }
        for b in np.flatnonzero(count).tolist()
    ]


def _claims(matcher: Matcher, held_out: HeldOut) -> _Claims:
    found = [matcher.candidates(a, b, DEFAULT_K) for a, b in layer_pairs(matcher.graph)]
    pairs = np.concatenate([each.pairs for each in found])
    probability = np.concatenate([each.probability for each in found])
    unit = held_out.whole.unit
    kept = probability >= _LEAST
    return _Claims(probability[kept], unit[pairs[kept, 0]] == unit[pairs[kept, 1]])


def _reliability(rows: Rows) -> Figure:
    x = charts.number("probability", "probability given", scale=charts.UNIT, axis={"format": "%"})
    y = charts.number("true", "share that came true", scale=charts.UNIT, axis={"format": "%"})
    hints = charts.tooltip(
        {"probability": "given", "true": "came true", "candidates": "candidates"},
        probability=".1%", true=".1%", candidates=",",
    )  # fmt: skip
    caption = (
        "Candidates in ten bins of probability: on the dashed line, of those with 70% seven in ten are right. "
        f"The larger a dot, the more candidates. Candidates below {_LEAST:.0%} are left out."
    )
    spec = charts.dotted_line_and_diagonal(x, y, charts.number("candidates", None), hints)
    return Figure("reliability", "Reliability", caption, rows, spec)


def _numbers(bins: Rows) -> Figure:
    rows = [
        {"range": f"{row['from']:.0%} – {row['to']:.0%}", "candidates": row["candidates"], "true": row["true"]}
        for row in bins
    ]
    hints = charts.tooltip({"range": "probability", "candidates": "candidates", "true": "came true"}, true=".1%")
    spec = charts.bars(charts.number("candidates", "candidates"), charts.category("range", "probability"), hints, ",")
    caption = "How many candidates each bin holds; a bin of few says little."
    return Figure("candidates-by-probability", "Candidates by probability", caption, rows, spec)
