"""Where independent pieces of work run side by side: in processes of this machine, or on an engine such as Ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from mpxgat.errors import MpxgatError
from mpxgat.training.workers import workers

if TYPE_CHECKING:  # who does not train must not wait for torch
    from mpxgat.training.group import Group

GroupWork = Callable[["Group"], None]
"""What every worker of a group does, all at the same time; what it comes to is left in files."""


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
        """See `mpxgat.training.workers`."""
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

    from mpxgat.training.group import TorchGroup

    torch.set_num_threads(max(1, (os.cpu_count() or 1) // count))
    distributed.init_process_group("gloo", init_method=meeting.as_uri(), rank=rank, world_size=count)
    try:
        work(TorchGroup())
    finally:
        distributed.destroy_process_group()
