"""What answers to the pairs that `mpxgat review` asks about first add, beside answers to random pairs.

    python -m benchmarks.review --json

Planted networks (`mpxgat.synthetic.social`), 600 people in two layers, 15 % of the links between the layers known, for
each seed from 100 on. The model `evidence`, without embeddings, is fitted once; then somebody who knows the truth
answers 50 pairs, in each of these orders:

    informative     as `mpxgat review` asks
    surest          as with --order surest
    matches         pairs with a probability of at least .5, in random order
    random          any of the pairs that the other orders are made of (each node's best candidates), in random order

The answers are applied as `mpxgat match` applies them: accepted pairs become known links, rejected ones are known to be
different, and the model is moved to that network (`extend`), not trained again.

hits@1 is the share of hidden counterparts that score higher than all other nodes of their layer, both ways. It is taken
of the pairs that remain hidden: in each order those that its answers have not settled (``remaining``), and those that
no order's answers have settled, the same for all (``common``). ``gain`` is hits@1 after the answers less hits@1 of the
same pairs before them. The last line is the summary: means and standard deviations over the seeds, and Welch's test of
the gains of informative against those of each other order.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.errors import MpxgatError
from mpxgat.graph import MultiplexGraph
from mpxgat.metrics import welch
from mpxgat.models.evidence.model import Evidence
from mpxgat.pairs import found_among, pair_keys
from mpxgat.review.decisions import ACCEPT, INFORMATIVE, REJECT, SUREST, Decision, Pair
from mpxgat.review.queue import make_queue
from mpxgat.review.settled import Settled, Units, with_decisions
from mpxgat.synthetic import social, truth

FIRST_TUNING_SEED = 100
LAYERS = 2
KNOWN = 0.15
MEAN_DEGREE, OVERLAP = 12.0, 0.7
MATCHES, RANDOM_PAIRS = "matches", "random"
ORDERS = (INFORMATIVE, SUREST, MATCHES, RANDOM_PAIRS)
_LIKELY = 0.5
_REMAINING, _COMMON = "remaining", "common"

Pairs = NDArray[np.int32]
Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Answered:
    """The network after the answers to an order's pairs, and how many of them were accepted."""

    graph: MultiplexGraph
    accepted: int


def queue_of(model: Evidence, order: str, seed: int) -> Pairs:
    """(k, 2) pairs in the order in which they are asked about."""
    if order in (INFORMATIVE, SUREST):
        return make_queue(model, order, _LIKELY).pairs
    queue = make_queue(model, SUREST, _LIKELY)
    pairs = queue.pairs[queue.probability >= _LIKELY] if order == MATCHES else queue.pairs
    return np.random.default_rng([seed, 3]).permutation(pairs)


def ask(graph: MultiplexGraph, queue: Pairs, true: set[Pair], answers: int) -> Answered:
    """Answer the first open pairs of a queue by the truth; those that earlier answers settle are not asked about."""
    units, given = Units(graph), list[Decision]()
    for first, second in queue.tolist():
        pair = (first, second)
        if len(given) == answers:
            break
        if Settled(units, given).status(pair) is None:
            given.append(Decision(pair, ACCEPT if pair in true else REJECT))
    return Answered(with_decisions(graph, given), sum(each.answer == ACCEPT for each in given))


def hits(model: Evidence, pairs: Pairs) -> NDArray[np.float64]:
    """(k,) of each of (k, 2) pairs, first nodes of layer 0 and second of layer 1: the share of both ways in which it
    is the best.
    """
    rows, cols = (model.graph.layer_nodes(layer) for layer in range(LAYERS))
    scores = model.score_block(rows, cols)
    first, second = pairs[:, 0] - rows[0], pairs[:, 1] - cols[0]
    own = scores[first, second]
    best = (scores[first] > own[:, None]).sum(axis=1) == 0
    best_back = (scores[:, second] > own).sum(axis=0) == 0
    return np.asarray((best.astype(np.float64) + best_back) / 2)


