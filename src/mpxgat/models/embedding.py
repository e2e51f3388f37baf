"""Models that give every node two vectors; dot products of them are the scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mpxgat.arrays import Arrays
from mpxgat.errors import GraphError
from mpxgat.graph import MultiplexGraph
from mpxgat.models.base import Model, Positions, Scores

_PAIRS_AT_ONCE = 1 << 16
Vectors = NDArray[np.float32]


class EmbeddingModel(Model):
    """Scores intra pairs by horizontal vectors and inter pairs by vertical ones."""

    _horizontal: Vectors | None = None
    _vertical: Vectors | None = None

    @property
    def horizontal(self) -> Vectors:
        """(n, d) where every node stands within its layer, aligned with ``graph.nodes``."""
        return self._fitted(self._horizontal)

    @property
    def vertical(self) -> Vectors:
        """(n, d) where every node stands across layers, aligned with ``graph.nodes``."""
        return self._fitted(self._vertical)

    def restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> Self:
        """As every model does; GraphError unless there is a row of finite numbers for each node."""
        super().restore(graph, state, notes)
        for vectors in (self.horizontal, self.vertical):
            if vectors.ndim != 2 or len(vectors) != graph.n_nodes or not np.isfinite(vectors).all():
                raise GraphError(f"vectors of the shape {vectors.shape}, expected finite ones, one for each node")
        return self

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """One matrix product."""
        vectors = self.horizontal if self._is_intra(rows, cols) else self.vertical
        return vectors[rows].astype(np.float64) @ vectors[cols].astype(np.float64).T

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return _dots(self.horizontal, pairs)

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        return _dots(self.vertical, pairs)

    def _fitted(self, vectors: Vectors | None) -> Vectors:
        _ = self.graph  # says so if the model is not fitted
        assert vectors is not None
        return vectors


def _dots(vectors: Vectors, pairs: NDArray[np.int64]) -> Scores:
    scores = np.empty(len(pairs), dtype=np.float64)
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        first, second = pairs[start : start + _PAIRS_AT_ONCE].T
        scores[start : start + _PAIRS_AT_ONCE] = np.einsum(
            "ij,ij->i", vectors[first].astype(np.float64), vectors[second].astype(np.float64)
        )
    return scores
