"""What a piece of endurance came to: how much was tried, what failed, and how to try it again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Failure:
    """Something that broke a promise: what happened, in one line, and the call that repeats it."""

    what: str
    repeat: str

    def __str__(self) -> str:
        return f"{self.what} [repeat: {self.repeat}]"


@dataclass(frozen=True)
class Outcome:
    """A piece's name, the seed it was run with, how many inputs, kills or faults were tried, and what failed."""

    name: str
    seed: int
    tried: int
    failures: tuple[Failure, ...] = ()

    def __str__(self) -> str:
        head = f"{self.name}, seed {self.seed}: {self.tried:,} tried, {len(self.failures)} failed"
        return "\n  ".join([head, *map(str, self.failures)])


def check(outcomes: Iterable[Outcome]) -> None:
    """AssertionError with every failure and how to repeat it; for tests."""
    failed = [outcome for outcome in outcomes if outcome.failures]
    assert not failed, "\n".join(map(str, failed))
