"""Dot-product decoder: the score of a pair is <z_u, z_v>, the loss binary cross-entropy on links and non-links."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mpxgat.nn.rows import dot_rows, scatter_rows
from mpxgat.nn.steady import sigmoid, softplus, total


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
