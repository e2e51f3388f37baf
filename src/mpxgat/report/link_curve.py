"""ROC and precision-recall curves over more non-links than fit in memory; exact, ties included."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.float64]
_MOST_POINTS = 400


class LinkCurve:
    """How links rank among non-links that arrive block by block.

    Keeps for every distinct score of a link how many non-links score as high or higher, and how many higher: between
    two such scores a curve has no corner.
    """

    def __init__(self, links: ArrayLike):
        self._level, self._count = np.unique(np.asarray(links, dtype=np.float64), return_counts=True)  # ascending
        self._above = np.zeros(len(self._level) + 1, dtype=np.int64)  # non-links by the levels that they exceed
        self._from = np.zeros(len(self._level) + 1, dtype=np.int64)  # by the levels that they reach
        self.links = int(self._count.sum())
        self.non_links = 0

    def add(self, non_links: ArrayLike) -> None:
        """Take in a block of scores of non-links, in any order."""
        scores = np.asarray(non_links, dtype=np.float64).ravel()
        places = len(self._level) + 1
        self._above += np.bincount(np.searchsorted(self._level, scores, "left"), minlength=places)
        self._from += np.bincount(np.searchsorted(self._level, scores, "right"), minlength=places)
        self.non_links += len(scores)

    def roc(self) -> tuple[Numbers, Numbers]:
        """(k,) shares of non-links and of links that score at least so high, from (0, 0) to (1, 1); every corner."""
        false, true = self._corners()
        return false / max(self.non_links, 1), true / max(self.links, 1)

    def precision_recall(self) -> tuple[Numbers, Numbers]:
        """(k,) recall, ascending, and precision there: one point for each distinct score of a link."""
        true = np.cumsum(self._count[::-1])
        return true / max(self.links, 1), true / (true + _reached(self._from)[::-1])

    def auc(self) -> float:
        """Area under `roc`; NaN without links or non-links."""
        if not self.links or not self.non_links:
            return math.nan
        false, true = self._corners()
        return float((np.diff(false) * (true[1:] + true[:-1])).sum() / (2 * self.links * self.non_links))

    def average_precision(self) -> float:
        """Mean precision over the links, each taken at its own score; NaN without links."""
        if not self.links:
            return math.nan
        _, precision = self.precision_recall()
        return float((self._count[::-1] * precision).sum() / self.links)

    def _corners(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of non-links and links: at every level, highest first, above it and from it on."""
        true = np.concatenate([[0], np.cumsum(self._count[::-1])])
        false_above, false_from = _reached(self._above)[::-1], _reached(self._from)[::-1]
        false = np.stack([false_above, false_from], axis=1).ravel()
        corners = np.stack([true[:-1], true[1:]], axis=1).ravel()
        return (
            np.concatenate([[0], false, [self.non_links]]),
            np.concatenate([[0], corners, [self.links]]),
        )


def _reached(by_levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """(levels,) how many reach each level, given how many reach exactly 0, 1, … levels."""
    return np.cumsum(by_levels[::-1])[::-1][1:]


def thinned(x: Numbers, y: Numbers, most: int = _MOST_POINTS) -> NDArray[np.int64]:
    """At most about ``most`` places on a curve, evenly along its length, both ends among them."""
    if len(x) <= most:
        return np.arange(len(x))
    length = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))])
    wanted = np.searchsorted(length, np.linspace(0, length[-1], most))
    return np.unique(np.concatenate([[0], np.minimum(wanted, len(x) - 1), [len(x) - 1]]))
