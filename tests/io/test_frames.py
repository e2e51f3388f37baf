"""Networks from DataFrames and back."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings

import mpxgat as mx
from mpxgat.errors import DataWarning, InputError, MissingExtraError
from mpxgat.pairs import no_pairs
from tests.io.graph_strategies import graphs

EDGES = pd.DataFrame(
    {
        "source": ["ann", "bea", "ann", "cem"],
        "source_layer": ["friends", "friends", "work", "friends"],
        "target": ["bea", "cem", "bea", "cem"],
        "target_layer": ["friends", "friends", "work", "work"],
        "weight": [1.0, 2.5, 1.0, 1.0],
    }
)


def edges(**columns):
    return EDGES.assign(**columns)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(graph=graphs())
def test_there_and_back_is_the_same_network(graph):
    graph = replace(graph, apart=no_pairs())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # links said twice, texts for no unit
        try:
            tables = mx.to_pandas(graph)
        except mx.errors.OutputError:  # an attribute called id
            return
        assert mx.from_pandas(*tables) == graph


def test_links_between_layers_are_rows_that_join_two():
    graph = mx.from_pandas(EDGES)
    assert graph.layers == ("friends", "work")
    assert [tuple(graph.nodes[node].id for node in pair) for pair in graph.inter.tolist()] == [("cem", "cem")]
    assert graph.intra_weight.tolist() == [1.0, 2.5, 1.0]


def test_other_frames_that_speak_arrow():
    assert mx.from_pandas(pa.Table.from_pandas(EDGES)) == mx.from_pandas(EDGES)
    with pytest.raises(InputError, match=r"^edges, row 2: 'weight' is 'x'"):
        mx.from_pandas(pa.Table.from_pandas(edges(weight=["1", "x", "1", "1"])))


def test_one_column_of_layers_and_a_column_of_units():
    links = pd.DataFrame({"source": [1, 7], "target": [2, 8], "layer": ["genes", "proteins"]})
    nodes = pd.DataFrame(
        {
            "id": [1, 2, 7, 8],
            "layer": pd.Categorical(["genes", "genes", "proteins", "proteins"]),
            "unit": ["u", None, "u", None],
            "symbol": ["TP53", None, "p53", "x"],
            "found": pd.to_datetime(["2020-01-31", None, "2021-02-01", "2022-03-01"]),
            "h:length": [1.5, 2, 3, 4],
        }
    )
    graph = mx.from_pandas(links, nodes)
    assert graph.positions([("1", "genes"), (7, "proteins")]).tolist() == graph.inter[0].tolist()
    assert graph.attributes["symbol"].to_pylist() == ["TP53", "", "p53", "x"]
    assert graph.attributes["found"].to_pylist() == ["2020-01-31", "", "2021-02-01", "2022-03-01"]
    assert graph.horizontal_features.values[:, 0].tolist() == [1.5, 2, 3, 4]


def test_shared_ids_are_links_where_nothing_else_tells():
    links = EDGES[EDGES["source_layer"] == EDGES["target_layer"]]
    assert mx.from_pandas(links).n_inter == 2


def test_direction_and_weights_by_another_name():
    directed = mx.from_pandas(edges(directed=[True, False, False, False]))
    assert directed.directed_layers.tolist() == [True, False]
    assert mx.from_pandas(EDGES, directed=True).directed_layers.all()
    renamed = EDGES.rename(columns={"weight": "confidence"})
    assert mx.from_pandas(renamed, weight="confidence") == mx.from_pandas(EDGES)
    with pytest.warns(DataWarning, match="edges: columns passed over: 'confidence'"):
        assert mx.from_pandas(renamed).intra_weight is None


NODES = pd.DataFrame({"id": ["ann", "bea", "cem"] * 2, "layer": ["friends"] * 3 + ["work"] * 3})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1, 2],), "edges: a list, expected a DataFrame"),
        ((EDGES.drop(columns="target"),), "edges: no column 'target'; the columns are 'source', 'source_layer'"),
        ((edges(source=["ann", None, "ann", "cem"]),), "edges.iloc[1]: 'source' is missing, expected a value"),
        ((edges(source=["ann", "bea", "", "cem"]),), "edges.iloc[2]: 'source' is empty"),
        ((edges(source=["ann", 3, "ann", "cem"]),), "edges.iloc[1]: 'source' is '3' (int), expected str as above"),
        ((edges(source=["ann", pd.NA, [1], 3]),), "edges.iloc[2]: 'source' is '[1]' (list), expected str as above"),
        ((edges(source=[0.5, 1, 2, 3]),), "edges: column 'source' has the type double, expected text or whole"),
        ((edges(weight=[1, np.nan, 1, 1]),), "edges.iloc[1]: 'weight' is missing, expected a value"),
        ((edges(weight=[1, 1, np.inf, 1]),), "edges.iloc[2]: 'weight' is inf, expected a finite number"),
        ((edges(weight=["1", "2", "x", "1"]),), "edges.iloc[2]: 'weight' is 'x', expected a finite number"),
        ((edges(directed=["yes", "no", "no", "no"]),), "edges.iloc[0]: directed is 'yes', expected true or false"),
        ((edges(target_layer="wrok"), NODES), "edges.iloc[0]: target_layer: unknown layer 'wrok', expected one of"),
        ((EDGES, NODES.iloc[1:]), "edges.iloc[0]: node 'ann' of layer 'friends' is not in the list of nodes"),
        ((EDGES, pd.concat([NODES, NODES])), "nodes.iloc[6]: node 'ann' of layer 'friends' is listed twice"),
        ((EDGES, NODES.assign(unit=list("aabcde"))), "nodes.iloc[1]: a second node of unit 'a' in layer 'friends'"),
        ((EDGES, NODES.assign(terms=[["a"]] * 6)), "nodes: column 'terms' has the type"),
        ((pd.concat([EDGES, EDGES[["weight"]]], axis=1),), "edges: two columns are called 'weight'"),
    ],
)
def test_what_is_wrong_is_named_with_column_and_row(given, message):
    with pytest.raises(InputError) as problem:
        mx.from_pandas(*given)
    assert str(problem.value).startswith(message)


def test_without_pandas(monkeypatch):
    monkeypatch.setattr("mpxgat.tabular.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mpxgat\[pandas\]'"):
        mx.to_pandas(mx.from_pandas(EDGES))
