"""`Neighbourhood`: who sends to whom, sorted by receiver, ready for several attention heads."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import torch
from torch import Tensor

from mpxgat.errors import GraphError


@dataclass(frozen=True, eq=False)
class HeadEdges:
    """The edges of a `Neighbourhood`, once for each of h heads.

    The heads are h disjoint copies of the network: head k of node i is *row* i*h + k, so a tensor (n, h, d) is
    (n*h, d) rows without moving a byte, and all heads are one sparse operation. Entries are sorted by
    receiver, then head, then sender. As the network is undirected, entry k and ``reverse[k]`` are one link
    seen from its two ends: sorted by sender, the entries' receivers are again ``senders``.
    """

    heads: int
    offsets: Tensor  # (n*h+1,) entries of row p are offsets[p] … offsets[p+1]-1
    senders: Tensor  # (E*h,) row of the sender
    receivers: Tensor  # (E*h,) row of the receiver
    reverse: Tensor  # (E*h,) the same link seen from the other end
    position: Tensor  # (E, h) entry of edge e in head k
    weights: Tensor | None  # (E*h,)

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
    """

    offsets: Tensor
    senders: Tensor
    reverse: Tensor
    weights: Tensor | None = None
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
        return replace(self, **moved, _head_edges={})

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
        return HeadEdges(
            heads=heads,
            offsets=torch.cat([row_starts.flatten(), self.offsets[-1:] * heads]),
            senders=spread(self.senders[:, None] * heads + head),
            receivers=spread(self.receivers[:, None] * heads + head),
            reverse=spread(position[self.reverse]),
            position=position,
            weights=None if self.weights is None else spread(self.weights[:, None].repeat(1, heads)),
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
