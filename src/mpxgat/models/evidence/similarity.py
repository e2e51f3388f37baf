"""Similarities of nodes to those of a layer that they may still be matched with, a bounded number at a time.

To the few thousand nodes of an ordinary layer all similarities are computed, as most of them are above 0. In a large
layer hardly any is: there only those are, as a sparse product, so that time grows with the profiles' entries and not
with the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from mpxgat.models.evidence.features import row_parts
from mpxgat.models.evidence.walks import products_per_row

_CELLS = 1 << 23
LARGE_LAYER = 20_000  # nodes
_WORD = 64  # layers in a word of bits
Nodes = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Similarities:
    """Of some nodes (r,) to others, (r, c) each; those left out are 0.

    partner     (r, c) places of the others among those asked for; None if a column's number is its place
    """

    nodes: Nodes
    value: Tensor
    partner: Tensor | None = None

    def best(self, k: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The k largest of every node, descending, and the partners' places; fewer if there are fewer."""
        top = self.value.topk(min(k, self.value.shape[1]), dim=1)
        place = top.indices if self.partner is None else self.partner.gather(1, top.indices)
        return top.values.numpy(), place.numpy()

    def total(self) -> NDArray[np.float64]:
        """(r,) their sums."""
        total: NDArray[np.float64] = self.value.sum(dim=1).numpy()
        return total


def open_similarities(
    rows: sparse.csr_array, present: NDArray[np.float32], ours: Nodes, theirs: Nodes
) -> Iterator[Similarities]:
    """<row_i, row_j> of some of ``ours`` to ``theirs``, until all had their turn, in any order.

    rows        (n, d) profiles, no entry below 0
    present     (n, L) layers where a node's unit has a node: two that share one are known to differ, or to be one, and
                have the similarity 0
    """
    if len(theirs) >= LARGE_LAYER:
        return _few(rows, present, ours, theirs)
    return _all(rows, present, ours, theirs)


def decided_pairs(present: NDArray[np.float32], ours: Nodes, theirs: Nodes) -> NDArray[np.bool_]:
    """(r, c) whether the units of two nodes share a layer: they are known to differ, or to be one."""
    decided: NDArray[np.bool_] = present[ours] @ present[theirs].T > 0
    return decided


def _all(rows: sparse.csr_array, present: NDArray[np.float32], ours: Nodes, theirs: Nodes) -> Iterator[Similarities]:
    turned = sparse.csr_array(rows[theirs].T)
    for part in row_parts(ours, len(theirs), _CELLS):
        nodes = ours[part]
        value = torch.from_numpy((rows[nodes] @ turned).toarray())
        value[torch.from_numpy(decided_pairs(present, nodes, theirs))] = 0
        yield Similarities(nodes, value)


def _few(rows: sparse.csr_array, present: NDArray[np.float32], ours: Nodes, theirs: Nodes) -> Iterator[Similarities]:
    """Only what is above 0; nodes with about as many such partners together, so that little is filled up with 0."""
    turned = sparse.csr_array(rows[theirs].T)
    layers = _as_bits(present)
    most = products_per_row(rows[ours], turned)
    order = np.argsort(most, kind="stable")
    for part in _parts(most[order]):
        nodes = ours[order[part]]
        found = sparse.csr_array(rows[nodes] @ turned)
        owner = np.repeat(nodes, np.diff(found.indptr))
        decided = (layers[owner] & layers[theirs[found.indices]]).any(axis=1)
        found.data[decided] = 0
        yield _filled_up(nodes, found)


def _parts(most: NDArray[np.int64]) -> Iterator[slice]:
    """Ranges of ascending numbers, at most `_CELLS` cells each if all were as large as the last; one at least."""
    start = 0
    while start < len(most):
        ahead = most[start : start + _CELLS]
        cells = np.arange(1, len(ahead) + 1) * np.maximum(ahead, 1)
        stop = start + max(1, int(np.searchsorted(cells, _CELLS, side="right")))
        yield slice(start, stop)
        start = stop


def _as_bits(present: NDArray[np.float32]) -> NDArray[np.uint64]:
    """(n, words) the same, a layer a bit."""
    n, n_layers = present.shape
    bits = np.zeros((n, max(1, -(-n_layers // _WORD))), dtype=np.uint64)
    for layer in range(n_layers):
        word, place = divmod(layer, _WORD)
        bits[:, word] |= (present[:, layer] > 0).astype(np.uint64) << np.uint64(place)
    return bits


def _filled_up(nodes: Nodes, found: sparse.csr_array) -> Similarities:
    counts = np.diff(found.indptr)
    there = np.arange(max(int(counts.max(initial=0)), 1)) < counts[:, None]
    value, partner = np.zeros(there.shape), np.zeros(there.shape, dtype=np.int64)
    value[there], partner[there] = found.data, found.indices
    return Similarities(nodes, torch.from_numpy(value), torch.from_numpy(partner))
