"""MPXGAT fed with random horizontal embeddings: the paper's second ablation.

What MPXGAT-V reaches with them is what it owes to the inter links alone (and to telling nodes apart).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.models.link_training import Stream
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.models.part import Part, Trained

_RANDOM_ROWS = 2**31  # a stream that no part of the model has


def random_horizontal(graph: MultiplexGraph, out: int, seed: int) -> NDArray[np.float32]:
    """(n, out) directions drawn uniformly, rows of length 1."""
    rows = Stream((seed, _RANDOM_ROWS)).numpy().standard_normal((graph.n_nodes, out))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


class MPXGATRandom(MPXGAT):
    """MPXGAT-V alone, fed with random directions; intra scores are chance. Settings as MPXGAT."""

    name = "mpxgat-random"
    description = "the paper's second ablation: random in place of trained horizontal embeddings"

    def _layer_parts(self, graph: MultiplexGraph) -> list[Part]:
        return []

    def _embed_horizontally(
        self, graph: MultiplexGraph, layers: Sequence[Part], trained: Sequence[Trained]
    ) -> NDArray[np.float32]:
        return random_horizontal(graph, self._settings.out, self.seed)
