"""Computing cells that are not on record yet, one by one or side by side.

A cell is a split, a model fitted on its training graph, and its evaluation. This process alone writes results, each a
whole line. Killed at any moment and started again, it computes no cell twice; a cell that was half done goes on from
its checkpoints. A cell that fails does not take the others with it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import closing
from dataclasses import dataclass

from mpxgat.errors import MpxgatError, printable
from mpxgat.evaluation import Progress, evaluate
from mpxgat.experiments.graphs import load_graph
from mpxgat.experiments.records import CellKey, CellRecord, ResultsFolder, made_with, measures_of
from mpxgat.graph import MultiplexGraph
from mpxgat.models import Model, make_model
from mpxgat.models.base import model_class
from mpxgat.splits import make_split
from mpxgat.system import keep_freed_memory, peak_rss_mb
from mpxgat.training.parallel import THIS_PROCESS, Engine, Session


def run_cell(
    key: CellKey, graph: MultiplexGraph, session: Session | None = None, progress: Progress | None = None
) -> CellRecord:
    """Compute one cell."""
    split = make_split(graph, key.protocol, key.seed)
    model: Model = make_model(key.model, seed=key.seed, **key.settings)
    start = time.perf_counter()
    model.fit(split.train, session)
    fitted = time.perf_counter()
    evaluation = evaluate(model, split, progress)
    seconds = {"fit": round(fitted - start, 2), "score": round(time.perf_counter() - fitted, 2)}
    return CellRecord(key, measures_of(evaluation), model.training_summary(), seconds, peak_rss_mb(), made_with())


@dataclass(frozen=True)
class Started:
    """A cell is being computed."""

    key: CellKey


@dataclass(frozen=True)
class Finished:
    """A cell is computed."""

    key: CellKey
    record: CellRecord


@dataclass(frozen=True)
class Failed:
    """A cell could not be computed; ``problem`` says why in one line."""

    key: CellKey
    problem: str


Event = Started | Finished | Failed


def missing_keys(keys: Iterable[CellKey], done: Iterable[str]) -> list[CellKey]:
    """The keys, each once, in their order, without those whose texts are ``done``."""
    wanted = {key.text(): key for key in keys}
    for text in done:
        wanted.pop(text, None)
    return list(wanted.values())


def run_cells(keys: Sequence[CellKey], folder: ResultsFolder, engine: Engine = THIS_PROCESS) -> Iterator[Event]:
    """Compute cells, as many at a time as the engine takes, and put each result on record as soon as it is there.

    Call it with the folder locked and only with keys that are not on record.
    """
    alone = engine.jobs == 1 and not engine.always
    events = _one_by_one(keys, folder) if alone else _side_by_side(keys, folder, engine)
    with closing(events):
        for event in events:
            if isinstance(event, Finished):
                folder.add(event.record)
            yield event


def _one_by_one(keys: Sequence[CellKey], folder: ResultsFolder) -> Generator[Event, None, None]:
    for key in keys:
        yield Started(key)
        yield _attempt(key, folder.session(key))


def _side_by_side(
    keys: Sequence[CellKey], folder: ResultsFolder, engine: Engine, *, last: bool = False
) -> Generator[Event, None, None]:
    """By the engine's workers. When one dies, all they had is lost: each cell is tried again alone, after the rest."""
    waiting = list(keys)[::-1]
    suspects: list[CellKey] = []
    threads = max(1, (os.cpu_count() or 1) // engine.jobs)
    while waiting:
        running: dict[Future[Event], CellKey] = {}
        try:
            with engine.workers() as pool:
                while waiting or running:
                    while waiting and len(running) < engine.jobs:
                        key = waiting[-1]
                        running[pool.submit(_attempt_in_process, key, folder.session(key), threads)] = key
                        yield Started(waiting.pop())
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        yield future.result()
                        del running[future]
        except BrokenExecutor:
            suspects += running.values()
    for key in suspects:
        if last:
            yield Failed(key, "its process died (was it out of memory?)")
        else:
            yield from _side_by_side([key], folder, engine, last=True)


def _attempt_in_process(key: CellKey, session: Session, threads: int) -> Event:
    keep_freed_memory()
    model_class(key.model)  # loads torch, if the model needs it
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(min(threads, torch.get_num_threads()))
    return _attempt(key, session)


def _attempt(key: CellKey, session: Session) -> Event:
    try:
        return Finished(key, run_cell(key, load_graph(key.dataset, key.seed), session))
    except MpxgatError as problem:
        return Failed(key, str(problem))
    except Exception as problem:  # whatever it is, it is this cell's
        return Failed(key, f"{type(problem).__name__}: {printable(problem, 300)}")
