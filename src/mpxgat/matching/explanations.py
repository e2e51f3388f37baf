"""Reasons of many pairs at once, where a model can give them so."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mpxgat.matching.matcher import Explanation, Matcher


@runtime_checkable
class ExplainsMany(Protocol):
    """A matcher that is quicker with many pairs than with one after another."""

    def explain_many(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """Why (k, 2) pairs have their probabilities, in their order; findings may be shorter than `explain`'s."""


def explanations(matcher: Matcher, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
    """Why (k, 2) pairs of nodes (first < second, different layers) have their probabilities, in their order."""
    if isinstance(matcher, ExplainsMany):
        return matcher.explain_many(pairs)
    return [matcher.explain(first, second) for first, second in pairs.tolist()]
