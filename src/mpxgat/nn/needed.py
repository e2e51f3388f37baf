"""Matrix products for the rows that dropout leaves in use.

Attention dropout decides which messages are sent before they are made. Where nodes have few neighbours, as in the
vertical network, most messages of a head are sent to nobody: their rows of ``h W`` are not computed, neither are
their gradients. What is computed is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mpxgat.nn.neighbourhood import HeadEdges
from mpxgat.nn.steady import SHORTEST_SIDE, product

# Picking rows costs about as much as a quarter of a product: above this share it does not pay.
_LARGEST_SHARE = 0.75
_PIECE = 1 << 20  # numbers in one piece of gathered rows


def needed_messages(keep: Tensor | None, edges: HeadEdges) -> Tensor | None:
    """(n, heads) which messages anybody receives; None if (nearly) all are needed.

    keep    (E*h,) dropout's factors; None keeps all
    """
    if keep is None:
        return None
    rows = len(edges.offsets) - 1
    if len(keep) > 4 * rows:  # many neighbours: hardly a message that nobody receives
        return None
    needed = torch.zeros(rows, dtype=torch.bool, device=keep.device)
    needed[edges.senders[keep > 0]] = True
    share = float(needed.sum()) / max(rows, 1)
    return needed.view(-1, edges.heads) if share < _LARGEST_SHARE else None


def needed_products(h: Tensor, W: Tensor, u: Tensor, needed: Tensor) -> tuple[Tensor, Tensor]:
    """``h W`` with zeros where a message is not needed, and ``h u`` whole.

    h (n, k), W (k, heads*out), u (k, m), needed (n, heads) -> (n, heads*out), (n, m)
    """
    result: tuple[Tensor, Tensor] = _NeededProducts.apply(h, W, u, needed)  # type: ignore[no-untyped-call]
    return result


class _NeededProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, W: Tensor, u: Tensor, needed: Tensor) -> tuple[Tensor, Tensor]:
        heads = needed.shape[1]
        nodes = [needed[:, head].nonzero().squeeze(1) for head in range(heads)]
        out = W.shape[1] // heads
        t = h.new_zeros(len(h) * heads, out)
        for head, picked in _pieces(nodes, h.shape[1]):
            part = product(h.index_select(0, picked), W[:, head * out : (head + 1) * out])
            t.index_copy_(0, picked * heads + head, part)
        ctx.save_for_backward(h, W, u, *nodes)
        return t.resize_(len(h), heads * out), product(h, u)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_t: Tensor, grad_u: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None]:
        h, W, u, *nodes = ctx.saved_tensors
        heads, out = len(nodes), W.shape[1] // len(nodes)
        grad_rows = grad_t.reshape(len(h) * heads, out)
        grad_W = torch.zeros_like(W)
        grad_h = product(grad_u, u.T) if ctx.needs_input_grad[0] else None
        for head, picked in _pieces(nodes, h.shape[1]):
            columns = slice(head * out, (head + 1) * out)
            grad = grad_rows.index_select(0, picked * heads + head)
            grad_W[:, columns] += product(h.index_select(0, picked).T, grad)
            if grad_h is not None:  # a node stands once in ``nodes[head]``: nothing is added into a shared place
                grad_h.index_add_(0, picked, product(grad, W[:, columns].T))
        return grad_h, grad_W, product(h.T, grad_u), None


def _pieces(nodes: list[Tensor], width: int) -> Iterator[tuple[int, Tensor]]:
    """(head, nodes) in pieces whose gathered rows stay small: pieces of all sizes would tear holes into memory."""
    step = max(_PIECE // max(width, 1), SHORTEST_SIDE)
    for head, picked in enumerate(nodes):
        for piece in torch.split(picked, step):
            yield head, piece
