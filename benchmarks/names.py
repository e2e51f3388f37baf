"""What usernames, cities and dates of joining add to structure when people are matched between two layers.

    python -m benchmarks.names --json

Planted networks (`mpxgat.synthetic.social` with names), 1,500 people in two layers, a quarter of the links between the
layers known. For each seed, from 100 on, and each row the model `evidence` is fitted:

    structure               no comparisons
    names                   comparisons; the nodes without their links within layers
    both                    comparisons and all links
    shuffled                as both, each attribute permuted among the nodes of a layer: of no use
    names, none known       comparisons; no link at all
    both, none known        comparisons and the links within layers

Figures: ranks of the hidden counterparts among all nodes of the other layer (hits@1 and MRR; both ways and their mean),
their AUC against all pairs of the two layers that are not linked, how many pairs are matched at a probability of .9,
and which share of them is right. Where nothing is known, all true pairs are hidden. All these are without embeddings.
With `--within` also the AUC of links within layers, hidden by the protocol `marked`, for structure, both and shuffled,
at default settings.

The last line is the summary: means and standard deviations over the seeds, Welch's test of both against the better of
structure and names, and what useless attributes cost (structure less shuffled).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.errors import MpxgatError
from mpxgat.evaluation import evaluate
from mpxgat.graph import MultiplexGraph
from mpxgat.metrics import welch
from mpxgat.models.evidence.model import Evidence
from mpxgat.pairs import pair_keys
from mpxgat.splits import Split, anchored_split, marked_nodes
from mpxgat.synthetic import social, truth

FIRST_TUNING_SEED = 100
KNOWN = 0.25
THRESHOLD = 0.9
COMPARE = {"username": "text", "city": "category", "joined": "date"}
_WITHIN = "auc_within"
_SHOWN = ("hits@1", "mrr", "auc", "matches", "right", _WITHIN)

Record = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """What the model of a row is given."""

    linked: bool = True  # the links within layers
    compared: bool = True  # attributes, by the comparisons of `COMPARE`
    shuffled: bool = False
    known: float = KNOWN  # share of the links between layers

    @property
    def settings(self) -> dict[str, Any]:
        """Those of `Evidence` that compare attributes, if the row does."""
        return {"compare": COMPARE} if self.compared else {}

    def trained_on(self, graph: MultiplexGraph, seed: int) -> MultiplexGraph:
        """The graph as this row's model sees it."""
        if not self.linked:
            graph = graph.without(intra=graph.intra)
        return shuffled(graph, seed) if self.shuffled else graph


ROWS = {
    "structure": Row(compared=False),
    "names": Row(linked=False),
    "both": Row(),
    "shuffled": Row(shuffled=True),
    "names, none known": Row(linked=False, known=0.0),
    "both, none known": Row(known=0.0),
}
_WITHIN_LAYERS = ("structure", "both", "shuffled")  # the others say nothing about links within layers


def shuffled(graph: MultiplexGraph, seed: int) -> MultiplexGraph:
    """The graph with every compared attribute permuted among the nodes of each layer."""
    rng = np.random.default_rng([seed, 2])
    attributes = dict(graph.attributes)
    for name in COMPARE:
        order = np.concatenate([rng.permutation(graph.layer_nodes(layer)) for layer in range(graph.n_layers)])
        attributes[name] = graph.attributes[name].take(pa.array(order))
    return replace(graph, attributes=attributes)


def measure(name: str, people: int, seed: int) -> Record:
    """Figures of one row: how well hidden counterparts are found."""
    row = ROWS[name]
    graph = social(people, 2, seed, known=row.known, names=True)
    hidden = _but(truth(graph), graph.inter, graph.n_nodes)
    split = _seen_by(row, anchored_split(graph, graph.inter, hidden, seed))
    began = time.perf_counter()
    model = Evidence(seed=seed, embeddings="none", **row.settings).fit(split.train)
    seconds = time.perf_counter() - began
    found = evaluate(model, split)
    matches = model.match_all(THRESHOLD).pairs
    right = np.isin(pair_keys(matches, graph.n_nodes), pair_keys(hidden, graph.n_nodes))
    return {
        "row": name,
        "seed": seed,
        "hidden": len(hidden),
        "ranks": {
            way: {measure: values[measure] for measure in ("hits@1", "mrr")} for way, values in found.ranks.items()
        },
        "hits@1": found.ranks["mean"]["hits@1"],
        "mrr": found.ranks["mean"]["mrr"],
        "auc": found.inter.values["auc"],
        "matches": len(matches),
        "right": float(right.mean()) if len(right) else None,
        "seconds": round(seconds, 1),
    }


