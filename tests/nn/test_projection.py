"""Products for sent rows only: the same numbers as whole products, in both directions."""

import pytest
import torch

from mpxgat.nn.attention import Neighbourhood, sent_messages
from mpxgat.nn.ops import products
from mpxgat.nn.projection import sent_products


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_rows_sent_and_all_gradients_equal_those_of_the_whole_product(share):
    generator = torch.Generator().manual_seed(0)
    h, W, u = (torch.randn(size, generator=generator, dtype=torch.float64) for size in ((40, 6), (6, 3 * 4), (6, 5)))
    sent = torch.rand(40, 3, generator=generator) < share
    grad_t = torch.randn(40, 12, generator=generator, dtype=torch.float64)
    grad_t *= sent.repeat_interleave(4, 1)  # nobody receives the other messages
    grad_u = torch.randn(40, 5, generator=generator, dtype=torch.float64)
    results = []
    for make in (lambda *x: products(*x), lambda *x: sent_products(*x, sent)):
        inputs = [value.clone().requires_grad_() for value in (h, W, u)]
        t, lr = make(*inputs)
        torch.autograd.backward([t, lr], [grad_t, grad_u])
        results.append([t * sent.repeat_interleave(4, 1), lr, *(value.grad for value in inputs)])
    for whole, part in zip(*results, strict=True):
        torch.testing.assert_close(part, whole, rtol=1e-12, atol=1e-12)


def test_messages_are_sent_where_an_edge_is_kept():
    around = Neighbourhood.from_links(4, torch.tensor([[0, 1]]))
    edges = around.head_edges(2)
    keep = torch.zeros(len(edges.senders))
    assert sent_messages(None, edges) is None
    assert not sent_messages(keep, edges).any()
    keep[edges.senders == 1 * 2 + 1] = 2.5  # node 1 in head 1
    sent = sent_messages(keep, edges)
    assert sent.nonzero().tolist() == [[1, 1]]
    assert sent_messages(torch.ones_like(keep), edges) is None  # all are sent: one whole product is faster


def test_where_neighbours_are_many_the_question_is_not_asked():
    links = torch.combinations(torch.arange(12), 2)
    edges = Neighbourhood.from_links(12, links).head_edges(1)
    assert sent_messages(torch.zeros(len(edges.senders)), edges) is None
