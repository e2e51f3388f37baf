import numpy as np
import pytest
import torch

from mpxgat.nn.anchored import AnchoredNet, ordering_loss, ranking_loss, simplex_corners

HEADS, N, D, LAYERS, NUMBERS = 4, 12, 6, 3, 5


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def new_net(seed=0):
    net = AnchoredNet(HEADS, LAYERS, 8, 4, torch.full((NUMBERS,), 0.5), torch.full((NUMBERS,), 2.0), generator(seed))
    for parameter in net.parameters():  # gates start at 0: make every part matter
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator(seed + 1))
    return net.double()


def inputs(seed=0):
    draw = generator(seed)
    views = torch.randn(HEADS + 1, N, D, generator=draw, dtype=torch.float64)
    identity = torch.randn(N, D, generator=draw, dtype=torch.float64)
    numbers = torch.randn(N, NUMBERS, generator=draw, dtype=torch.float64)
    layer = torch.arange(N) % LAYERS
    presence = (torch.rand(N, LAYERS, generator=draw) < 0.5).double()
    presence[torch.arange(N), layer] = 1
    return views, identity, presence, numbers, layer


def slow_terms(terms, net, numbers, layer):
    """Gates and terms of one node by the formula."""
    part = {name: value.detach().numpy() for name, value in terms.named_parameters()}
    x = np.concatenate([(numbers.numpy() - net.mean.numpy()) / net.deviation.numpy(), np.eye(LAYERS)[layer]])
    y = x @ part["W"] + part["b"]
    y = np.where(y > 0, y, 0.2 * y)
    return np.exp(y @ part["G"] + part["c"]), y @ part["T"] + part["t"]


def test_vertical_vectors_are_those_of_the_formula():
    net = new_net()
    views, identity, presence, numbers, layer = inputs()
    beta = 1 / (1 + np.exp(-net.balance.item()))
    z = net.vertical(views[:HEADS], identity, presence, numbers, layer).detach().numpy()
    for i in range(N):
        g, terms = slow_terms(net.vertical_terms, net, numbers[i], layer[i])
        g[:HEADS] *= np.sqrt(beta)
        g[HEADS:] *= np.sqrt(1 - beta)
        a = views[:, i].numpy()
        horizontal = [g[0] * a[0] + g[1] * a[1], g[2] * a[2], g[3] * a[3]]
        exclusion = np.outer(presence[i], net.corners[layer[i]]).ravel()
        expected = np.concatenate([*horizontal, g[4] * identity[i].numpy(), g[5] * exclusion, terms])
        assert z[i] == pytest.approx(expected, abs=1e-10)


def test_horizontal_vectors_are_those_of_the_formula():
    net = new_net()
    views, _, _, numbers, layer = inputs()
    h = net.horizontal(views, numbers, layer).detach().numpy()
    for i in range(N):
        g, terms = slow_terms(net.horizontal_terms, net, numbers[i], layer[i])
        assert h[i] == pytest.approx(np.concatenate([g @ views[:, i].numpy(), terms]), abs=1e-10)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_different_corners_have_the_inner_product_minus_one(count):
    gram = simplex_corners(count) @ simplex_corners(count).T
    assert torch.allclose(gram, count * torch.eye(count) - 1, atol=1e-5)


def test_shared_layers_count_against_a_pair():
    corners = simplex_corners(3)
    one, other = torch.tensor([1.0, 1, 0]), torch.tensor([0.0, 1, 1])  # both units have a node in layer 1
    score = torch.outer(one, corners[0]).flatten() @ torch.outer(other, corners[2]).flatten()
    assert score.item() == pytest.approx(-1, abs=1e-6)


def test_the_ordering_loss_is_the_mean_over_all_pairs_of_a_link_and_a_non_link():
    links, non_links = torch.tensor([1.0, -0.5]), torch.tensor([0.0, 2.0, -3.0])
    slow = np.mean([np.log1p(np.exp(q - p)) for p in links.tolist() for q in non_links.tolist()])
    assert ordering_loss(links, non_links).item() == pytest.approx(slow, abs=1e-6)


def test_the_ranking_loss_passes_over_what_is_no_candidate():
    scores = torch.tensor([[0.5, -torch.inf], [1.0, 2.0]])
    links = torch.tensor([1.0, 0.0])
    slow = [np.log(np.exp(1) + np.exp(0.5)) - 1, np.log(1 + np.exp(1) + np.exp(2))]
    assert ranking_loss(links, scores).item() == pytest.approx(np.mean(slow), abs=1e-6)


def test_gradients_are_right():
    net = new_net()
    views, identity, presence, numbers, layer = inputs()
    names = [name for name, _ in net.named_parameters()]

    def loss(*parameters):
        named = dict(zip(names, parameters, strict=True))
        run = torch.func.functional_call
        z = run(
            _Vertical(net),
            {f"net.{k}": v for k, v in named.items()},
            (views[:HEADS], identity, presence, numbers, layer),
        )
        h = run(_Horizontal(net), {f"net.{k}": v for k, v in named.items()}, (views, numbers, layer))
        scores = (z[::2] * z[1::2]).sum(1), (h[::2] * h[1::2]).sum(1)
        return ordering_loss(scores[0][:3], scores[0][3:]) + ordering_loss(scores[1][:3], scores[1][3:])

    assert torch.autograd.gradcheck(loss, tuple(net.parameters()))


class _Vertical(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, *arguments):
        return self.net.vertical(*arguments)


class _Horizontal(_Vertical):
    def forward(self, *arguments):
        return self.net.horizontal(*arguments)
