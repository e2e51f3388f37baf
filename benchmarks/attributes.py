"""How fast attributes are compared, and how long pairs that are alike take to find.

    python -m benchmarks.attributes --json

Planted values of people in two layers: usernames, names, cities, dates, numbers, counts of words; some missing, some
mistyped. Two measures, each in a process of its own:

    pairs       pairs of nodes compared per second, by kind; all kinds together as attribute pairs per second. The pairs
                are drawn like candidates, several for each node, and are few enough to fit in memory at once.
    proposals   seconds and peak memory of the k most similar of every node of two layers, from strings to pairs, by
                kind; and the share of the planted pairs among them
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.measure import peak_rss_mb
from mpxgat.compare import KINDS, Comparison
from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import PairList
from mpxgat.system import threads

FIRST = ["anna", "maria", "john", "peter", "susan", "wei", "olga", "fatima", "carlos", "emily", "ivan", "lena", "paul"]
SYLLABLES = ["ba", "ko", "mi", "ra", "ne", "lo", "sta", "vi", "du", "fer", "go", "han", "ik", "jel", "ku", "lan", "mor"]
PROPOSING = ("text", "name", "category", "number", "vector")
CANDIDATES = 20  # of a node
_MISSING, _MISTYPED = 0.1, 0.4
_WORDS = 200  # of which vectors count ten

Record = dict[str, Any]


def plant(nodes: int, kind: str, seed: int) -> MultiplexGraph:
    """Two layers of so many people each, the same in the same order, with one attribute of a kind."""
    rng = np.random.default_rng(seed)
    people = [_value(kind, rng) for _ in range(nodes)]
    values = [value if side == 0 else _mistyped(value, kind, rng) for side in (0, 1) for value in people]
    missing = rng.random(len(values)) < _MISSING
    column = ["" if gone else value for gone, value in zip(missing, values, strict=True)]
    return MultiplexGraph(
        layers=("one", "two"),
        layer_start=np.array([0, nodes, 2 * nodes]),
        ids=pa.array([str(node) for node in range(2 * nodes)], pa.large_string()),
        intra=np.empty((0, 2), dtype=np.int32),
        inter=np.empty((0, 2), dtype=np.int32),
        attributes={kind: pa.array(column, pa.large_string())},
    )


def _value(kind: str, rng: np.random.Generator) -> str:
    first = FIRST[rng.integers(len(FIRST))]
    last = "".join(SYLLABLES[place] for place in rng.integers(len(SYLLABLES), size=rng.integers(2, 5)))
    if kind == "text":
        return f"{first}{rng.choice(['.', '_', ''])}{last}{rng.choice(['', str(rng.integers(100))])}"
    if kind == "name":
        return f"{first.title()} {last.title()}"
    if kind == "category":
        return f"city {int(rng.pareto(1) * 20)}"
    if kind == "number":
        return str(int(rng.pareto(1) * 1000))
    if kind == "date":
        return str(np.datetime64("2005-01-01") + int(rng.integers(6000)))
    counts = np.zeros(_WORDS, dtype=np.int64)
    np.add.at(counts, (rng.pareto(1, 10) * 10).astype(np.int64) % _WORDS, 1)
    return " ".join(map(str, counts))


def _mistyped(value: str, kind: str, rng: np.random.Generator) -> str:
    if kind not in ("text", "name") or rng.random() >= _MISTYPED:
        return value
    place = int(rng.integers(len(value)))
    return value[:place] + value[place + 1 :] if rng.random() < 0.5 else f"{value}{rng.integers(10)}"


def compare_pairs(kind: str, nodes: int, pairs: int, seed: int, repeats: int) -> Record:
    """Pairs per second of a kind, the best of several times."""
    graph = plant(nodes, kind, seed)
    compared = Comparison(kind, kind).prepare(graph)
    rng = np.random.default_rng(seed)
    first = np.repeat(rng.integers(nodes, size=pairs // CANDIDATES + 1), CANDIDATES)[:pairs]
    wanted = PairList(np.stack([first, rng.integers(nodes, 2 * nodes, pairs)], axis=1))
    compared.numbers(PairList(np.array([[0, nodes]])))  # loops are compiled
    seconds, processor = [], []
    for _ in range(repeats):
        start, before = time.perf_counter(), time.process_time()
        compared.numbers(wanted)
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - before)
    return {"kind": kind, "pairs": pairs, "seconds": min(seconds), "cpu_seconds": min(processor)}


def propose(kind: str, nodes: int, k: int, seed: int) -> Record:
    """Seconds from strings to proposals, peak memory of the process, and the share of planted pairs found."""
    graph = plant(nodes, kind, seed)
    warm = Comparison(kind, kind).prepare(plant(100, kind, seed))
    warm.proposals(np.arange(100), np.arange(100, 200), k)  # loops are compiled
    before = peak_rss_mb()
    start, cpu = time.perf_counter(), time.process_time()
    compared = Comparison(kind, kind).prepare(graph)
    prepared = time.perf_counter()
    keys = compared.proposals(np.arange(nodes), np.arange(nodes, 2 * nodes), k)
    end = time.perf_counter()
    there = compared.there[:nodes] & compared.there[nodes:]
    return {
        "kind": kind,
        "nodes": 2 * nodes,
        "k": k,
        "prepare_seconds": prepared - start,
        "seconds": end - start,
        "cpu_seconds": time.process_time() - cpu,
        "proposals": len(keys),
        "recall": float((keys // nodes == keys % nodes).sum() / max(int(there.sum()), 1)),
        "peak_mb": peak_rss_mb(),
        "peak_mb_before": before,
    }


def measure(options: argparse.Namespace) -> Record:
    """Each piece of work in a process of its own."""
    speeds = [_child(["pairs", kind], options) for kind in options.kinds]
    for speed in speeds:
        speed["pairs_per_second"] = round(speed["pairs"] / speed["seconds"])
    together = sum(speed["pairs"] for speed in speeds) / sum(speed["seconds"] for speed in speeds)
    return {
        "seed": options.seed,
        "threads": threads(),
        "pairs": speeds,
        "attribute_pairs_per_second": round(together),
        "proposals": [_child(["proposals", kind], options) for kind in options.kinds if kind in PROPOSING],
    }


def _child(work: list[str], options: argparse.Namespace) -> Record:
    given = [f"--{name}={getattr(options, name)}" for name in ("nodes", "pairs", "k", "seed", "repeats")]
    command = [sys.executable, "-m", "benchmarks.attributes", *given, "--work", *work]
    found: Record = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return found


def arguments() -> argparse.ArgumentParser:
    """What the command line takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument("--nodes", type=int, default=100_000, help="of each of the two layers")
    parser.add_argument("--pairs", type=int, default=1_000_000, help="that are compared")
    parser.add_argument("--k", type=int, default=10, help="most similar of every node")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3, help="of comparing; the best counts")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    return parser


def main() -> None:
    """Measure and print."""
    options = arguments().parse_args()
    if options.work:
        what, kind = options.work
        if what == "pairs":
            record = compare_pairs(kind, options.nodes, options.pairs, options.seed, options.repeats)
        else:
            record = propose(kind, options.nodes, options.k, options.seed)
        print(json.dumps(record))
        return
    found = measure(options)
    if options.json:
        print(json.dumps(found))
        return
    for speed in found["pairs"]:
        print(f"{speed['kind']:10}{speed['pairs_per_second']:>12,} pairs per second")
    print(
        f"together  {found['attribute_pairs_per_second']:>12,} attribute pairs per second, {found['threads']} threads"
    )
    for record in found["proposals"]:
        print(
            f"{record['kind']:10}{record['nodes']:>12,} nodes: {record['proposals']:,} proposals in "
            f"{record['seconds']:.1f} s, {record['peak_mb']} MB, recall {record['recall']:.3f}"
        )


if __name__ == "__main__":
    main()
