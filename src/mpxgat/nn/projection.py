"""Linear maps of the nodes' inputs, computed only as far as they are used; `mpxgat.nn.mpxgat` has their equations.

They give the two halves of the attention logit, the messages t, and the horizontal messages m^H.

One-hot inputs are never made. The paper's second matrix product is not computed, as only its dot product with a vector
is used. Messages that dropout lets nobody receive are not computed, and horizontal ones only where they are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from mpxgat.nn.ops import add_row, column_sums, products

_GATHERED_AT_ONCE = 1 << 20  # numbers in a chunk of gathered rows
_ROWS_AT_ONCE = 1024  # of horizontal messages: a few megabytes


# ---- from inputs to the halves of the logit and the messages -------------------------------------------------------


@dataclass(frozen=True)
class OneHot:
    """The n × n identity as input, never materialised: ``W · onehot(i)`` is row i of W."""

    n_nodes: int


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Rows of the n × n identity as input: those of ``nodes`` (k,), ascending, none twice.

    Only the rows of W that belong to them are read, and the gradient of W is a sparse tensor with these rows: what a
    step costs does not depend on n.
    """

    nodes: Tensor


Input = Tensor | OneHot | SomeRows


class Projected(NamedTuple):
    """What a transform makes of the nodes."""

    left: Tensor  # (n, heads) receiver's half of the logit
    right: Tensor  # (n, heads) sender's half
    t: Tensor  # (n, heads, out) messages
    b: Tensor | None  # (heads, out) what every message has besides; t + b need not be made


def project_separately(
    h: Input,
    W_i: Tensor,
    b_i: Tensor,
    v_i: Tensor,
    W_j: Tensor,
    b_j: Tensor,
    v_j: Tensor,
    sent: Tensor | None,
) -> Projected:
    """From s = h W_i + b_i and t = h W_j + b_j: <v_i, s>, <v_j, t> and t; W (inputs, heads*out), v (heads, out).

    Only the dot product of s is used, so s is never made: <v, W h + b> = h · <v, W> + <v, b>, where <v, W> is one
    column for each head. That spares the paper's second matrix product.

    sent    (n, heads) which messages are sent; others may be anything finite. None: all
    """
    b = b_j.view_as(v_j)
    if not isinstance(h, Tensor):  # every matrix is its own product
        left = add_row(head_dots(table(W_i, h), v_i), head_dots(b_i[None], v_i).squeeze(0))
        right, t = table_rows(table(W_j, h), on_diagonal(v_j))
        right = add_row(right, head_dots(b_j[None], v_j).squeeze(0))
        return Projected(left, right, t.view(-1, *v_j.shape), b)
    u = torch.cat([head_dots(W_i, v_i), head_dots(W_j, v_j)], 1)  # (inputs, 2*heads)
    c = torch.cat([head_dots(b_i[None], v_i), head_dots(b_j[None], v_j)], 1)  # (1, 2*heads)
    t, lr = _project(h, W_j, u, sent)  # (n, heads*out), (n, 2*heads)
    return _projected(add_row(lr, c.squeeze(0)), t, b, v_j)


def project_together(h: Input, W: Tensor, b: Tensor | None, v_i: Tensor, v_j: Tensor, sent: Tensor | None) -> Projected:
    """The same with s = t = h W [+ b]."""
    V = torch.cat([on_diagonal(v_i), on_diagonal(v_j)], 1)  # (heads*out, 2*heads)
    if not isinstance(h, Tensor):
        lr, t = table_rows(table(W, h), V)  # (n, 2*heads), (n, heads*out)
    else:
        t, lr = _project(h, W, W @ V, sent)
    if b is None:
        return _projected(lr, t, None, v_j)
    return _projected(add_row(lr, (b[None] @ V).squeeze(0)), t, b.view_as(v_j), v_j)


def _project(h: Tensor, W: Tensor, u: Tensor, sent: Tensor | None) -> tuple[Tensor, Tensor]:
    """``h W``, where it is sent, and ``h u``: (n, inputs) · (inputs, k) -> (n, k)."""
    return products(h, W, u) if sent is None else sent_products(h, W, u, sent)


def table(W: Tensor, h: OneHot | SomeRows) -> Tensor:
    """What identity rows make of W (n, m): W itself, or its rows of some nodes (k, m)."""
    if isinstance(h, OneHot):
        return W
    rows: Tensor = _PickedRows.apply(W, h.nodes)  # type: ignore[no-untyped-call]
    return rows


class _PickedRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, W: Tensor, nodes: Tensor) -> Tensor:
        ctx.save_for_backward(nodes)
        ctx.shape = W.shape
        return W.index_select(0, nodes)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (nodes,) = ctx.saved_tensors
        rows = torch.sparse_coo_tensor(nodes[None], grad, ctx.shape, check_invariants=False, is_coalesced=True)
        return rows, None


def table_rows(W: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
    """``W V`` (n, k) and the rows of a table W themselves (n, m), for V (m, k); one gradient of W comes of both."""
    result: tuple[Tensor, Tensor] = _TableRows.apply(W, V)  # type: ignore[no-untyped-call]
    return result


class _TableRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, W: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(W, V)
        return W @ V, W.view_as(W)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_dots: Tensor, grad_t: Tensor) -> tuple[Tensor, Tensor]:
        W, V = ctx.saved_tensors
        return torch.addmm(grad_t, grad_dots, V.T), W.T @ grad_dots


