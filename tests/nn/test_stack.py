from __future__ import annotations

import math

import pytest
import torch

from mpxgat.errors import SettingError
from mpxgat.nn import (
    PAPER,
    REFERENCE,
    HorizontalNet,
    Neighbourhood,
    OneHot,
    VerticalNet,
    Widths,
    link_loss,
    preset,
    unit_rows,
)
from tests.threads import on_any_number_of_threads

STYLES = pytest.mark.parametrize("style", [PAPER, REFERENCE], ids=lambda style: style.name)
WIDTHS = Widths(hidden=8, out=5, heads=2)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_links(n: int, count: int) -> torch.Tensor:
    pairs = torch.randint(n, (count, 2), generator=seeded(9)).sort(1).values
    return pairs[pairs[:, 0] < pairs[:, 1]].unique(dim=0)


def train(part: str, style, n: int, links: torch.Tensor, widths: Widths, epochs: int = 3, dropout: float = 0.6):
    """A few epochs from seeds alone: parameters, embeddings and the last loss."""
    generator = seeded(4)
    neighbourhood = Neighbourhood.from_links(n, links)
    other = torch.randint(n, links.shape, generator=generator)
    if part == "horizontal":
        net = HorizontalNet(n, widths, generator=generator, style=style, dropout=dropout)
        arguments = (OneHot(n), neighbourhood)
    else:
        net = VerticalNet(n, 6, widths, generator=generator, style=style, dropout=dropout)
        arguments = (OneHot(n), unit_rows(torch.randn(n, 6, generator=generator)), neighbourhood)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=1e-3)
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = link_loss(net(*arguments, generator=generator), links, other)
        loss.backward()
        optimizer.step()
    return [*net.parameters(), net.embed(*arguments), loss]


@on_any_number_of_threads
@STYLES
@pytest.mark.parametrize("part", ["horizontal", "vertical"])
@pytest.mark.parametrize(("n", "widths"), [(7, Widths(3, 2, 1)), (1201, Widths(64, 64, 4))], ids=["tiny", "larger"])
def test_same_seed_same_bytes_on_one_and_two_threads(part, style, n, widths):
    links = random_links(n, 8 * n)
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(train(part, style, n, links, widths, epochs=2))
    finally:
        torch.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        assert torch.equal(one, two)


@STYLES
@pytest.mark.parametrize("part", ["horizontal", "vertical"])
def test_training_lowers_the_loss(part, style):
    links = random_links(40, 60)
    widths = Widths(16, 8, 2)
    first, last = (train(part, style, 40, links, widths, epochs, dropout=0.0)[-1].item() for epochs in (1, 60))
    assert last < 0.8 * first


@STYLES
@pytest.mark.parametrize(("n", "links"), [(4, [[0, 1], [1, 2]]), (3, []), (1, [])], ids=["links", "none", "single"])
def test_shapes_and_finite_gradients_on_small_networks(style, n, links):
    links = torch.tensor(links, dtype=torch.int64).reshape(-1, 2)
    neighbourhood = Neighbourhood.from_links(n, links)
    horizontal = HorizontalNet(n, WIDTHS, generator=seeded(), style=style)
    h = horizontal(OneHot(n), neighbourhood, generator=seeded())
    assert h.shape == (n, 5)
    vertical = VerticalNet(n, 5, WIDTHS, generator=seeded(), style=style)
    z = vertical(OneHot(n), unit_rows(h), neighbourhood, generator=seeded())
    assert z.shape == (n, 5)
    (h.square().sum() + z.square().sum()).backward()
    for net in (horizontal, vertical):
        for name, parameter in net.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name


def test_features_instead_of_one_hot():
    neighbourhood = Neighbourhood.from_links(4, torch.tensor([[0, 1]]))
    x = torch.randn(4, 7)
    assert HorizontalNet(7, WIDTHS, generator=seeded())(x, neighbourhood).shape == (4, 5)
    assert VerticalNet(7, 3, WIDTHS, generator=seeded())(x, torch.randn(4, 3), neighbourhood).shape == (4, 5)


def test_embed_drops_nothing_and_leaves_the_mode():
    neighbourhood = Neighbourhood.from_links(6, random_links(6, 12))
    net = HorizontalNet(6, WIDTHS, generator=seeded(), dropout=0.9)
    first, second = net.embed(OneHot(6), neighbourhood), net.embed(OneHot(6), neighbourhood)
    assert torch.equal(first, second)
    assert not first.requires_grad
    assert net.training
    assert not torch.equal(net(OneHot(6), neighbourhood, generator=seeded()), first)
    assert net.eval().embed(OneHot(6), neighbourhood).equal(first)
    assert not net.training


def test_edge_weights_matter_only_to_a_weighted_net():
    links = torch.tensor([[0, 1], [1, 2], [0, 2]])
    light = Neighbourhood.from_links(3, links, torch.ones(3))
    heavy = Neighbourhood.from_links(3, links, torch.tensor([1.0, 9.0, 0.1]))
    for weighted in (False, True):
        net = HorizontalNet(3, WIDTHS, generator=seeded(), weighted=weighted)
        assert torch.equal(net.embed(OneHot(3), light), net.embed(OneHot(3), heavy)) is not weighted


