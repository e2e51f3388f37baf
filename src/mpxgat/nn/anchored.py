"""The network of the anchored model: how much each view of a node counts, and what its degree and layer add.

All that is learned are functions of a few numbers about a node, so they hold for nodes never seen in training. With
a_k(i) the view of node i by head k, r_i its unit's row, p_i the layers its unit is present in and n_i its numbers:
```
y_i  = LeakyReLU( [n_i, layer] W + b )
g_i  = exp( y_i G + c )                                                # one gate for each part
h_i  = [ g_i1 a_1(i) + g_i2 a_2(i), g_i3 a_3(i), … ]                   # horizontal part
v_i  = [ g_i· r_i, g_i· (p_i ⊗ corner of the layer), y_i T + t ]       # vertical part
z_i  = [ √β h_i, √(1-β) v_i ]
```
so that <z_i, z_j> is β of the one and 1-β of the other. Layers are the corners of a simplex around 0: two different
corners have the inner product -1, so <p_i ⊗ corner, p_j ⊗ corner> is *minus* the number of layers where both units
have a node already, which speaks against a link. No view carries a matrix: random rows have no meaning to turn.

The horizontal embedding adds the views over all units in one space, own row included. Its inner product meets the own
row of the one in the neighbourhood of the other: a link between their units in another layer.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from mpxgat.nn.ops import add_row, column_sums, leaky_relu, sigmoid, softplus, total

_NEAR = 2  # heads of one step, which share their columns
_LARGEST_LOG_GATE = 4.0


class AnchoredNet(nn.Module):
    """Numbers about nodes are brought to mean 0 and deviation 1 by ``mean`` and ``deviation`` (p,), kept as buffers."""

    mean: Tensor
    deviation: Tensor
    corners: Tensor

    def __init__(
        self,
        heads: int,
        n_layers: int,
        hidden: int,
        terms: int,
        mean: Tensor,
        deviation: Tensor,
        generator: torch.Generator,
    ):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("deviation", deviation)
        self.register_buffer("corners", simplex_corners(n_layers))
        inputs = len(mean) + n_layers
        self.vertical_terms = _NodeTerms(inputs, hidden, heads + 2, terms, generator)
        self.horizontal_terms = _NodeTerms(inputs, hidden, heads + 1, terms, generator)
        self.balance = nn.Parameter(torch.zeros(1))  # logit of β

    @property
    def beta(self) -> tuple[Tensor]:
        """β, the share of the horizontal part, (1,)."""
        return (torch.sigmoid(self.balance.detach()),)

    def vertical(self, views: Tensor, identity: Tensor, presence: Tensor, numbers: Tensor, layer: Tensor) -> Tensor:
        """z: views (heads, n, d), identity (n, d), presence (n, layers), numbers (n, p), layer (n,) -> (n, columns)."""
        logits, terms = self.vertical_terms(self._inputs(numbers, layer))
        beta = torch.sigmoid(self.balance)
        halves = 0.5 * torch.cat([beta.log().expand(len(views)), (1 - beta).log().expand(2)])
        gates = _gates(add_row(logits, halves))
        corner = self.corners[layer]  # (n, layers)
        exclusion = (presence[:, :, None] * corner[:, None, :]).flatten(1)
        n = len(views)
        parts = [
            _mixed(views[:_NEAR], gates[:, :_NEAR]),
            *(views[head] * gates[:, head, None] for head in range(_NEAR, n)),
            identity * gates[:, n, None],
            exclusion * gates[:, n + 1, None],
            terms,
        ]
        return torch.cat(parts, 1)

    def horizontal(self, views: Tensor, numbers: Tensor, layer: Tensor) -> Tensor:
        """Views (heads + 1, n, d), the own row first -> (n, d + terms)."""
        logits, terms = self.horizontal_terms(self._inputs(numbers, layer))
        return torch.cat([_mixed(views, _gates(logits)), terms], 1)

    def _inputs(self, numbers: Tensor, layer: Tensor) -> Tensor:
        one_hot = torch.eye(len(self.corners), dtype=numbers.dtype, device=numbers.device)[layer]
        return torch.cat([(numbers - self.mean) / self.deviation, one_hot], 1)


class _NodeTerms(nn.Module):
    """y = LeakyReLU(x W + b); the logits of gates y G + c (all 0 at first, but for c) and terms y T + t."""

    def __init__(self, inputs: int, hidden: int, gates: int, terms: int, generator: torch.Generator):
        super().__init__()
        self.W = nn.Parameter(_drawn(inputs, hidden, generator))
        self.b = nn.Parameter(torch.zeros(hidden))
        self.G = nn.Parameter(torch.zeros(hidden, gates))
        self.c = nn.Parameter(torch.full((gates,), 0.5))
        self.T = nn.Parameter(_drawn(hidden, terms, generator))
        self.t = nn.Parameter(torch.zeros(terms))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = leaky_relu(add_row(x @ self.W, self.b))
        return add_row(y @ self.G, self.c), add_row(y @ self.T, self.t)


def simplex_corners(count: int) -> Tensor:
    """(count, count) one row for each corner; different rows have the inner product -1."""
    # count·I - 1 has the square root √count (I - 1/count), as I - 1/count is a projection.
    return math.sqrt(count) * (torch.eye(count) - 1 / max(count, 1))


def ordering_loss(links: Tensor, non_links: Tensor) -> Tensor:
    """Mean of log(1 + exp(s' - s)) over all scores s of links (p,) and s' of non-links (q,): a smooth 1 - AUC."""
    loss: Tensor = _Ordering.apply(links, non_links)  # type: ignore[no-untyped-call]
    return loss


def ranking_loss(links: Tensor, candidates: Tensor) -> Tensor:
    """Mean of -log softmax of a link's score (p,) among its candidates' scores (p, c); -inf is no candidate."""
    both = torch.cat([links[:, None], candidates], 1)
    return total(torch.logsumexp(both, 1) - links) / len(links)


class _Ordering(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, links: Tensor, non_links: Tensor) -> Tensor:
        behind = non_links[None, :] - links[:, None]  # (p, q)
        ctx.save_for_backward(sigmoid(behind) / behind.numel())
        return total(softplus(behind)) / behind.numel()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        (slopes,) = ctx.saved_tensors
        return -grad * slopes.sum(1), grad * column_sums(slopes)


def _gates(logits: Tensor) -> Tensor:
    return logits.clamp(-_LARGEST_LOG_GATE, _LARGEST_LOG_GATE).exp()


def _mixed(views: Tensor, gates: Tensor) -> Tensor:
    """Σ_k gate_k view_k: (k, n, d), (n, k) -> (n, d)."""
    mixed = views[0] * gates[:, 0, None]
    for view, gate in zip(views[1:], gates.unbind(1)[1:], strict=True):
        mixed = mixed + view * gate[:, None]
    return mixed


def _drawn(inputs: int, out: int, generator: torch.Generator) -> Tensor:
    bound = 1 / math.sqrt(max(inputs, 1))
    return torch.empty(inputs, out).uniform_(-bound, bound, generator=generator)
