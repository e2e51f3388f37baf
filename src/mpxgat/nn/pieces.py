"""Attention for nodes already trained: a piece of the receivers after the other, no dropout, no gradients.

What `attend` gives (but for rounding), in little memory: of all that has the size of (edges, heads) there is never more
than a piece. Senders are all nodes, so nothing is sampled and nothing left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.nn.rows import sum_rows
from mpxgat.nn.steady import SLOPE
from mpxgat.nn.transform import Projected

EDGES_AT_ONCE = 1 << 18


@torch.no_grad()
def attend_in_pieces(
    projected: Projected, neighbourhood: Neighbourhood, u: Tensor | None = None, edges_at_once: int = EDGES_AT_ONCE
) -> Iterator[tuple[slice, Tensor]]:
    """Some nodes (a range) and their weighted sums of messages (r, h, d), until all nodes have had theirs.

    u               (h,) weight of the edge weights in the logit; needs a neighbourhood with weights
    edges_at_once   a piece has no more edges, but for a node that has more by itself
    """
    left, right, t, b = projected
    heads = left.shape[1]
    rows = t.flatten(0, 1)
    for nodes, edges in _pieces(neighbourhood.offsets, edges_at_once):
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


def _softmax(logits: Tensor, offsets: Tensor, receivers: Tensor) -> Tensor:
    e = nn.functional.leaky_relu_(logits, SLOPE)
    e -= torch.segment_reduce(e, "max", offsets=offsets, unsafe=True).index_select(0, receivers)
    e.exp_()
    return e.div_(torch.segment_reduce(e, "sum", offsets=offsets, unsafe=True).index_select(0, receivers))


def _pieces(offsets: Tensor, edges_at_once: int) -> Iterator[tuple[slice, slice]]:
    """Ranges of nodes, and of the edges into them."""
    n_nodes, start = len(offsets) - 1, 0
    while start < n_nodes:
        first = int(offsets[start])
        beyond = int(torch.searchsorted(offsets, first + edges_at_once, right=True))
        stop = max(start + 1, beyond - 1)
        yield slice(start, stop), slice(first, int(offsets[stop]))
        start = stop
