"""Checkpoints of a training that a group of workers shares: a file for each, and an ordinary one when it is finished.

Every worker writes its rows to a file of its own that tells epoch and worker, and removes its last one only after all
have written: wherever the group is killed, the files of one epoch are complete. A group of any size can read them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from mpxgat.training.checkpoint import Checkpoint, Parameters, TrainingState
from mpxgat.training.group import as_first
from mpxgat.training.owners import Owners

_MOMENTS = ("first", "second", "step")


@dataclass(frozen=True)
class SharedCheckpoint:
    """The place of one worker's state, beside the ``whole`` one of a training that is not shared.

    tables      names of the parameters with a row for each node, of which a worker has those of its own
    """

    whole: Checkpoint
    owners: Owners
    tables: Sequence[str]

    def due(self, seconds: float) -> bool:
        """Whether it is time to save, so many seconds after the last time: the first worker decides."""
        return bool(as_first(self.owners.group, int(self.whole.due(seconds))))

    def save(self, state: TrainingState) -> None:
        """Write this worker's part; all of it in one file if the training is finished, or there is no other worker."""
        group = self.owners.group
        in_one = state.finished or group.size == 1
        if in_one:
            gathered = replace(state, parameters=self._gathered(state.parameters))
            if group.rank == 0:
                self.whole.save(gathered)
        else:
            self._file(state.epoch, group.rank, group.size).save(state)
        as_first(group, 0)  # all have written
        for path, epoch, rank, size in self._found():
            mine = rank == group.rank if size == group.size else group.rank == 0
            if mine and (in_one or epoch < state.epoch):
                path.unlink(missing_ok=True)
        if not in_one and group.rank == 0:
            self.whole.path.unlink(missing_ok=True)

    def load(self) -> TrainingState | None:
        """What this worker needs of the latest state that is complete; None if there is none."""
        epoch, size = self._latest()
        state = self.whole.load()
        if state is not None and state.epoch >= epoch:
            return self._own_of([(state, 0, 1)])
        parts = []
        for rank in range(size):
            part = self._file(epoch, rank, size).load()
            assert part is not None, "it was there"
            parts.append((part, rank, size))
        return self._own_of(parts) if parts else None

    def _latest(self) -> tuple[int, int]:
        """Epoch and number of workers of the latest files that are complete, as the first worker sees it, or 0, 0."""
        ranks: dict[tuple[int, int], set[int]] = {}
        for _, epoch, rank, size in self._found():
            ranks.setdefault((epoch, size), set()).add(rank)
        complete = [key for key, found in ranks.items() if len(found) == key[1]]
        epoch, size = max(complete, default=(0, 0))
        return as_first(self.owners.group, epoch), as_first(self.owners.group, size)

    def _own_of(self, parts: Sequence[tuple[TrainingState, int, int]]) -> TrainingState:
        """The state with this worker's rows, taken from those that others, or one alone, have left.

        parts   every worker's state, its number, and how many they were
        """

        def rows_of(tensors: Sequence[Tensor]) -> Tensor:
            if not tensors[0].dim():
                return tensors[0]
            rows = tensors[0].new_empty(len(self.owners.own), *tensors[0].shape[1:])
            for tensor, (_, rank, size) in zip(tensors, parts, strict=True):
                nodes = self.owners.nodes_of(rank, size)
                here = self.owners.worker[nodes] == self.owners.group.rank
                rows[torch.from_numpy(self.owners.place[nodes[here]])] = tensor[torch.from_numpy(here)]
            return rows

        def picked(kind: str) -> Parameters:
            first: Parameters = getattr(like, kind)
            return {
                name: rows_of([getattr(part, kind)[name] for part, *_ in parts]) if self._is_table(name) else value
                for name, value in first.items()
            }

        like = parts[0][0]
        best = None if like.best is None else picked("best")
        return replace(like, parameters=picked("parameters"), moments=picked("moments"), best=best)

    def _gathered(self, parameters: Parameters) -> Parameters:
        """With all rows, at the first worker; others have what they had."""
        group, owners = self.owners.group, self.owners
        found = dict(parameters)
        for name in self.tables:
            own = parameters[name]
            parts = group.swap([own if worker == 0 else own[:0] for worker in range(group.size)])
            if group.rank == 0:
                found[name] = own.new_empty(owners.n_nodes, *own.shape[1:])
                for rank, rows in enumerate(parts):
                    found[name][torch.from_numpy(owners.nodes_of(rank, group.size))] = rows
        return found

    def _is_table(self, name: str) -> bool:
        table, _, moment = name.rpartition(".")
        return name in self.tables or (moment in _MOMENTS and table in self.tables)

    def _file(self, epoch: int, rank: int, size: int) -> Checkpoint:
        path = self.whole.path.with_suffix(f".epoch{epoch}.worker{rank + 1}of{size}.safetensors")
        return replace(self.whole, path=path)

    def _found(self) -> list[tuple[Path, int, int, int]]:
        """All files of parts: path, epoch, worker, number of workers."""
        name = re.compile(re.escape(self.whole.path.stem) + r"\.epoch(\d+)\.worker(\d+)of(\d+)\.safetensors")
        found = []
        for path in self.whole.path.parent.glob(f"{self.whole.path.stem}.epoch*"):
            if match := name.fullmatch(path.name):
                epoch, number, size = map(int, match.groups())
                found.append((path, epoch, number - 1, size))
        return found