def measure(people: int, answers: int, seed: int) -> list[Record]:
    """A record for each order."""
    graph = social(people, LAYERS, seed, known=KNOWN, mean_degree=MEAN_DEGREE, overlap=OVERLAP)
    pairs = truth(graph)
    hidden = pairs[~found_among(pair_keys(pairs, graph.n_nodes), pair_keys(graph.inter, graph.n_nodes))]
    true = {(first, second) for first, second in hidden.tolist()}
    model = Evidence(seed=seed, embeddings="none").fit(graph)
    before = hits(model, hidden)
    answered = {order: ask(graph, queue_of(model, order, seed), true, answers) for order in ORDERS}
    remaining = {order: _hidden_in(each.graph, hidden) for order, each in answered.items()}
    common = np.logical_and.reduce(list(remaining.values()))
    found = []
    for order, each in answered.items():
        after = hits(model.extend(each.graph), hidden)
        figures = {
            name: {"pairs": int(kept.sum()), "hits@1": _mean(after[kept]), "gain": _mean(after[kept] - before[kept])}
            for name, kept in ((_REMAINING, remaining[order]), (_COMMON, common))
        }
        found.append({"order": order, "seed": seed, "hidden": len(hidden), "accepted": each.accepted, **figures})
    return found


def _hidden_in(graph: MultiplexGraph, pairs: Pairs) -> NDArray[np.bool_]:
    return np.asarray(graph.unit[pairs[:, 0]] != graph.unit[pairs[:, 1]])


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None


# ---- the summary ---------------------------------------------------------------------------------------


def summary(found: Sequence[Record]) -> Record:
    """Over the seeds: means and standard deviations of each order, and tests of informative against the others."""
    orders = {}
    for order in ORDERS:
        records = [each for each in found if each["order"] == order]
        figures = {name: _spread([each[name]["gain"] for each in records]) for name in (_REMAINING, _COMMON)}
        orders[order] = {"accepted": statistics.fmean(each["accepted"] for each in records), "gain": figures}
    return {"orders": orders, "informative_against": {order: _test(found, order) for order in ORDERS[1:]}}


def _gains(found: Sequence[Record], order: str, which: str) -> list[float]:
    return [each[which]["gain"] for each in found if each["order"] == order and each[which]["gain"] is not None]


def _spread(values: Sequence[float | None]) -> Record:
    known = [value for value in values if value is not None]
    deviation = statistics.stdev(known) if len(known) > 1 else None
    return {"mean": statistics.fmean(known) if known else None, "deviation": deviation, "n": len(known)}


def _test(found: Sequence[Record], order: str) -> Record:
    """The p of Welch's test on both sets of pairs; None with fewer than two seeds."""
    tests = {}
    for which in (_REMAINING, _COMMON):
        gains = [_gains(found, each, which) for each in (INFORMATIVE, order)]
        tests[which] = welch(*gains).p_value if min(map(len, gains)) > 1 else None
    return tests


def _line(record: Record) -> str:
    figures = "  ".join(
        f"{name}: hits@1 {record[name]['hits@1']:.3f} ({record[name]['gain']:+.3f})" for name in (_REMAINING, _COMMON)
    )
    return f"{record['seed']}  {record['order']:12} accepted {record['accepted']:3}  {figures}"


def _print_table(told: Mapping[str, Any]) -> None:
    print(f"\n{'order':12} {'accepted':>9} {_REMAINING:>16} {_COMMON:>16}  p against informative")
    for order, figures in told["orders"].items():
        gains = [figures["gain"][name] for name in (_REMAINING, _COMMON)]
        shown = "".join(f" {each['mean']:+10.3f} ± {each['deviation'] or 0:.3f}" for each in gains)
        tests = told["informative_against"].get(order, {})
        p = ", ".join(f"{value:.2g}" for value in tests.values() if value is not None)
        print(f"{order:12} {figures['accepted']:9.1f}{shown}  {p}")


def main() -> None:
    """Measure and print, a line for each order and seed, then the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=600)
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--first-seed", type=int, default=FIRST_TUNING_SEED)
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    options = parser.parse_args()
    found: list[Record] = []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        try:
            records = measure(options.people, options.answers, seed)
        except MpxgatError as problem:
            parser.error(f"seed {seed}: {problem}")
        for record in records:
            print(json.dumps(record) if options.json else _line(record), flush=True)
        found += records
    told = summary(found)
    if options.json:
        print(json.dumps(told))
    else:
        _print_table(told)


if __name__ == "__main__":
    main()
