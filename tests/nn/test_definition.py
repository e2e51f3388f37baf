"""Both blocks against their definition, written as loops over nodes, neighbours and heads with dense one-hot input."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from mpxgat.nn import (
    PAPER,
    REFERENCE,
    HorizontalBlock,
    MeanMessage,
    Neighbourhood,
    OneHot,
    Style,
    VerticalBlock,
)
from mpxgat.nn.attention import attention_dropout
from mpxgat.nn.mpxgat import Attention, one_beta

LINKS = {
    "links": (6, [(0, 1), (0, 2), (1, 2), (2, 3), (1, 4)]),  # node 5 is isolated
    "none": (3, []),
    "single": (1, []),
    "pair": (2, [(0, 1)]),
}
STYLES = {"paper": PAPER, "reference": REFERENCE}
OUT = 3


def leaky(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, 0.2 * x)


def elu(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, torch.exp(x) - 1)


def neighbours(n: int, links: list[tuple[int, int]]) -> list[list[int]]:
    found = [{i} for i in range(n)]
    for a, b in links:
        found[a].add(b)
        found[b].add(a)
    return [sorted(each) for each in found]


def transforms(p: dict[str, Tensor], h: Tensor, style: str) -> tuple[Tensor, Tensor]:
    """(s, t), (n, heads*out) each, made in full."""
    if style == "paper":
        return h @ p["W_i"] + p["b_i"], h @ p["W_j"] + p["b_j"]
    both = h @ p["W"] + p.get("b", torch.zeros(()))
    return both, both


def attention_weights(p: dict[str, Tensor], s: Tensor, t: Tensor, near: list[list[int]], w: dict, k: int) -> dict:
    """a_ij of head k for every i and j in N(i), before dropout."""
    part = slice(k * OUT, (k + 1) * OUT)
    weights = {}
    for i, senders in enumerate(near):
        e = []
        for j in senders:
            logit = torch.dot(p["v_i"][k], s[i, part]) + torch.dot(p["v_j"][k], t[j, part])
            if "u" in p:
                logit = logit + p["u"][0, k] * w[i, j]
            e.append(leaky(logit))
        total = sum(torch.exp(x) for x in e)
        weights.update({(i, j): torch.exp(x) / total for j, x in zip(senders, e, strict=True)})
    return weights


def dense_block(block, h, near, style, heads, *, last, masks=None, w=None, h_H=None, last_vertical=False):
    """The definition, head by head: h (n, inputs) -> (n, heads*out), or (n, out) for the last block."""
    p = {name.rsplit(".", 1)[-1]: value for name, value in block.attend.named_parameters()}
    s, t = transforms(p, h, style)
    outputs = []
    for k in range(heads):
        part = slice(k * OUT, (k + 1) * OUT)
        a = attention_weights(p, s, t, near, w, k)
        if masks is not None:
            a = {pair: value * masks[k][pair] for pair, value in a.items()}
        rows = []
        for i, senders in enumerate(near):
            row = torch.zeros(OUT, dtype=h.dtype)
            for j in senders:
                row = row + message(block, a[i, j] * t[j, part], i, j, k, style, h_H)
            rows.append(row)
        outputs.append(torch.stack(rows))
    joined = torch.stack(outputs).mean(0) if last else torch.cat(outputs, 1)
    if block.bias is not None:
        joined = joined + block.bias.flatten()
    if style == "paper":
        return leaky(joined)
    return joined if last_vertical else elu(joined)


def message(block, m_V, i, j, k, style, h_H):
    """One term of the sum over j: m_ij^V alone, or g of it and the horizontal part."""
    if h_H is None:
        return m_V
    part = slice(k * OUT, (k + 1) * OUT)
    x = h_H[i if style == "paper" else j] @ block.f.Z[:, part] + block.f.b[part]
    m_H = leaky(torch.dot(x, block.f.v_H[k])) * x
    share = torch.relu(block.g.beta[0] if style == "paper" else block.g.beta[k])
    return (1 - share) * m_V + share * m_H


def shake(block: nn.Module, generator: torch.Generator) -> nn.Module:
    """Float64, and no parameter left at a special value such as zero biases."""
    block.double()
    with torch.no_grad():
        for name, parameter in block.named_parameters():
            if not name.endswith("beta"):
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return block


def make(kind: str, style: Style, inputs: int, heads: int, *, last=False, dropout=0.0, weighted=False):
    generator = torch.Generator().manual_seed(heads)
    make_transform = style.horizontal_transform if kind == "H" else style.vertical_transform
    attend = Attention(make_transform(inputs, OUT, heads, generator), heads, dropout, generator, weighted=weighted)
    activation = style.last_vertical_activation if last and kind == "V" else style.activation
    if kind == "H":
        return shake(HorizontalBlock(attend, OUT, activation, last=last, bias=style.bias), generator)
    f, g = style.f(4, OUT, heads, generator), style.g(OUT, heads, generator)
    block = VerticalBlock(attend, f, g, OUT, activation, last=last, bias=style.bias)
    if style is REFERENCE:  # both sides of ReLU(β), and not only what the seed happened to draw
        with torch.no_grad():
            block.g.beta.copy_(torch.linspace(0.7, -0.2, heads) if heads > 1 else torch.tensor([0.3]))
    return shake(block, generator)


def compare(got: Tensor, want: Tensor, inputs: list[Tensor]) -> None:
    """Equal values and equal gradients of a random function of them."""
    torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-10)
    direction = torch.randn(want.shape, dtype=want.dtype, generator=torch.Generator().manual_seed(5))
    for one, other in zip(
        torch.autograd.grad((got * direction).sum(), inputs, allow_unused=True),
        torch.autograd.grad((want * direction).sum(), inputs, allow_unused=True),
        strict=True,
    ):
        assert one is not None
        assert other is not None
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def run(kind, block, h, neighbourhood, h_H, **keywords):
    return block(h, neighbourhood, **keywords) if kind == "H" else block(h, h_H, neighbourhood, **keywords)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("heads", [1, 2, 3])
@pytest.mark.parametrize("network", LINKS)
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", ["H", "V"])
def test_block_equals_its_definition(kind, style, network, heads, last):
    n, links = LINKS[network]
    h = torch.randn(n, 5, dtype=torch.float64, requires_grad=True)
    h_H = torch.randn(n, 4, dtype=torch.float64, requires_grad=True) if kind == "V" else None
    block = make(kind, STYLES[style], 5, heads, last=last)
    neighbourhood = Neighbourhood.from_links(n, torch.tensor(links))
    got = run(kind, block, h, neighbourhood, h_H)
    want = dense_block(
        block, h, neighbours(n, links), style, heads, last=last, h_H=h_H, last_vertical=last and kind == "V"
    )
    compare(got, want, [h, *([] if h_H is None else [h_H]), *block.parameters()])


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", ["H", "V"])
def test_one_hot_input_equals_the_dense_identity(kind, style):
    n, links = LINKS["links"]
    h_H = torch.randn(n, 4, dtype=torch.float64)
    block = make(kind, STYLES[style], n, 2)
    neighbourhood = Neighbourhood.from_links(n, torch.tensor(links))
    got = run(kind, block, OneHot(n), neighbourhood, h_H)
    identity = torch.eye(n, dtype=torch.float64)
    compare(got, run(kind, block, identity, neighbourhood, h_H), list(block.parameters()))
    dense_h_H = h_H if kind == "V" else None
    want = dense_block(block, identity, neighbours(n, links), style, 2, last=False, h_H=dense_h_H)
    compare(run(kind, block, OneHot(n), neighbourhood, h_H), want, list(block.parameters()))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", ["H", "V"])
def test_edge_weights_enter_the_logit(kind, style):
    n, links = LINKS["links"]
    weights = torch.tensor([0.5, 2.0, 1.5, 0.1, 3.0], dtype=torch.float64)
    w = {(i, i): 1.0 for i in range(n)}
    for (a, b), value in zip(links, weights, strict=True):
        w[a, b] = w[b, a] = value
    h = torch.randn(n, 5, dtype=torch.float64)
    h_H = torch.randn(n, 4, dtype=torch.float64) if kind == "V" else None
    block = make(kind, STYLES[style], 5, 2, weighted=True)
    neighbourhood = Neighbourhood.from_links(n, torch.tensor(links), weights)
    want = dense_block(block, h, neighbours(n, links), style, 2, last=False, w=w, h_H=h_H)
    compare(run(kind, block, h, neighbourhood, h_H), want, list(block.parameters()))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", ["H", "V"])
def test_dropout_by_its_own_mask(kind, style):
    n, links = LINKS["links"]
    heads = 3
    h = torch.randn(n, 5, dtype=torch.float64, requires_grad=True)
    h_H = torch.randn(n, 4, dtype=torch.float64) if kind == "V" else None
    block = make(kind, STYLES[style], 5, heads, dropout=0.6)
    neighbourhood = Neighbourhood.from_links(n, torch.tensor(links))
    edges = neighbourhood.head_edges(heads)

    drawn = attention_dropout(0.6, edges, h, torch.Generator().manual_seed(11))
    per_edge = edges.per_edge(drawn)  # (E, heads)
    assert set(per_edge.flatten().tolist()) == {0.0, 1 / (1 - 0.6)}
    ends = list(zip(neighbourhood.receivers.tolist(), neighbourhood.senders.tolist(), strict=True))
    masks = [dict(zip(ends, per_edge[:, k], strict=True)) for k in range(heads)]

    got = run(kind, block, h, neighbourhood, h_H, generator=torch.Generator().manual_seed(11))
    want = dense_block(block, h, neighbours(n, links), style, heads, last=False, masks=masks, h_H=h_H)
    compare(got, want, [h, *block.parameters()])


@pytest.mark.parametrize("kind", ["H", "V"])
def test_attention_is_softmax_over_the_neighbourhood(kind):
    n, links = LINKS["links"]
    h = torch.randn(n, 5, dtype=torch.float64)
    block = make(kind, PAPER, 5, 2, dropout=0.6)  # in training mode: attention() never drops
    neighbourhood = Neighbourhood.from_links(n, torch.tensor(links))
    got = block.attention(h, neighbourhood)
    p = {name.rsplit(".", 1)[-1]: value for name, value in block.attend.named_parameters()}
    s, t = transforms(p, h, "paper")
    for k in range(2):
        want = attention_weights(p, s, t, neighbours(n, links), {}, k)
        for e, (i, j) in enumerate(zip(neighbourhood.receivers.tolist(), neighbourhood.senders.tolist(), strict=True)):
            assert math.isclose(got[e, k].item(), want[i, j].item(), abs_tol=1e-12)
    assert not got.requires_grad


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", ["H", "V"])
def test_gradcheck(kind, style):
    n, links = LINKS["links"]
    neighbourhood = Neighbourhood.from_links(n, torch.tensor(links), torch.rand(len(links), dtype=torch.float64) + 0.5)
    block = make(kind, STYLES[style], 5, 2, dropout=0.4, weighted=True)
    names = [name for name, _ in block.named_parameters()]
    h = torch.randn(n, 5, dtype=torch.float64, requires_grad=True)
    h_H = torch.randn(n, 4, dtype=torch.float64, requires_grad=True) if kind == "V" else None

    def function(h, *values):
        arguments = (h, neighbourhood) if kind == "H" else (h, h_H, neighbourhood)
        keywords = {"generator": torch.Generator().manual_seed(3)}  # the same mask at every call
        return torch.func.functional_call(block, dict(zip(names, values, strict=True)), arguments, keywords)

    values = [p.detach().clone().requires_grad_() for p in block.parameters()]
    assert torch.autograd.gradcheck(function, (h, *values))


def test_mean_counts_the_horizontal_part_once():
    n, links = LINKS["links"]
    block = make("V", PAPER, 5, 2)
    neighbourhood = Neighbourhood.from_links(n, torch.tensor(links))
    h, h_H = torch.randn(n, 5, dtype=torch.float64), torch.randn(n, 4, dtype=torch.float64)
    block.activation = lambda x: x
    mean = MeanMessage(4, OUT, 2, torch.Generator()).double()
    mean.load_state_dict(block.f.state_dict())
    with torch.no_grad():
        repeated_sum = block(h, h_H, neighbourhood)
        block.f = mean
        averaged = block(h, h_H, neighbourhood)
        m_H = block.f(h_H, h_H).flatten(1)
    extra = 0.5 * (neighbourhood.sizes[:, None] - 1) * m_H
    torch.testing.assert_close(repeated_sum - averaged, extra)
    assert extra.abs().max() > 0.01


class PlainF(nn.Module):
    """Another module's f without its `summed`: every edge's message is made."""

    def __init__(self, f: nn.Module):
        super().__init__()
        self.f = f

    def forward(self, h_i, h_j):
        return self.f(h_i, h_j)


class PlainG(PlainF):
    """Another module's g that is not known to be linear."""


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("style", STYLES)
def test_the_general_way_gives_what_the_fused_one_gives(style, dropout):
    """Σ_j g(a_ij t_j, f(h_i, h_j)) over all edges, and the sums of the paper's pair taken apart."""
    n, links = LINKS["links"]
    weights = torch.rand(len(links), dtype=torch.float64) + 0.5
    neighbourhood = Neighbourhood.from_links(n, torch.tensor(links), weights)
    block = make("V", STYLES[style], 5, 3, dropout=dropout, weighted=True)
    h = torch.randn(n, 5, dtype=torch.float64, requires_grad=True)
    h_H = torch.randn(n, 4, dtype=torch.float64, requires_grad=True)
    inputs = [h, h_H, *block.parameters()]
    fused = block(h, h_H, neighbourhood, torch.Generator().manual_seed(2))
    block.f, block.g = PlainF(block.f), PlainG(block.g)
    compare(fused, block(h, h_H, neighbourhood, torch.Generator().manual_seed(2)), inputs)


