"""The same work on several things, side by side by an engine or one after another; what comes out is the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from typing import TypeVar

from mpxgat.errors import TrainingError, printable
from mpxgat.training.engines import Engine
from mpxgat.training.memory import fits

_PROCESS_BYTES = 300 << 20  # of a process that has done nothing yet but load torch
Thing = TypeVar("Thing")
Result = TypeVar("Result")


def at_once(engine: Engine, needs: Sequence[int]) -> int:
    """How many pieces of work, which need so many bytes each, run side by side.

    As many as the engine takes, in this machine as the memory holds too.
    """
    count = min(engine.jobs, len(needs))
    if engine.always:  # it has its memory elsewhere
        return count
    largest = sorted((need + _PROCESS_BYTES for need in needs), reverse=True)
    while count > 1 and not fits(sum(largest[:count])):
        count -= 1
    return count


def is_worth_workers(engine: Engine, count: int) -> bool:
    """Whether ``count`` pieces of work at a time are to run elsewhere than in this process."""
    return count > 1 or (count == 1 and engine.always)


def results(
    engine: Engine, work: Callable[[Thing], Result], things: Sequence[Thing], need: int, what: str
) -> Iterator[Result]:
    """What a function gives for each thing, in their order.

    need    bytes that a piece of work takes
    what    what a process did, for the TrainingError if one dies: "looked for candidates"
    """
    count = at_once(engine, [need] * len(things))
    if not is_worth_workers(engine, count):
        yield from map(work, things)
        return
    threads = max(1, (os.cpu_count() or 1) // count)
    with engine.workers(count) as pool:
        futures = [pool.submit(_on_threads, threads, work, thing) for thing in things]
        while futures:
            yield result_of(futures.pop(0), f"a process that {what} died")


def result_of(future: Future[Result], died: str, advice: str = "") -> Result:
    """The result, once it is there; TrainingError if the worker has died for good."""
    try:
        return future.result()
    except BrokenExecutor as problem:
        raise TrainingError(f"{died} ({printable(problem, 300)}); was it out of memory?{advice}") from None


def _on_threads(threads: int, work: Callable[[Thing], Result], thing: Thing) -> Result:
    import torch

    torch.set_num_threads(threads)
    return work(thing)
