"""Random walks from many nodes at once, and the pairs of nodes that skip-gram learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.sampling.neighbours import Neighbours

NOWHERE = -1


def random_walks(
    neighbours: Neighbours, starts: NDArray[np.integer[Any]], length: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """(w, length) the nodes of a walk from each of ``starts`` (w,); every step is uniform over the neighbours.

    A walk ends at a node without neighbours: `NOWHERE` fills the rest of its row.
    """
    path = np.full((length, len(starts)), NOWHERE, dtype=np.int64)
    path[0] = starts
    walking = np.arange(len(starts))
    for step in range(1, length):
        walking = walking[neighbours.sizes[path[step - 1, walking]] > 0]
        path[step, walking] = neighbours.draw(path[step - 1, walking], 1, rng).members
    return path.T


def skip_gram_pairs(walks: NDArray[np.int64], window: int) -> NDArray[np.int64]:
    """(k, 2) every node of every walk with every node at most ``window`` steps before or after it.

    A walk that comes back pairs a node with itself, as in the original.
    """
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for distance in range(1, min(window, walks.shape[1] - 1) + 1):
        both = walks[:, distance:] != NOWHERE  # a walk has no gaps: what comes before is there
        earlier, later = walks[:, :-distance][both], walks[:, distance:][both]
        pairs += [np.stack([earlier, later], axis=1), np.stack([later, earlier], axis=1)]
    return np.concatenate(pairs)