def test_f_may_read_both_ends_and_g_may_be_anything():
    class Difference(nn.Module):
        """m_ij^H = the first columns of h_i - h_j, for each of two heads."""

        def forward(self, h_i, h_j):
            return (h_i - h_j)[:, None, :OUT].expand(-1, 2, -1)

    class Product(nn.Module):
        def forward(self, m_V, m_H):
            return m_V * m_H

    n, links = LINKS["links"]
    block = make("V", PAPER, 5, 2)
    block.f, block.g, block.activation = Difference(), Product(), lambda x: x
    h, h_H = torch.randn(n, 5, dtype=torch.float64), torch.randn(n, 4, dtype=torch.float64)
    p = {name.rsplit(".", 1)[-1]: value for name, value in block.attend.named_parameters()}
    near = neighbours(n, links)
    s, t = transforms(p, h, "paper")
    want = torch.zeros(n, 2, OUT, dtype=torch.float64)
    for k in range(2):
        a = attention_weights(p, s, t, near, {}, k)
        for i, senders in enumerate(near):
            for j in senders:
                want[i, k] += a[i, j] * t[j, k * OUT : (k + 1) * OUT] * (h_H[i] - h_H[j])[:OUT]
    got = block(h, h_H, Neighbourhood.from_links(n, torch.tensor(links)))
    torch.testing.assert_close(got, want.flatten(1), rtol=1e-10, atol=1e-10)
    assert block.beta is None


def test_g_of_the_paper_shares_between_both_messages():
    g = one_beta(OUT, 2, torch.Generator())
    m_V, m_H = torch.full((1, 2, OUT), 1.0), torch.full((1, 2, OUT), 3.0)
    assert (g(m_V, m_H) == 2).all()
    with torch.no_grad():
        g.beta.fill_(-1.0)
    assert (g(m_V, m_H) == 1).all()
