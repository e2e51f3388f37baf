"""The features of nodes as the competitors read them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mpxgat.graph import MultiplexGraph


def standardised_features(graph: MultiplexGraph) -> Tensor | None:
    """(n, p) float32, all features of the nodes, each with mean 0 and standard deviation 1; None if there are none."""
    parts = [part.values for part in (graph.horizontal_features, graph.vertical_features) if part is not None]
    if not parts:
        return None
    values = np.concatenate(parts, axis=1).astype(np.float64)
    values -= values.mean(axis=0)
    spread = values.std(axis=0)
    return torch.from_numpy((values / np.where(spread > 0, spread, 1)).astype(np.float32))
