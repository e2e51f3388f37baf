"""Hypothesis strategies: graphs of every kind that `MultiplexGraph` allows, with awkward texts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from mpxgat.build import EdgeTable, NodeTable, build, with_apart, with_inter_links
from mpxgat.graph import Features, MultiplexGraph

AWKWARD = [
    "<b>&amp;</b>",
    "🦊",
    'say "hi"',
    "a,b",
    "a\tb",
    "two words",
    " edge ",
    "line\nbreak",
    "a\rb",
    "#no",
    "%no",
    "é",
    "7",
]
PLAIN_IDS = st.integers(0, 30).map(str)
ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
IDS = st.one_of(PLAIN_IDS, st.sampled_from(AWKWARD), ANY_TEXT.filter(bool))
WEIGHTS = st.floats(-1e300, 1e300, allow_nan=False) | st.integers(-3, 3).map(float)
FEATURES = st.floats(-(2.0**100), 2.0**100, width=32, allow_nan=False)


@st.composite
def graphs(draw: st.DrawFn, ids: st.SearchStrategy[str] = IDS, names: st.SearchStrategy[str] = IDS) -> MultiplexGraph:
    """A multiplex of up to four layers: weights, direction, features, attributes, lonely nodes, some apart."""
    layers = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    members = [draw(st.lists(ids, min_size=1, max_size=6, unique=True)) for _ in layers]
    node_ids = [node for layer in members for node in layer]
    node_layer = np.repeat(np.arange(len(layers)), [len(layer) for layer in members])
    pairs = draw(st.lists(st.tuples(*[st.integers(0, len(node_ids) - 1)] * 2), max_size=12))
    intra = np.array([pair for pair in pairs if node_layer[pair[0]] == node_layer[pair[1]]], dtype=int).reshape(-1, 2)
    column = pa.array(node_ids, pa.large_string())
    weight = draw(_array(WEIGHTS, len(intra)) | st.none())
    one_way = draw(st.lists(st.booleans(), min_size=len(intra), max_size=len(intra)) | st.none())
    edges = EdgeTable(
        column.take(pa.array(intra[:, 0])),
        node_layer[intra[:, 0]],
        column.take(pa.array(intra[:, 1])),
        node_layer[intra[:, 1]],
        weight,
        None if one_way is None else np.array(one_way, dtype=bool),
    )
    nodes = NodeTable(
        column,
        node_layer,
        draw(_features(len(node_ids))),
        draw(_features(len(node_ids))),
        draw(st.dictionaries(_names(), _texts(len(node_ids)), max_size=2)),
    )
    graph = build(layers, edges, nodes)
    graph = with_inter_links(graph, draw(_inter_links(graph)))
    return with_apart(graph, draw(_apart(graph)))


@st.composite
def _apart(draw: st.DrawFn, graph: MultiplexGraph) -> np.ndarray:
    """A few pairs of two layers that known links do not join; often none."""
    first, second = np.nonzero((graph.node_layer[:, None] != graph.node_layer) & (graph.unit[:, None] != graph.unit))
    rows = draw(st.lists(st.integers(0, len(first) - 1), max_size=3)) if len(first) else []
    return np.stack([first[rows], second[rows]], axis=1)


@st.composite
def _inter_links(draw: st.DrawFn, graph: MultiplexGraph) -> np.ndarray:
    """Either all pairs of one id, or some links of a random matching of nodes to units (not closed)."""
    if draw(st.booleans()):
        unit = np.array(pa.array(graph.ids).dictionary_encode().indices)
    else:
        unit = np.concatenate(
            [draw(st.permutations(range(6)))[:size] for size in np.diff(graph.layer_start)], dtype=np.int64
        )
    first, second = np.nonzero((unit[:, None] == unit) & (graph.node_layer[:, None] < graph.node_layer))
    pairs = np.stack([first, second], axis=1)
    if draw(st.booleans()) and len(pairs):
        pairs = pairs[draw(_array(st.booleans(), len(pairs))).astype(bool)]
    return pairs


def _array(values: st.SearchStrategy[float], size: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(values, min_size=size, max_size=size).map(lambda drawn: np.array(drawn, dtype=np.float64))


def _texts(size: int) -> st.SearchStrategy[pa.Array]:
    values = st.sampled_from(AWKWARD) | ANY_TEXT | PLAIN_IDS
    return st.lists(values, min_size=size, max_size=size).map(lambda drawn: pa.array(drawn, pa.large_string()))


def _names() -> st.SearchStrategy[str]:
    return st.sampled_from(["label", "nodeLabel", "age", "two words", "id", "h:x"]) | ANY_TEXT


@st.composite
def _features(draw: st.DrawFn, size: int) -> Features | None:
    names = draw(st.lists(_names(), max_size=2, unique=True))
    if not names:
        return None
    values = draw(_array(FEATURES, size * len(names)))
    return Features(tuple(names), values.reshape(size, len(names)).astype(np.float32))


def simple_graphs() -> st.SearchStrategy[MultiplexGraph]:
    """Graphs that most formats can hold: short plain ids and names."""
    return graphs(ids=PLAIN_IDS, names=st.sampled_from(["work", "lunch", "mail", "chess", "x1"]))
