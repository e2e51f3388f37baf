"""PyTorch Geometric's HeteroData: there and back, foreign data, and a machine without it."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mpxgat.errors import InputError, MissingExtraError, OutputError
from mpxgat.io.pyg import from_pyg, to_pyg
from tests.examples import graph_of, random_graph
from tests.io.graph_strategies import graphs

pytestmark = pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")  # see test_data_warnings.py

data_module = pytest.importorskip("torch_geometric.data", reason="torch-geometric is not installed")
HeteroData = data_module.HeteroData

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(lambda text: "__" not in text)


def small():
    return graph_of("x.a x.b 2", "y.a y.c", "y.c y.d 3", "x.a y.d")


def test_links_stand_in_both_directions():
    data = to_pyg(small())
    assert data.node_types == ["x", "y"]
    assert data["y"].num_nodes == 3
    assert data["y"].node_id == ["a", "c", "d"]
    assert sorted(data["x", "intra", "x"].edge_index.T.tolist()) == [[0, 1], [1, 0]]
    assert data["x", "intra", "x"].edge_weight.tolist() == [2.0, 2.0]
    assert data["x", "inter", "y"].edge_index.tolist() == [[0], [2]]
    assert data["y", "inter", "x"].edge_index.tolist() == [[2], [0]]
    assert data.validate()
    assert not data.is_directed()


def test_the_data_are_copies_that_may_be_changed():
    graph = small()
    data = to_pyg(graph)
    data["x", "intra", "x"].edge_weight[:] = 9
    assert graph.intra_weight.tolist() == [2.0, 1.0, 3.0]


@settings(derandomize=True, deadline=None, max_examples=100)
@given(graph=graphs(NAMES))
def test_round_trip(graph):
    assert from_pyg(to_pyg(graph)) == graph


def test_round_trip_of_a_larger_graph_after_moving_it():
    graph = random_graph(2)
    assert from_pyg(to_pyg(graph).to("cpu")) == graph


def test_a_name_with_two_underscores_is_refused():
    with pytest.raises(OutputError, match="layer 'a__b'"):
        to_pyg(replace(small(), layers=("a__b", "y")))


# ---- foreign data --------------------------------------------------------------------------------------


def foreign():
    data = HeteroData()
    data["user"].x = torch.zeros(3, 4)
    data["item"].num_nodes = 2
    data["user", "knows", "user"].edge_index = torch.tensor([[0, 1, 2], [1, 0, 2]])
    data["user", "is", "item"].edge_index = torch.tensor([[2], [0]])
    return data


def test_positions_are_ids_where_there_are_none():
    graph = from_pyg(foreign())
    assert list(graph.nodes) == [("0", "user"), ("1", "user"), ("2", "user"), ("0", "item"), ("1", "item")]
    assert graph.intra.tolist() == [[0, 1]]
    assert graph.inter.tolist() == [[2, 3]]


def test_ids_may_be_a_tensor_and_node_types_may_be_known_by_edges_alone():
    data = HeteroData()
    data["a"].node_id = torch.tensor([7, 5])
    data["a", "to", "b"].edge_index = torch.tensor([[0], [3]])
    graph = from_pyg(data)
    assert list(graph.nodes) == [("5", "a"), ("7", "a"), ("0", "b"), ("1", "b"), ("2", "b"), ("3", "b")]
    assert graph.inter.tolist() == [[1, 5]]


def changed(change):
    data = foreign()
    change(data)
    return data


def put(*keys, **values):
    def change(data):
        for name, value in values.items():
            data[keys if len(keys) > 1 else keys[0]][name] = value

    return changed(change)


KNOWS = ("user", "knows", "user")
BAD = {
    "kind": (lambda: [1], "a list, expected torch_geometric.data.HeteroData"),
    "no edge_index": (lambda: put("user", "likes", "item", edge_attr=torch.ones(1)), "has no edge_index"),
    "shape": (
        lambda: put(*KNOWS, edge_index=torch.zeros(3, 2, dtype=torch.long)),
        "expected whole numbers of shape (2, l",
    ),
    "fractions": (lambda: put(*KNOWS, edge_index=torch.zeros(2, 2)), "is float32 of shape (2, 2)"),
    "negative": (lambda: put(*KNOWS, edge_index=torch.tensor([[0], [-1]])), "holds -1, expected positions from 0"),
    "texts": (lambda: put(*KNOWS, edge_index=[["a"], ["b"]]), "expected numbers"),
    "dangling": (
        lambda: put(*KNOWS, edge_index=torch.tensor([[0], [3]])),
        "'user' has 3 nodes but an edge names node 3",
    ),
    "weights": (lambda: put(*KNOWS, edge_weight=torch.ones(2)), "has shape (2,), expected 3 finite numbers"),
    "NaN": (lambda: put(*KNOWS, edge_weight=torch.tensor([1.0, 2.0, float("nan")])), "expected 3 finite numbers"),
    "ids": (lambda: put("item", node_id=["p"]), "node_id of node type 'item' is '['p']', expected a list of 2 ids"),
    "ids of no kind": (lambda: put("item", node_id=5), "expected a list of 2 ids"),
    "ids twice": (lambda: put("item", node_id=["p", "p"]), "node 'p' of layer 'item' is listed twice"),
    "half a pair": (lambda: put("item", node_id=["\ud800", "p"]), "holds half a surrogate pair"),
    "features": (
        lambda: put("item", x_vertical=torch.zeros(3, 1)),
        "has shape (3, 1), expected finite numbers, a row for",
    ),
    "widths": (
        lambda: changed(
            lambda data: (
                data["item"].update({"x_vertical": torch.zeros(2, 1)}),
                data["user"].update({"x_vertical": torch.zeros(3, 2)}),
            )
        ),
        "x_vertical has 1 and 2 columns",
    ),
    "names of features": (
        lambda: changed(
            lambda data: (
                setattr(data, "horizontal_features", ["a", "b"]),
                data["item"].update({"x_horizontal": torch.zeros(2, 1)}),
            )
        ),
        "horizontal_features has 2 names, expected 1",
    ),
    "attributes": (
        lambda: put("item", attributes={"role": ["a"]}),
        "attribute 'role' of 'item' has 1 values, expected 2",
    ),
    "number of nodes": (lambda: put("item", num_nodes="two"), "does not say how many nodes"),
    "counterparts": (
        lambda: put("user", "is", "item", edge_index=torch.tensor([[0, 0], [0, 1]])),
        "expected at most one counterpart in a layer",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_type(case):
    make, message = BAD[case]
    data = make()
    with pytest.raises(InputError) as caught:
        from_pyg(data)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_torch_geometric_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    for convert in (to_pyg, from_pyg):
        with pytest.raises(MissingExtraError, match=r"torch-geometric; install it with: pip install 'mpxgat\[pyg\]'"):
            convert(small())


def test_features_become_tensors():
    graph = from_pyg(put("item", x_horizontal=torch.tensor([[1.0, 2.0], [3.0, 4.0]])))
    assert graph.horizontal_features.names == ("0", "1")
    assert np.array_equal(graph.horizontal_features.values[3:], [[1, 2], [3, 4]])
    assert not graph.horizontal_features.values[:3].any()
    assert to_pyg(graph)["item"].x_horizontal.tolist() == [[1, 2], [3, 4]]
