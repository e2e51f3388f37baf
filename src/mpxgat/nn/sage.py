"""GraphSAGE's network: every block adds a node's own vector and the means of its neighbours', each through a matrix.

    h'_i = σ( W h_i + Σ_r W_r mean_{j in N_r(i)} h_j )          r: kinds of link

With one kind this is the mean aggregator of GraphSAGE, W applied to the concatenation of both (Hamilton et al. 2017,
algorithm 1, line 5); with two, intra and inter links, that of MultiplexSAGE (Gallo et al. 2023). No bias, as in their
code. It takes neighbours as they come, drawn or all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from mpxgat.nn.steady import product, total
from mpxgat.nn.transform import glorot


class Bags(NamedTuple):
    """Lists of rows: list i is rows[offsets[i] : offsets[i+1]]; rows (m,), offsets (k+1,)."""

    rows: Tensor
    offsets: Tensor


class Hop(NamedTuple):
    """Whom a block computes, and from whom: both as rows of what the block before gave (of the input, at first)."""

    receivers: Tensor  # (k,)
    senders: tuple[Bags, ...]  # for each kind of link k lists

    def to(self, device: torch.device) -> Hop:
        """The same on another device."""
        senders = (Bags(bags.rows.to(device), bags.offsets.to(device)) for bags in self.senders)
        return Hop(self.receivers.to(device), tuple(senders))


class SageBlock(nn.Module):
    """h (n, inputs) and a hop of k receivers -> (k, out); no activation."""

    def __init__(self, inputs: int, out: int, kinds: int, generator: torch.Generator):
        super().__init__()
        self.W_self = glorot((inputs, out), generator)
        self.W_neighbours = nn.ParameterList(glorot((inputs, out), generator) for _ in range(kinds))

    def forward(self, h: Tensor, hop: Hop) -> Tensor:
        result = product(h.index_select(0, hop.receivers), self.W_self)
        for W, bags in zip(self.W_neighbours, hop.senders, strict=True):
            result = result + product(mean_rows(h, bags), W)
        return result


class SageNet(nn.Module):
    """Two blocks over identity embeddings, with ReLU between them; rows of the result have length 1.

    dimensions  of the identity embeddings (one trainable vector for each of n nodes), the hidden and the last block
    features    (n, p) appended to the identity embeddings, or None
    """

    def __init__(self, n_nodes: int, dimensions: int, kinds: int, features: Tensor | None, generator: torch.Generator):
        super().__init__()
        inputs = dimensions + (0 if features is None else features.shape[1])
        self.identity = glorot((n_nodes, dimensions), generator)
        self.register_buffer("features", features, persistent=False)
        self.features: Tensor | None
        self.first = SageBlock(inputs, dimensions, kinds, generator)
        self.second = SageBlock(dimensions, dimensions, kinds, generator)

    def forward(self, hops: Sequence[Hop]) -> Tensor:
        """The vectors (k, dimensions) of the second hop's k receivers."""
        x = self.identity if self.features is None else torch.cat([self.identity, self.features], 1)
        h = self.first(x, hops[0]).relu()
        return F.normalize(self.second(h, hops[1]))


def mean_rows(h: Tensor, bags: Bags) -> Tensor:
    """The mean of every list's rows of ``h`` (n, d), zeros for an empty one: (k, d)."""
    return F.embedding_bag(bags.rows, h, bags.offsets, mode="mean", include_last_offset=True)


def contrast_loss(z: Tensor, other: Tensor, negatives: Tensor) -> Tensor:
    """Cross-entropy of linked pairs (z_i, other_i) against (z_i, every negative), summed, for each i; a scalar.

    z and other (b, d), negatives (q, d), all of length 1: scores lie in [-1, 1], so exp cannot overflow.
    """
    links = (z * other).sum(1)  # (b,)
    non_links = product(z, negatives.T)  # (b, q)
    return (total(links.neg().exp().log1p()) + total(non_links.exp().log1p())) / len(z)
