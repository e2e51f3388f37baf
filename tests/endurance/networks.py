"""Small random multiplexes with awkward texts, from which valid files are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from mpxgat.build import EdgeTable, NodeTable, build, with_inter_links
from mpxgat.graph import Features, MultiplexGraph

PLAIN = ("1", "2", "3", "10", "a", "b", "node", "x_1", "é", "00")
AWKWARD = (
    "<script>alert(1)</script>", "a,b", 'say "hi"', "two words", "a\tb", "line\nbreak", "a\rb", "#x", "%x", "\x1b[31m",
    "'; --", "../../etc/passwd", "\u202eabc", "🦊", "NaN", "null", "-0", "1e999", "=1+1", "\ufeff", "\x7f", "\x85",
)  # fmt: skip


def plain_network(rng: np.random.Generator) -> MultiplexGraph:
    """A multiplex of two or three layers that every format can hold, with weights at times."""
    graph = _network(rng, PLAIN, known=1.0)
    return replace(graph, attributes={}, horizontal_features=None, vertical_features=None)


def awkward_network(rng: np.random.Generator) -> MultiplexGraph:
    """A multiplex with features, attributes and texts that some formats must quote or refuse."""
    return _network(rng, PLAIN + AWKWARD, known=0.7)


def _network(rng: np.random.Generator, texts: Sequence[str], known: float) -> MultiplexGraph:
    layers = list(rng.choice(np.array(texts, dtype=object), size=rng.integers(2, 4), replace=False))
    members = [rng.choice(np.array(texts, dtype=object), size=rng.integers(2, 7), replace=False) for _ in layers]
    layer = np.repeat(np.arange(len(layers)), [len(ids) for ids in members])
    ids = pa.array(np.concatenate(members).tolist(), pa.large_string())
    pairs = rng.integers(len(layer), size=(20, 2))
    pairs = pairs[layer[pairs[:, 0]] == layer[pairs[:, 1]]]
    weight = None if rng.random() < 0.5 else rng.integers(1, 9, len(pairs)) / 4
    edges = EdgeTable(
        ids.take(pa.array(pairs[:, 0])), layer[pairs[:, 0]], ids.take(pa.array(pairs[:, 1])), layer[pairs[:, 1]], weight
    )
    features = Features(("x",), rng.normal(size=(len(layer), 1)).astype(np.float32))
    attributes = {"label": pa.array(rng.choice(np.array(texts, dtype=object), len(layer)).tolist(), pa.large_string())}
    graph = build(layers, edges, NodeTable(ids, layer, features, features, attributes))
    unit = np.array(graph.ids.dictionary_encode().indices)
    first, second = np.nonzero((unit[:, None] == unit) & (graph.node_layer[:, None] < graph.node_layer))
    kept = rng.random(len(first)) < known
    return with_inter_links(graph, np.stack([first, second], axis=1)[kept])
