"""Small runs again and again in one process: neither memory nor open files grow."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np

from mpxgat.errors import MpxgatError
from mpxgat.io import formats, read, write
from mpxgat.models import load_model, make_model
from mpxgat.runs import RunConfig, RunFolder
from mpxgat.splits import load_split, make_split, save_split
from mpxgat.synthetic import social
from tests.endurance.memory import Held
from tests.endurance.outcome import Failure, Outcome

# By how much what is held may grow. Resident memory: what allocators keep for later.
_ALLOWED = {"resident": 64 << 20, "in_use": 1 << 20, "blocks": 5000, "files": 0}
# Tables double. Python's own of interned names, of which torch and the others bring about 90,000, takes 3.8 or 7.7 MB,
# and is made anew now and then, when enough names have come and gone.
_IN_STEPS = ("resident", "in_use")
_MODELS = {
    "rules": {},
    "anchored": {"dimensions": 8, "hidden": 4, "terms": 2, "splits": 2, "steps": 2, "epochs": 1},
    "mpxgat": {"hidden": 4, "out": 4, "heads": 1, "epochs": 2, "check_every": 1},
    "evidence": {"splits": 2, "trees": 5},
}


def one_run(folder: Path, number: int) -> None:
    """Write, read, split, fit, save, load, score, match; files that are refused; a run's folder with its lock."""
    graph = social(people=30, layers=2, seed=100 + number % 7, known=0.6)
    for form in formats().values():
        if not form.writes:
            continue
        path = folder / f"net{form.suffixes[0]}"
        try:
            write(graph, path, form.name)
        except MpxgatError:
            continue
        read(path, form.name)
        path.write_bytes(path.read_bytes()[: 50 + number % 50])
        try:
            read(path, form.name)
        except MpxgatError:
            continue
    split = make_split(graph, "marked", 100)
    save_split(split, folder / "a.split")
    train = load_split(folder / "a.split").train
    name = list(_MODELS)[number % len(_MODELS)]
    shutil.rmtree(folder / "run", ignore_errors=True)
    run = RunFolder(folder / "run")
    model = make_model(name, seed=100, **_MODELS[name])
    with run.locked():
        run.begin(RunConfig.of(model, train, "net"))
        run.finish(model.fit(train, run.session(lambda part, report: None, save_every=0)))
    loaded = load_model(run.model_path)
    loaded.score(np.array([[0, 1], [0, train.n_nodes - 1]]))
    if name == "evidence":
        loaded.match_all(0.5)  # type: ignore[attr-defined]  # this model has it


def leaks(folder: Path, count: int, seed: int, seconds: float = 0.0, warm_up: int = 24) -> Outcome:
    """At least ``count`` runs and so many seconds, after some to warm up; the seed does not matter.

    However long it runs, no more than a megabyte stays in use, no more than some of Python's blocks, no open file.
    """
    _runs(folder, 0, warm_up, 0.0)
    marks, done = [Held.now()], 0
    for half in (count // 2, count - count // 2):
        done += _runs(folder, done, half, seconds / 2)
        marks.append(Held.now())
    found = [
        f"{what} grew by {grown} in {done} runs"
        for what, allowed in _ALLOWED.items()
        if (grown := _grown(what, [getattr(mark, what) for mark in marks])) > allowed
    ]
    return Outcome(
        "repeated runs", seed, done, tuple(Failure(what, f"leaks(folder, {done}, {seed})") for what in found)
    )


def _runs(folder: Path, first: int, count: int, seconds: float) -> int:
    """At least so many runs, numbered from the first on, and so many seconds; how many it were."""
    end = time.monotonic() + seconds
    done = 0
    while done < count or time.monotonic() < end:
        one_run(folder, first + done)
        done += 1
    return done


def _grown(what: str, marks: list[int]) -> int:
    """By how much something grew from the first to the last of three marks.

    What grows in steps counts as twice the lesser of the growths of the two halves: a leak goes on, a step does not.
    """
    start, middle, end = marks
    return 2 * min(middle - start, end - middle) if what in _IN_STEPS else end - start
