"""Values and gradients as PyTorch's own operations give them, and the same bytes on one and on two threads."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from mpxgat.nn import ops
from tests.threads import on_any_number_of_threads

SHORT = [1, 5, 7, 11, 16, 40]


def same_bytes(function: Callable[[], tuple[Tensor, ...]]) -> bool:
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(function())
    finally:
        torch.set_num_threads(before)
    return all(torch.equal(one, other) for one, other in zip(*results, strict=True))


def double(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("n", SHORT)
@pytest.mark.parametrize("k", SHORT)
def test_products_of_every_size(n, k):
    left, one, other = double(n, k), double(k, 6), double(k, 20)
    got = ops.products(left, one, other)
    torch.testing.assert_close(got, (left @ one, left @ other))
    directions = torch.randn_like(got[0]), torch.randn_like(got[1])
    want = torch.autograd.grad((left @ one, left @ other), (left, one, other), directions)
    torch.testing.assert_close(torch.autograd.grad(got, (left, one, other), directions), want)


@on_any_number_of_threads
@pytest.mark.parametrize("n", [*SHORT, 2000])
@pytest.mark.parametrize("k", [5, 11, 130])
def test_products_have_the_same_bytes(n, k):
    left, one, other = (torch.randn(*shape, requires_grad=True) for shape in ((n, k), (k, 6), (k, 384)))

    def function():
        got = ops.products(left, one, other)
        return (*got, *torch.autograd.grad(got, (left, one, other), (got[0].detach(), got[1].detach())))

    assert same_bytes(function)


@pytest.mark.parametrize("count", [0, 1, 1024, 1025, 100_003])
def test_total(count):
    values = torch.randn(count)
    torch.testing.assert_close(ops.total(values), values.double().sum().float(), atol=1e-3, rtol=1e-4)
    assert same_bytes(lambda: (ops.total(values),))


@pytest.mark.parametrize("columns", [1, 3, 130])
def test_column_sums(columns):
    values = torch.randn(50_001, columns)
    torch.testing.assert_close(ops.column_sums(values), values.sum(0), atol=1e-2, rtol=1e-4)
    assert same_bytes(lambda: (ops.column_sums(values),))


def test_add_row_and_repeat_row():
    values, row = double(4, 3), double(3)
    torch.testing.assert_close(ops.add_row(values.clone(), row), values + row)
    assert torch.autograd.gradcheck(lambda v, r: ops.add_row(v.clone(), r), (values, row))
    torch.testing.assert_close(ops.repeat_row(row, 4), row.expand(4, 3))
    assert torch.autograd.gradcheck(lambda r: ops.repeat_row(r, 4), (row,))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ops.elu, F.elu),
        (ops.softplus, F.softplus),
        (ops.sigmoid, torch.sigmoid),
        (lambda x: ops.leaky_relu(x.clone()), lambda x: F.leaky_relu(x, 0.2)),
    ],
    ids=["elu", "softplus", "sigmoid", "leaky_relu"],
)
def test_functions(ours, theirs):
    values = torch.cat([torch.randn(33_001) * 10, torch.tensor([0.0, 1e4, -1e4, 90.0, -90.0])])
    torch.testing.assert_close(ours(values), theirs(values), atol=1e-6, rtol=1e-5)
    assert same_bytes(lambda: (ours(values),))


@pytest.mark.parametrize("function", [ops.elu, lambda x: ops.leaky_relu(x.clone())], ids=["elu", "leaky_relu"])
def test_activations_have_the_right_gradient(function):
    assert torch.autograd.gradcheck(function, (double(50),))
