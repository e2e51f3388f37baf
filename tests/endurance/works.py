"""Commands that take a while, on a tiny network, and what each must come to however it gets there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpxgat.io import write
from mpxgat.synthetic import social
from tests.endurance.launcher import Ended, Launch, launcher

SMALL = (
    "--model",
    "mpxgat",
    "--set",
    "hidden=4",
    "--set",
    "out=4",
    "--set",
    "heads=1",
    "--set",
    "patience=1000",
    "--epochs",
    "8",
)
_GRID = "lr = [0.02, 1e-4]\nblocks = 2\n"
_SPACE = "lr = {low = 1e-5, high = 0.1, log = true}\nblocks = {choices = [1, 2]}\n"
_EXPERIMENT = """
title = "T"
seeds = 2
[[cell]]
model = "rules"
social = {people = 40, layers = 2}
[[cell]]
model = "mpxgat"
social = {people = 40, layers = 2}
settings = {hidden = 4, out = 4, heads = 1, epochs = 8, patience = 1000}
"""


@dataclass(frozen=True)
class Work:
    """A command that, stopped and started again with the same arguments, goes on.

    arguments   of the command, from the folder of inputs and the place where it writes
    result      what it has come to in that place, without what a clock says; equal however it was disturbed
    begun       whether there is something to go on with, so that Ctrl-C in a run that began it must say how
    how         words in which it says that
    """

    name: str
    arguments: Callable[[Path, Path], list[object]]
    result: Callable[[Path], Any]
    begun: Callable[[Path], bool]
    how: str


def _trials(place: Path) -> Any:
    rows = [json.loads(line) for line in (place / "out" / "trials.jsonl").read_text().splitlines()]
    return sorted(json.dumps({**row, "seconds": None}) for row in rows), (place / "out" / "best.toml").read_bytes()


def _table(place: Path) -> Any:
    rows = [json.loads(line) for line in (place / "results" / "run.jsonl").read_text().splitlines()]
    kept = sorted(json.dumps([row["key"], row["measures"], row["training"]]) for row in rows)
    return kept, (place / "table.md").read_bytes()


TRAIN = Work(
    "train",
    lambda data, place: [
        *("train", data / "net.parquet", "-o", place / "run", *SMALL, "--save-every", 0, "--resume"),
    ],
    lambda place: (
        (place / "run" / "model.safetensors").read_bytes(),
        sorted(path.name for path in (place / "run").iterdir()),
    ),
    lambda place: (place / "run" / "config.json").exists() and not (place / "run" / "model.safetensors").exists(),
    "continue with: mpxgat train",
)
TUNE = Work(
    "tune --grid",
    lambda data, place: ["tune", data / "net.parquet", "--grid", data / "grid.toml", "-o", place / "out", *SMALL],
    _trials,
    lambda place: (place / "out" / "search.json").exists(),
    "the same command continues",
)
OPTUNA = Work(
    "tune --trials",
    lambda data, place: [
        *("tune", data / "net.parquet", "--trials", 3, "--space", data / "space.toml", "-o", place / "out", *SMALL),
    ],
    lambda place: (place / "out" / "best.toml").read_bytes(),
    lambda place: (place / "out" / "search.json").exists(),
    "the same command continues",
)
BENCHMARK = Work(
    "benchmark",
    lambda data, place: [
        *("benchmark", "run", data / "experiment.toml", "--first-seed", 100),
        *("--results", place / "results", "-o", place / "table.md"),
    ],
    _table,
    lambda place: (place / "results" / "run.jsonl").exists(),
    "start the same command again",
)
MATCH = Work(
    "match",
    lambda data, place: ["match", data / "run", "--threshold", 0.1, "-o", place / "matches.csv"],
    lambda place: (place / "matches.csv").read_bytes(),
    lambda place: False,
    "the same command starts over",
)
WORKS = (TRAIN, TUNE, OPTUNA, BENCHMARK, MATCH)


@dataclass(frozen=True)
class Stage:
    """A folder with inputs and room to work in, a launcher, and how each work ends undisturbed."""

    folder: Path
    launch: Launch
    known: dict[str, tuple[Any, float]] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        """Where the inputs are."""
        return self.folder / "data"

    def place(self, name: str) -> Path:
        """A new, empty folder."""
        number = sum(1 for _ in self.folder.iterdir())
        place = self.folder / f"{number} {name}"
        place.mkdir()
        return place

    def run(self, work: Work, place: Path, **conditions: Any) -> Ended:
        """Begin a work, or go on with it."""
        return self.launch(*work.arguments(self.data, place), **conditions)

    def undisturbed(self, work: Work) -> tuple[Any, float]:
        """What the work comes to, and how many seconds that takes."""
        if work.name not in self.known:
            place = self.place(f"{work.name} undisturbed")
            ended = self.run(work, place)
            assert ended.code == 0, ended.err
            self.known[work.name] = work.result(place), ended.seconds
        return self.known[work.name]


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """A stage with all inputs in place."""
    data = folder / "data"
    data.mkdir(parents=True)
    write(social(people=40, layers=2, seed=100, known=0.6), data / "net.parquet")
    for name, text in (("grid", _GRID), ("space", _SPACE), ("experiment", _EXPERIMENT)):
        (data / f"{name}.toml").write_text(text)
    with launcher() as launch:
        evidence = ("--model", "evidence", "--set", "splits=2", "--set", "trees=10")
        for name, settings in (("run", evidence), ("embedded", SMALL)):
            made = launch("train", data / "net.parquet", "-o", data / name, *settings)
            assert made.code == 0, made.err
        yield Stage(folder, launch)
