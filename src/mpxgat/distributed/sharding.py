"""Rows of nodes that are shared out among workers: each keeps those of its own nodes, and asks for others.

Nodes come in pieces that stay together. Pieces do not depend on how many workers there are, so that what is computed
piece by piece is the same bytes for any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from mpxgat.distributed.group import Group
from mpxgat.nn.attention import Neighbourhood
from mpxgat.nn.mpxgat import HorizontalBlock, HorizontalNet, Net, evaluating
from mpxgat.nn.projection import Input, OneHot, Projected, SomeRows
from mpxgat.training.batches import Plan, SampledPlan, Surroundings, UnitPlan, encode, ranges

Nodes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Owners:
    """Who keeps which of n nodes. All methods but `own_pieces` are called by all workers at the same time.

    pieces      nodes of every piece, ascending; each node in one
    """

    n_nodes: int
    pieces: Sequence[NDArray[np.integer[Any]]]
    group: Group

    @cached_property
    def worker(self) -> NDArray[np.int64]:
        """(n,) who keeps a node."""
        return self._workers(self.group.size)

    @cached_property
    def place(self) -> Nodes:
        """(n,) where a node stands among those of its worker."""
        place = np.empty(self.n_nodes, dtype=np.int64)
        for worker in range(self.group.size):
            nodes = np.flatnonzero(self.worker == worker)
            place[nodes] = np.arange(len(nodes))
        return place

    @cached_property
    def own(self) -> Nodes:
        """The nodes of this worker, ascending."""
        return self.nodes_of(self.group.rank, self.group.size)

    def nodes_of(self, worker: int, size: int) -> Nodes:
        """The nodes, ascending, that a worker keeps where there are ``size`` of them."""
        return np.flatnonzero(self._workers(size) == worker)

    def own_pieces(self) -> list[Nodes]:
        """Places of this worker's pieces among its own nodes; as many for every worker, filled up with empty ones."""
        of_worker = np.bincount(self._piece_workers(self.group.size), minlength=self.group.size)
        mine = np.flatnonzero(self._piece_workers(self.group.size) == self.group.rank)
        places = [self.place[self.pieces[number]] for number in mine.tolist()]
        return places + [np.empty(0, dtype=np.int64)] * (int(of_worker.max(initial=0)) - len(places))

    def fetch(self, tables: Sequence[Tensor], nodes: NDArray[np.integer[Any]]) -> Tensor:
        """(k, m) the rows of any ``nodes`` (k,), of all tables side by side, if every worker gives those of its own
        nodes, (own, ·) each.
        """
        order = np.argsort(self.worker[nodes], kind="stable")
        asked = self.group.swap(self._for_owners(torch.from_numpy(self.place[nodes[order]]), nodes))
        answers = [torch.cat([rows.index_select(0, places) for rows in tables], 1) for places in asked]
        found = torch.cat(self.group.swap(answers))
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return found.index_select(0, torch.from_numpy(back))

    def add_up(self, nodes: Nodes, turn: NDArray[np.int64], values: Tensor) -> tuple[Tensor, Tensor]:
        """Places of own nodes that any worker has ``values`` (k, m) for, ascending, and the sums of these.

        ``nodes`` (k,) may have one several times; what belongs to one is added in the order of ``turn`` (k,).
        """
        order = np.argsort(self.worker[nodes], kind="stable")
        sent = (torch.from_numpy(self.place[nodes[order]]), torch.from_numpy(turn[order]), values[order])
        place, turns, found = (torch.cat(self.group.swap(self._for_owners(each, nodes))) for each in sent)
        order = np.lexsort((turns.numpy(), place.numpy()))
        own, starts = np.unique(place.numpy()[order], return_index=True)
        offsets = torch.from_numpy(np.append(starts, len(order)))
        sums = F.embedding_bag(torch.from_numpy(order), found, offsets, mode="sum", include_last_offset=True)
        return torch.from_numpy(own), sums

    def _for_owners(self, sorted_rows: Tensor, nodes: NDArray[np.integer[Any]]) -> list[Tensor]:
        counts = np.bincount(self.worker[nodes], minlength=self.group.size)
        return list(torch.split(sorted_rows, counts.tolist()))

    def _workers(self, size: int) -> NDArray[np.int64]:
        worker = np.empty(self.n_nodes, dtype=np.int64)
        for nodes, number in zip(self.pieces, self._piece_workers(size), strict=True):
            worker[nodes] = number
        return worker

    def _piece_workers(self, size: int) -> NDArray[np.int64]:
        return np.arange(len(self.pieces)) * size // max(len(self.pieces), 1)


# ---- embeddings of a worker's own nodes ----------------------------------------------------------------------------
#
# Within a layer block by block, piece by piece: what a block sends is made by the owner of the sender, once; the owner
# of a receiver asks for it. Nothing is sampled. At any time a worker holds the vectors of its own nodes, and of those
# that one piece hears. Between layers unit by unit: nobody needs anything of another worker.


