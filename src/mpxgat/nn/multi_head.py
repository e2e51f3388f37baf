"""`MultiHeadAttention`: the part that both kinds of block share, from node inputs to sums of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from mpxgat.nn.attention import AttentionDropout, attend, edge_softmax
from mpxgat.nn.needed import needed_messages
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.nn.pieces import attend_in_pieces
from mpxgat.nn.steady import repeat_row
from mpxgat.nn.transform import Input, Projected, Transform, glorot

Activation = Callable[[Tensor], Tensor]
Joining = Callable[[Tensor, Activation], Tensor]


def concatenate_heads(out: Tensor, activation: Activation) -> Tensor:
    """σ of all heads side by side, for hidden blocks: (n, heads, d) -> (n, heads*d)."""
    return activation(out).flatten(1)


def average_heads(out: Tensor, activation: Activation) -> Tensor:
    """σ of the heads' mean, for the last block: (n, heads, d) -> (n, d)."""
    return activation(out.mean(1))


class EdgeTerm(nn.Module):
    """The edge weight's term of the attention logit: + u_k w_ij in head k, u learned; a self-loop weighs 1.

    The softmax compares the neighbours of one node, so u tells how much a heavier link counts for more.
    """

    def __init__(self, heads: int, generator: torch.Generator):
        super().__init__()
        self.u = glorot((1, heads), generator)

    def forward(self, n_nodes: int) -> Tensor:
        """The vector u, once for every node: (n, heads)."""
        return repeat_row(self.u.squeeze(0), n_nodes)


class MultiHeadAttention(nn.Module):
    """``Σ_j a_ij t_j`` for every node and head.

    transform   makes the logits' halves and the messages t, for ``heads`` heads
    dropout     on the attention weights
    edge_term   adds the edge weights to the logit; without it they are not read
    """

    def __init__(self, transform: Transform, heads: int, dropout: AttentionDropout, edge_term: EdgeTerm | None = None):
        super().__init__()
        self.heads = heads
        self.transform = transform
        self.dropout = dropout
        self.edge_term = edge_term

    def forward(
        self,
        h: Input,
        neighbourhood: Neighbourhood,
        *,
        generator: torch.Generator | None = None,
        scale: Tensor | None = None,
    ) -> Tensor:
        """From h (n, inputs) or one-hot to (n, heads, out); each sum times ``scale`` (n, heads) if it is given."""
        edges = neighbourhood.head_edges(self.heads)
        keep = self.dropout(edges, next(self.parameters()), generator)  # (E*heads,)
        left, right, t, b = self.transform(h, needed_messages(keep, edges))  # (n, heads) twice, (n, heads, out)
        return attend(left, right, t, edges, b=b, u=self._u(neighbourhood), keep=keep, scale=scale)

    @torch.no_grad()
    def weights(self, h: Input, neighbourhood: Neighbourhood) -> Tensor:
        """a_ij without dropout: (E, heads), in the order of the neighbourhood's edges."""
        edges = neighbourhood.head_edges(self.heads)
        left, right, *_ = self.transform(h)
        return edges.per_edge(edge_softmax(left, right, edges, self._u(neighbourhood)))

    def in_pieces(self, projected: Projected, neighbourhood: Neighbourhood) -> Iterator[tuple[slice, Tensor]]:
        """The sums of a range of nodes after the other, (r, heads, out) each, without dropout and gradients.

        projected   what ``transform`` makes of all nodes
        """
        u = None if self.edge_term is None else self.edge_term.u.squeeze(0)
        return attend_in_pieces(projected, neighbourhood, u)

    def _u(self, neighbourhood: Neighbourhood) -> Tensor | None:
        return None if self.edge_term is None else self.edge_term(neighbourhood.n_nodes)
