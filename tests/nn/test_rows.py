from __future__ import annotations

import pytest
import torch

from mpxgat.nn import ops


@pytest.fixture(params=[4, 1 << 20], ids=["many pieces", "one piece"], autouse=True)
def pieces(request, monkeypatch):
    monkeypatch.setattr(ops, "_PIECE_CPU", request.param)


def test_sum_rows_with_an_empty_range():
    values, weights = torch.randn(4, 3), torch.tensor([1.0, -2.0, 0.5])
    got = ops.sum_rows(values, torch.tensor([3, 0, 3]), torch.tensor([0, 2, 2, 3]), weights)
    torch.testing.assert_close(got, torch.stack([values[3] - 2 * values[0], torch.zeros(3), 0.5 * values[3]]))


def test_dot_bags_with_an_empty_range():
    left, right = torch.randn(3, 4), torch.randn(5, 4, requires_grad=True)
    got = ops.dot_bags(left, right, torch.tensor([4, 0, 4]), torch.tensor([0, 2, 2, 3]))
    torch.testing.assert_close(got, torch.stack([left[0] @ right[4], left[0] @ right[0], left[2] @ right[4]]).detach())
    assert not got.requires_grad


def test_dot_rows():
    left, right = torch.randn(4, 3), torch.randn(5, 3)
    i, j = torch.tensor([0, 3, 3, 1, 0]), torch.tensor([4, 4, 0, 2, 0])
    torch.testing.assert_close(ops.dot_rows(left, right, i, j), (left[i] * right[j]).sum(1))
    assert ops.dot_rows(left, right, i[:0], j[:0]).shape == (0,)


def test_scatter_rows_adds_repeated_targets():
    values, weights = torch.randn(4, 3), torch.randn(6)
    sources, targets = torch.tensor([0, 1, 2, 3, 0, 1]), torch.tensor([3, 3, 0, 3, 0, 1])
    want = torch.zeros(4, 3).index_add(0, targets, values[sources] * weights[:, None])
    torch.testing.assert_close(ops.scatter_rows(values, sources, targets, weights), want)
