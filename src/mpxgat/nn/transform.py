"""From node inputs to what attention needs: the two halves of the logit and the messages.

    s_i = W_i h_i + b_i,   l_i = <v_i, s_i>          for the receiver
    t_j = W_j h_j + b_j,   r_j = <v_j, t_j>          for the sender

``s`` is needed only inside its dot product, so it is never made: <v, W h + b> = h · <v, W> + <v, b>, where <v, W>
is one column for each head. That spares the paper's second matrix product (n × inputs × heads*out).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from mpxgat.nn.needed import needed_products
from mpxgat.nn.steady import add_product, add_row, product, products


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


class Transform(Protocol):
    """Any module that turns inputs into `Projected`."""

    def __call__(self, h: Input, needed: Tensor | None = None, /) -> Projected:
        """``needed`` (n, heads) tells which messages will be used; others may be anything finite."""
        ...


class SeparateTransforms(nn.Module):
    """Two matrices, two biases, two attention vectors (the paper's text).

    inputs      columns of h; with one-hot input the number of nodes
    out, heads  h (n, inputs) -> t (n, heads, out)
    """

    def __init__(self, inputs: int, out: int, heads: int, generator: torch.Generator):
        super().__init__()
        self.W_i = glorot((inputs, heads * out), generator)
        self.W_j = glorot((inputs, heads * out), generator)
        self.b_i = nn.Parameter(torch.zeros(heads * out))
        self.b_j = nn.Parameter(torch.zeros(heads * out))
        self.v_i = glorot((heads, out), generator)
        self.v_j = glorot((heads, out), generator)

    def forward(self, h: Input, needed: Tensor | None = None) -> Projected:
        b = self.b_j.view_as(self.v_j)
        if not isinstance(h, Tensor):  # every matrix is its own product
            W_i, W_j = table(self.W_i, h), table(self.W_j, h)
            left = add_row(head_dots(W_i, self.v_i), head_dots(self.b_i[None], self.v_i).squeeze(0))
            right, t = table_rows(W_j, on_diagonal(self.v_j))
            right = add_row(right, head_dots(self.b_j[None], self.v_j).squeeze(0))
            return Projected(left, right, t.view(-1, *self.v_j.shape), b)
        u_i, u_j = head_dots(self.W_i, self.v_i), head_dots(self.W_j, self.v_j)  # (inputs, heads) each
        c = torch.cat([head_dots(self.b_i[None], self.v_i), head_dots(self.b_j[None], self.v_j)], 1)  # (1, 2*heads)
        t, lr = project(h, self.W_j, torch.cat([u_i, u_j], 1), needed)  # (n, heads*out), (n, 2*heads)
        return _projected(add_row(lr, c.squeeze(0)), t, b, self.v_j)


class SharedTransform(nn.Module):
    """One matrix for receiver and sender, two attention vectors (the authors' code); the bias may be absent."""

    b: nn.Parameter | None

    def __init__(self, inputs: int, out: int, heads: int, generator: torch.Generator, *, bias: bool = True):
        super().__init__()
        self.W = glorot((inputs, heads * out), generator)
        self.b = nn.Parameter(torch.zeros(heads * out)) if bias else None
        self.v_i = glorot((heads, out), generator)
        self.v_j = glorot((heads, out), generator)

    def forward(self, h: Input, needed: Tensor | None = None) -> Projected:
        V = torch.cat([on_diagonal(self.v_i), on_diagonal(self.v_j)], 1)  # (heads*out, 2*heads)
        if not isinstance(h, Tensor):
            lr, t = table_rows(table(self.W, h), V)  # (n, 2*heads), (n, heads*out)
        else:
            t, lr = project(h, self.W, product(self.W, V), needed)
        b = None
        if self.b is not None:
            lr, b = add_row(lr, product(self.b[None], V).squeeze(0)), self.b.view_as(self.v_j)
        return _projected(lr, t, b, self.v_j)


def project(h: Tensor, W: Tensor, u: Tensor, needed: Tensor | None) -> tuple[Tensor, Tensor]:
    """``h W``, where it is needed, and ``h u``: (n, inputs) · (inputs, k) -> (n, k)."""
    return products(h, W, u) if needed is None else needed_products(h, W, u, needed)


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
        return product(W, V), W.view_as(W)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_dots: Tensor, grad_t: Tensor) -> tuple[Tensor, Tensor]:
        W, V = ctx.saved_tensors
        return add_product(grad_t, grad_dots, V.T), product(W.T, grad_dots)


def on_diagonal(v: Tensor) -> Tensor:
    """(heads, out) -> (heads*out, heads), the vector of each head in its own column."""
    return torch.block_diag(*v.unsqueeze(-1))  # type: ignore[no-untyped-call, no-any-return]


def head_dots(rows: Tensor, v: Tensor) -> Tensor:
    """<v_k, row's part for head k>: (n, heads*out), (heads, out) -> (n, heads), as a product with v on the diagonal."""
    return product(rows, on_diagonal(v))


def glorot(shape: tuple[int, int], generator: torch.Generator) -> nn.Parameter:
    """Uniform in ±sqrt(6 / (rows + columns)), as PyTorch Geometric starts its attention blocks."""
    bound = math.sqrt(6 / sum(shape))
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


def _projected(lr: Tensor, t: Tensor, b: Tensor | None, v: Tensor) -> Projected:
    heads = len(v)
    return Projected(lr[:, :heads], lr[:, heads:], t.view(-1, *v.shape), b)
