from __future__ import annotations

import pytest
import torch

from mpxgat.errors import SettingError
from mpxgat.nn import HorizontalNet, Neighbourhood, Widths
from mpxgat.nn.attention import attend, attention_dropout, edge_messages, edge_softmax, neighbour_sums, receiver_sums
from mpxgat.nn.mpxgat import Attention, SeparateTransforms

LINKS = torch.tensor([[0, 1], [0, 2], [1, 2], [2, 3]])  # node 4 is isolated


def double(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def test_weights_sum_to_one_for_every_receiver():
    edges = Neighbourhood.from_links(5, LINKS).head_edges(3)
    weights = edge_softmax(torch.randn(5, 3), torch.randn(5, 3), edges)
    sums = torch.zeros(15).index_add(0, edges.receivers, weights)
    torch.testing.assert_close(sums, torch.ones(15))


def test_huge_logits_do_not_overflow():
    edges = Neighbourhood.from_links(2, torch.tensor([[0, 1]])).head_edges(1)
    right = torch.tensor([[1e4], [-1e4]])
    weights = edge_softmax(torch.zeros(2, 1), right, edges)
    assert weights.tolist() == [1.0, 0.0, 1.0, 0.0]
    far = edge_softmax(torch.full((2, 1), -3e5), right, edges)
    assert far.tolist() == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("heads", [1, 2])
def test_gradcheck_with_every_term(heads):
    edges = Neighbourhood.from_links(5, LINKS, torch.rand(4, dtype=torch.float64)).head_edges(heads)
    keep = torch.tensor([0.0, 2.5], dtype=torch.float64)[torch.randint(2, (len(edges.senders),))]
    left, right, u, scale = (double(5, heads) for _ in range(4))

    def function(left, right, t, u, scale):
        return attend(left, right, t, edges, u=u, keep=keep, scale=scale)

    assert torch.autograd.gradcheck(function, (left, right, double(5, heads, 3), u, scale))


def test_result_may_be_changed_in_place():
    edges = Neighbourhood.from_links(5, LINKS).head_edges(2)
    left, right, t = double(5, 2), double(5, 2), double(5, 2, 3)
    want = torch.autograd.grad((attend(left, right, t, edges) * 3).square().sum(), (left, right, t))
    got = torch.autograd.grad(attend(left, right, t, edges).mul_(3).square().sum(), (left, right, t))
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other)


def test_edge_term_without_weights_is_an_error():
    edges = Neighbourhood.from_links(5, LINKS).head_edges(1)
    with pytest.raises(ValueError, match="made without weights"):
        attend(torch.zeros(5, 1), torch.zeros(5, 1), torch.zeros(5, 1, 2), edges, u=torch.ones(5, 1))


def test_neighbour_sums():
    neighbourhood = Neighbourhood.from_links(5, LINKS)
    m = double(5, 2, 3)
    got = neighbour_sums(m, neighbourhood)
    torch.testing.assert_close(got[0], m[0] + m[1] + m[2])
    torch.testing.assert_close(got[4], m[4])
    assert torch.autograd.gradcheck(lambda m: neighbour_sums(m, neighbourhood), (m,))


@pytest.mark.parametrize("heads", [1, 3])
def test_gradcheck_where_messages_go_one_way(heads):
    around = Neighbourhood.directed(5, LINKS)
    edges = around.head_edges(heads)
    keep = torch.tensor([0.0, 2.5], dtype=torch.float64)[torch.randint(2, (len(edges.senders),))]

    def function(left, right, t, scale):
        return neighbour_sums(attend(left, right, t, edges, keep=keep, scale=scale), around)

    assert torch.autograd.gradcheck(
        function, (*(double(5, heads) for _ in range(2)), double(5, heads, 3), double(5, heads))
    )


class TestDropout:
    edges = Neighbourhood.from_links(200, torch.combinations(torch.arange(200))).head_edges(2)

    def test_share_and_factor(self):
        keep = attention_dropout(0.6, self.edges, torch.zeros(1), torch.Generator().manual_seed(0))
        assert keep.shape == self.edges.senders.shape
        assert keep.unique().tolist() == [0.0, torch.tensor(2.5).item()]
        assert abs((keep == 0).float().mean().item() - 0.6) < 0.01

    def test_same_seed_same_bytes_other_seed_other_bytes(self):
        first, second, third = (
            attention_dropout(0.5, self.edges, torch.zeros(1), torch.Generator().manual_seed(s)) for s in (1, 1, 2)
        )
        assert torch.equal(first, second)
        assert not torch.equal(first, third)

    @pytest.mark.parametrize(("p", "training"), [(0.6, False), (0.0, True)])
    def test_nothing_is_dropped_outside_training_or_at_zero(self, p, training):
        generator = torch.Generator().manual_seed(0)
        attention = Attention(SeparateTransforms(4, 3, 2, generator), 2, p, generator).train(training)
        h, neighbourhood = torch.randn(5, 4), Neighbourhood.from_links(5, LINKS)
        assert torch.equal(attention(h, neighbourhood), attention(h, neighbourhood))

    @pytest.mark.parametrize("p", [-0.1, 1.0, float("nan")])
    def test_impossible_probability(self, p):
        with pytest.raises(SettingError, match="expected at least 0 and less than 1"):
            HorizontalNet(4, Widths(2, 2, 1), generator=torch.Generator(), dropout=p)


def test_messages_of_edges_add_up_to_what_attend_gives():
    generator = torch.Generator().manual_seed(0)
    transform = SeparateTransforms(4, 3, 2, generator).double()
    neighbourhood = Neighbourhood.from_links(5, LINKS)
    edges, h = neighbourhood.head_edges(2), torch.randn(5, 4, dtype=torch.float64)
    left, right, t, b = transform(h)
    messages = edge_messages((left, right, t, b), neighbourhood, edges, None, None)
    assert messages.shape == (neighbourhood.n_edges, 2, 3)
    torch.testing.assert_close(receiver_sums(messages, neighbourhood), attend(left, right, t, edges, b=b))
