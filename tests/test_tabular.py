"""Results as DataFrames, and as they show themselves."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import mpxgat as mx
from mpxgat.errors import GraphError, MissingExtraError
from mpxgat.tabular import html_of, shown
from tests.examples import graph_of, random_graph

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def split():
    return mx.splits.held_out_units(random_graph(0), seed=0)


@pytest.fixture(scope="module")
def model(split):
    return mx.make_model("rules").fit(split.train)


def test_html_is_short_and_escaped():
    table = pa.table({EVIL: [EVIL] * 5000})
    html = html_of(table, EVIL)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 12
    assert "4,990 more" in html


def test_nothing_from_a_network_is_markup():
    frame = pd.DataFrame({"source": [EVIL, "a"], "target": ["b", "c"], "layer": [EVIL, "y"]})
    graph = mx.from_pandas(frame)
    model = mx.make_model("rules").fit(graph)
    best = mx.predictions.predict_top(model, 3)
    for thing in (graph, graph.stats(), model, best):
        html = thing._repr_html_()
        assert "<table" in html
        assert "<script" not in html


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (float("nan"), "–"), (12345, "12,345"), (0.25, "0.250"), (1e-9, "1.0e-09")]
)
def test_values_are_shown_in_short(value, text):
    assert shown(value) == text


def test_results_are_shown_in_a_line(split, model):
    result = mx.evaluate(model, split)
    matches = mx.make_model("isorank").fit(split.train).match_all(0.5)
    for thing in (split, split.train, model, result, matches, mx.predictions.predict_top(model, 2)):
        assert len(repr(thing)) < 200
        assert "\n" not in repr(thing)
        assert "<table" in thing._repr_html_()
    assert repr(split) == (
        f"<Split: protocol units, seed 0, {len(split.intra.positives)} intra and "
        f"{len(split.inter.positives)} inter links hidden>"
    )
    assert f"{result.inter.values['auc']:.3f} ({result.inter.positives} links)" in repr(result)


def test_an_evaluation_is_a_table(split, model):
    result = mx.evaluate(model, split)
    frame = result.to_pandas()
    whole = frame[frame["layer_a"].isna()].set_index("kind")
    assert whole.loc["inter", "auc"] == result.inter.values["auc"]
    assert whole.loc["inter", "hits@10"] == result.inter.values["hits@10"]
    assert pd.isna(whole.loc["intra", "mrr"])
    parts = frame[frame["layer_a"].notna()]
    assert len(parts) == len(result.intra_by_layer) + len(result.inter_by_layer)
    between = parts[parts["kind"] == "inter"].set_index(["layer_a", "layer_b"])
    assert between.loc[("L0", "L1"), "auc"] == result.inter_by_layer["L0", "L1"].values["auc"]


def test_ranks_statistics_and_reasons_are_tables(split, model):
    from mpxgat.evaluation import rank_counterparts

    ranks = rank_counterparts(model, split)
    assert ranks.to_pandas()["backward"].tolist() == ranks.backward.tolist()
    assert split.train.stats().to_pandas()["nodes"].sum() == split.train.n_nodes
    explained = mx.make_model("isorank").fit(split.train).explain(("p1", "L0"), ("p2", "L1"))
    assert explained.to_pandas()["contribution"].sum() == pytest.approx(explained.score)


def test_a_training_is_a_table(split):
    model = mx.Anchored(epochs=3).fit(split.train)
    frame = model.history.to_pandas()
    assert frame["epoch"].tolist() == [row["epoch"] for rows in model.history.values() for row in rows]
    assert set(frame["part"]) == set(model.history)
    assert mx.make_model("rules").fit(split.train).history.to_pandas().empty


def test_without_pandas_tables_are_there_still(model, monkeypatch):
    monkeypatch.setattr("mpxgat.tabular.find_spec", lambda name: None)
    best = mx.predictions.predict_top(model, 2)
    assert best.to_table().num_rows == 4
    with pytest.raises(MissingExtraError, match="a DataFrame needs the package pandas"):
        best.to_pandas()


# ---- nodes and layers by name --------------------------------------------------------------------------

GRAPH = graph_of("x.a x.b", "x.17 x.b", "y.a y.c", "x.a y.a")


def test_a_node_is_told_in_many_ways():
    position = GRAPH.index("b", "x")
    assert GRAPH.index(("b", "x")) == GRAPH.index(("b", 0)) == GRAPH.index("b") == GRAPH.index(position) == position
    assert GRAPH.index(GRAPH.nodes[position]) == position
    assert GRAPH.index(17, "x") == GRAPH.index("17")
    assert GRAPH.layer_index("y") == GRAPH.layer_index(1) == 1
    assert GRAPH.layer_nodes("y").tolist() == GRAPH.layer_nodes(1).tolist()


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (("a",), "is no node, expected a position, an id"),
        ("a", "node 'a' is in the layers 'x', 'y', expected it with one of them"),
        ("z", "node 'z' is in no layer"),
        (("b", "y"), "no node 'b' in layer 'y'"),
        (("b", "z"), "no layer 'z'; the layers are 'x', 'y'"),
        (("b", 2), "no layer 2, expected 0 to 1"),
        (5, "no node 5, expected 0 to 4"),
        (-1, "no node -1, expected 0 to 4"),
        (True, "'True' is no node"),
        (1.0, "'1.0' is no node"),
        ("\ud800", "is in no layer"),
    ],
)
def test_a_node_that_is_not_there(node, message):
    with pytest.raises(GraphError) as problem:
        GRAPH.index(node)
    assert message in str(problem.value)


def test_pairs_are_told_like_nodes():
    pair = [GRAPH.index("b", "x"), GRAPH.index("c", "y")]
    for given in ([(("b", "x"), ("c", "y"))], [("b", "c")], [pair], np.array([pair])):
        assert GRAPH.pair_positions(given).tolist() == [pair]
        assert mx.with_apart(GRAPH, given).apart.tolist() == [pair]
    assert GRAPH.pair_positions([]).shape == (0, 2)
    with pytest.raises(GraphError, match="an array of the type float64, expected positions of nodes"):
        mx.with_apart(GRAPH, np.array([pair]) / 2)
    with pytest.raises(GraphError, match="pair 2 is '7', expected two nodes"):
        GRAPH.pair_positions([pair, 7])
