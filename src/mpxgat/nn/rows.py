"""Two operations on rows picked by index: weighted sums of them and dot products between them.

They are all that attention and the decoder need of sparse algebra, forward and backward. Nothing is added
into a shared place, so the results do not depend on threads and CUDA needs no atomic addition. No autograd here:
the callers know their gradients.
"""

from __future__ import annotations

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


def dot_bags(left: Tensor, right: Tensor, index: Tensor, offsets: Tensor) -> Tensor:
    """``out[k] = <left[b], right[index[k]]>`` for k from offsets[b] to offsets[b+1].

    left (b, d), right (s, d), index (m,), offsets (b+1,) -> (m,). This is the gradient of `sum_rows` for its weights:
    asking autograd for it costs a sum that is thrown away, and is still faster than gathering rows, as nothing of size
    (m, d) is made.
    """
    with torch.enable_grad():
        weights = right.new_zeros(len(index), requires_grad=True)
        sums = sum_rows(right.detach(), index, offsets, weights)
        return torch.autograd.grad(sums, weights, left.detach())[0]


def dot_rows(left: Tensor, right: Tensor, left_index: Tensor, right_index: Tensor) -> Tensor:
    """``out[k] = <left[left_index[k]], right[right_index[k]]>``: (·, d), (·, d), (m,), (m,) -> (m,)."""
    left, right = left.detach(), right.detach()
    step = _step(left)
    ours, theirs = left.new_empty(2, min(step, len(left_index)), left.shape[1])  # used again: fresh memory is slow
    out = left.new_empty(len(left_index))
    for start in range(0, len(left_index), step):
        part = slice(start, start + step)
        count = len(left_index[part])
        torch.index_select(left, 0, left_index[part], out=ours[:count])
        torch.index_select(right, 0, right_index[part], out=theirs[:count])
        torch.sum(ours[:count].mul_(theirs[:count]), -1, out=out[part])
    return out


def scatter_rows(rows: Tensor, sources: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """``out[targets[k]] += weights[k] * rows[sources[k]]`` for every k, in order of k; out is shaped as ``rows``."""
    order = torch.argsort(targets, stable=True)
    bins = torch.arange(len(rows) + 1, device=rows.device)
    offsets = torch.searchsorted(targets[order], bins)
    return sum_rows(rows, sources[order], offsets, weights[order])


def _step(rows: Tensor) -> int:
    """Rows in one piece."""
    return max((_PIECE_CPU if rows.device.type == "cpu" else _PIECE_GPU) // max(rows.shape[1], 1), 1)
