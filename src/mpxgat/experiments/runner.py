"""Computing what is not on record yet, cell by cell or side by side in processes.

This process alone writes results, each a whole line. Killed at any moment and started again, it computes no cell twice;
a cell that was half done goes on from its checkpoints. A cell that fails does not take the others with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass

from mpxgat.errors import MpxgatError, printable
from mpxgat.experiments.cells import run_cell
from mpxgat.experiments.graphs import load_graph
from mpxgat.experiments.records import CellKey, CellRecord
from mpxgat.experiments.results_folder import ResultsFolder
from mpxgat.models.registry import model_class
from mpxgat.training.allocator import keep_freed_memory
from mpxgat.training.session import Session
from mpxgat.training.workers import workers


@dataclass(frozen=True)
class Started:
    """A cell is in work."""

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


def run_cells(keys: Sequence[CellKey], folder: ResultsFolder, jobs: int = 1) -> Iterator[Event]:
    """Compute cells, at most ``jobs`` at a time, and put each result on record as soon as it is there.

    Call it with the folder locked and only with keys that are not on record.
    """
    events = _one_by_one(keys, folder) if jobs == 1 else _side_by_side(keys, folder, jobs)
    with closing(events):
        for event in events:
            if isinstance(event, Finished):
                folder.add(event.record)
            yield event


def _one_by_one(keys: Sequence[CellKey], folder: ResultsFolder) -> Generator[Event, None, None]:
    for key in keys:
        yield Started(key)
        yield _attempt(key, folder.session(key))


def _side_by_side(keys: Sequence[CellKey], folder: ResultsFolder, jobs: int) -> Generator[Event, None, None]:
    """In processes. When one dies, all cells in work are lost: each is tried again, alone, after the others."""
    waiting = list(keys)[::-1]
    suspects: list[CellKey] = []
    threads = max(1, (os.cpu_count() or 1) // jobs)
    while waiting:
        in_work: dict[Future[Event], CellKey] = {}
        try:
            with workers(jobs) as pool:
                while waiting or in_work:
                    while waiting and len(in_work) < jobs:
                        key = waiting[-1]
                        in_work[pool.submit(_attempt_in_process, key, folder.session(key), threads)] = key
                        yield Started(waiting.pop())
                    for future in wait(in_work, return_when=FIRST_COMPLETED).done:
                        yield future.result()
                        del in_work[future]
        except BrokenProcessPool:
            suspects += in_work.values()
    for key in suspects:
        if jobs == 1:
            yield Failed(key, "its process died (was it out of memory?)")
        else:
            yield from _side_by_side([key], folder, 1)


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
