"""What surrounds a training: where checkpoints go, who hears of progress, where work runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mpxgat.training.engines import THIS_PROCESS, Engine

if TYPE_CHECKING:  # every model takes a session, and models that do not train must not wait for torch
    from mpxgat.training.checkpoint import Checkpoint
    from mpxgat.training.loop import EpochReport

Report = Callable[[str, "EpochReport"], None]
"""Called after every epoch with the part's name (such as "horizontal 2 of 3: tw") and what it reached."""


def _silent(part: str, report: EpochReport) -> None:
    return None


@dataclass(frozen=True)
class Session:
    """How a model is trained this time; none of it changes what comes out.

    checkpoints     folder for the states of parts in training, or None
    identity        what is trained, as texts: a checkpoint of something else is refused
    save_every      seconds between two saves; what a kill costs at most, and an epoch
    engine          trains independent parts side by side
    """

    checkpoints: Path | None = None
    identity: Mapping[str, str] = field(default_factory=dict)
    report: Report = _silent
    engine: Engine = THIS_PROCESS
    save_every: float = 20.0

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
