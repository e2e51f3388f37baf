"""Preset reference against the authors' parts: stacked GATConv of PyTorch Geometric, and a loop for their V block."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from mpxgat.nn import REFERENCE, HorizontalNet, Neighbourhood, OneHot, VerticalNet, Widths, unit_rows

LINKS = torch.tensor([[0, 1], [0, 2], [1, 2], [2, 3], [1, 4]])  # node 5 is isolated
WIDTHS = Widths(hidden=4, out=5, heads=3)


def shaken(net: torch.nn.Module) -> torch.nn.Module:
    """Float64, and no parameter left at a special value such as biases of 0."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in net.double().parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return net


@pytest.mark.parametrize("one_hot", [True, False])
def test_reference_h_is_stacked_gatconv(one_hot):
    geometric = pytest.importorskip("torch_geometric.nn")
    inputs = 6 if one_hot else 7
    x = torch.eye(6, dtype=torch.float64) if one_hot else torch.randn(6, 7, dtype=torch.float64)
    net = shaken(HorizontalNet(inputs, WIDTHS, generator=torch.Generator().manual_seed(0), style=REFERENCE))
    both = torch.cat([LINKS, LINKS.flip(1)]).T
    h = x
    for number, block in enumerate(net.blocks):
        last = number == 2
        transform = block.attend.transform
        conv = geometric.GATConv(h.shape[1], 5 if last else 4, heads=3, concat=not last, bias=True).double()
        assert {name for name, _ in conv.named_parameters()} == {"att_src", "att_dst", "bias", "lin.weight"}
        with torch.no_grad():
            conv.lin.weight.copy_(transform.W.T)
            conv.att_dst.copy_(transform.v_i[None])
            conv.att_src.copy_(transform.v_j[None])
            conv.bias.copy_(block.bias.flatten())
        h = F.elu(conv(h, both))
    got = net.embed(OneHot(6) if one_hot else x, Neighbourhood.from_links(6, LINKS))
    torch.testing.assert_close(got, h.detach(), rtol=1e-10, atol=1e-10)


def test_reference_v_is_the_authors_block_written_as_a_loop():
    """Linear maps with biases, the sender's horizontal part, β of each head, a bias after the sum; no last ELU."""
    generator = torch.Generator().manual_seed(0)
    net = shaken(VerticalNet(6, 3, WIDTHS, generator=generator, style=REFERENCE))
    h_H = unit_rows(torch.randn(6, 3, dtype=torch.float64))
    senders = [{i} for i in range(6)]
    for a, b in LINKS.tolist():
        senders[a].add(b)
        senders[b].add(a)
    h = torch.eye(6, dtype=torch.float64)
    with torch.no_grad():
        for number, block in enumerate(net.blocks):
            W, b, v_i, v_j = (getattr(block.attend.transform, name) for name in ("W", "b", "v_i", "v_j"))
            heads, out = v_i.shape
            x, x_H = ((h @ W + b).view(6, heads, out), (h_H @ block.f.Z + block.f.b).view(6, heads, out))
            a_H = F.leaky_relu((x_H * block.f.v_H).sum(-1), 0.2)
            result = torch.zeros(6, heads, out, dtype=torch.float64)
            for i in range(6):
                near = sorted(senders[i])
                e = torch.stack([F.leaky_relu((x[i] * v_i).sum(-1) + (x[j] * v_j).sum(-1), 0.2) for j in near])
                beta = block.g.beta.relu()[:, None]
                for a, j in zip(e.softmax(0), near, strict=True):
                    result[i] += a[:, None] * x[j] * (1 - beta) + a_H[j, :, None] * x_H[j] * beta
            joined = result.mean(1) if number == 2 else result.flatten(1)
            h = joined + block.bias.flatten()
            h = h if number == 2 else F.elu(h)
    got = net.embed(OneHot(6), h_H, Neighbourhood.from_links(6, LINKS))
    torch.testing.assert_close(got, h, rtol=1e-10, atol=1e-10)
