"""Who is who: the most probable matches with their reasons, and what became of the other nodes."""

from __future__ import annotations

from collections.abc import Sequence

from mpxgat.graph import MultiplexGraph
from mpxgat.matching.match import DEFAULT_THRESHOLD, Matcher, Matches
from mpxgat.matching.reasons import with_reasons
from mpxgat.pairs import unit_sizes
from mpxgat.report import charts
from mpxgat.report.charts import Rows, Value
from mpxgat.report.page import Figure, Section, Table

_MOST_ROWS = 40
_MOST_PAIRS = 30
_OUTCOMES = {
    "matched": "matched",
    "below_threshold": "below threshold",
    "outdone": "outdone",
    "no_candidate": "no candidate",
}


def matches_section(
    matcher: Matcher, found: Matches, truth: MultiplexGraph | None, reviewed: Sequence[str] = ()
) -> Section:
    """The matches that a model found in its network.

    truth       the whole network, where the model knows a part of it: then the table says which matches are right
    reviewed    what people's answers say about the matches, in words
    """
    summary = (
        f"{len(found):,} pairs of nodes of different layers are matched with a probability of {DEFAULT_THRESHOLD:.0%} "
        "or more; links known before are left out."
    )
    if truth is not None and len(found):
        right = truth.unit[found.pairs[:, 0]] == truth.unit[found.pairs[:, 1]]
        summary += (
            f" {int(right.sum()):,} of them ({right.mean():.0%}) are right. To be found were "
            f"{_pairs_of_one_unit(truth) - _pairs_of_one_unit(matcher.graph):,} pairs that the model could not know."
        )
    summary = " ".join(
        [summary, *(f"{note[0].upper()}{note[1:]}." for note in reviewed), *(f"{note}." for note in found.notes)]
    )
    tables = [_table(matcher, found, truth)] if len(found) else []
    return Section("matches", "Who is who: matches", summary, [_outcomes(found)], tables)


def _pairs_of_one_unit(graph: MultiplexGraph) -> int:
    sizes = unit_sizes(graph)
    return int((sizes * (sizes - 1) // 2).sum())


def _table(matcher: Matcher, found: Matches, truth: MultiplexGraph | None) -> Table:
    listed = found.most_probable(_MOST_ROWS)
    shown = with_reasons(matcher, listed).to_pylist()
    rows = []
    for row, (a, b) in zip(shown, listed.pairs.tolist(), strict=True):
        values: dict[str, Value] = {
            "node": row["node"],
            "in layer": row["node_layer"],
            "is": row["candidate"],
            "in the layer": row["candidate_layer"],
            "probability": row["probability"],
            "next best": row["runner_up"],
        }
        if truth is not None:
            values["right"] = bool(truth.unit[a] == truth.unit[b])
        rows.append({**values, "reasons (log-odds)": row["reasons"]})
    part = f"The {len(rows)} most probable of {len(found):,} matches" if len(rows) < len(found) else "All matches"
    return Table("top-matches", f"{part}, with the probability of the node's next best candidate.", rows)


def _outcomes(found: Matches) -> Figure:
    rows: Rows = [
        {"layers": f"{one.layer_a} – {one.layer_b}", "outcome": words, "nodes": getattr(one, name), "order": order}
        for one in sorted(found.outcomes, key=lambda one: -one.open_nodes)[:_MOST_PAIRS]
        for order, (name, words) in enumerate(_OUTCOMES.items())
    ]
    hints = charts.tooltip({"layers": "layers", "outcome": "outcome", "nodes": "nodes"}, nodes=",")
    spec = charts.stacked(
        charts.number("nodes", "nodes without a known counterpart"),
        charts.category("layers"),
        charts.category("outcome"),
        hints,
    )
    some = f" The {_MOST_PAIRS} pairs of layers with most of them." if len(found.outcomes) > _MOST_PAIRS else ""
    caption = (
        "Nodes of both layers without a known counterpart in the other. Below threshold: no candidate is probable "
        f"enough; outdone: the candidate goes to another node.{some}"
    )
    return Figure("match-outcomes", "Matched, and why not", caption, rows, spec)
