"""The state of a training in one file, so that it can be killed at any moment and go on to the same bytes.

Written to a temporary file, fsynced and renamed: what is there is whole. safetensors and JSON, never pickle. The
header says what was being trained (graph, settings, part), and a checkpoint of something else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mpxgat.errors import InputError, ResumeError, printable
from mpxgat.io.arrays import read_arrays, write_arrays

KIND = "mpxgat-checkpoint-1"
Parameters = dict[str, Tensor]


@dataclass
class TrainingState:
    """Where a training stands after ``epoch`` epochs.

    best, best_epoch, best_value    parameters at the best validation so far; None before the first
    stale                           validations since then
    moments                         Adam's two moments of every parameter, with its count of steps
    history                         one row for each validation
    """

    epoch: int
    parameters: Parameters
    moments: Parameters = field(default_factory=dict)
    best: Parameters | None = None
    best_epoch: int = 0
    best_value: float | None = None
    stale: int = 0
    finished: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Checkpoint:
    """A place for one training's state; ``identity`` tells what is trained, every value a text.

    save_every      seconds between two saves
    """

    path: Path
    identity: Mapping[str, str]
    save_every: float = 20.0

    def due(self, seconds: float) -> bool:
        """Whether it is time to save, so many seconds after the last time."""
        return seconds >= self.save_every

    def save(self, state: TrainingState) -> None:
        """Replace the file in one step."""
        header: dict[str, Any] = {
            "identity": dict(self.identity),
            "epoch": state.epoch,
            "best_epoch": state.best_epoch,
            "best_value": state.best_value,
            "stale": state.stale,
            "finished": state.finished,
            "history": state.history,
        }
        groups = {"parameter": state.parameters, "moment": state.moments, "best": state.best or {}}
        arrays = {
            f"{group}:{name}": tensor.detach().cpu().numpy()
            for group, tensors in groups.items()
            for name, tensor in tensors.items()
        }
        write_arrays(self.path, KIND, header, arrays)

    def load(self) -> TrainingState | None:
        """The state in the file; None if there is no file, ResumeError if it is damaged or of something else."""
        if not self.path.exists():
            return None
        try:
            header, arrays = read_arrays(self.path, KIND)
            self._check_identity(header["identity"])
            groups: dict[str, Parameters] = {"parameter": {}, "moment": {}, "best": {}}
            for key, array in arrays.items():
                group, name = key.split(":", 1)
                groups[group][name] = torch.from_numpy(array.copy())
            return TrainingState(
                epoch=_count(header["epoch"]),
                parameters=groups["parameter"],
                moments=groups["moment"],
                best=groups["best"] or None,
                best_epoch=_count(header["best_epoch"]),
                best_value=header["best_value"],
                stale=_count(header["stale"]),
                finished=bool(header["finished"]),
                history=list(header["history"]),
            )
        except InputError as problem:
            raise ResumeError(f"cannot resume: {problem}; delete the file to train this part again") from None
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            raise self._damaged(problem) from None

    def is_finished(self) -> bool:
        """Whether the file is there and of a training that has come to its end."""
        state = self.load()
        return state is not None and state.finished

    def identity_found(self) -> dict[str, str] | None:
        """What the file says it is of; None if there is no file, ResumeError if it is damaged."""
        if not self.path.exists():
            return None
        try:
            return dict(read_arrays(self.path, KIND)[0]["identity"])
        except InputError as problem:
            raise ResumeError(f"cannot resume: {problem}; delete the file to train this part again") from None
        except (KeyError, TypeError, ValueError) as problem:
            raise self._damaged(problem) from None

    def _check_identity(self, found: Mapping[str, str]) -> None:
        for name in {**self.identity, **found}:
            if found.get(name) != self.identity.get(name):
                raise ResumeError(
                    f"cannot resume: {printable(self.path, 300)} was made with another {printable(name)} "
                    f"({printable(found.get(name))}, now {printable(self.identity.get(name))}); "
                    "delete the file to train this part again"
                )

    def _damaged(self, problem: Exception) -> ResumeError:
        return ResumeError(
            f"cannot resume: {printable(self.path, 300)} is damaged ({printable(problem)}); "
            "delete the file to train this part again"
        )


def _count(value: Any) -> int:
    """A whole number of at least 0; ValueError if it is none."""
    if not isinstance(value, int) or value < 0:
        raise ValueError(f"a count of {value}")
    return value
