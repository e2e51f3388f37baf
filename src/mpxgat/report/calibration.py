"""Whether probabilities can be believed: how often matches, and links within layers, of probability p come true."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.matching.calibration import expected_calibration_error
from mpxgat.matching.match import DEFAULT_K, Matcher, layer_pairs
from mpxgat.models.base import Model
from mpxgat.models.link_curve import MISSING
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


def link_calibration_section(model: Model) -> Section | None:
    """The reliability curve of links within layers, as the model measured it when it learned; None without any."""
    curve = model.link_curve
    if curve is None or not curve.reliability[0].any():
        return None
    pairs, claimed, found = curve.reliability
    rows: Rows = [
        {
            "probability": float(claimed[b] / pairs[b]),
            "true": float(min(found[b] / pairs[b], 1)),
            "pairs": float(pairs[b]),
            "from": b / len(pairs),
            "to": (b + 1) / len(pairs),
        }
        for b in np.flatnonzero(pairs).tolist()
    ]
    error = float(np.abs(claimed - found).sum() / pairs.sum())
    summary = (
        f"The chance that an unlinked pair of one layer is a link that the network lacks, if {MISSING:.1%} of the "
        "links are missing: how many are, no network tells. Measured on links of the training graph that were hidden "
        "again: the curve was learned on one half of them and of the unlinked pairs, and compared with the other half. "
        f"About {pairs.sum():,.0f} pairs are above {_LEAST:.0%}. Expected calibration error: {error:.3f}."
    )
    x = charts.number("probability", "probability given", scale=charts.UNIT, axis={"format": "%"})
    y = charts.number("true", "share of links", scale=charts.UNIT, axis={"format": "%"})
    hints = charts.tooltip(
        {"probability": "given", "true": "links", "pairs": "pairs"}, probability=".1%", true=".1%", pairs=",.0f"
    )
    caption = (
        "Unlinked pairs in ten bins of probability: on the dashed line, of those with 70% seven in ten are links. The "
        f"larger a dot, the more pairs. Pairs below {_LEAST:.0%} are left out."
    )
    spec = charts.dotted_line_and_diagonal(x, y, charts.number("pairs", None), hints)
    figure = Figure("link-reliability", "Reliability within layers", caption, rows, spec)
    return Section("link-calibration", "Links within layers: can the probabilities be believed?", summary, [figure])


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
