"""A step on the way to a report, so that a command can say what it is doing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mpxgat.report.section import Section


@dataclass(frozen=True)
class Stage:
    """What is being done, in words, and doing it: sections of the report, in order."""

    title: str
    make: Callable[[], list[Section]]


def only(part: Section | None) -> list[Section]:
    """The section, if there is one."""
    return [] if part is None else [part]
