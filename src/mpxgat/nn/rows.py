"""Two operations on rows picked by index: weighted sums of them and dot products between them.

They are all that attention and the decoder need of sparse algebra, forward and backward. Nothing is added
into a shared place, so the results do not depend on threads and CUDA needs no atomic addition. No autograd here:
the callers know their gradients.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

# Numbers in one piece of gathered rows: what stays in the cache of a processor; few launches on a GPU.
_PIECE_CPU = 1 << 20
_PIECE_GPU = 1 << 26


def sum_rows(rows: Tensor, index: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
    """``out[b] = Σ_k weights[k] * rows[index[k]]`` for k from offsets[b] to offsets[b+1].

    rows (s, d), index and weights (m,), offsets (b+1,) -> (b, d). An empty range gives zeros.
    """
    return F.embedding_bag(index, rows, offsets, mode="sum", per_sample_weights=weights, include_last_offset=True)


def dot_aligned(left: Tensor, right: Tensor) -> Tensor:
    """``out[k] = <left[k], right[k]>``: (m, d), (m, d) -> (m,)."""
    out = left.new_empty(len(left))
    for part in _pieces(len(left), left):
        torch.sum(left[part] * right[part], -1, out=out[part])
    return out


def dot_rows(left: Tensor, right: Tensor, left_index: Tensor, right_index: Tensor) -> Tensor:
    """``out[k] = <left[left_index[k]], right[right_index[k]]>``: (·, d), (·, d), (m,), (m,) -> (m,)."""
    out = left.new_empty(len(left_index))
    for part in _pieces(len(left_index), left):
        picked = left.index_select(0, left_index[part])
        picked.mul_(right.index_select(0, right_index[part]))
        torch.sum(picked, -1, out=out[part])
    return out


def scatter_rows(rows: Tensor, sources: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """``out[targets[k]] += weights[k] * rows[sources[k]]`` for every k, in order of k; out is shaped as ``rows``."""
    order = torch.argsort(targets, stable=True)
    bins = torch.arange(len(rows) + 1, device=rows.device)
    offsets = torch.searchsorted(targets[order], bins)
    return sum_rows(rows, sources[order], offsets, weights[order])


def _pieces(count: int, rows: Tensor) -> Iterator[slice]:
    step = max((_PIECE_CPU if rows.device.type == "cpu" else _PIECE_GPU) // max(rows.shape[1], 1), 1)
    for start in range(0, count, step):
        yield slice(start, start + step)
