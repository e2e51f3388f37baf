"""GraphSAGE's network: every block adds a node's own vector and the means of its neighbours', each through a matrix.

    h'_i = σ( W_0 h_i + Σ_r W_r mean_{j in N_r(i)} h_j )          r = 1, …: kinds of link

With one kind this is the mean aggregator of GraphSAGE, one matrix on the concatenation of both (Hamilton et al. 2017,
algorithm 1, line 5); with two, intra and inter links, that of MultiplexSAGE (Gallo et al. 2023). No bias, as in their
code. It takes neighbours as they come, drawn or all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812

from mpxgat.nn.ops import glorot, sum_rows, total


class Hop(NamedTuple):
    """Whom a block computes and from whom, both as rows of what the block before gave (at first, of the input).

    For k receivers and r kinds of link (1 + r) * k lists: each receiver itself, then for each kind its neighbours.
    List i is rows[offsets[i] : offsets[i+1]].
    """

    receivers: int
    rows: Tensor  # (m,)
    offsets: Tensor  # ((1 + r) * k + 1,)

    def to(self, device: torch.device) -> Hop:
        """The same on another device."""
        return Hop(self.receivers, self.rows.to(device), self.offsets.to(device))


class SageBlock(nn.Module):
    """h (n, inputs) and a hop of k receivers -> (k, out); no activation."""

    def __init__(self, inputs: int, out: int, kinds: int, generator: torch.Generator):
        super().__init__()
        self.W = nn.ParameterList(glorot((inputs, out), generator) for _ in range(1 + kinds))

    def forward(self, h: Tensor, hop: Hop) -> Tensor:
        own, *means = mean_rows(h, hop.rows, hop.offsets).view(len(self.W), hop.receivers, h.shape[1]).unbind()
        result: Tensor = own @ self.W[0]
        for mean, W in zip(means, self.W[1:], strict=True):
            result = torch.addmm(result, mean, W)
        return result


class SageNet(nn.Module):
    """Two blocks over identity embeddings, with ReLU between them; rows of the result have length 1.

    dimensions  of the identity embeddings (one trainable vector for each of n nodes), the hidden and the last block
    features    (n, p) appended to the identity embeddings, or None
    """

    features: Tensor | None

    def __init__(self, n_nodes: int, dimensions: int, kinds: int, features: Tensor | None, generator: torch.Generator):
        super().__init__()
        inputs = dimensions + (0 if features is None else features.shape[1])
        self.identity = glorot((n_nodes, dimensions), generator)
        self.register_buffer("features", features, persistent=False)
        self.first = SageBlock(inputs, dimensions, kinds, generator)
        self.second = SageBlock(dimensions, dimensions, kinds, generator)

    def forward(self, hops: Sequence[Hop]) -> Tensor:
        """The vectors (k, dimensions) of the second hop's k receivers."""
        x = self.identity if self.features is None else torch.cat([self.identity, self.features], 1)
        h = self.first(x, hops[0]).relu()
        return F.normalize(self.second(h, hops[1]))


def mean_rows(h: Tensor, rows: Tensor, offsets: Tensor) -> Tensor:
    """The mean of every list's rows of ``h`` (n, d), zeros for an empty list: rows (m,), offsets (k+1,) -> (k, d)."""
    result: Tensor = _MeanRows.apply(h, rows, offsets)  # type: ignore[no-untyped-call]
    return result


class _MeanRows(torch.autograd.Function):
    """As `embedding_bag` with mode "mean", but a faster backward pass: a minibatch takes a sixth less time."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, rows: Tensor, offsets: Tensor) -> Tensor:
        ctx.save_for_backward(rows, offsets)
        ctx.n = len(h)
        return F.embedding_bag(rows, h, offsets, mode="mean", include_last_offset=True)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        rows, offsets = ctx.saved_tensors
        sizes = offsets.diff()
        lists = torch.arange(len(sizes), device=rows.device).repeat_interleave(sizes, output_size=len(rows))
        ordered, order = torch.sort(rows, stable=True)
        bins = torch.arange(ctx.n + 1, device=rows.device)
        back, weights = lists[order], sizes.to(grad.dtype).reciprocal_()
        return sum_rows(grad, back, torch.searchsorted(ordered, bins), weights[back]), None, None


def contrast_loss(z: Tensor, other: Tensor, negatives: Tensor) -> Tensor:
    """Cross-entropy of linked pairs (z_i, other_i) against (z_i, every negative), summed, for each i; a scalar.

    z and other (b, d), negatives (q, d), all of length 1: scores lie in [-1, 1], so exp cannot overflow.
    """
    links = (z * other).sum(1)  # (b,)
    non_links = z @ negatives.T  # (b, q)
    return (total(links.neg().exp().log1p()) + total(non_links.exp().log1p())) / len(z)
