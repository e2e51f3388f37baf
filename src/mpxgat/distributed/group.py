"""Workers that train one network together, and how they talk: everyone has something for everyone, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, distributed


class Group(Protocol):
    """The workers, seen from one of them."""

    @property
    def rank(self) -> int:
        """The number of this worker, from 0 on."""

    @property
    def size(self) -> int:
        """How many there are."""

    def swap(self, rows: Sequence[Tensor]) -> list[Tensor]:
        """What every worker, by number, has for this one; ``rows[w]`` (any number, …) is what this one has for w.

        All workers call it at the same time.
        """


class Alone:
    """A group of one, which talks to itself."""

    rank, size = 0, 1

    def swap(self, rows: Sequence[Tensor]) -> list[Tensor]:
        """Its own."""
        return list(rows)


class TorchGroup:
    """The processes of `torch.distributed`, which are connected already."""

    def __init__(self) -> None:
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def swap(self, rows: Sequence[Tensor]) -> list[Tensor]:
        """First how many, then the rows."""
        given = torch.tensor([len(each) for each in rows])
        taken = torch.empty_like(given)
        distributed.all_to_all_single(taken, given)
        found = rows[0].new_empty(int(taken.sum()), *rows[0].shape[1:])
        distributed.all_to_all_single(found, torch.cat(list(rows)), taken.tolist(), given.tolist())
        return list(torch.split(found, taken.tolist()))


def from_everyone(group: Group, rows: Tensor) -> list[Tensor]:
    """What every worker calls this with, by number."""
    return group.swap([rows] * group.size)


def as_first(group: Group, answer: int) -> int:
    """What the first worker calls this with."""
    return int(from_everyone(group, torch.tensor([answer]))[0])
