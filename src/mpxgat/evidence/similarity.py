"""Similarities of nodes to those of a layer that they may still be matched with, a bounded number at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from mpxgat.evidence.pairs import row_parts

_CELLS = 1 << 23
Nodes = NDArray[np.integer[Any]]


def open_similarities(
    rows: sparse.csr_array, present: NDArray[np.float32], ours: Nodes, theirs: Nodes
) -> Iterator[tuple[Nodes, Tensor]]:
    """Some of ``ours`` (r,) and their similarities <row_i, row_j> to ``theirs`` (r, c), until all had their turn.

    rows        (n, d) profiles
    present     (n, L) layers where a node's unit has a node: two that share one are known to differ, or to be one, and
                have the similarity 0
    """
    turned = sparse.csr_array(rows[theirs].T)
    for part in row_parts(ours, len(theirs), _CELLS):
        nodes = ours[part]
        similarity = torch.from_numpy((rows[nodes] @ turned).toarray())
        similarity[torch.from_numpy(present[nodes] @ present[theirs].T > 0)] = 0
        yield nodes, similarity
