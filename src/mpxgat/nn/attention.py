"""Attention over a neighbourhood: edge softmax, dropout on its weights, and the weighted sum of messages.

For every head, with l_i = <v_i, s_i> (``left``) and r_j = <v_j, t_j> (``right``):

    e_ij  = LeakyReLU(l_i + r_j [+ u w_ij])
    p_ij  = exp(e_ij) / Σ_{z in N(i)} exp(e_iz)
    out_i = c_i Σ_j p_ij k_ij (t_j + b)     k: dropout's factors, 0 or 1/(1-p); optional: a scale c, a bias b

Both passes go over edges sorted by receiver; nothing of size (edges, heads, d) is ever made. The backward pass sums
the same entries sorted by sender, which in an undirected network is the same list in another order.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from mpxgat.errors import SettingError
from mpxgat.nn.neighbourhood import HeadEdges, Neighbourhood
from mpxgat.nn.rows import dot_bags, sum_rows
from mpxgat.nn.steady import SLOPE, product


def edge_softmax(left: Tensor, right: Tensor, edges: HeadEdges, u: Tensor | None = None) -> Tensor:
    """Attention weights p before dropout: left and right (n, h) [, u (n, h)] -> (E*h,) in the order of entries."""
    return _softmax(_logits(left, right, edges, u), edges)


def attend(
    left: Tensor,
    right: Tensor,
    t: Tensor,
    edges: HeadEdges,
    *,
    b: Tensor | None = None,
    u: Tensor | None = None,
    keep: Tensor | None = None,
    scale: Tensor | None = None,
) -> Tensor:
    """The weighted sum of messages ``out`` (n, h, d); see the head of this file.

    left, right  (n, h) the receiver's and the sender's part of the logit
    t            (n, h, d) what every node sends
    b            (h, d) what is added to every t; t + b is never made
    u            (n, h) weight of the edge weights in the logit; needs ``edges.weights``
    keep         (E*h,) dropout's factor for every entry; None keeps all
    scale        (n, h) factor of every sum; None is 1
    """
    out: Tensor = _Attend.apply(left, right, t, b, u, keep, scale, edges)  # type: ignore[no-untyped-call]
    return out


def neighbour_sums(m: Tensor, neighbourhood: Neighbourhood) -> Tensor:
    """Σ_{j in N(i)} m_j for every i: (n, h, d) -> (n, h, d)."""
    out: Tensor = _NeighbourSums.apply(m, neighbourhood)  # type: ignore[no-untyped-call]
    return out


class AttentionDropout(nn.Module):
    """Dropout on attention weights: each is set to 0 with probability ``p``, the others are divided by 1-p."""

    def __init__(self, p: float):
        super().__init__()
        if not 0 <= p < 1:
            raise SettingError(f"dropout is {p}, expected at least 0 and less than 1")
        self.p = p

    def forward(self, edges: HeadEdges, like: Tensor, generator: torch.Generator | None) -> Tensor | None:
        """Fresh factors (E*h,) with ``like``'s type and device, or None where nothing is dropped."""
        if not self.training or self.p == 0:
            return None
        count = len(edges.senders)
        drawn = torch.rand(count, generator=generator, dtype=torch.float32, device=like.device)
        return (drawn >= self.p).to(like.dtype).mul_(1 / (1 - self.p))

    def extra_repr(self) -> str:
        return f"p={self.p}"


def _logits(left: Tensor, right: Tensor, edges: HeadEdges, u: Tensor | None) -> Tensor:
    """l_i + r_j + u_i w_ij: (E*h,), before LeakyReLU."""
    logits = left.flatten().index_select(0, edges.receivers)
    logits += right.flatten().index_select(0, edges.senders)
    if u is not None:
        logits += u.flatten().index_select(0, edges.receivers) * _edge_weights(edges)
    return logits


def _edge_weights(edges: HeadEdges) -> Tensor:
    if edges.weights is None:
        raise ValueError("the logit has a term for edge weights, but the neighbourhood was made without weights")
    return edges.weights


def _softmax(logits: Tensor, edges: HeadEdges) -> Tensor:
    e = nn.functional.leaky_relu(logits, SLOPE)
    e -= _segment(e, "max", edges).index_select(0, edges.receivers)
    e.exp_()
    return e.div_(_segment(e, "sum", edges).index_select(0, edges.receivers))


