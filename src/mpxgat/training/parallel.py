"""What surrounds a training: its session (checkpoints, progress) and where independent work runs in parallel.

An engine runs functions in processes of this machine, or elsewhere, such as Ray. Processes never outlive the one that
started them, however that ends: joblib's would. What comes out is the same wherever it ran.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Protocol, TypeVar

from mpxgat.errors import MpxgatError, TrainingError, printable
from mpxgat.system import fits, side_by_side

if TYPE_CHECKING:
    from mpxgat.distributed.group import Group
    from mpxgat.training.checkpoint import Checkpoint
    from mpxgat.training.loop import EpochReport

_PROCESS_BYTES = 300 << 20  # of a process that has done nothing yet but load torch
Thing = TypeVar("Thing")
Result = TypeVar("Result")
GroupWork = Callable[["Group"], None]
"""What every worker of a group does, all at the same time; what it comes to is left in files."""
Report = Callable[[str, "EpochReport"], None]
"""Called after every epoch with the part's name (such as "layer 2 of 3: tw") and what it reached."""


# ---- engines -------------------------------------------------------------------------------------------------------


class Engine(Protocol):
    """Something that runs functions elsewhere. What they return does not depend on where they ran."""

    @property
    def jobs(self) -> int:
        """How many pieces run at a time."""

    @property
    def always(self) -> bool:
        """Whether even a single piece is to run there."""

    def workers(self, most: int | None = None) -> AbstractContextManager[Executor]:
        """The place, for as long as it is used; an exception in the block ends what runs there.

        No more than ``jobs`` pieces run at a time, nor than ``most``. A worker that dies for good gives
        `concurrent.futures.BrokenExecutor`.
        """

    def together(self, count: int, work: GroupWork) -> None:
        """Let ``count`` workers, at most ``jobs``, do one piece of work as a group; an error of one is raised."""


@dataclass(frozen=True)
class Processes:
    """Processes of this machine; one job is none but this process."""

    jobs: int = 1
    always: bool = False

    def workers(self, most: int | None = None) -> AbstractContextManager[Executor]:
        """See `mpxgat.training.parallel`."""
        return workers(min(self.jobs, most or self.jobs))

    def together(self, count: int, work: GroupWork) -> None:
        """In as many processes, which meet by a file."""
        with TemporaryDirectory() as folder, workers(count) as pool:
            meeting = Path(folder) / "meeting"
            futures = [pool.submit(_join, meeting, rank, count, work) for rank in range(count)]
            raise_first([future.exception() for future in futures])


THIS_PROCESS = Processes()


def raise_first(problems: Sequence[BaseException | None]) -> None:
    """Raise the problem of a group's work, if there is one: where one worker fails, the others lose touch with it."""
    found = sorted((each for each in problems if each is not None), key=lambda each: not isinstance(each, MpxgatError))
    if found:
        raise found[0]


def _join(meeting: Path, rank: int, count: int, work: GroupWork) -> None:
    """In a process: become worker ``rank`` of the group."""
    import torch
    from torch import distributed

    from mpxgat.distributed.group import TorchGroup

    torch.set_num_threads(max(1, (os.cpu_count() or 1) // count))
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")  # nobody else may listen
    distributed.init_process_group("gloo", init_method=meeting.as_uri(), rank=rank, world_size=count)
    try:
        work(TorchGroup())
    finally:
        distributed.destroy_process_group()


@contextmanager
def workers(count: int) -> Iterator[Executor]:
    """``count`` processes; an exception or interruption in the block ends them at once, as does a killed parent."""
    context = get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    # Nothing is ever sent. The system closes `held` when this process dies, however that happens.
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_end_with, initargs=(watched,))
    try:
        yield pool
    except BaseException:
        held.close()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
    held.close()
    watched.close()


def _end_with(watched: Connection) -> None:
    """In a worker: leave when the other end is closed, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait() -> None:
        try:
            watched.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    Thread(target=wait, daemon=True).start()


# ---- sessions ------------------------------------------------------------------------------------------------------


def _silent(part: str, report: EpochReport) -> None:
    return None


def _no_stage(name: str) -> None:
    return None


@dataclass(frozen=True)
class Session:
    """How a model is trained this time; none of it changes what comes out.

    checkpoints     folder for the states of parts in training, or None
    identity        what is trained, as texts: a checkpoint of something else is refused
    save_every      seconds between two saves; what a kill costs at most, and an epoch
    stage           called when work without epochs begins, with its name
    engine          trains independent parts side by side
    """

    checkpoints: Path | None = None
    identity: Mapping[str, str] = field(default_factory=dict)
    report: Report = _silent
    engine: Engine = THIS_PROCESS
    save_every: float = 20.0
    stage: Callable[[str], None] = _no_stage

    def checkpoint(self, part: str, **notes: str) -> Checkpoint | None:
        """The place for one part's state; ``notes`` belong to the identity of what is trained."""
        if self.checkpoints is None:
            return None
        from mpxgat.training.checkpoint import Checkpoint

        path = self.checkpoints / f"{part}.safetensors"
        return Checkpoint(path, {**self.identity, "part": part, **notes}, self.save_every)

    def noted(self, name: str, parts: Sequence[str]) -> str | None:
        """What the first checkpoint found says of ``name``; None if no part has one, or it says nothing of that."""
        found = (checkpoint.identity_found() for part in parts if (checkpoint := self.checkpoint(part)))
        begun = next((identity for identity in found if identity is not None), {})
        return begun.get(name)


# ---- the same work on several things -------------------------------------------------------------------------------


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
    engine: Engine,
    work: Callable[[Thing], Result],
    things: Sequence[Thing],
    need: int,
    what: str,
    *,
    in_threads: bool = False,
) -> list[Result]:
    """What a function gives for each thing, in their order.

    need    bytes that a piece of work takes
    what    what a process did, for the TrainingError if one dies: "looked for candidates"
    in_threads      where the engine has one job, threads of this process share the work; see `side_by_side`
    """
    count = at_once(engine, [need] * len(things))
    if not is_worth_workers(engine, count):
        most = next((count for count in range(len(things), 1, -1) if fits(count * need)), 1)
        return side_by_side(work, things, most if in_threads else 1)
    threads = max(1, (os.cpu_count() or 1) // count)
    with engine.workers(count) as pool:
        futures = [pool.submit(_on_threads, threads, work, thing) for thing in things]
        return [result_of(future, f"a process that {what} died") for future in futures]


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
