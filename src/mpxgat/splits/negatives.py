"""Non-links as a description: millions of pairs, enumerated block by block, never held all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

BLOCK_PAIRS = 1 << 20


@dataclass(frozen=True)
class PairBlock:
    """The pairs (rows[a], cols[b]) with ``mask[a, b]``; rows are of layer ``layers[0]``, cols of ``layers[1]``."""

    layers: tuple[int, int]
    rows: NDArray[np.int32]  # (r,)
    cols: NDArray[np.int32]  # (c,)
    mask: NDArray[np.bool_]  # (r, c)

    def pairs(self) -> NDArray[np.int32]:
        """(k, 2) the pairs themselves."""
        row, col = np.nonzero(self.mask)
        return np.stack([self.rows[row], self.cols[col]], axis=1)


class Negatives(Protocol):
    """Pairs of nodes that are no links."""

    def blocks(self, max_pairs: int = BLOCK_PAIRS) -> Iterator[PairBlock]:
        """All pairs, each once, in blocks of at most about ``max_pairs`` cells; those of one layer pair in a row."""

    def cells(self) -> int:
        """How many cells all blocks have together, about: what scoring them costs."""


@dataclass(frozen=True, eq=False)
class InterNegatives:
    """All different-layer pairs of ``nodes`` that are not copies of one unit.

    nodes   (k,) ascending positions
    layer   (k,) their layers
    unit    (k,) their true units: two nodes of one unit are a link, stated or implied, so never a negative
    """

    nodes: NDArray[np.int32]
    layer: NDArray[np.int32]
    unit: NDArray[np.int32]

    def blocks(self, max_pairs: int = BLOCK_PAIRS) -> Iterator[PairBlock]:
        """Layer pair by layer pair (a < b), rows in order."""
        present = np.unique(self.layer)
        for position, a in enumerate(present):
            for b in present[position + 1 :]:
                cols = np.flatnonzero(self.layer == b)
                for rows in _row_chunks(np.flatnonzero(self.layer == a), len(cols), max_pairs):
                    mask = self.unit[rows][:, None] != self.unit[cols][None, :]
                    yield PairBlock((int(a), int(b)), self.nodes[rows], self.nodes[cols], mask)

    def cells(self) -> int:
        """Pairs of different layers, links included."""
        sizes = np.bincount(self.layer)
        return int((len(self.nodes) ** 2 - (sizes**2).sum()) // 2)


@dataclass(frozen=True, eq=False)
class IntraNegatives:
    """A random ``share`` of all same-layer pairs of ``nodes`` that are not joined by a link.

    A pair is taken if a hash of (seed, pair) falls below the share: no list is kept, and the choice does
    not depend on how the pairs are enumerated.

    links   (m, 2) intra links among ``nodes``, given as places in ``nodes``
    """

    nodes: NDArray[np.int32]
    layer: NDArray[np.int32]
    links: NDArray[np.int32]
    share: float
    seed: int

    def blocks(self, max_pairs: int = BLOCK_PAIRS) -> Iterator[PairBlock]:
        """Layer by layer, rows in order, the row's node before the column's."""
        k = len(self.nodes)
        linked = sparse.csr_array(
            (np.ones(len(self.links), dtype=bool), (self.links[:, 0], self.links[:, 1])), shape=(k, k)
        )
        for a in np.unique(self.layer):
            inside = np.flatnonzero(self.layer == a)  # a run of places, as nodes are sorted by layer
            for rows in _row_chunks(inside, len(inside), max_pairs):
                cols = inside[inside > rows[0]]
                if not len(cols):
                    continue
                mask = self._taken(rows, cols)
                mask &= rows[:, None] < cols[None, :]
                mask &= ~linked[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1].toarray()
                yield PairBlock((int(a), int(a)), self.nodes[rows], self.nodes[cols], mask)

    def cells(self) -> int:
        """Pairs of one layer; about, as blocks overhang the diagonal."""
        return int((np.bincount(self.layer) ** 2).sum() // 2)

    def _taken(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[np.bool_]:
        if self.share >= 1:
            return np.ones((len(rows), len(cols)), dtype=bool)
        key = self.nodes[rows].astype(np.uint64)[:, None] << np.uint64(32) | self.nodes[cols].astype(np.uint64)
        salt = _mixed(np.array([self.seed], dtype=np.uint64))
        return _mixed(key ^ salt) < np.uint64(self.share * 2.0**64)


def _row_chunks(rows: NDArray[np.int64], width: int, max_pairs: int) -> Iterator[NDArray[np.int64]]:
    step = max(1, max_pairs // max(width, 1))
    for start in range(0, len(rows) if width else 0, step):
        yield rows[start : start + step]


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The SplitMix64 finaliser (Steele, Lea and Flood, 2014): 64 bits in, 64 well-mixed bits out."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
