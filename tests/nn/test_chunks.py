"""All nodes embedded in chunks, and identity rows of some nodes: the same as the whole."""

from __future__ import annotations

import pytest
import torch

from mpxgat.nn import PAPER, REFERENCE, HorizontalNet, Neighbourhood, OneHot, SomeRows, VerticalNet, Widths, link_loss
from mpxgat.nn.attention import attend_in_chunks

STYLES = pytest.mark.parametrize("style", [PAPER, REFERENCE], ids=lambda style: style.name)
N = 61


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some_links() -> torch.Tensor:
    pairs = torch.randint(N - 3, (150, 2), generator=seeded(9)).sort(1).values  # three nodes stand alone
    hub = torch.stack([torch.zeros(N - 4, dtype=torch.int64), torch.arange(1, N - 3)], 1)
    pairs = torch.cat([pairs, hub])
    return pairs[pairs[:, 0] < pairs[:, 1]].unique(dim=0)


def neighbourhood(*, weighted: bool = False) -> Neighbourhood:
    links = some_links()
    weights = torch.rand(len(links), generator=seeded(1)) * 3 if weighted else None
    return Neighbourhood.from_links(N, links, weights)


def with_biases(net):
    for parameter in net.parameters():  # biases start at 0, where they could not be missed
        parameter.data += 0.3 * torch.rand(parameter.shape, generator=seeded(2))
    return net


@STYLES
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("edges_at_once", [1, 17, 10**6])
def test_embeddings_in_chunks_are_those_of_the_whole(style, weighted, edges_at_once, monkeypatch):
    monkeypatch.setattr(attend_in_chunks, "__kwdefaults__", None)
    monkeypatch.setattr(attend_in_chunks, "__defaults__", (None, edges_at_once))
    around = neighbourhood(weighted=weighted)
    net = with_biases(HorizontalNet(N, Widths(8, 5, 3), generator=seeded(), style=style, weighted=weighted))
    assert torch.allclose(net.embed_in_chunks(OneHot(N), around), net.embed(OneHot(N), around), atol=1e-6)
    x = torch.randn(N, 4, generator=seeded(3))
    net = with_biases(HorizontalNet(4, Widths(8, 5, 3), generator=seeded(), style=style, weighted=weighted))
    net.train()
    assert torch.allclose(net.embed_in_chunks(x, around), net.embed(x, around), atol=1e-6)
    assert net.training  # as before


@STYLES
@pytest.mark.parametrize("vertical", [False, True])
def test_all_identity_rows_picked_are_the_identity(style, vertical):
    around, links = neighbourhood(), some_links()
    other = torch.randint(N, links.shape, generator=seeded(5))
    widths, h_H = Widths(8, 5, 2), torch.randn(N, 6, generator=seeded(6))
    gradients = []
    for x in (OneHot(N), SomeRows(torch.arange(N))):
        if vertical:
            net, inputs = VerticalNet(N, 6, widths, generator=seeded(), style=style), (x, h_H, around)
        else:
            net, inputs = HorizontalNet(N, widths, generator=seeded(), style=style), (x, around)
        loss = link_loss(net(*inputs, generator=seeded(7)), links, other)
        loss.backward()
        gradients.append([loss, *(parameter.grad for parameter in net.parameters())])
    for whole, picked in zip(*gradients, strict=True):
        assert torch.equal(whole, picked.to_dense() if picked.is_sparse else picked)
    assert sum(picked.is_sparse for picked in gradients[1]) == (2 if style is PAPER else 1)


@STYLES
def test_only_the_rows_of_some_nodes_are_read_and_get_a_gradient(style):
    nodes = torch.tensor([3, 8, 30])
    around = Neighbourhood.from_links(3, torch.tensor([[0, 1], [1, 2]]))
    net = HorizontalNet(N, Widths(4, 3, 2), generator=seeded(), style=style, dropout=0.0)
    before = net.embed(SomeRows(nodes), around)
    net(SomeRows(nodes), around).sum().backward()
    sparse = [parameter for parameter in net.parameters() if parameter.grad.is_sparse]
    assert sparse
    for parameter in sparse:
        assert parameter.grad.coalesce().indices().tolist() == [[3, 8, 30]]
        assert parameter.grad.coalesce().values().abs().sum(1).all()
        others = torch.ones(N, dtype=torch.bool)
        others[nodes] = False
        parameter.data[others] = torch.nan
    assert torch.equal(net.embed(SomeRows(nodes), around), before)
