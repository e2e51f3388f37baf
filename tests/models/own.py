"""What a user may bring: functions f and g of their own, a model of their own."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from mpxgat.models.base import Model
from mpxgat.nn.ops import glorot


class BothEnds(nn.Module):
    """f that reads both ends: m_ij^H = tanh([h_i, h_j] A), A learned."""

    def __init__(self, inputs: int, out: int, heads: int, generator: torch.Generator):
        super().__init__()
        self.A = glorot((2 * inputs, heads * out), generator)
        self.heads = heads

    def forward(self, h_i: Tensor, h_j: Tensor) -> Tensor:
        return (torch.cat([h_i, h_j], 1) @ self.A).tanh().view(len(h_i), self.heads, -1)


class Gate(nn.Module):
    """g that lets one message scale the other."""

    def __init__(self, out: int, heads: int, generator: torch.Generator):
        super().__init__()
        self.c = nn.Parameter(torch.full((heads, out), 0.5))

    def forward(self, m_V: Tensor, m_H: Tensor) -> Tensor:
        return m_V * (1 + self.c * m_H)


class Constant(Model):
    """Gives every pair the same score."""

    name = "constant"
    description = "the same score for every pair"

    def __init__(self, *, value: float = 0.5, seed: int = 0):
        super().__init__(seed=seed)
        self.value = value

    def _learn(self, graph, session):
        pass

    def score_block(self, rows, cols):
        return np.full((len(rows), len(cols)), self.value)

    def _score_intra(self, pairs):
        return np.full(len(pairs), self.value)

    _score_inter = _score_intra
