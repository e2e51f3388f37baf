"""What a user may hand to `adapt`: functions at the top of a module, and models made of them."""

from __future__ import annotations

import numpy as np

import mpxgat as mx


def spectral(graph, dimensions=4):
    """Degrees and shares of neighbours.

    dimensions      how many powers of the degree
    """
    adjacency = graph.adjacency.astype(float)
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    units = np.bincount(graph.unit, minlength=graph.n_units)[graph.unit]
    return np.stack([(1 + degree) ** (-power / 2) for power in range(dimensions - 1)] + [units], axis=1)


def noise(graph, seed, width=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(graph.n_nodes, width)), rng.normal(size=(graph.n_nodes, width))


def busy(graph, pairs, power=1.0):
    return (1.0 + graph.degree[pairs]).prod(axis=1) ** power


def learned(graph, offset=0.0):
    weight = graph.degree / max(1, graph.degree.max())
    return lambda pairs: weight[pairs].sum(axis=1) + offset


Spectral = mx.adapt(embed=spectral, dimensions=3)
Cosines = mx.adapt(embed=spectral, cosine=True)
Noise = mx.adapt(embed=noise)
Busy = mx.adapt(score=busy)
Learned = mx.adapt(learn=learned)
