"""Ranks of candidates among those of a node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows grouped by node, best first (``order``), with the rank of every row and its runner-up's probability."""

    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    runner_up: NDArray[np.float64]


def rank_by_node(node: NDArray[np.int32], probability: NDArray[np.float64]) -> Ranked:
    """Rank the rows of every node by falling probability; among equals the one listed first is first."""
    order = np.lexsort((-probability, node))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = node[order[1:]] != node[order[:-1]]
    first = np.flatnonzero(begins)
    size = np.diff(np.append(first, len(order)))
    start, size = np.repeat(first, size), np.repeat(size, size)  # (k,) of the group that each place belongs to
    place = np.arange(len(order)) - start + 1
    rival = np.where(place > 1, start, np.minimum(start + 1, len(order) - 1))
    rank, runner_up = np.empty(len(order), dtype=np.int64), np.empty(len(order))
    rank[order] = place
    runner_up[order] = np.where(size > 1, probability[order[rival]], 0.0)
    return Ranked(order, rank, runner_up)
