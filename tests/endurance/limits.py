"""Commands with little memory: told before, or one clear line; never a traceback, a crash or a silent end."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mpxgat.io import write
from mpxgat.synthetic import social
from tests.endurance.outcome import Failure, Outcome
from tests.endurance.refusals import leftovers, wrong_refusal
from tests.endurance.works import Stage

_PEOPLE = 1500
_LARGEST = 400 << 20  # bytes of room; with more of it everything here ends well
_EVIDENCE = ("--model", "evidence", "--set", "splits=2", "--set", "trees=10")


def little_memory(stage: Stage, count: int, seed: int) -> list[Outcome]:
    """Each command ``count`` times, each time with another, small number of bytes to take; an outcome for each."""
    inputs = _inputs(stage)
    rng = np.random.default_rng(seed)
    outcomes = []
    for name, command in _commands(inputs, stage).items():
        failures = []
        for _ in range(count):
            place = stage.place(f"{name} with little memory")
            room = int(_LARGEST * rng.random() ** 3)
            ended = stage.launch(*command, *(("-o", place / "out") if name.startswith("train") else ()), room=room)
            problems = [] if ended.code == 0 else wrong_refusal(ended, "memory")
            failures += [
                Failure(f"{problem} ({room} bytes of room)", f"little_memory(stage, {count}, {seed})")
                for problem in problems + leftovers(place)
            ]
        outcomes.append(Outcome(f"little memory: {name}", seed, count, tuple(failures)))
    return outcomes


def _inputs(stage: Stage) -> Path:
    """A network large enough that memory matters, and a run on it; made once."""
    folder = stage.folder / "larger"
    if not folder.exists():
        folder.mkdir()
        network = social(people=_PEOPLE, layers=2, seed=100, known=0.6)
        for name in ("net.parquet", "net.xedges", "net.json", "net.csv", "net.mpx"):
            write(network, folder / name)
        made = stage.launch("train", folder / "net.parquet", "-o", folder / "run", *_EVIDENCE)
        assert made.code == 0, made.err
    return folder


def _commands(folder: Path, stage: Stage) -> dict[str, tuple[object, ...]]:
    net = folder / "net.parquet"
    return {
        **{f"info {kind}": ("info", folder / f"net.{kind}") for kind in ("parquet", "xedges", "json", "csv", "mpx")},
        "evaluate": ("evaluate", net, "--model", "rules"),
        "match": ("match", folder / "run"),
        "train mpxgat": ("train", net, "--model", "mpxgat", "--set", "hidden=64", "--epochs", 1),
        "train anchored": ("train", net, "--model", "anchored", "--epochs", 1, "--set", "dimensions=64"),
        "train evidence": ("train", net, *_EVIDENCE),
    }
