import numpy as np
import pyarrow as pa
import pytest

from mpxgat.build import MAX_ID_BYTES, EdgeTable, NodeTable, RowError, build
from mpxgat.errors import GraphError
from mpxgat.graph import Features


def edges(rows, weight=None):
    source, source_layer, target, target_layer = zip(*rows, strict=True) if rows else ((), (), (), ())
    return EdgeTable(
        pa.array(source, pa.string()),
        np.array(source_layer, dtype=np.int64),
        pa.array(target, pa.string()),
        np.array(target_layer, dtype=np.int64),
        None if weight is None else np.array(weight, dtype=np.float64),
    )


def test_links_become_undirected_and_duplicates_merge_with_the_largest_weight():
    graph = build(["x"], edges([("a", 0, "b", 0), ("b", 0, "a", 0), ("b", 0, "c", 0)], [1, 4, 2]))
    assert graph.intra.tolist() == [[0, 1], [1, 2]]
    assert graph.intra_weight.tolist() == [4, 2]


def test_a_self_loop_goes_but_its_node_stays():
    graph = build(["x"], edges([("a", 0, "a", 0), ("b", 0, "c", 0)]))
    assert [n.id for n in graph.nodes] == ["a", "b", "c"]
    assert graph.n_intra == 1


def test_weights_of_one_everywhere_are_no_weights():
    assert build(["x"], edges([("a", 0, "b", 0)], [1.0])).intra_weight is None


def test_layers_without_nodes_vanish():
    assert build(["x", "y", "z"], edges([("a", 2, "b", 2)])).layers == ("z",)


def test_an_empty_table_gives_an_empty_graph():
    graph = build([], edges([]))
    assert graph.n_nodes == graph.n_intra == graph.n_units == 0
    assert graph.largest_component().n_nodes == 0
    assert graph.stats().nodes == 0


def test_declared_nodes_bring_features_and_attributes_to_their_places():
    nodes = NodeTable(
        ids=pa.array(["b", "a"]),
        layer=np.array([0, 0]),
        horizontal_features=Features(("p",), np.array([[2.0], [1.0]])),
        attributes={"label": pa.array(["Bea", "Ann"])},
    )
    graph = build(["x"], edges([("c", 0, "a", 0)]), nodes)
    assert [n.id for n in graph.nodes] == ["a", "b", "c"]
    assert graph.horizontal_features.values.ravel().tolist() == [1, 2, 0]
    assert graph.attributes["label"].to_pylist() == ["Ann", "Bea", ""]


def test_many_layers_and_ids_take_the_search_instead_of_the_table(monkeypatch):
    rows = [(f"n{i % 7}", i % 3, f"n{(3 * i) % 5}", i % 3) for i in range(40)]
    by_table = build(list("xyz"), edges(rows))
    monkeypatch.setattr("mpxgat.build._MAX_TABLE_CELLS", 0)
    assert build(list("xyz"), edges(rows)) == by_table


@pytest.mark.parametrize(
    ("table", "nodes", "only_declared", "said", "row"),
    [
        (edges([("a", 0, "b", 0), ("b", 0, "c", 0)], [1, np.nan]), None, False, "weight nan, expected a finite", 1),
        (edges([("a", 0, "b", 0)], [np.inf]), None, False, "weight inf, expected a finite", 0),
        (edges([("a", 0, "b", 0), ("", 0, "c", 0)]), None, False, "an empty node id", 1),
        (edges([("a", 0, "b", 0), ("c", 0, "x" * (MAX_ID_BYTES + 1), 0)]), None, False, "longer than 65536 bytes", 1),
        (edges([("a", 0, "b", 0), ("a", 0, "q", 0)]), ["a", "b"], True, "node 'q' of layer 'x' is not in the list", 1),
        (edges([("a", 0, "b", 0)]), ["a", "b", "a"], False, "node 'a' of layer 'x' is listed twice", 2),
    ],
)
def test_a_bad_row_is_named(table, nodes, only_declared, said, row):
    declared = nodes and NodeTable(pa.array(nodes), np.zeros(len(nodes), dtype=np.int64))
    with pytest.raises(RowError, match=said) as caught:
        build(["x"], table, declared, only_declared=only_declared)
    assert caught.value.row == row


@pytest.mark.parametrize(
    "rows",
    [
        [("a", 0, "c", 1), ("b", 0, "c", 1)],  # c has two counterparts in layer x
        [("a", 0, "c", 1), ("c", 1, "d", 2), ("d", 2, "b", 0)],  # a and b meet along a chain
    ],
)
def test_two_counterparts_in_one_layer_are_refused_by_name(rows):
    with pytest.raises(RowError, match=r"'a' \(layer 'x'\) and 'b' \(layer 'x'\) would be the same unit") as caught:
        build(["x", "y", "z"], edges([("q", 0, "r", 0), *rows]))
    assert caught.value.row == len(rows)


@pytest.mark.parametrize(("names", "said"), [(["x", "x"], "two layers are called 'x'"), ([""], "empty name")])
def test_layer_names_must_differ_and_say_something(names, said):
    with pytest.raises(GraphError, match=said):
        build(names, edges([("a", 0, "b", 0)]))
