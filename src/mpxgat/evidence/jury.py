"""The jury: judges that learned on different parts of what is known, and decide together.

Each has its own exam, on what it has not learned from, and what an exam says of a judge is true of that judge only: one
that has learned from everything is surer of itself, without being right as often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.evidence.judge import Evidence, Judge, Scores


class Jury:
    """Log-odds from evidence (k, f): the mean of those of the judges, of whom there is one at least."""

    def __init__(self, judges: Sequence[Judge]):
        self.judges = tuple(judges)

    @property
    def n_columns(self) -> int:
        """Columns of the evidence they learned from."""
        return self.judges[0].n_columns

    def score(self, evidence: Evidence) -> Scores:
        """(k,) log-odds."""
        return self._mean(lambda judge: judge.score(evidence))

    def contributions(self, evidence: Evidence) -> NDArray[np.float64]:
        """(k, f + 1): what each column added to the log-odds, and last the base; a row's sum is its score."""
        return self._mean(lambda judge: judge.contributions(evidence))

    def _mean(self, opinion: Callable[[Judge], NDArray[np.float64]]) -> NDArray[np.float64]:
        total = opinion(self.judges[0])
        for judge in self.judges[1:]:
            total += opinion(judge)
        return total / len(self.judges)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """To be saved."""
        return {
            f"{number}.{name}": array
            for number, judge in enumerate(self.judges)
            for name, array in judge.to_arrays().items()
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Jury:
        """What `to_arrays` gave; ValueError if it is not."""
        by_judge: dict[str, dict[str, NDArray[Any]]] = {}
        for name, array in arrays.items():
            number, _, part = name.partition(".")
            by_judge.setdefault(number, {})[part] = array
        expected = [str(number) for number in range(len(by_judge))]
        if not by_judge or by_judge.keys() != set(expected):
            raise ValueError("the saved judges are not numbered from 0 on; another version saves only one")
        judges = [Judge.from_arrays(by_judge[number]) for number in expected]
        if len({judge.n_columns for judge in judges}) > 1:
            raise ValueError("the saved judges have learned from different columns")
        return cls(judges)
