"""`Subgraph`: some nodes of a network and some of its links among them, in numbers of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Subgraph:
    """What a step of training is computed on.

    nodes   (k,) ascending, none twice
    rows    (m,) ascending: which of the network's links
    links   (m, 2) the same links, their ends as places in ``nodes``
    """

    nodes: Nodes
    rows: NDArray[np.int64]
    links: NDArray[np.int64]

    @classmethod
    def of(cls, nodes: Nodes, rows: NDArray[np.int64], links: NDArray[np.integer[Any]]) -> Subgraph:
        """From nodes as above, and rows of ``links`` (all of the network's) whose ends are among them."""
        return cls(nodes, rows, np.searchsorted(nodes, links[rows]))

    def places(self, nodes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Where ``nodes``, in an array of any shape, stand in this subgraph; they must be in it."""
        return np.searchsorted(self.nodes, nodes)


def ranges(start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """start[0], start[0]+1, … (size[0] of them), then those from start[1], and so on."""
    before = np.cumsum(size) - size
    return np.repeat(start - before, size) + np.arange(size.sum())
