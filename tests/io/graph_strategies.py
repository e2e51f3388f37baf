"""Random small graphs with everything a graph can hold, for round-trip tests, and damage to files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from mpxgat.build import EdgeTable, NodeTable, build, link_by_id, with_inter_links
from mpxgat.errors import InputError
from mpxgat.graph import Features, MultiplexGraph

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
FLOAT64 = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def graphs(draw: st.DrawFn, names: st.SearchStrategy[str] = ANY_TEXT, values: st.SearchStrategy[str] = ANY_TEXT):
    """Up to three layers over up to five ids; ``names`` makes ids and names, ``values`` the texts of attributes."""
    layers = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    ids = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    cell = st.tuples(st.integers(0, len(layers) - 1), st.integers(0, len(ids) - 1))
    nodes = draw(st.lists(cell, min_size=1, unique=True))
    links = draw(st.lists(st.tuples(cell, st.integers(0, len(ids) - 1)), max_size=8))
    weights = draw(st.one_of(st.none(), st.lists(FLOAT64, min_size=len(links), max_size=len(links))))
    one_way = draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=len(links), max_size=len(links))))
    attributes = {
        name: pa.array(
            draw(st.lists(values | st.just(""), min_size=len(nodes), max_size=len(nodes))), pa.large_string()
        )
        for name in draw(st.lists(names, max_size=2, unique=True))
        if name not in ("layer", "unit") and name[:2] not in ("h:", "v:")
    }
    layer = np.array([cell[0] for cell, _ in links], dtype=np.int64)
    graph = build(
        layers,
        EdgeTable(
            source=pa.array([ids[cell[1]] for cell, _ in links], pa.large_string()),
            source_layer=layer,
            target=pa.array([ids[other] for _, other in links], pa.large_string()),
            target_layer=layer,
            weight=None if weights is None else np.array(weights, dtype=np.float64),
            one_way=None if one_way is None else np.array(one_way, dtype=bool),
        ),
        NodeTable(
            ids=pa.array([ids[number] for _, number in nodes], pa.large_string()),
            layer=np.array([layer for layer, _ in nodes], dtype=np.int64),
            horizontal_features=draw(features(len(nodes), names)),
            vertical_features=draw(features(len(nodes), names)),
            attributes=attributes,
        ),
    )
    return draw(with_links(graph))


@st.composite
def features(draw: st.DrawFn, rows: int, names: st.SearchStrategy[str]) -> Features | None:
    columns = draw(st.lists(names, max_size=2, unique=True))
    values = draw(st.lists(FLOAT32, min_size=rows * len(columns), max_size=rows * len(columns)))
    return Features(tuple(columns), np.array(values, dtype=np.float32).reshape(rows, -1)) if columns else None


@st.composite
def with_links(draw: st.DrawFn, graph: MultiplexGraph) -> MultiplexGraph:
    """Inter links by id, some of them, weighted ones, or links between nodes of different ids."""
    way = draw(st.sampled_from(["by id", "some", "weighted", "crossed"]))
    linked = link_by_id(graph)
    if way == "by id":
        return linked
    if way == "crossed":
        if graph.n_layers < 2:
            return graph
        size = int(np.diff(graph.layer_start[:3]).min())
        first, second = graph.layer_nodes(0)[:size], graph.layer_nodes(1)[:size][::-1]
        return with_inter_links(graph, np.stack([first, second], axis=1))
    keep = np.array(draw(st.lists(st.booleans(), min_size=linked.n_inter, max_size=linked.n_inter)), dtype=bool)
    some = linked.without(inter=linked.inter[~keep])
    if way == "weighted":
        weights = draw(st.lists(FLOAT64, min_size=some.n_inter, max_size=some.n_inter))
        return replace(some, inter_weight=np.array(weights, dtype=np.float64))
    return some


@st.composite
def damaged(draw: st.DrawFn, content: bytes, pieces: list[bytes]) -> bytes:
    """``content`` with a few stretches cut out, doubled, or replaced by one of ``pieces``."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.sampled_from([0, 1, 2, 5, 20, 10**9])))
        middle = draw(st.sampled_from([b"", content[start:stop] * 2, *pieces]))
        content = content[:start] + middle + content[stop:]
    return content


def assert_graph_or_input_error(read: Callable[[], MultiplexGraph]) -> None:
    """Whatever was read, the outcome is a whole graph or one line about what is wrong; any other error passes on."""
    outcome: MultiplexGraph | str
    try:
        outcome = read()
    except InputError as problem:
        outcome = str(problem)
    if isinstance(outcome, str):
        assert outcome
        assert outcome.isprintable()
        assert len(outcome) < 1000
    else:
        assert len(outcome.ids) == outcome.n_nodes
        assert outcome.intra.max(initial=-1) < outcome.n_nodes
        assert len(set(outcome.layers)) == outcome.n_layers
