"""The sums that MPXGAT's blocks are made of, fast and in little memory; `mpxgat.nn.mpxgat` has their equations.

For every head, with l_i = <v_i, s_i> and r_j = <v_j, t_j>:

    e_ij  = LeakyReLU(l_i + r_j [+ u w_ij])
    p_ij  = exp(e_ij) / Σ_{z in N(i)} exp(e_iz)
    out_i = c_i Σ_j p_ij k_ij (t_j + b)     k: dropout's factors, 0 or 1/(1-p); optional: a scale c, a bias b

Both passes go over edges sorted by receiver; nothing of size (E, heads, out) is ever made. The backward pass sums the
same entries sorted by sender, which in an undirected network is the same list in another order (where messages go one
way, `Neighbourhood.directed`, it is a list of its own). In this order below:
who sends to whom; the sum over j; the sum without gradients, chunk by chunk; and every message by itself, for those who
bring their own g. What the nodes send is made in `mpxgat.nn.projection`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812

from mpxgat.errors import GraphError
from mpxgat.nn.ops import SLOPE, dot_bags, sum_rows
from mpxgat.nn.projection import Projected

EDGES_AT_ONCE = 1 << 18  # in a chunk, where nodes are embedded chunk by chunk
# Picking the rows of messages that are sent costs about a quarter of the product: above this share it does not pay.
_LARGEST_SHARE = 0.75

# ---- who sends to whom ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeadEdges:
    """The edges of a `Neighbourhood`, once for each of h heads.

    The heads are h disjoint copies of the network: head k of node i is *row* i*h + k, so a tensor (n, h, d) is
    (n*h, d) rows without moving a byte, and all heads are one sparse operation. Entries are sorted by
    receiver, then head, then sender. Where the network is undirected, entry k and ``reverse[k]`` are one link
    seen from its two ends: sorted by sender, the entries' receivers are again ``senders``. Where it is not, ``turned``
    has the edges the other way round, and ``reverse[k]`` is the entry that its entry k stands for.
    """

    heads: int
    offsets: Tensor  # (n*h+1,) entries of row p are offsets[p] … offsets[p+1]-1
    senders: Tensor  # (E*h,) row of the sender
    receivers: Tensor  # (E*h,) row of the receiver
    reverse: Tensor  # (E*h,) the same link seen from the other end
    position: Tensor  # (E, h) entry of edge e in head k
    weights: Tensor | None  # (E*h,)
    turned: HeadEdges | None = None

    @property
    def by_sender(self) -> HeadEdges:
        """The entries sorted by sender: ``x[reverse]`` is aligned with them."""
        return self.turned or self

    def per_edge(self, entries: Tensor) -> Tensor:
        """(E*h,) in the order of entries -> (E, h) in the order of the neighbourhood's edges."""
        return entries[self.position]


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """N(i) of every node i, i itself included. Edges go both ways and are sorted by receiver, then sender.

    offsets     (n+1,) edges into node i are offsets[i] … offsets[i+1]-1
    senders     (E,) E = 2m + n for m links
    reverse     (E,) position of the edge that goes the other way; a self-loop is its own
    weights     (E,) weight of the link, 1 for self-loops; None if the links have none
    turned      None; where edges go one way, the same edges the other way round: its edge k is edge reverse[k]
    """

    offsets: Tensor
    senders: Tensor
    reverse: Tensor
    weights: Tensor | None = None
    turned: Neighbourhood | None = None
    _head_edges: dict[int, HeadEdges] = field(default_factory=dict, repr=False)

    @classmethod
    def from_links(cls, n_nodes: int, links: Tensor, weights: Tensor | None = None) -> Neighbourhood:
        """From undirected links (m, 2), each given once, and optional weights (m,).

        GraphError if a link joins a node with itself, appears twice, or names a node outside 0…n-1.
        """
        links = links.reshape(-1, 2).to(torch.int64)
        _check(n_nodes, links)
        nodes = torch.arange(n_nodes, device=links.device)
        receivers = torch.cat([links[:, 0], links[:, 1], nodes])
        senders = torch.cat([links[:, 1], links[:, 0], nodes])
        keys, order = torch.sort(receivers * n_nodes + senders)
        if len(keys) > 1 and bool((keys[1:] == keys[:-1]).any()):
            first = int(keys[1:][keys[1:] == keys[:-1]][0])
            raise GraphError(f"the link between {first // n_nodes} and {first % n_nodes} is given twice, expected once")
        receivers, senders = receivers[order], senders[order]
        if weights is not None:
            weights = torch.cat([weights, weights, weights.new_ones(n_nodes)])[order]
        offsets = torch.searchsorted(receivers, torch.arange(n_nodes + 1, device=links.device))
        return cls(offsets, senders, torch.searchsorted(keys, senders * n_nodes + receivers), weights)

    @classmethod
    def one_way(cls, offsets: Tensor, senders: Tensor, weights: Tensor | None = None) -> Neighbourhood:
        """Edges that need not go both ways, sorted by receiver; senders may be other nodes than the receivers.

        For what has no backward pass, the only one that asks for ``reverse``.
        """
        return cls(offsets, senders, torch.arange(len(senders), device=senders.device), weights)

    @classmethod
    def directed(cls, n_nodes: int, links: Tensor) -> Neighbourhood:
        """From links (m, 2), each of which sends from its first node to its second only; nodes hear themselves too."""
        nodes = torch.arange(n_nodes, device=links.device)
        senders, receivers = torch.cat([links.to(torch.int64), torch.stack([nodes, nodes], 1)]).T
        order = torch.argsort(receivers * n_nodes + senders)
        senders, receivers = senders[order], receivers[order]
        bins = torch.arange(n_nodes + 1, device=links.device)
        sent = torch.argsort(senders, stable=True)
        turned = cls.one_way(torch.searchsorted(senders[sent], bins), receivers[sent])
        return cls(torch.searchsorted(receivers, bins), senders, sent, turned=turned)

    @property
    def n_nodes(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_edges(self) -> int:
        return len(self.senders)

    @cached_property
    def sizes(self) -> Tensor:
        """(n,) |N(i)|, at least 1."""
        return self.offsets.diff()

    @cached_property
    def receivers(self) -> Tensor:
        """(E,) the receiving node of every edge."""
        nodes = torch.arange(self.n_nodes, device=self.offsets.device)
        return nodes.repeat_interleave(self.sizes, output_size=self.n_edges)

    def head_edges(self, heads: int) -> HeadEdges:
        """The edges for ``heads`` heads; made once."""
        if heads not in self._head_edges:
            self._head_edges[heads] = self._make_head_edges(heads)
        return self._head_edges[heads]

    def to(self, device: torch.device | str) -> Neighbourhood:
        """The same on another device."""
        moved = {
            f.name: getattr(self, f.name).to(device) for f in fields(self) if isinstance(getattr(self, f.name), Tensor)
        }
        turned = None if self.turned is None else self.turned.to(device)
        return replace(self, **moved, turned=turned, _head_edges={})

    def _make_head_edges(self, heads: int) -> HeadEdges:
        head = torch.arange(heads, device=self.offsets.device)
        start, size = self.offsets[:-1], self.sizes
        # Node i holds its `size` edges once for each head, one head after the other.
        within = torch.arange(self.n_edges, device=head.device) - start[self.receivers]
        position = (start * heads)[self.receivers, None] + head * size[self.receivers, None] + within[:, None]
        entries = position.flatten()

        def spread(edges: Tensor) -> Tensor:  # (E, h) -> (E*h,)
            return torch.empty_like(edges).flatten().index_copy(0, entries, edges.flatten())

        row_starts = (start * heads)[:, None] + head * size[:, None]
        turned = None if self.turned is None else self.turned.head_edges(heads)
        reverse = position[self.reverse]
        if turned is None:
            reverse = spread(reverse)
        else:
            reverse = torch.empty_like(entries).index_copy(0, turned.position.flatten(), reverse.flatten())
        return HeadEdges(
            heads=heads,
            offsets=torch.cat([row_starts.flatten(), self.offsets[-1:] * heads]),
            senders=spread(self.senders[:, None] * heads + head),
            receivers=spread(self.receivers[:, None] * heads + head),
            reverse=reverse,
            position=position,
            weights=None if self.weights is None else spread(self.weights[:, None].repeat(1, heads)),
            turned=turned,
        )


def _check(n_nodes: int, links: Tensor) -> None:
    if not len(links):
        return
    if int(links.min()) < 0 or int(links.max()) >= n_nodes:
        wrong = int(links.min()) if int(links.min()) < 0 else int(links.max())
        raise GraphError(f"a link names node {wrong}, expected 0 to {n_nodes - 1}")
    loops = links[:, 0] == links[:, 1]
    if bool(loops.any()):
        raise GraphError(f"a link joins node {int(links[loops][0, 0])} with itself; self-loops are added by themselves")


# ---- the sum over j ------------------------------------------------------------------------------------------------


def edge_softmax(left: Tensor, right: Tensor, edges: HeadEdges, u: Tensor | None = None) -> Tensor:
    """Attention weights p before dropout: left and right (n, h) [, u (n, h)] -> (E*h,) in the order of entries."""
    return _softmax(_logits(left, right, edges, u), edges.offsets, edges.receivers)


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


def attention_dropout(p: float, edges: HeadEdges, like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Fresh factors (E*h,): 0 with probability p, else 1/(1-p); with ``like``'s type and device."""
    drawn = torch.rand(len(edges.senders), generator=generator, dtype=torch.float32, device=like.device)
    return (drawn >= p).to(like.dtype).mul_(1 / (1 - p))


def sent_messages(keep: Tensor | None, edges: HeadEdges) -> Tensor | None:
    """(n, heads) which messages anybody receives; None if (nearly) all are sent.

    keep    (E*h,) dropout's factors; None keeps all
    """
    if keep is None:
        return None
    rows = len(edges.offsets) - 1
    if len(keep) > 4 * rows:  # many neighbours: hardly a message that nobody receives
        return None
    sent = torch.zeros(rows, dtype=torch.bool, device=keep.device)
    sent[edges.senders[keep > 0]] = True
    share = float(sent.sum()) / max(rows, 1)
    return sent.view(-1, edges.heads) if share < _LARGEST_SHARE else None


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


def _softmax(logits: Tensor, offsets: Tensor, receivers: Tensor) -> Tensor:
    """Of LeakyReLU of the logits, over the entries of each receiver."""
    e = F.leaky_relu(logits, SLOPE)
    e -= torch.segment_reduce(e, "max", offsets=offsets, unsafe=True).index_select(0, receivers)
    e.exp_()
    return e.div_(torch.segment_reduce(e, "sum", offsets=offsets, unsafe=True).index_select(0, receivers))


def _row_sums(values: Tensor, edges: HeadEdges) -> Tensor:
    """(E*h,) -> (n*h,) sums of every receiving row; no row is empty, as a node is its own neighbour."""
    return torch.segment_reduce(values, "sum", offsets=edges.offsets, unsafe=True)


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
        p = _softmax(logits, edges.offsets, edges.receivers)
        ctx.edges = edges
        ctx.save_for_backward(t, b, p, logits > 0, u, keep, scale)
        weights = _weights(p, keep, scale, edges)
        out = _kept_sums(t.flatten(0, 1), weights, keep, edges)
        out.resize_(t.shape)  # not a view: the caller may go on in place
        return out if b is None else out.addcmul_(_row_sums(weights, edges).view(*t.shape[:2], 1), b)

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
            sums = _row_sums(weights, edges).view(shape)
            grad_b = torch.cat([sums[:, [head]].T @ grad[:, head] for head in range(len(b))])
            along = torch.cat([grad[:, head] @ b[head, :, None] for head in range(len(b))], 1)  # (n, h)
            along = along.flatten().index_select(0, edges.receivers)
            grad_logits += along if keep is None else along.mul_(keep)
        kept = None if keep is None else keep.index_select(0, edges.reverse)
        grad_t = _kept_sums(grad_rows, weights.index_select(0, edges.reverse), kept, edges.by_sender).view_as(t)

        grad_logits *= p
        inner = _row_sums(grad_logits, edges)
        grad_logits -= p * inner.index_select(0, edges.receivers)
        if scale is not None:
            grad_logits *= scale.flatten().index_select(0, edges.receivers)
        grad_logits = torch.where(rising, grad_logits, grad_logits * SLOPE)

        grad_l = _row_sums(grad_logits, edges).view(shape)
        grad_r = _row_sums(grad_logits.index_select(0, edges.reverse), edges.by_sender).view(shape)
        grad_u = None if u is None else _row_sums(grad_logits * _edge_weights(edges), edges).view(shape)
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
    """A matrix of ones where there are edges; undirected, it is its own transpose, and backward is forward."""

    @staticmethod
    def forward(ctx: Any, m: Tensor, neighbourhood: Neighbourhood) -> Tensor:
        ctx.back = neighbourhood.turned or neighbourhood
        return _sums_over(m, neighbourhood)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _sums_over(grad.contiguous(), ctx.back), None


def _sums_over(m: Tensor, neighbourhood: Neighbourhood) -> Tensor:
    ones = m.new_ones(neighbourhood.n_edges)
    return sum_rows(m.flatten(1), neighbourhood.senders, neighbourhood.offsets, ones).view_as(m)


# ---- without gradients, a chunk of the receivers after another -----------------------------------------------------


@torch.no_grad()
def attend_in_chunks(
    projected: Projected, neighbourhood: Neighbourhood, u: Tensor | None = None, edges_at_once: int = EDGES_AT_ONCE
) -> Iterator[tuple[slice, Tensor]]:
    """Some nodes (a range) and their weighted sums of messages (r, h, d), until all nodes have had theirs.

    u               (h,) weight of the edge weights in the logit; needs a neighbourhood with weights
    edges_at_once   a piece has no more edges, but for a node that has more by itself
    """
    left, right, t, b = projected
    heads = left.shape[1]
    rows = t.flatten(0, 1)
    for nodes, edges in _receiver_chunks(neighbourhood.offsets, edges_at_once):
        offsets = neighbourhood.offsets[nodes.start : nodes.stop + 1] - edges.start
        senders = neighbourhood.senders[edges]
        local = torch.arange(len(offsets) - 1, device=senders.device)
        receivers = local.repeat_interleave(offsets.diff(), output_size=len(senders))
        logits = left[nodes].index_select(0, receivers) + right.index_select(0, senders)  # (E', h)
        if u is not None:
            assert neighbourhood.weights is not None
            logits += neighbourhood.weights[edges, None] * u
        p = _softmax(logits, offsets, receivers)
        sums = [sum_rows(rows, senders * heads + head, offsets, p[:, head].contiguous()) for head in range(heads)]
        out = torch.stack(sums, 1)
        yield nodes, out if b is None else out.add_(b)  # the weights of a node's messages sum to 1


def _receiver_chunks(offsets: Tensor, edges_at_once: int) -> Iterator[tuple[slice, slice]]:
    """Ranges of nodes, and of the edges into them."""
    n_nodes, start = len(offsets) - 1, 0
    while start < n_nodes:
        first = int(offsets[start])
        beyond = int(torch.searchsorted(offsets, first + edges_at_once, right=True))
        stop = max(start + 1, beyond - 1)
        yield slice(start, stop), slice(first, int(offsets[stop]))
        start = stop


# ---- every message by itself ---------------------------------------------------------------------------------------


def edge_messages(
    projected: Projected, neighbourhood: Neighbourhood, edges: HeadEdges, u: Tensor | None, keep: Tensor | None
) -> Tensor:
    """a_ij t_j of every edge, (E, heads, out): what `attend` adds up. Plain autograd, and memory to match."""
    left, right, t, b = projected
    receivers, senders = neighbourhood.receivers, neighbourhood.senders
    logits = left[receivers] + right[senders]  # (E, heads)
    if u is not None:
        logits = logits + u[receivers] * edges.per_edge(_edge_weights(edges))
    e = F.leaky_relu(logits, SLOPE)
    highest = torch.segment_reduce(e.detach(), "max", offsets=neighbourhood.offsets, unsafe=True)
    e = (e - highest[receivers]).exp()
    a = e / receiver_sums(e, neighbourhood)[receivers]
    if keep is not None:
        a = a * edges.per_edge(keep)
    t = t if b is None else t + b
    return a.unsqueeze(-1) * t[senders]


def receiver_sums(messages: Tensor, neighbourhood: Neighbourhood) -> Tensor:
    """The messages of each node's edges added up: (E, …) -> (n, …)."""
    sums: Tensor = _ReceiverSums.apply(messages, neighbourhood)  # type: ignore[no-untyped-call]
    return sums


class _ReceiverSums(torch.autograd.Function):
    """Unlike torch's own, its result may be changed in place."""

    @staticmethod
    def forward(ctx: Any, messages: Tensor, neighbourhood: Neighbourhood) -> Tensor:
        ctx.receivers = neighbourhood.receivers
        return torch.segment_reduce(messages, "sum", offsets=neighbourhood.offsets, unsafe=True)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.index_select(0, ctx.receivers), None
