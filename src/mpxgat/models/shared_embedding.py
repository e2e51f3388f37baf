"""Embeddings of a layer's nodes by workers each of which has the rows of its own, block by block, piece by piece.

What a block sends is made by the owner of the sender, once; the owner of a receiver asks for it. Nothing is sampled. At
any time a worker holds the vectors of its own nodes, and of those that one piece hears.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.nn.gat_h import HorizontalBlock
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.nn.stack import HorizontalNet
from mpxgat.nn.transform import Input, OneHot, Projected, SomeRows
from mpxgat.sampling.subgraphs import ranges
from mpxgat.sampling.surroundings import Surroundings
from mpxgat.training.owners import Nodes, Owners


@torch.no_grad()
def embed_own_nodes(
    net: HorizontalNet, x: Input, surroundings: Surroundings, weights: Tensor | None, owners: Owners
) -> Tensor:
    """(own, out) what `HorizontalNet.embed_in_pieces` gives the worker's own nodes (but for rounding).

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
            rows = block.in_pieces(Projected(left[torch.from_numpy(places)], found[:, :heads], t, b), around)
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
