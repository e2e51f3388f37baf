"""One training epoch as a callable: ours, the reference style, and the matrix products alone.

Each maker takes the networks of a phase (one for each layer, or the vertical one) and their `Widths`, and returns a
function that runs one epoch over them: forward, loss, backward, Adam. Non-links are drawn once beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mpxgat.nn import HorizontalNet, Neighbourhood, OneHot, VerticalNet, Widths, link_loss, preset, unit_rows
from mpxgat.training.loop import EagerAdam

DROPOUT = 0.6
HORIZONTAL_WIDTH = 128  # of the embeddings that the vertical phase reads

Epoch = Callable[[], None]


@dataclass(frozen=True)
class Network:
    """Nodes 0…n-1 and undirected links (m, 2)."""

    n_nodes: int
    links: NDArray[np.int64]

    def tensor(self) -> Tensor:
        return torch.from_numpy(self.links.copy())

    def non_links(self, count: int) -> Tensor:
        """Random pairs: what they are does not matter for time."""
        return torch.randint(self.n_nodes, (count, 2), generator=torch.Generator().manual_seed(0))


def ours(networks: list[Network], widths: Widths, *, vertical: bool, preset_name: str) -> Epoch:
    """Our way: one-hot never made, sparse sums, undirected links scored once."""
    return _all([_our_epoch(network, widths, vertical, preset_name) for network in networks])


def reference(networks: list[Network], widths: Widths) -> Epoch:
    """Dense one-hot input, PyTorch Geometric's GATConv, both directions of a link scored; no horizontal part."""
    return _all([_reference_epoch(network, widths) for network in networks])


def floor(networks: list[Network], widths: Widths, *, vertical: bool) -> Epoch:
    """The dense products that remain when everything else is free, forward and backward."""
    return _all([_floor_epoch(network, widths, vertical) for network in networks])


def _all(epochs: list[Epoch]) -> Epoch:
    def run() -> None:
        for epoch in epochs:
            epoch()

    return run


def _our_epoch(network: Network, widths: Widths, vertical: bool, preset_name: str) -> Epoch:
    generator = torch.Generator().manual_seed(0)
    n, style = network.n_nodes, preset(preset_name)
    links, others = network.tensor(), network.non_links(len(network.links))
    neighbourhood, x = Neighbourhood.from_links(n, links), OneHot(n)
    net: nn.Module
    inputs: tuple[object, ...]
    if vertical:
        net = VerticalNet(n, HORIZONTAL_WIDTH, widths, generator=generator, dropout=DROPOUT, style=style)
        inputs = (x, unit_rows(torch.randn(n, HORIZONTAL_WIDTH, generator=generator)), neighbourhood)
    else:
        net = HorizontalNet(n, widths, generator=generator, dropout=DROPOUT, style=style)
        inputs = (x, neighbourhood)
    EagerAdam(net.parameters())  # steps inside backward

    def run() -> None:
        link_loss(net(*inputs, generator=generator), links, others).backward()  # type: ignore[no-untyped-call]

    return run


def _reference_epoch(network: Network, widths: Widths) -> Epoch:
    from torch_geometric.nn import GATConv  # here: its import would count as our memory

    x = torch.eye(network.n_nodes)
    links = network.tensor()
    edges = torch.cat([links, links.flip(1)]).T.contiguous()  # (2, 2m)
    others = network.non_links(edges.shape[1]).T.contiguous()
    target = torch.cat([torch.ones(edges.shape[1]), torch.zeros(others.shape[1])])
    net = nn.ModuleList(
        GATConv(inputs, out, heads=widths.heads, concat=not last, dropout=DROPOUT)
        for inputs, out, last in widths.per_block(network.n_nodes)
    )
    optimiser = torch.optim.Adam(net.parameters())
    loss = nn.BCEWithLogitsLoss()

    def run() -> None:
        optimiser.zero_grad()
        z = x
        for block in net:
            z = nn.functional.elu(block(z, edges))
        scores = torch.cat([(z[one] * z[other]).sum(-1) for one, other in (edges, others)])
        loss(scores, target).backward()
        optimiser.step()

    return run


def _floor_epoch(network: Network, widths: Widths, vertical: bool) -> Epoch:
    n = network.n_nodes
    products: list[tuple[Tensor, Tensor, Tensor]] = []

    def add(rows: int, inner: int, columns: int) -> None:
        products.append((torch.randn(rows, inner), torch.randn(inner, columns), torch.empty(rows, columns)))

    for number, (inputs, out, _) in enumerate(widths.per_block(n)):
        wide = widths.heads * out
        if number:  # the first block's input is one-hot: no product at all
            add(n, inputs, wide)  # t = h W
            add(n, wide, inputs)  # gradient of h
            add(inputs, n, wide)  # gradient of W
        if vertical:  # the horizontal embeddings are frozen: no gradient of theirs
            add(n, HORIZONTAL_WIDTH, wide)  # x = h^H Z
            add(HORIZONTAL_WIDTH, n, wide)  # gradient of Z

    def run() -> None:
        for left, right, out in products:
            torch.mm(left, right, out=out)

    return run
