"""How time and memory grow with the network, from ten thousand nodes to a million.

    python -m benchmarks.scale --json
    python -m benchmarks.scale --model mpxgat --set batch=1024 epochs=3 --sizes 10000 100000

Planted multiplexes (`mpxgat.synthetic.social`): four layers, mean degree 8, half of the links between layers known, as
`.mpxg` files. For each size a process of its own loads the file, trains, and matches all layers where the model can:

    load        seconds and peak memory of mapping and checking the file
    train       those of the training, and the seconds of one epoch (all parts of the training together)
    match       those of `match_all`; the share of matches that are right, and the share of open true pairs found
    candidates  how many pairs the model judges, and which share of the open true pairs is among them (recall)

Peak memory is the largest resident size during the stage. Seconds are those on the clock; beside them are those of all
cores together, which tell more where other work goes on. The growth exponent is the slope of a least-squares line
through log(seconds), or log(memory above that of the interpreter with its libraries), over log(nodes): 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale_stages import load_train_match, plant

SIZES = (10_000, 100_000, 1_000_000)
HUGE = 10_000_000
_GROWING = (
    ("load", "seconds"),
    ("load", "cpu_seconds"),
    ("load", "peak_mb"),
    ("train", "seconds"),
    ("train", "cpu_seconds"),
    ("train", "epoch_seconds"),
    ("train", "peak_mb"),
    ("match", "seconds"),
    ("match", "cpu_seconds"),
    ("match", "peak_mb"),
)

Record = dict[str, Any]


def measure(nodes: int, options: argparse.Namespace, folder: Path) -> Record:
    """All stages of one size, each as far as it came."""
    path = folder / f"{nodes}.mpxg"
    if not path.exists():
        _child(["plant", str(path), str(nodes)], options, None)
    record: Record = {"wanted_nodes": nodes}
    for line in _child(["run", str(path)], options, options.limit):
        facts = json.loads(line)
        record[facts.pop("stage")] = facts
    return record


def _child(work: list[str], options: argparse.Namespace, limit: float | None) -> list[str]:
    """The lines that a process of this module printed, in at most ``limit`` seconds."""
    given = ["--model", options.model, "--seed", str(options.seed), "--threshold", str(options.threshold)]
    command = [sys.executable, "-m", "benchmarks.scale", *given, "--set", *options.set, "--work", *work]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        print(f"stopped after {limit:g} s: {' '.join(work)}", file=sys.stderr)
        return output.splitlines()
    if process.returncode:
        print(f"ended with code {process.returncode}: {' '.join(work)}", file=sys.stderr)
    return output.splitlines()


def growth(sizes: list[Record]) -> dict[str, float | None]:
    """The exponent of every stage's seconds and memory; None where fewer than two sizes have come so far."""
    return {f"{stage}_{what}": _exponent(sizes, stage, what) for stage, what in _GROWING}


def _exponent(sizes: list[Record], stage: str, what: str) -> float | None:
    points = []
    for record in sizes:
        value = record.get(stage, {}).get(what)
        if value is not None and what == "peak_mb":
            value -= record["base"]["peak_mb"]
        if value is not None and value > 0:
            points.append((record["load"]["nodes"], value))
    if len(points) < 2:
        return None
    nodes, values = np.log(np.array(points, dtype=np.float64)).T
    return round(float(np.polyfit(nodes, values, 1)[0]), 3)


def settings_of(texts: list[str]) -> dict[str, Any]:
    """NAME=VALUE as a dictionary; a value that is no JSON is a text."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise SystemExit(f"--set has {text!r}, expected NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found


def arguments() -> argparse.ArgumentParser:
    """What the command line takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="NODES")
    parser.add_argument("--huge", action="store_true", help=f"{HUGE:,} nodes as well")
    parser.add_argument("--model", default="evidence", help="a model's name")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the model")
    parser.add_argument("--seed", type=int, default=100, help="of the network and of the model")
    parser.add_argument("--threshold", type=float, default=0.9, help="least probability of a match")
    parser.add_argument("--limit", type=float, help="seconds after which a size is given up; what it reached is shown")
    parser.add_argument("--folder", type=Path, help="where networks are kept; by default they are thrown away")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    return parser


def main() -> None:
    """Measure and print."""
    options = arguments().parse_args()
    settings = settings_of(options.set)
    if options.work:
        if options.work[0] == "plant":
            plant(Path(options.work[1]), int(options.work[2]), options.seed)
        else:
            load_train_match(Path(options.work[1]), options.model, options.seed, settings, options.threshold)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sizes = [measure(nodes, options, folder) for nodes in options.sizes + [HUGE] * options.huge]
    record = {
        "model": options.model,
        "settings": settings,
        "seed": options.seed,
        "cores": os.cpu_count(),
        "sizes": sizes,
        "growth": growth(sizes),
    }
    if options.json:
        print(json.dumps(record))
        return
    for size in sizes:
        for stage, facts in size.items():
            print(f"{size['wanted_nodes']:>12,}  {stage:12}  {facts}")
    for name, exponent in record["growth"].items():
        print(f"      growth  {name:20}  {'unknown' if exponent is None else exponent}")


if __name__ == "__main__":
    main()
