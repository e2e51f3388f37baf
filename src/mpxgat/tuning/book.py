"""What grid search and optuna have in common: a book of trials, from which the next one is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from mpxgat.training.session import Report, Session
from mpxgat.tuning.folder import Claim, SearchFolder
from mpxgat.tuning.task import Task
from mpxgat.tuning.trials import Trial, settings_key

if TYPE_CHECKING:
    from mpxgat.training.loop import EpochReport


@dataclass(frozen=True, eq=False)
class Taken:
    """A trial to be run by this process; ``watch`` hears its reports and may give it up."""

    number: int
    settings: Mapping[str, Any]
    claim: Claim
    watch: Report | None = None

    def session(self, show: Report) -> Session:
        """Checkpoints in the claim's folder; reports go to ``show`` first."""

        def report(part: str, epoch: EpochReport) -> None:
            show(part, epoch)
            if self.watch is not None:
                self.watch(part, epoch)

        return Session(self.claim.folder, {"trial": settings_key(self.settings)}, report)


class Book(Protocol):
    """The trials of a search. `take` and `record` are called in the folder's `turn`."""

    def trials(self) -> list[Trial]:
        """Those on record."""

    def take(self) -> Taken | None:
        """The next one to run, None if none is left for this process."""

    def record(self, taken: Taken, trial: Trial) -> None:
        """Put it on record."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Which trials to run: a plain value that can be sent to another process.

    varied      names of the settings that trials differ in
    total       number of trials in the end
    identity    what must stay the same when the search goes on, as plain values
    open        the book in a folder in which the search was begun
    """

    varied: tuple[str, ...]
    total: int
    identity: Mapping[str, Any]
    open: Callable[[SearchFolder, Task], Book]
