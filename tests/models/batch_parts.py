"""Parts of MPXGAT that tests of batches train."""

from dataclasses import replace

import numpy as np

from mpxgat.graph import Features
from mpxgat.models.mpxgat import MPXGATSettings
from mpxgat.models.mpxgat_parts import LayerPart, VerticalPart

SMALL = {"hidden": 8, "out": 6, "heads": 2, "epochs": 4, "check_every": 5, "lr": 0.01}


def with_everything(graph):
    """The graph with weights of links and features of nodes."""
    rng = np.random.default_rng(0)
    features = Features(("p", "q", "r"), rng.normal(size=(graph.n_nodes, 3)).astype(np.float32))
    return replace(
        graph,
        intra_weight=rng.uniform(1, 9, graph.n_intra),
        inter_weight=rng.uniform(1, 9, graph.n_inter),
        horizontal_features=features,
        vertical_features=features,
    )


def part_of(graph, kind, **settings):
    chosen = MPXGATSettings.of(**{**SMALL, **settings})
    if kind == "horizontal":
        return LayerPart.of(graph, 0, chosen, seed=0)
    rows = np.random.default_rng(3).normal(size=(graph.n_nodes, chosen.out)).astype(np.float32)
    return VerticalPart.of(graph, rows, chosen, seed=0)


def ring(n, **settings):
    """A layer in which everyone knows the next two."""
    nodes = np.arange(n)
    links = np.concatenate([np.stack([nodes, (nodes + step) % n], axis=1) for step in (1, 2)])
    links = np.sort(links, axis=1).astype(np.int32)
    return LayerPart(1, "ring", n, links, None, None, MPXGATSettings.of(**{**SMALL, **settings}), 0)


def couples(n, **settings):
    """Two layers of n nodes each, every second node with a counterpart."""
    nodes = np.arange(0, n, 2, dtype=np.int32)
    unit = np.tile(np.arange(n, dtype=np.int32), 2)
    unit[n + 1 :: 2] += n  # those without one
    return VerticalPart(
        0,
        "couples",
        2 * n,
        np.stack([nodes, nodes + n], axis=1),
        None,
        None,
        MPXGATSettings.of(**{**SMALL, **settings}),
        0,
        horizontal=np.ones((2 * n, 4), dtype=np.float32),
        layer=np.repeat(np.arange(2, dtype=np.int32), n),
        unit=unit,
    )
