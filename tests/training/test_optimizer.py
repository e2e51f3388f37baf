import subprocess
import sys
import weakref

import pytest
import torch
from torch import nn

from mpxgat.nn.projection import SomeRows, table
from mpxgat.training.loop import EagerAdam


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
        "from mpxgat.training.loop import EagerAdam\n"
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


def step_rows(parameter, *rows):
    (table(parameter, SomeRows(torch.tensor(rows))) ** 3).sum().backward()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_a_row_read_at_every_step_goes_as_in_a_dense_table(weight_decay):
    start = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    eager = EagerAdam([ours], lr=0.01, weight_decay=weight_decay)
    dense = EagerAdam([theirs], lr=0.01, weight_decay=weight_decay)
    for _ in range(40):
        step_rows(ours, 1, 4)
        (theirs[[1, 4]] ** 3).sum().backward()
    rows, others = [1, 4], [0, 2, 3, 5]
    assert torch.allclose(ours[rows], theirs[rows], atol=1e-6)
    assert not torch.allclose(ours[rows], start[rows], atol=0.1)
    for name in ("first", "second"):
        one, other = getattr(eager.moments(ours), name), getattr(dense.moments(theirs), name)
        assert torch.allclose(one[rows], other[rows], atol=1e-6)
        assert not one[others].any()
    assert torch.equal(ours[others], start[others])  # not read: no step, no decay
    assert eager.moments(ours).step.tolist() == [0, 40, 0, 0, 40, 0]
    assert ours.grad is None


def test_a_row_read_now_and_then_goes_as_if_the_other_steps_had_not_been():
    start = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))
    ours, alone = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    EagerAdam([ours], lr=0.05, weight_decay=0.01)
    EagerAdam([alone], lr=0.05, weight_decay=0.01)
    for number in range(30):
        step_rows(ours, *((0, 2) if number % 7 == 3 else (0,)))
        if number % 7 == 3:
            step_rows(alone, 2)
    assert torch.equal(ours[2], alone[2])
    assert not torch.equal(ours[2], start[2])


def test_rows_are_stepped_alike_on_one_thread_and_on_two():
    before, results = torch.get_num_threads(), []
    generator = torch.Generator().manual_seed(0)
    start, slopes = torch.randn(2, 5003, 37, generator=generator)
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            parameter = nn.Parameter(start.clone())
            EagerAdam([parameter], lr=0.01, weight_decay=0.1)
            for number in range(5):
                rows = torch.arange(number, 5003, number + 1)
                (table(parameter, SomeRows(rows)) * slopes[rows]).sum().backward()
            results.append(parameter.detach())
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*results)
