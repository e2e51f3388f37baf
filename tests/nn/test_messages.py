from __future__ import annotations

import pytest
import torch

from mpxgat.nn import projection
from mpxgat.nn.projection import LinearMessages, RowMessages


def double(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("piece", [3, 1024], ids=["pieces", "one piece"])
@pytest.mark.parametrize("frozen", [True, False])
def test_linear_messages_are_their_rows(piece, frozen, monkeypatch):
    monkeypatch.setattr(projection, "_ROWS_AT_ONCE", piece)
    out, scale, x, Z, b = double(7, 2, 3), double(7, 2), double(7, 4), double(4, 6), double(6)
    x.requires_grad_(not frozen)
    factor = double(7, 1)
    linear = LinearMessages(scale, x, Z, b).scaled(factor)
    rows = RowMessages(scale, (x @ Z + b).view(7, 2, 3)).scaled(factor)
    got, want = linear.added_to(out.clone()), rows.added_to(out.clone())
    torch.testing.assert_close(got, want, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(linear.tensor(), rows.tensor(), rtol=1e-12, atol=1e-12)
    inputs = [value for value in (out, scale, x, Z, b, factor) if value.requires_grad]
    direction = torch.randn_like(want)
    torch.testing.assert_close(
        torch.autograd.grad(got, inputs, direction),
        torch.autograd.grad(want, inputs, direction),
        rtol=1e-10,
        atol=1e-10,
    )