def _segment(values: Tensor, reduction: str, edges: HeadEdges) -> Tensor:
    """(E*h,) -> (n*h,) for every receiving row; no row is empty, as a node is its own neighbour."""
    return torch.segment_reduce(values, reduction, offsets=edges.offsets, unsafe=True)


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        left: Tensor,
        right: Tensor,
        t: Tensor,
        b: Tensor | None,
        u: Tensor | None,
        keep: Tensor | None,
        scale: Tensor | None,
        edges: HeadEdges,
    ) -> Tensor:
        logits = _logits(left, right, edges, u)
        p = _softmax(logits, edges)
        ctx.edges = edges
        ctx.save_for_backward(t, b, p, logits > 0, u, keep, scale)
        weights = _weights(p, keep, scale, edges)
        out = _kept_sums(t.flatten(0, 1), weights, keep, edges)
        out.resize_(t.shape)  # not a view: the caller may go on in place
        return out if b is None else out.addcmul_(_segment(weights, "sum", edges).view(*t.shape[:2], 1), b)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        edges: HeadEdges = ctx.edges
        t, b, p, rising, u, keep, scale = ctx.saved_tensors
        rows, grad_rows = t.flatten(0, 1), grad.contiguous().flatten(0, 1)
        shape = t.shape[:2]

        weights = _weights(p, keep, scale, edges)
        # d/dp_ij = c_i k_ij <grad_i, t_j + b>, and through the softmax p_ij (d/dp_ij - Σ_z p_iz d/dp_iz)
        grad_logits = _kept_dots(grad_rows, rows, keep, edges)
        grad_b = None
        if b is not None:
            sums = _segment(weights, "sum", edges).view(shape)
            grad_b = torch.cat([product(sums[:, [head]].T, grad[:, head]) for head in range(len(b))])
            along = torch.cat([product(grad[:, head], b[head, :, None]) for head in range(len(b))], 1)  # (n, h)
            along = along.flatten().index_select(0, edges.receivers)
            grad_logits += along if keep is None else along.mul_(keep)
        kept = None if keep is None else keep.index_select(0, edges.reverse)
        grad_t = _kept_sums(grad_rows, weights.index_select(0, edges.reverse), kept, edges).view_as(t)

        grad_logits *= p
        inner = _segment(grad_logits, "sum", edges)
        grad_logits -= p * inner.index_select(0, edges.receivers)
        if scale is not None:
            grad_logits *= scale.flatten().index_select(0, edges.receivers)
        grad_logits = torch.where(rising, grad_logits, grad_logits * SLOPE)

        grad_l = _segment(grad_logits, "sum", edges).view(shape)
        grad_r = _segment(grad_logits.index_select(0, edges.reverse), "sum", edges).view(shape)
        grad_u = None if u is None else _segment(grad_logits * _edge_weights(edges), "sum", edges).view(shape)
        grad_scale = None if scale is None else inner.view(shape)
        return grad_l, grad_r, grad_t, grad_b, grad_u, None, grad_scale, None


def _weights(p: Tensor, keep: Tensor | None, scale: Tensor | None, edges: HeadEdges) -> Tensor:
    """c_i k_ij p_ij, (E*h,)."""
    weights = p if keep is None else p * keep
    return weights if scale is None else weights * scale.flatten().index_select(0, edges.receivers)


def _kept_sums(rows: Tensor, weights: Tensor, keep: Tensor | None, edges: HeadEdges) -> Tensor:
    """Σ of weighted senders' rows for every receiving row; entries that dropout set to 0 are passed over."""
    if keep is None:
        return sum_rows(rows, edges.senders, edges.offsets, weights)
    kept = keep.nonzero().squeeze(1)
    offsets = torch.searchsorted(kept, edges.offsets)
    return sum_rows(rows, edges.senders.index_select(0, kept), offsets, weights.index_select(0, kept))


def _kept_dots(grad: Tensor, t: Tensor, keep: Tensor | None, edges: HeadEdges) -> Tensor:
    """k_ij <grad_i, t_j>, (E*h,); where dropout set k to 0 the product is not computed."""
    if keep is None:
        return dot_bags(grad, t, edges.senders, edges.offsets)
    kept = keep.nonzero().squeeze(1)
    offsets = torch.searchsorted(kept, edges.offsets)
    dots = dot_bags(grad, t, edges.senders.index_select(0, kept), offsets)
    return torch.zeros_like(keep).index_copy_(0, kept, dots).mul_(keep)


class _NeighbourSums(torch.autograd.Function):
    """A symmetric matrix of ones: its own transpose, so backward is forward."""

    @staticmethod
    def forward(ctx: Any, m: Tensor, neighbourhood: Neighbourhood) -> Tensor:
        ctx.neighbourhood = neighbourhood
        ones = m.new_ones(neighbourhood.n_edges)
        return sum_rows(m.flatten(1), neighbourhood.senders, neighbourhood.offsets, ones).view_as(m)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _NeighbourSums.forward(ctx, grad.contiguous(), ctx.neighbourhood), None