def measure_within(name: str, people: int, seed: int) -> Record:
    """AUC of hidden links within layers."""
    row = ROWS[name]
    graph = social(people, 2, seed, known=row.known, names=True)
    split = _seen_by(row, marked_nodes(graph, seed))
    model = Evidence(seed=seed, **row.settings).fit(split.train)
    return {"row": name, "seed": seed, _WITHIN: evaluate(model, split).intra.values["auc"]}


def _seen_by(row: Row, split: Split) -> Split:
    return replace(split, train=row.trained_on(split.train, split.seed))


def _but(pairs: NDArray[np.int32], others: NDArray[np.int32], n_nodes: int) -> NDArray[np.int32]:
    """The pairs that are not among the others."""
    return pairs[~np.isin(pair_keys(pairs, n_nodes), pair_keys(others, n_nodes))]


# ---- the summary ---------------------------------------------------------------------------------------


def summary(found: Sequence[Record]) -> Record:
    """Over the seeds: mean and standard deviation of each figure of each row; tests between rows, where they ran."""
    rows = {
        row: {name: _mean_and_deviation(values) for name in _SHOWN if (values := _values(found, row, name))}
        for row in ROWS
    }
    return {
        "rows": {row: figures for row, figures in rows.items() if figures},
        "both_or_one": {name: test for name in ("hits@1", "mrr") if (test := _both_or_one(found, name))},
        "cost_of_useless": {name: cost for name in ("hits@1", "auc", _WITHIN) if (cost := _cost(found, name))},
    }


def _values(found: Sequence[Record], row: str, name: str) -> list[float]:
    """The values of a figure in the order of the seeds; a share of no matches is left out."""
    return [each[name] for each in found if each["row"] == row and each.get(name) is not None]


def _mean_and_deviation(values: Sequence[float]) -> Record:
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "deviation": deviation, "n": len(values)}


def _both_or_one(found: Sequence[Record], name: str) -> Record | None:
    """Welch's test of both against the better one; None unless each ran with two seeds at least."""
    both, *alone = (_values(found, row, name) for row in ("both", "structure", "names"))
    if min(len(each) for each in (both, *alone)) < 2:
        return None
    better = max(alone, key=statistics.fmean)
    return {
        "both": statistics.fmean(both),
        "better": "structure" if better is alone[0] else "names",
        "better_one": statistics.fmean(better),
        "p": welch(both, better).p_value,
    }


def _cost(found: Sequence[Record], name: str) -> Record | None:
    """Structure less shuffled, seed by seed; None if one of them did not run."""
    plain, useless = (_values(found, row, name) for row in ("structure", "shuffled"))
    if not plain or len(plain) != len(useless):
        return None
    return _mean_and_deviation([one - other for one, other in zip(plain, useless, strict=True)])


def _line(record: Record) -> str:
    figures = "".join(f"  {name} {record[name]:.3f}" for name in _SHOWN if record.get(name) is not None)
    return f"{record['seed']}  {record['row']:20}{figures}"


def _print_table(told: Record) -> None:
    print(f"\n{'':20}" + "".join(f"{name:>12}" for name in _SHOWN))
    for row, figures in told["rows"].items():
        means = [figures[name]["mean"] if name in figures else math.nan for name in _SHOWN]
        print(f"{row:20}" + "".join(f"{mean:12.3f}" for mean in means))
    for name, test in told["both_or_one"].items():
        print(f"{name}: both {test['both']:.3f}, {test['better']} {test['better_one']:.3f}, p = {test['p']:.2g}")
    for name, cost in told["cost_of_useless"].items():
        print(f"{name}: useless attributes cost {cost['mean']:.4f}")


def main() -> None:
    """Measure and print, a line for each row and seed, then the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1500)
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--first-seed", type=int, default=FIRST_TUNING_SEED)
    parser.add_argument("--row", action="append", choices=ROWS, help="only this one; may be repeated")
    parser.add_argument("--within", action="store_true", help="also measure links within layers")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    options = parser.parse_args()
    chosen = options.row or list(ROWS)
    works = [(measure, row) for row in chosen]
    works += [(measure_within, row) for row in chosen if options.within and row in _WITHIN_LAYERS]
    found = []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for work, row in works:
            try:
                found.append(work(row, options.people, seed))
            except MpxgatError as problem:
                parser.error(f"{row}, seed {seed}: {problem}")
            print(json.dumps(found[-1]) if options.json else _line(found[-1]), flush=True)
    told = summary(found)
    if options.json:
        print(json.dumps(told))
    else:
        _print_table(told)


if __name__ == "__main__":
    main()
