"""Tensor arithmetic of all networks: activations, sums, rows picked by index, the dot-product decoder.

What is written out here and not left to PyTorch is what would add or round in another order when the number of threads
changes, which training multiplies into another model: a sum over a whole tensor (one part for each thread) and
softplus, sigmoid and ELU (other rounding at the seams between threads). Matrix products are left to the maths library,
see `mpxgat.system.use_reproducible_maths`.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812

SLOPE = 0.2  # of every LeakyReLU
_SUMMED_AT_ONCE = 1024
# Numbers in one piece of gathered rows: what stays in the cache of a processor; few launches on a GPU.
_PIECE_CPU = 1 << 20
_PIECE_GPU = 1 << 26


# ---- initial parameters --------------------------------------------------------------------------------------------


def glorot(shape: tuple[int, int], generator: torch.Generator) -> nn.Parameter:
    """Uniform in ±sqrt(6 / (rows + columns)), as PyTorch Geometric starts its attention blocks."""
    bound = math.sqrt(6 / sum(shape))
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


def glorot_deviation(matrix: Tensor) -> float:
    """The standard deviation that `glorot` gives a matrix of this shape."""
    return math.sqrt(2 / sum(matrix.shape))


def uniform(shape: tuple[int, ...], inputs: int, generator: torch.Generator) -> nn.Parameter:
    """Uniform in ±1/√inputs, as PyTorch starts the biases of linear maps."""
    bound = 1 / math.sqrt(inputs)
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


# ---- dense arithmetic ----------------------------------------------------------------------------------------------


def products(left: Tensor, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """``left @ one`` and ``left @ other``; their gradients meet in one tensor, not in a sum of two."""
    result: tuple[Tensor, Tensor] = _Products.apply(left, one, other)  # type: ignore[no-untyped-call]
    return result


def total(values: Tensor) -> Tensor:
    """Sum over all elements, in pieces that do not depend on the number of threads; a scalar."""
    values = values.flatten()
    while len(values) > _SUMMED_AT_ONCE:
        values = F.pad(values, (0, -len(values) % _SUMMED_AT_ONCE)).view(-1, _SUMMED_AT_ONCE).sum(1)
    return values.sum()


def column_sums(values: Tensor) -> Tensor:
    """(n, m) -> (m,). A single column is a sum over a whole tensor."""
    return values.sum(0) if values.shape[1] > 1 else total(values).view(1)


def add_row(values: Tensor, row: Tensor) -> Tensor:
    """``values + row`` in place: (n, …) + (…); returns ``values``."""
    result: Tensor = _AddRow.apply(values, row)  # type: ignore[no-untyped-call]
    return result


def repeat_row(row: Tensor, n: int) -> Tensor:
    """(m,) -> (n, m), every row the same."""
    result: Tensor = _RepeatRow.apply(row, n)  # type: ignore[no-untyped-call]
    return result


def leaky_relu(values: Tensor) -> Tensor:
    """LeakyReLU, in place: x where x > 0, 0.2 x elsewhere."""
    return F.leaky_relu(values, SLOPE, inplace=True)


def elu(values: Tensor) -> Tensor:
    """ELU: x where x > 0, exp(x) - 1 elsewhere; keeps only its result for the backward pass."""
    result: Tensor = _Elu.apply(values)  # type: ignore[no-untyped-call]
    return result


def softplus(values: Tensor) -> Tensor:
    """log(1 + exp(x)), without overflow."""
    return values.relu() + values.abs().neg_().exp_().log1p_()


def sigmoid(values: Tensor) -> Tensor:
    """1 / (1 + exp(-x)); exp may overflow to infinity, which gives 0 as it should."""
    return values.neg().exp_().add_(1).reciprocal_()


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(left, one, other)
        return left @ one, left @ other

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_one: Tensor, grad_other: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        left, one, other = ctx.saved_tensors
        grad_left = (grad_one @ one.T).addmm_(grad_other, other.T) if ctx.needs_input_grad[0] else None
        return grad_left, left.T @ grad_one, left.T @ grad_other


class _AddRow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, row: Tensor) -> Tensor:
        ctx.mark_dirty(values)
        return values.add_(row)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        return grad, column_sums(grad.flatten(1)).view(grad.shape[1:])


class _RepeatRow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, row: Tensor, n: int) -> Tensor:
        return row.repeat(n, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return column_sums(grad), None


class _Elu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        result = torch.where(values > 0, values, values.expm1())
        ctx.save_for_backward(result)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (result,) = ctx.saved_tensors
        slope: Tensor = result.clamp(max=0) + 1
        return grad * slope  # exp(x) = result + 1 where x <= 0


# ---- rows picked by index ------------------------------------------------------------------------------------------
#
# Weighted sums of rows and dot products between them are all that attention and the decoder need of sparse algebra,
# forward and backward. Nothing is added into a shared place, so the results do not depend on threads and CUDA needs no
# atomic addition. No autograd here: the callers know their gradients.


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


# ---- the decoder: the score of a pair is <z_u, z_v>, the loss binary cross-entropy on links and non-links ----------


@torch.no_grad()
def pair_scores(z: Tensor, pairs: Tensor) -> Tensor:
    """<z_u, z_v> of every pair: (n, d), (m, 2) -> (m,)."""
    return dot_rows(z, z, pairs[:, 0], pairs[:, 1])


def link_loss(z: Tensor, links: Tensor, non_links: Tensor) -> Tensor:
    """Mean of log(1 + exp(-s)) over links and log(1 + exp(s)) over non-links, s = <z_u, z_v>; a scalar.

    z (n, d), links (m, 2) and non-links (k, 2). Scores are symmetric: give each undirected link once. Without any
    pair the loss is 0. Rows are gathered piece by piece and the gradient is made along with the loss, so
    nothing of size (pairs, d) is kept.
    """
    loss: Tensor = _LinkLoss.apply(z, links, non_links)  # type: ignore[no-untyped-call]
    return loss


class _LinkLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, z: Tensor, links: Tensor, non_links: Tensor) -> Tensor:
        u, v = torch.cat([links, non_links]).T
        if not len(u):
            ctx.save_for_backward(torch.zeros_like(z))
            return z.new_zeros(())
        scores = dot_rows(z, z, u, v)  # (m+k,)
        if ctx.needs_input_grad[0]:
            slopes = sigmoid(scores)  # d loss / d score: σ(s) - 1 for links, σ(s) for non-links
            slopes[: len(links)] -= 1
            slopes /= len(scores)
            both = torch.cat([slopes, slopes])
            ctx.save_for_backward(scatter_rows(z, torch.cat([v, u]), torch.cat([u, v]), both))
        scores[: len(links)].neg_()
        return total(softplus(scores)) / len(scores)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (grad_z,) = ctx.saved_tensors
        return grad * grad_z, None, None
