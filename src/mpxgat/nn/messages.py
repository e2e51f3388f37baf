"""Horizontal messages m^H of all nodes, held as factors: the product is made only where it is added.

A message is a scale for every node and head times a row: ``m = scale * rows``. Scales (n, heads) are small, rows are
the largest tensors of a vertical block (n, heads, out), so every factor that can go into the scale does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mpxgat.nn.steady import add_row, column_sums, product

_PIECE = 1024  # rows: a few megabytes


class Messages(Protocol):
    """What f returns."""

    def scaled(self, factor: Tensor) -> Messages:
        """The same messages times ``factor`` (n, heads) or (n, 1)."""
        ...

    def added_to(self, out: Tensor) -> Tensor:
        """``out`` (n, heads, out) plus the messages; may change it in place."""
        ...

    def tensor(self) -> Tensor:
        """The messages themselves, (n, heads, out)."""
        ...


@dataclass(frozen=True, eq=False)
class RowMessages:
    """``scale * rows``."""

    scale: Tensor  # (n, heads)
    rows: Tensor  # (n, heads, out)

    def scaled(self, factor: Tensor) -> RowMessages:
        return replace(self, scale=self.scale * factor)

    def added_to(self, out: Tensor) -> Tensor:
        return out + self.tensor()

    def tensor(self) -> Tensor:
        return self.scale.unsqueeze(-1) * self.rows


@dataclass(frozen=True, eq=False)
class LinearMessages:
    """``scale * (x Z + b)``. The rows are computed again in the backward pass instead of being kept."""

    scale: Tensor  # (n, heads)
    x: Tensor  # (n, k)
    Z: Tensor  # (k, heads*out)
    b: Tensor  # (heads*out,)

    def scaled(self, factor: Tensor) -> LinearMessages:
        return replace(self, scale=self.scale * factor)

    def added_to(self, out: Tensor) -> Tensor:
        result: Tensor = _AddLinear.apply(out, self.scale, self.x, self.Z, self.b)  # type: ignore[no-untyped-call]
        return result

    def tensor(self) -> Tensor:
        rows = add_row(product(self.x, self.Z), self.b)
        return self.scale.unsqueeze(-1) * rows.view(*self.scale.shape, -1)


class _AddLinear(torch.autograd.Function):
    """``out + scale * (x Z + b)`` in place, a piece of rows at a time: the rows x Z + b never leave the cache."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, scale: Tensor, x: Tensor, Z: Tensor, b: Tensor) -> Tensor:
        ctx.mark_dirty(out)
        ctx.save_for_backward(scale, x, Z, b)
        for part in _parts(len(out)):
            rows = product(x[part], Z).add_(b)
            out[part].addcmul_(scale[part].unsqueeze(-1), rows.view_as(out[part]))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        scale, x, Z, b = ctx.saved_tensors
        grad_scale, grad_Z, grad_b = torch.empty_like(scale), torch.zeros_like(Z), torch.zeros_like(b)
        grad_x = torch.empty_like(x) if ctx.needs_input_grad[2] else None
        for part in _parts(len(grad)):
            rows = product(x[part], Z).add_(b).view_as(grad[part])
            torch.sum(rows.mul_(grad[part]), -1, out=grad_scale[part])
            grad_rows = torch.mul(grad[part], scale[part].unsqueeze(-1), out=rows).flatten(1)
            grad_Z += product(x[part].T, grad_rows)
            grad_b += column_sums(grad_rows)
            if grad_x is not None:
                grad_x[part] = product(grad_rows, Z.T)
        return grad, grad_scale, grad_x, grad_Z, grad_b


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, start + _PIECE) for start in range(0, count, _PIECE))
