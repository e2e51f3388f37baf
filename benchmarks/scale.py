"""How time and memory grow with the network, from ten thousand nodes to a million.

    python -m benchmarks.scale --json
    python -m benchmarks.scale --models mpxgat --set batch=1024 --sizes 10000 100000

Planted multiplexes (`mpxgat.synthetic.social`), as `.mpxg` files: four layers, mean degree 8, 80 % of a layer's ties
shared by the others, 70 % of the links between layers known. For each model and size a process of its own loads the
file, trains (`mpxgat`: three epochs), and matches all layers where the model can:

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
# Models measured, with settings of their own: a few epochs tell what one costs, and narrow networks go far.
RUNS: dict[str, dict[str, Any]] = {
    "mpxgat": {"hidden": 32, "out": 32, "heads": 2, "epochs": 3, "check_every": 3},
    "evidence": {},
}
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


def measure(model: str, options: argparse.Namespace, folder: Path) -> Record:
    """A model on all sizes."""
    sizes = [_measure_size(model, nodes, options, folder) for nodes in options.sizes + [HUGE] * options.huge]
    settings = RUNS.get(model, {}) | settings_of(options.set)
    return {"model": model, "settings": settings, "sizes": sizes, "growth": growth(sizes)}


def _measure_size(model: str, nodes: int, options: argparse.Namespace, folder: Path) -> Record:
    """All stages of one size, each as far as it came."""
    path = folder / f"{nodes}.mpxg"
    if not path.exists():
        _child(["plant", str(path), str(nodes)], options, None)
    record: Record = {"wanted_nodes": nodes}
    for line in _child(["run", model, str(path)], options, options.limit):
        facts = json.loads(line)
        record[facts.pop("stage")] = facts
    return record


def _child(work: list[str], options: argparse.Namespace, limit: float | None) -> list[str]:
    """The lines that a process of this module printed, in at most ``limit`` seconds."""
    given = ["--seed", str(options.seed), "--threshold", str(options.threshold)]
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
    parser.add_argument("--models", nargs="+", default=list(RUNS), metavar="NAME")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the models")
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
    if options.work:
        _work(options)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        runs = [measure(model, options, folder) for model in options.models]
    if options.json:
        print(json.dumps({"seed": options.seed, "cores": os.cpu_count(), "runs": runs}))
        return
    for run in runs:
        for size in run["sizes"]:
            for stage, facts in size.items():
                print(f"{run['model']:10}{size['wanted_nodes']:>12,}  {stage:12}  {facts}")
        for name, exponent in run["growth"].items():
            print(f"{run['model']:10}      growth  {name:20}  {'unknown' if exponent is None else exponent}")


def _work(options: argparse.Namespace) -> None:
    """What a child does."""
    if options.work[0] == "plant":
        _, path, nodes = options.work
        plant(Path(path), int(nodes), options.seed)
        return
    _, model, path = options.work
    settings = RUNS.get(model, {}) | settings_of(options.set)
    load_train_match(Path(path), model, options.seed, settings, options.threshold)


if __name__ == "__main__":
    main()
