"""Neighbours of many nodes at once: all of them, or some drawn by chance, without a Python loop.

PyTorch Geometric's NeighborLoader would draw them too, but only with its compiled companions (pyg-lib or
torch-sparse), which a plain installation of this package does without.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.pairs import symmetric_matrix


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A list of neighbours for each of k nodes; it may be empty.

    offsets     (k+1,) the list of node i is members[offsets[i] : offsets[i+1]]
    members     (m,) nodes
    """

    offsets: NDArray[np.int64]
    members: NDArray[np.int64]

    @classmethod
    def of(cls, n_nodes: int, links: NDArray[np.integer[Any]]) -> Neighbours:
        """The neighbours of nodes 0…n-1 over links (m, 2), each undirected and given once; in ascending order."""
        matrix = symmetric_matrix(links, None, n_nodes)
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(k,) how many neighbours each node has."""
        return np.diff(self.offsets)

    def draw(self, nodes: NDArray[np.integer[Any]], count: int, rng: np.random.Generator) -> Neighbours:
        """For each of ``nodes`` (k,), ``count`` neighbours drawn uniformly *with* replacement; none if it has none."""
        size = self.sizes[nodes]
        some = size > 0
        place = (rng.random((int(some.sum()), count)) * size[some, None]).astype(np.int64)
        place += self.offsets[nodes[some], None]
        offsets = np.zeros(len(nodes) + 1, dtype=np.int64)
        np.cumsum(some * count, out=offsets[1:])
        return Neighbours(offsets, self.members[place.ravel()])


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
