import subprocess
import sys
import weakref

import pytest
import torch
from torch import nn

from mpxgat.training.eager_adam import EagerAdam


def network(seed=0):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    net.unused = nn.Parameter(torch.ones(2))
    return net


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_the_steps_are_those_of_torch_adam(weight_decay):
    ours, theirs, x = network(), network(), torch.randn(11, 5)
    eager = EagerAdam(ours.parameters(), lr=0.01, weight_decay=weight_decay)
    adam = torch.optim.Adam(theirs.parameters(), lr=0.01, weight_decay=weight_decay, fused=True)
    for _ in range(20):
        ours(x).square().sum().backward()
        adam.zero_grad()
        theirs(x).square().sum().backward()
        adam.step()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(one, other)
        state = adam.state.get(other)
        if state:
            assert torch.equal(eager.moments(one).second, state["exp_avg_sq"])
            assert float(eager.moments(one).step) == float(state["step"]) == 20


def test_a_parameter_used_twice_is_stepped_once():
    one, other = nn.Parameter(torch.tensor([2.0])), nn.Parameter(torch.tensor([2.0]))
    EagerAdam([one], lr=0.1)
    (one * one + 3 * one).sum().backward()
    adam = torch.optim.Adam([other], lr=0.1, fused=True)
    (other * other + 3 * other).sum().backward()
    adam.step()
    assert torch.equal(one, other)


def test_gradients_are_not_kept_until_it_is_closed():
    net, x = network(), torch.randn(4, 5)
    eager = EagerAdam(net.parameters())
    net(x).sum().backward()
    assert all(parameter.grad is None for parameter in net.parameters())
    eager.close()
    before = net[0].weight.clone()
    net(x).sum().backward()
    assert net[0].weight.grad is not None
    assert torch.equal(net[0].weight, before)


def test_training_does_not_import_the_compiler_of_torch():
    code = (
        "import sys, torch\n"
        "from mpxgat.training.eager_adam import EagerAdam\n"
        "p = torch.nn.Parameter(torch.ones(3)); EagerAdam([p]); p.sum().backward()\n"
        "assert not torch.equal(p, torch.ones(3))\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_network_that_is_dropped_is_freed_even_if_the_optimiser_was_not_closed():
    net = network()
    EagerAdam(net.parameters())
    net(torch.randn(2, 5)).sum().backward()
    freed = weakref.ref(net[0].weight)
    del net
    assert freed() is None
