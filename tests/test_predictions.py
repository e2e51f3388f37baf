"""Predicted links, against brute force on small graphs."""

import numpy as np
import pandas as pd
import pytest

from mpxgat import predictions
from mpxgat.errors import GraphError, MpxgatError, SettingError
from mpxgat.models import make_model
from mpxgat.models.base import Model
from mpxgat.predictions import pairs_to_search, predict_node, predict_pairs, predict_top
from tests.examples import graph_of, random_graph
from tests.matching import doubles


class Numbers(Model):
    """Scores that are whatever is wanted: a function of the two positions."""

    name = "numbers"
    description = "for tests"

    def __init__(self, function):
        super().__init__()
        self.function = function

    def _learn(self, graph, session):
        pass

    def score_block(self, rows, cols):
        return np.asarray(self.function(rows[:, None].astype(np.int64), cols[None, :].astype(np.int64)), dtype=float)

    def _score_intra(self, pairs):
        return np.asarray(self.function(pairs[:, 0], pairs[:, 1]), dtype=float)

    _score_inter = _score_intra


def scattered(first, second):
    """Different for nearly all pairs, without any order."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return (low * 7919 + high * 104729) % 10007


def few_values(first, second):
    return (first + second) % 3


def constant(first, second):
    return np.zeros(np.broadcast(first, second).shape)


FUNCTIONS = [scattered, few_values, constant]
every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(predictions, "_TILE_COLUMNS", 7)
    monkeypatch.setattr(predictions, "_TILE_PAIRS", 30)
    monkeypatch.setattr(predictions, "_PAIRS_AT_ONCE", 11)


def is_open(graph, u, v):
    """Whether a pair can be predicted, by the definition: no link, and neither known to be one unit nor not."""
    if graph.node_layer[u] == graph.node_layer[v]:
        return u != v and [min(u, v), max(u, v)] not in graph.intra.tolist()
    return doubles.is_open(graph, u, v)


def brute_force(model, pairs, k):
    scored = [(-model.score([pair])[0], *pair) for pair in pairs if is_open(model.graph, *pair)]
    return [(u, v) for _, u, v in sorted(scored)[:k]]


def found(result, rows=slice(None)):
    return [tuple(pair) for pair in result.pairs[rows].tolist()]


@every_function
@pytest.mark.parametrize("k", [1, 10, 100_000])
def test_the_best_within_a_layer(function, k):
    graph = random_graph(1, people=25)
    model = Numbers(function).fit(graph)
    nodes = graph.layer_nodes(1).tolist()
    result = predict_top(model, k, (1, 1))
    assert found(result) == brute_force(model, [(u, v) for u in nodes for v in nodes if u < v], k)
    assert result.rank.tolist() == list(range(1, len(result) + 1))
    assert result.score.tolist() == model.score(result.pairs).tolist()


@every_function
@pytest.mark.parametrize("layers", [(0, 2), (2, 0)])
def test_the_best_between_two_layers(function, layers):
    graph = doubles.some_apart(random_graph(2, people=25, known=0.4), 200)
    model = Numbers(function).fit(graph)
    pairs = [(u, v) for u in graph.layer_nodes(layers[0]).tolist() for v in graph.layer_nodes(layers[1]).tolist()]
    result = predict_top(model, 12, layers)
    assert found(result) == brute_force(model, pairs, 12)
    assert len(result) == 12


@every_function
def test_the_best_of_all_layers(function):
    graph = doubles.some_apart(random_graph(3, people=20, known=0.4), 100)
    model = Numbers(function).fit(graph)
    every = [(u, v) for u in range(graph.n_nodes) for v in range(u + 1, graph.n_nodes)]
    layer = graph.node_layer
    seen = []
    result = predict_top(model, 9, advance=seen.append)
    assert found(result, slice(0, 9)) == brute_force(model, [p for p in every if layer[p[0]] == layer[p[1]]], 9)
    assert found(result, slice(9, 18)) == brute_force(model, [p for p in every if layer[p[0]] != layer[p[1]]], 9)
    assert result.rank.tolist() == [*range(1, 10), *range(1, 10)]
    assert sum(seen) == pairs_to_search(graph)


@every_function
def test_the_partners_of_a_node(function):
    graph = doubles.some_apart(random_graph(4, people=25, known=0.4), 200)
    model = Numbers(function).fit(graph)
    for node in (0, 20, graph.n_nodes - 1):
        home = int(graph.node_layer[node])
        copies = set(graph.node_layer[graph.unit == graph.unit[node]].tolist()) - {home}
        expected = []
        for layer in [home, *(other for other in range(graph.n_layers) if other != home and other not in copies)]:
            expected += brute_force(model, [(node, other) for other in graph.layer_nodes(layer).tolist()], 4)
        assert found(predict_node(model, node, 4)) == expected


def test_a_layer_with_a_counterpart_is_left_out_even_if_a_chain_tells():
    graph = graph_of("x.a y.b", "y.b z.c", "x.d x.e", "y.f y.g", "z.h z.i", "w.j w.k")
    result = predict_node(Numbers(constant).fit(graph), graph.index("a", "x"))
    assert set(result.to_table().column("target_layer").to_pylist()) == {"x", "w"}


def test_given_pairs_keep_their_order_and_are_ranked_by_kind():
    graph = graph_of("x.a x.b", "x.c y.d", "y.d y.e")
    model = Numbers(lambda first, second: first + second).fit(graph)
    pairs = [(0, 1), (0, 3), (2, 1), (4, 0), (4, 3), (3, 0)]
    result = predict_pairs(model, pairs)
    assert found(result) == pairs
    assert result.score.tolist() == [1, 3, 3, 4, 7, 3]
    kinds = result.to_table().column("kind").to_pylist()
    assert kinds == ["intra", "inter", "intra", "inter", "intra", "inter"]
    assert result.rank.tolist() == [3, 2, 2, 1, 1, 3]


def test_the_table_names_nodes_and_layers():
    graph = graph_of("x.a x.b", "x.c y.d", "y.d y.e")
    result = predict_pairs(Numbers(scattered).fit(graph), [(0, 4)])
    row = result.to_table().to_pylist()[0]
    expected = {"source": "a", "source_layer": "x", "target": "e", "target_layer": "y", "kind": "inter", "rank": 1}
    assert row == {**expected, "score": float(scattered(0, 4)), "probability": None}


def test_nothing_left_to_predict_is_an_empty_list():
    graph = graph_of("x.a x.b", "y.a y.b", "x.a y.a", "x.b y.b")
    model = Numbers(constant).fit(graph)
    assert len(predict_top(model, 5)) == 0
    assert len(predict_node(model, 0)) == 0
    assert len(predict_pairs(model, [])) == 0
    assert predict_top(model, 5).to_table().num_rows == 0


def test_none_wanted_is_an_error():
    with pytest.raises(SettingError, match="wanted is 0, expected at least 1"):
        predict_top(Numbers(constant).fit(graph_of("x.a x.b")), 0)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("rules", {}), ("degree", {}), ("mpxgat", {"hidden": 4, "out": 4, "heads": 1, "epochs": 2})],
)
def test_registered_models(name, settings):
    graph = random_graph(7, people=25, known=0.4)
    model = make_model(name, **settings).fit(graph)
    between = [(u, v) for u in graph.layer_nodes(0).tolist() for v in graph.layer_nodes(1).tolist()]
    assert found(predict_top(model, 8, (0, 1))) == brute_force(model, between, 8)


# ---- nodes and layers by name ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def named():
    """With ids "p0", … in the layers "L0", "L1" and "L2"."""
    return Numbers(scattered).fit(random_graph(6, people=25))


def test_layers_by_name(named):
    assert found(predict_top(named, layers=("L1", "L1"))) == found(predict_top(named, 10, (1, 1)))
    assert found(predict_top(named, 4, ("L0", 2))) == found(predict_top(named, 4, (0, 2)))
    assert pairs_to_search(named.graph, ("L0", "L2")) == pairs_to_search(named.graph, (0, 2))
    with pytest.raises(SettingError, match="layers is 'L1', expected two layers"):
        predict_top(named, 4, "L1")
    with pytest.raises(GraphError, match="no layer 'L9'"):
        predict_top(named, 4, ("L1", "L9"))


def test_a_node_by_name(named):
    position = named.graph.index("p3", "L1")
    expected = found(predict_node(named, position, k=4))
    assert len(expected) >= 4
    for node in (("p3", "L1"), ("p3", 1), named.graph.nodes[position]):
        assert found(predict_node(named, node, k=4)) == expected
    assert found(predict_node(named, "p3", "L1", 4)) == expected
    assert found(predict_node(named, ("p3", "L1"), 4)) == expected
    with pytest.raises(SettingError, match="the layer 1 beside k, expected a name"):
        predict_node(named, "p3", 1, 4)


def test_pairs_by_name(named):
    pairs = [(("p3", "L1"), ("p4", "L1")), (("p3", "L1"), ("p5", "L2"))]
    positions = [[named.graph.index(*node) for node in pair] for pair in pairs]
    expected = predict_pairs(named, np.array(positions))
    ends = zip(*(((*one, *other)) for one, other in pairs), strict=True)
    frame = pd.DataFrame(dict(zip(("source", "source_layer", "target", "target_layer"), ends, strict=True)))
    for given in (pairs, positions, frame, [[named.graph.nodes[end] for end in pair] for pair in positions]):
        result = predict_pairs(named, given)
        assert found(result) == found(expected)
        assert result.score.tolist() == expected.score.tolist()
    by_layers = predict_pairs(named, pd.DataFrame({"L1": ["p3"], "L2": ["p5"]}))
    assert found(by_layers) == found(expected)[1:]
    assert result.to_pandas()["source"].tolist() == ["p3", "p3"]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("p3", "L1")], "node 'p3' is in the layers"),
        (["p3"], "pair 1 is 'p3', expected two nodes"),
        ([(0, 1), (0, 1, 2)], "pair 2 is '(0, 1, 2)', expected two nodes"),
        (pd.DataFrame({"L1": ["p3", "p99"], "L2": ["p5", "p5"]}), "pairs.iloc[1]: unknown node 'p99'"),
        (pd.DataFrame({"L1": ["p3"], "x": ["p5"]}), "pairs: the columns 'L1', 'x', expected two that are called by"),
    ],
)
def test_pairs_that_are_none(named, pairs, message):
    with pytest.raises(MpxgatError) as problem:
        predict_pairs(named, pairs)
    assert str(problem.value).startswith(message)