def on_diagonal(v: Tensor) -> Tensor:
    """(heads, out) -> (heads*out, heads), the vector of each head in its own column."""
    return torch.block_diag(*v.unsqueeze(-1))  # type: ignore[no-untyped-call, no-any-return]


def head_dots(rows: Tensor, v: Tensor) -> Tensor:
    """<v_k, row's part for head k>: (n, heads*out), (heads, out) -> (n, heads), as a product with v on the diagonal."""
    return rows @ on_diagonal(v)


def _projected(lr: Tensor, t: Tensor, b: Tensor | None, v: Tensor) -> Projected:
    heads = len(v)
    return Projected(lr[:, :heads], lr[:, heads:], t.view(-1, *v.shape), b)


# Attention dropout decides which messages are sent before they are made. Where nodes have few neighbours, as in the
# vertical network, most messages of a head are sent to nobody: their rows of h W are not computed, neither are their
# gradients. What is computed is the same.


def sent_products(h: Tensor, W: Tensor, u: Tensor, sent: Tensor) -> tuple[Tensor, Tensor]:
    """``h W`` with zeros where a message is not sent, and ``h u`` whole.

    h (n, k), W (k, heads*out), u (k, m), sent (n, heads) -> (n, heads*out), (n, m)
    """
    result: tuple[Tensor, Tensor] = _SentProducts.apply(h, W, u, sent)  # type: ignore[no-untyped-call]
    return result


class _SentProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, W: Tensor, u: Tensor, sent: Tensor) -> tuple[Tensor, Tensor]:
        heads = sent.shape[1]
        nodes = [sent[:, head].nonzero().squeeze(1) for head in range(heads)]
        out = W.shape[1] // heads
        t = h.new_zeros(len(h) * heads, out)
        for head, picked in _head_chunks(nodes, h.shape[1]):
            part = h.index_select(0, picked) @ W[:, head * out : (head + 1) * out]
            t.index_copy_(0, picked * heads + head, part)
        ctx.save_for_backward(h, W, u, *nodes)
        return t.resize_(len(h), heads * out), h @ u

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_t: Tensor, grad_u: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None]:
        h, W, u, *nodes = ctx.saved_tensors
        heads, out = len(nodes), W.shape[1] // len(nodes)
        grad_rows = grad_t.reshape(len(h) * heads, out)
        grad_W = torch.zeros_like(W)
        grad_h = grad_u @ u.T if ctx.needs_input_grad[0] else None
        for head, picked in _head_chunks(nodes, h.shape[1]):
            columns = slice(head * out, (head + 1) * out)
            grad = grad_rows.index_select(0, picked * heads + head)
            grad_W[:, columns] += h.index_select(0, picked).T @ grad
            if grad_h is not None:  # a node stands once in ``nodes[head]``: nothing is added into a shared place
                grad_h.index_add_(0, picked, grad @ W[:, columns].T)
        return grad_h, grad_W, h.T @ grad_u, None


def _head_chunks(nodes: list[Tensor], width: int) -> Iterator[tuple[int, Tensor]]:
    """(head, nodes) in chunks whose gathered rows stay small: chunks of all sizes would tear holes into memory."""
    step = max(_GATHERED_AT_ONCE // max(width, 1), 1)
    for head, picked in enumerate(nodes):
        for chunk in torch.split(picked, step):
            yield head, chunk


# ---- horizontal messages m^H ---------------------------------------------------------------------------------------
#
# Held as factors, a scale for every node and head times a row, m = scale * rows: scales (n, heads) are small, rows are
# the largest tensors of a vertical block (n, heads, out), so the product is made only where it is added.


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
        rows = add_row(self.x @ self.Z, self.b)
        return self.scale.unsqueeze(-1) * rows.view(*self.scale.shape, -1)


class _AddLinear(torch.autograd.Function):
    """``out + scale * (x Z + b)`` in place, a piece of rows at a time: the rows x Z + b never leave the cache."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, scale: Tensor, x: Tensor, Z: Tensor, b: Tensor) -> Tensor:
        ctx.mark_dirty(out)
        ctx.save_for_backward(scale, x, Z, b)
        for part in _parts(len(out)):
            rows = (x[part] @ Z).add_(b)
            out[part].addcmul_(scale[part].unsqueeze(-1), rows.view_as(out[part]))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        scale, x, Z, b = ctx.saved_tensors
        grad_scale, grad_Z, grad_b = torch.empty_like(scale), torch.zeros_like(Z), torch.zeros_like(b)
        grad_x = torch.empty_like(x) if ctx.needs_input_grad[2] else None
        for part in _parts(len(grad)):
            rows = (x[part] @ Z).add_(b).view_as(grad[part])
            torch.sum(rows.mul_(grad[part]), -1, out=grad_scale[part])
            grad_rows = torch.mul(grad[part], scale[part].unsqueeze(-1), out=rows).flatten(1)
            grad_Z += x[part].T @ grad_rows
            grad_b += column_sums(grad_rows)
            if grad_x is not None:
                grad_x[part] = grad_rows @ Z.T
        return grad, grad_scale, grad_x, grad_Z, grad_b


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, start + _ROWS_AT_ONCE) for start in range(0, count, _ROWS_AT_ONCE))
