"""Graphs of nodes with attributes, and slow, plain versions of what is computed."""

import numpy as np
import pyarrow as pa

from mpxgat.graph import Features, MultiplexGraph


def graph_of(*layers, horizontal=None, vertical=None, ids=None, **columns):
    """Layers of so many nodes without links; a column has a text for every node."""
    n = sum(layers)
    return MultiplexGraph(
        layers=tuple(f"layer {number}" for number in range(len(layers))),
        layer_start=np.concatenate([[0], np.cumsum(layers)]).astype(np.int64),
        ids=pa.array(ids or [f"n{i:04}" for i in range(n)], pa.large_string()),
        intra=np.empty((0, 2), dtype=np.int32),
        inter=np.empty((0, 2), dtype=np.int32),
        horizontal_features=table(horizontal),
        vertical_features=table(vertical),
        attributes={name: pa.array(values, pa.large_string()) for name, values in columns.items()},
    )


def table(values):
    """Features called f0, f1, …"""
    if values is None:
        return None
    values = np.asarray(values, dtype=np.float32)
    return Features(tuple(f"f{number}" for number in range(values.shape[1])), values)


def all_pairs(n):
    """(n², 2)."""
    return np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), axis=-1).reshape(-1, 2)