@torch.no_grad()
def embed_own(plan: Plan, net: Net, owners: Owners) -> Tensor:
    """Embeddings (own, out) of a worker's own nodes as ``plan.embed`` gives them, if ``net`` has their rows."""
    with evaluating(net):
        if isinstance(plan, UnitPlan):
            return _embed_own_units(plan, net, owners)
        assert isinstance(plan, SampledPlan)
        assert isinstance(net, HorizontalNet)
        (x,) = plan.network.inputs
        return embed_own_nodes(net, x, plan.surroundings, plan.network.weights, owners)


def _embed_own_units(plan: UnitPlan, net: Net, owners: Owners) -> Tensor:
    def with_own_rows(*inputs: object, generator: torch.Generator | None) -> Tensor:
        given = (SomeRows(places_of[x.nodes]) if isinstance(x, SomeRows) else x for x in inputs)
        return cast(Callable[..., Tensor], net)(*given, generator=generator)

    own, places_of = None, torch.from_numpy(owners.place)
    for places in owners.own_pieces():
        if not len(places):
            continue
        part = plan.units.around(owners.own[places])
        rows = encode(plan.network, cast(Net, with_own_rows), part)
        own = rows.new_empty(len(owners.own), rows.shape[1]) if own is None else own
        own[torch.from_numpy(owners.place[part.nodes])] = rows
    return torch.empty(0, 0) if own is None else own


@torch.no_grad()
def embed_own_nodes(
    net: HorizontalNet, x: Input, surroundings: Surroundings, weights: Tensor | None, owners: Owners
) -> Tensor:
    """(own, out) what `HorizontalNet.embed_in_chunks` gives the worker's own nodes (but for rounding).

    net         in evaluation mode, its tables with the rows of the worker's own nodes
    x           features of all nodes, or `OneHot`
    weights     (m,) of the links of ``surroundings``, or None
    """
    pieces = owners.own_pieces()
    h = None if isinstance(x, OneHot) else cast(Tensor, x)[torch.from_numpy(owners.own)]
    for each in net.blocks:
        block = cast(HorizontalBlock, each)
        projected = [_project(block, h, places) for places in pieces if len(places)]
        left, sent, b, shape = _side_by_side(projected, pieces, len(owners.own))
        h = None
        for places in pieces:
            around, needed = _heard_by(surroundings, owners.own[places], weights)
            found = owners.fetch([sent], needed)
            if not len(places):
                continue
            heads = shape[0]
            t = found[:, heads:].reshape(-1, *shape)
            rows = block.in_chunks(Projected(left[torch.from_numpy(places)], found[:, :heads], t, b), around)
            h = rows.new_empty(len(owners.own), rows.shape[1]) if h is None else h
            h[torch.from_numpy(places)] = rows
    return torch.empty(0, 0) if h is None else h


def _project(block: HorizontalBlock, h: Tensor | None, places: Nodes) -> Projected:
    at = torch.from_numpy(places)
    result: Projected = block.attend.transform(SomeRows(at) if h is None else h.index_select(0, at))
    return result


def _side_by_side(
    projected: list[Projected], pieces: list[Nodes], own: int
) -> tuple[Tensor, Tensor, Tensor | None, tuple[int, int]]:
    """The receivers' halves (own, heads); what is sent (own, heads + heads*out), the other half beside the message."""
    if not projected:
        return torch.empty(0, 0), torch.empty(0, 0), None, (0, 0)
    first = projected[0]
    heads, out = first.t.shape[1:]
    left, sent = first.left.new_empty(own, heads), first.t.new_empty(own, heads + heads * out)
    for each, places in zip(projected, (places for places in pieces if len(places)), strict=True):
        at = torch.from_numpy(places)
        left[at], sent[at] = each.left, torch.cat([each.right, each.t.flatten(1)], 1)
    return left, sent, first.b, (heads, out)


def _heard_by(surroundings: Surroundings, nodes: Nodes, weights: Tensor | None) -> tuple[Neighbourhood, Nodes]:
    """Who sends to ``nodes``, as places among the senders, and these senders; for scoring, where nothing goes back."""
    size = surroundings.offsets[nodes + 1] - surroundings.offsets[nodes]
    listed = ranges(surroundings.offsets[nodes], size)
    receivers = np.concatenate([np.repeat(np.arange(len(nodes)), size), np.arange(len(nodes))])
    senders = np.concatenate([surroundings.others[listed], nodes])
    order = np.lexsort((senders, receivers))
    needed, places = np.unique(senders[order], return_inverse=True)
    offsets = torch.from_numpy(np.append(0, np.cumsum(size + 1)))
    heard = None if weights is None else _with_loops(weights, surroundings.rows[listed], order)
    return Neighbourhood.one_way(offsets, torch.from_numpy(places), heard), needed.astype(np.int64)


def _with_loops(weights: Tensor, rows: NDArray[np.int64], order: NDArray[Any]) -> Tensor:
    own = weights.new_ones(len(order) - len(rows))
    return torch.cat([weights[torch.from_numpy(rows)], own])[torch.from_numpy(order)]