@STYLES
def test_attention_of_every_block(style):
    neighbourhood = Neighbourhood.from_links(6, random_links(6, 12))
    horizontal = HorizontalNet(6, WIDTHS, generator=seeded(), style=style)
    vertical = VerticalNet(6, 4, WIDTHS, generator=seeded(), style=style)
    for weights in (
        horizontal.attention(OneHot(6), neighbourhood),
        vertical.attention(OneHot(6), unit_rows(torch.randn(6, 4)), neighbourhood),
    ):
        assert [w.shape for w in weights] == [(neighbourhood.n_edges, 2)] * 3
        for w in weights:
            sums = torch.zeros(6, 2).index_add(0, neighbourhood.receivers, w)
            torch.testing.assert_close(sums, torch.ones(6, 2))


class TestBeta:
    def test_paper_starts_at_one_half_for_every_head(self):
        net = VerticalNet(6, 4, WIDTHS, generator=seeded())
        assert [b.tolist() for b in net.beta] == [[0.5, 0.5]] * 3
        assert sum(name.endswith("beta") for name, _ in net.named_parameters()) == 3
        assert all(p.numel() == 1 for name, p in net.named_parameters() if name.endswith("beta"))

    def test_reference_has_one_for_every_head_with_glorot_start(self):
        net = VerticalNet(6, 4, Widths(8, 5, 50), generator=seeded(), style=REFERENCE)
        for beta in net.beta:
            assert beta.shape == (50,)
            assert len(beta.unique()) == 50
            assert beta.abs().max() <= math.sqrt(6 / 51)
            assert beta.min() < 0 < beta.max()

    def test_it_is_learned_and_can_be_read(self):
        beta = train("vertical", PAPER, 40, random_links(40, 60), WIDTHS)
        scalars = [p.item() for p in beta if p.shape == (1,)]
        assert len(scalars) == 3
        assert all(value != 0.5 for value in scalars)


def test_initial_values():
    net = HorizontalNet(30, Widths(8, 5, 2), generator=seeded())
    again = HorizontalNet(30, Widths(8, 5, 2), generator=seeded())
    other = HorizontalNet(30, Widths(8, 5, 2), generator=seeded(1))
    assert all(torch.equal(one, two) for one, two in zip(net.parameters(), again.parameters(), strict=True))
    transform = net.blocks[0].attend.transform
    assert not torch.equal(transform.W_i, other.blocks[0].attend.transform.W_i)
    assert not torch.equal(transform.W_i, transform.W_j)
    assert transform.W_j.shape == (30, 16)
    bound = math.sqrt(6 / (30 + 16))
    assert 0.9 * bound < transform.W_j.abs().max() <= bound
    assert 0.5 * math.sqrt(6 / 10) < transform.v_i.abs().max() <= math.sqrt(6 / 10)
    assert not transform.b_i.any()


def test_reference_shares_its_matrix_and_has_a_bias_after_the_sum():
    horizontal = HorizontalNet(6, WIDTHS, generator=seeded(), style=REFERENCE)
    vertical = VerticalNet(6, 4, WIDTHS, generator=seeded(), style=REFERENCE)
    names = {name.rsplit(".", 1)[-1] for name, _ in horizontal.named_parameters()}
    assert names == {"W", "v_i", "v_j", "bias"}
    names = {name.rsplit(".", 1)[-1] for name, _ in vertical.blocks[0].attend.named_parameters()}
    assert names == {"W", "b", "v_i", "v_j"}
    for net in (horizontal, vertical):
        assert [tuple(block.bias.shape) for block in net.blocks] == [(2, 8), (2, 8), (5,)]
        assert not any(block.bias.any() for block in net.blocks)


def test_reference_starts_the_biases_of_its_linear_maps_as_pytorch_does():
    net = VerticalNet(16, 25, Widths(40, 40, 3), generator=seeded(), style=REFERENCE)
    first, second = net.blocks[0], net.blocks[1]
    for bias, inputs in ((first.attend.transform.b, 16), (second.attend.transform.b, 120), (first.f.b, 25)):
        assert 0.9 / math.sqrt(inputs) < bias.abs().max() <= 1 / math.sqrt(inputs)


@pytest.mark.parametrize("name", ["hidden", "out", "heads", "blocks"])
def test_impossible_widths(name):
    with pytest.raises(SettingError, match=f"{name} is 0, expected at least 1"):
        Widths(**{name: 0})


def test_one_block():
    net = HorizontalNet(4, Widths(8, 5, 3, blocks=1), generator=seeded())
    assert net.embed(OneHot(4), Neighbourhood.from_links(4, torch.tensor([[0, 1]]))).shape == (4, 5)


def test_presets_by_name():
    assert preset("paper") is PAPER
    assert preset("reference") is REFERENCE
    with pytest.raises(SettingError, match="no preset 'papr'; the presets are paper, reference"):
        preset("papr")


def test_unit_rows():
    rows = unit_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]], requires_grad=True))
    torch.testing.assert_close(rows, torch.tensor([[0.6, 0.8], [0.0, 0.0]]))
    assert not rows.requires_grad
