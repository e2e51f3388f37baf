from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from mpxgat.nn import link_loss, pair_scores

LINKS = torch.tensor([[0, 1], [1, 2], [0, 3]])
NON_LINKS = torch.tensor([[0, 2], [3, 1], [2, 3], [4, 0]])


def usual_loss(z, links, non_links):
    u, v = torch.cat([links, non_links]).T
    target = torch.cat([torch.ones(len(links)), torch.zeros(len(non_links))]).to(z.dtype)
    return F.binary_cross_entropy_with_logits((z[u] * z[v]).sum(-1), target)


@pytest.mark.parametrize(("links", "non_links"), [(LINKS, NON_LINKS), (LINKS, NON_LINKS[:0]), (LINKS[:0], NON_LINKS)])
def test_loss_and_gradient_are_the_usual_ones(links, non_links):
    z = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    got, want = link_loss(z, links, non_links), usual_loss(z, links, non_links)
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)
    (got_grad,) = torch.autograd.grad(2 * got, z)
    (want_grad,) = torch.autograd.grad(2 * want, z)
    torch.testing.assert_close(got_grad, want_grad, rtol=1e-12, atol=1e-12)


def test_gradcheck():
    z = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: link_loss(z, LINKS, NON_LINKS), (z,))


def test_direction_of_a_link_does_not_matter():
    z = torch.randn(5, 3)
    assert torch.equal(link_loss(z, LINKS, NON_LINKS), link_loss(z, LINKS.flip(1), NON_LINKS))


def test_sure_and_wrong_scores_stay_finite():
    z = torch.tensor([[200.0], [200.0], [-200.0]], requires_grad=True)
    loss = link_loss(z, torch.tensor([[0, 2]]), torch.tensor([[0, 1]]))
    loss.backward()
    assert loss.item() == 40_000.0
    assert torch.isfinite(z.grad).all()


def test_no_pairs():
    z = torch.randn(5, 3, requires_grad=True)
    loss = link_loss(z, LINKS[:0], NON_LINKS[:0])
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(z.grad, torch.zeros(5, 3))


def test_without_gradient():
    with torch.no_grad():
        loss = link_loss(torch.randn(5, 3, requires_grad=True), LINKS, NON_LINKS)
    assert not loss.requires_grad


def test_pair_scores():
    z = torch.randn(5, 3, requires_grad=True)
    torch.testing.assert_close(pair_scores(z, LINKS), (z[LINKS[:, 0]] * z[LINKS[:, 1]]).sum(1).detach())
    assert not pair_scores(z, LINKS).requires_grad
