"""Arithmetic that gives the same bytes on one thread and on several.

PyTorch's matrix products, sums and activations are exact enough, but a few of them add or round in another
order when the number of threads changes. Training multiplies such a last bit into another model, so every
place where it would happen goes through this file:

- a product with a side of 5 to 11 picks another kernel on one thread than on two: short sides are padded;
- a sum over a whole tensor adds one part for each thread: it is added in fixed pieces instead;
- softplus, sigmoid and ELU round differently at the seams between threads: they are built from exp, expm1 and
  log1p, which do not.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812

SLOPE = 0.2  # of every LeakyReLU
SHORTEST_SIDE = 16  # also the width at which narrow products run fastest
_PIECE = 1024


def product(left: Tensor, right: Tensor) -> Tensor:
    """``left @ right``: (n, k) @ (k, m) -> (n, m)."""
    n, m = left.shape[0], right.shape[1]
    padded: Tensor = _padded(left) @ _padded(right)
    return padded if padded.shape == (n, m) else padded[:n, :m].clone()


def products(left: Tensor, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """``left @ one`` and ``left @ other``; their gradients meet in one tensor, not in a sum of two."""
    result: tuple[Tensor, Tensor] = _Products.apply(left, one, other)  # type: ignore[no-untyped-call]
    return result


def add_product(values: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """``values + left @ right``: (n, m) + (n, k) @ (k, m), a new tensor."""
    if min(values.shape) < SHORTEST_SIDE:
        return values + product(left, right)
    inner = max(SHORTEST_SIDE - left.shape[1], 0)
    return torch.addmm(values, F.pad(left, (0, inner)), F.pad(right, (0, 0, 0, inner)))


def total(values: Tensor) -> Tensor:
    """Sum over all elements, in pieces that do not depend on the number of threads; a scalar."""
    values = values.flatten()
    while len(values) > _PIECE:
        values = F.pad(values, (0, -len(values) % _PIECE)).view(-1, _PIECE).sum(1)
    return values.sum()


def column_sums(values: Tensor) -> Tensor:
    """(n, m) -> (m,). A single column is a sum over a whole tensor."""
    return values.sum(0) if values.shape[1] > 1 else total(values).view(1)


def add_row(values: Tensor, row: Tensor) -> Tensor:
    """``values + row`` in place: (n, m) + (m,); returns ``values``."""
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


def _padded(matrix: Tensor) -> Tensor:
    """Zeros added to sides that are too short; the matrix itself if none is."""
    rows, columns = (max(SHORTEST_SIDE - side, 0) for side in matrix.shape)
    return F.pad(matrix, (0, columns, 0, rows)) if rows or columns else matrix


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(left, one, other)
        return product(left, one), product(left, other)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_one: Tensor, grad_other: Tensor) -> tuple[Tensor | None, Tensor, Tensor]:
        left, one, other = ctx.saved_tensors
        grad_left = None
        if ctx.needs_input_grad[0]:
            grad_left = _padded(grad_one) @ _padded(one).T
            grad_left = grad_left.addmm_(_padded(grad_other), _padded(other).T)[: left.shape[0], : left.shape[1]]
        return grad_left, product(left.T, grad_one), product(left.T, grad_other)


class _AddRow(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, row: Tensor) -> Tensor:
        ctx.mark_dirty(values)
        return values.add_(row)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        return grad, column_sums(grad)


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
