"""GATNE's network: a base vector for every node, and what its neighbours over each type of link add to it.

    u_ir = mean of u_jr over the neighbours j of i by links of type r        (s,)
    U_i  = (u_i1, …, u_im)                                                   (s, m)
    a_ir = softmax( w_r^T tanh(W_r U_i) )                                    (m,)
    v_ir = b_i + α M_r^T U_i a_ir                                            (d,)

GATNE-T has a vector b_i and vectors u_ir for every node (`NodeTables`); in GATNE-I they are functions of the node's
features x_i (`FeatureMaps`). Vectors are trained by skip-gram against context vectors c_j (Cen et al. 2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from mpxgat.nn.ops import (
    add_row,
    dot_bags,
    products,
    scatter_rows,
    sigmoid,
    softplus,
    sum_rows,
    total,
)


class GATNENet(nn.Module):
    """v_ir of all n nodes for m types of link, and the context vectors.

    nodes       gives b (n, d) and u (m, n, s)
    attention   columns of W_r
    alpha       weight of what neighbours add
    """

    def __init__(self, nodes: NodeTables | FeatureMaps, attention: int, *, alpha: float, generator: torch.Generator):
        super().__init__()
        types, n_nodes, width, out = nodes.types, nodes.n_nodes, nodes.edge_width, nodes.width
        self.nodes = nodes
        self.alpha = alpha
        self.M = _normal((types, width, out), generator)
        self.W = _normal((types, width, attention), generator)
        self.w = _normal((types, attention), generator)
        self.context = nn.Parameter(torch.zeros(n_nodes, out))  # as word2vec starts them

    def forward(self, kind: int, means: Sequence[Means]) -> Tensor:
        """Vectors v (n, d) for type ``kind``; ``means`` has the neighbours over each type."""
        b, u = self.nodes()
        U = torch.cat([mean(rows) for mean, rows in zip(means, u, strict=True)])  # (m*n, s)
        logits = ((U @ self.W[kind]).tanh() @ self.w[kind, :, None]).view(len(u), -1)  # (m, n)
        a = softmax_over_rows(logits)
        mixed = (a.unsqueeze(2) * U.view_as(u)).sum(0)  # (n, s)
        return torch.addmm(b, mixed, self.alpha * self.M[kind])


class NodeTables(nn.Module):
    """GATNE-T: b_i and u_ir are parameters."""

    def __init__(self, n_nodes: int, width: int, edge_width: int, types: int, generator: torch.Generator):
        super().__init__()
        self.n_nodes, self.width, self.edge_width, self.types = n_nodes, width, edge_width, types
        self.b = _normal((n_nodes, width), generator)
        self.u = _normal((types, n_nodes, edge_width), generator)

    def forward(self) -> tuple[Tensor, Tensor]:
        """Base vectors b (n, d) and edge vectors u (m, n, s)."""
        return self.b, self.u


class FeatureMaps(nn.Module):
    """GATNE-I: b_i = h(x_i) + β D^T x_i and u_ir = g_r(x_i), where h and g_r are a linear map and tanh.

    Were h linear, D would say the same once more.
    """

    x: Tensor

    def __init__(self, x: Tensor, width: int, edge_width: int, types: int, *, beta: float, generator: torch.Generator):
        super().__init__()
        self.n_nodes, self.width, self.edge_width, self.types = len(x), width, edge_width, types
        self.beta = beta
        self.register_buffer("x", x, persistent=False)
        self.H = _normal((x.shape[1], width), generator)
        self.h = nn.Parameter(torch.zeros(width))
        self.D = _normal((x.shape[1], width), generator)
        self.G = _normal((x.shape[1], types * edge_width), generator)
        self.g = nn.Parameter(torch.zeros(types * edge_width))

    def forward(self) -> tuple[Tensor, Tensor]:
        """Base vectors b (n, d) and edge vectors u (m, n, s)."""
        deep, direct = products(self.x, self.H, self.D)
        b = add_row(deep, self.h).tanh() + self.beta * direct
        u = add_row(self.x @ self.G, self.g).tanh()
        return b, u.view(self.n_nodes, self.types, self.edge_width).transpose(0, 1).contiguous()


@dataclass(frozen=True, eq=False)
class Means:
    """Means over a list of nodes for each of n nodes; zeros for an empty list.

    The way back of gradients is prepared along with the way there, as one list serves many steps.
    """

    offsets: Tensor  # (n+1,) the list of node i is members[offsets[i] : offsets[i+1]]
    members: Tensor  # (k,)
    weights: Tensor  # (k,) one over the length of the list
    back_offsets: Tensor  # (n+1,) the same sorted by member: who has node j in its list
    back_members: Tensor  # (k,)
    back_weights: Tensor  # (k,)

    @classmethod
    def of(cls, offsets: Tensor, members: Tensor, dtype: torch.dtype = torch.float32) -> Means:
        """Lists by offsets (n+1,) and members (k,)."""
        sizes = offsets.diff()
        nodes = torch.arange(len(sizes), device=offsets.device)
        owners = nodes.repeat_interleave(sizes, output_size=len(members))
        weights = sizes.to(dtype).reciprocal()[owners]
        ordered, order = torch.sort(members, stable=True)
        bins = torch.arange(len(offsets), device=offsets.device)
        return cls(offsets, members, weights, torch.searchsorted(ordered, bins), owners[order], weights[order])

    def __call__(self, rows: Tensor) -> Tensor:
        """(n, s) -> (n, s)."""
        result: Tensor = _Mean.apply(rows, self)  # type: ignore[no-untyped-call]
        return result


class _Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, means: Means) -> Tensor:
        ctx.means = means
        return sum_rows(rows, means.members, means.offsets, means.weights)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        means = ctx.means
        return sum_rows(grad.contiguous(), means.back_members, means.back_offsets, means.back_weights), None


class SkipGramBatch(NamedTuple):
    """B pairs of a centre and its context, sorted by centre, each with K negatives."""

    offsets: Tensor  # (n+1,) pairs with centre i are offsets[i] … offsets[i+1]-1
    contexts: Tensor  # (B, 1+K) the context, then the negatives


def skip_gram_loss(v: Tensor, context: Tensor, batch: SkipGramBatch) -> Tensor:
    """Mean over pairs of log(1 + exp(-<v_i, c_j>)) + Σ_k log(1 + exp(<v_i, c_k>)), k the negatives; a scalar.

    v and context (n, d). The gradient is made along with the loss, and nothing of size (pairs, d) at all.
    """
    loss: Tensor = _SkipGramLoss.apply(v, context, *batch)  # type: ignore[no-untyped-call]
    return loss


class _SkipGramLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, v: Tensor, context: Tensor, offsets: Tensor, contexts: Tensor) -> Tensor:
        pairs, entries = contexts.shape
        index, bags = contexts.flatten(), offsets * entries
        scores = dot_bags(v, context, index, bags).view(pairs, entries)
        slopes = sigmoid(scores)  # d loss / d score: σ(s) - 1 for the context, σ(s) for negatives
        slopes[:, 0] -= 1
        slopes = slopes.flatten().div_(pairs)
        nodes = torch.arange(len(v), device=v.device)
        centres = nodes.repeat_interleave(bags.diff(), output_size=len(index))
        ctx.save_for_backward(sum_rows(context, index, bags, slopes), scatter_rows(v, centres, index, slopes))
        scores[:, 0].neg_()
        return total(softplus(scores)) / pairs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grad_v, grad_context = ctx.saved_tensors
        return grad_v.mul_(grad), grad_context.mul_(grad), None, None  # in place: the largest tensors of a step


def softmax_over_rows(logits: Tensor) -> Tensor:
    """Softmax over the few rows of (m, n); of exp, which gives the same bytes on any number of threads."""
    powers = (logits - logits.detach().amax(0)).exp()
    return powers / powers.sum(0)


def _normal(shape: tuple[int, ...], generator: torch.Generator) -> nn.Parameter:
    """Normal numbers; rows have a length of about 1."""
    return nn.Parameter(torch.randn(shape, generator=generator) / math.sqrt(shape[-1]))
