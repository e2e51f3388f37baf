"""Where independent pieces of work run side by side: in processes of this machine, or on an engine such as Ray."""

from __future__ import annotations

from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from mpxgat.training.workers import workers


class Engine(Protocol):
    """Something that runs functions elsewhere. What they return does not depend on where they ran."""

    @property
    def jobs(self) -> int:
        """How many pieces run at a time."""

    @property
    def always(self) -> bool:
        """Whether even a single piece is to run there."""

    def workers(self) -> AbstractContextManager[Executor]:
        """The place, for as long as it is used; an exception in the block ends what runs there.

        A worker that dies for good gives `concurrent.futures.BrokenExecutor`.
        """


@dataclass(frozen=True)
class Processes:
    """Processes of this machine; one job is none but this process."""

    jobs: int = 1
    always: bool = False

    def workers(self) -> AbstractContextManager[Executor]:
        """See `mpxgat.training.workers`."""
        return workers(self.jobs)


THIS_PROCESS = Processes()
