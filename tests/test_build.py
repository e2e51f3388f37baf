"""Raw tables to graphs: what is put in order and what is refused, ids to numbers, who is who."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpxgat.build import (
    MAX_ID_BYTES,
    EdgeTable,
    NodeTable,
    RowError,
    build,
    encode,
    in_layer_order,
    link_by_id,
    links_of_shared_ids,
    validate,
    with_apart,
    with_further_links,
    with_inter_links,
)
from mpxgat.errors import GraphError
from mpxgat.graph import Features
from mpxgat.synthetic import social
from tests.examples import graph_of


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


NUMBERS = st.integers(0, 10**18).map(str) | st.integers(0, 120).map(str)
TEXTS = NUMBERS | st.sampled_from(["007", "+7", "-7", "-0", "7.0", " 7", "", "é", "٣", "0x989680", "0XFFFFFFFFFFFFFF"])


def check(columns: list[list[str]]) -> None:
    values = [value for column in columns for value in column]
    ids, code = encode([pa.array(column, pa.string()) for column in columns])
    assert ids.type == pa.large_string()
    assert ids.to_pylist() == sorted(set(values), key=str.encode)
    assert [ids[int(number)].as_py() for number in code] == values


@settings(max_examples=200, derandomize=True, deadline=None, database=None)
@given(st.lists(st.lists(NUMBERS, max_size=12), max_size=3))
def test_whole_numbers_sort_as_text(columns: list[list[str]]) -> None:
    check(columns)


@settings(max_examples=200, derandomize=True, deadline=None, database=None)
@given(st.lists(st.lists(TEXTS, max_size=12), max_size=3))
def test_numbers_written_otherwise_stay_texts(columns: list[list[str]]) -> None:
    check(columns)


@pytest.mark.parametrize("hexadecimal", ["0x989680", "0XF4240", "0xFFFFFFFFFFFFFF"])
def test_hexadecimal_ids_stay_what_they_are(hexadecimal: str) -> None:
    check([["7", hexadecimal]])
    check([["7", hexadecimal, "07"]])
    column = pa.array(["x", "7", hexadecimal, "x"]).slice(1, 2)
    assert encode([column])[0].to_pylist() == sorted(["7", hexadecimal])


@pytest.mark.parametrize("first", [["b", "a"], ["2", "10"]])
def test_dictionaries_and_plain_columns_may_mix(first: list[str]) -> None:
    ids, code = encode([pa.array(first).dictionary_encode(), pa.chunked_array([["10"], ["a", "2"]])])
    assert [ids[int(number)].as_py() for number in code] == [*first, "10", "a", "2"]
    assert code.dtype == np.int32


def test_link_by_id_joins_all_copies_pairwise():
    graph = link_by_id(graph_of("x.a x.b", "y.a y.c", "z.a z.b"))
    named = {(graph.nodes[u], graph.nodes[v]) for u, v in graph.inter.tolist()}
    assert named == {
        (("a", "x"), ("a", "y")),
        (("a", "x"), ("a", "z")),
        (("a", "y"), ("a", "z")),
        (("b", "x"), ("b", "z")),
    }


def test_link_by_id_keeps_known_links_and_their_weights():
    graph = link_by_id(graph_of("x.a x.b", "y.a y.c", "x.b y.c 5"))
    assert dict(zip(map(tuple, graph.inter.tolist()), graph.inter_weight, strict=True)) == {(0, 2): 1.0, (1, 3): 5.0}


def test_link_by_id_refuses_more_links_than_can_be_held():
    n = 70_000  # one unit in so many layers: 2.4 billion links
    rows = pa.array(["a"] * n), np.arange(n), pa.array(["b"] * n), np.arange(n)
    graph = build([str(number) for number in range(n)], EdgeTable(*rows))
    with pytest.raises(GraphError, match=r"shared ids mean 4899930000 inter links, expected at most 70000000"):
        link_by_id(graph)


def test_link_by_id_refuses_one_unit_twice_in_a_layer():
    graph = graph_of("x.a x.b", "y.c y.d")
    with pytest.raises(GraphError, match="one unit in one layer"):
        link_by_id(graph, pa.array(["u", "u", None, None]))
    linked = link_by_id(graph, pa.array(["u", None, "u", None]))
    assert linked.inter.tolist() == [[0, 2]]


def test_further_links_join_those_that_are_there():
    graph = graph_of("x.a y.a 2.5", "x.b y.b 3", "z.a z.b")
    more = with_further_links(graph, np.array([[2, 4], [1, 3]]))
    assert more.inter.tolist() == [[0, 2], [1, 3], [2, 4]]
    assert more.inter_weight.tolist() == [2.5, 3, 1]
    with pytest.raises(GraphError, match="would be the same unit"):
        with_further_links(graph, np.array([[0, 3]]))
    with pytest.raises(GraphError, match="are said to be different"):
        with_further_links(with_apart(graph, [[0, 4]]), np.array([[2, 4]]))


def test_with_inter_links_takes_exactly_the_given_ones():
    graph = graph_of("x.a x.b", "y.a y.c", "x.a y.a")
    assert with_inter_links(graph, np.array([[3, 1]])).inter.tolist() == [[1, 3]]
    with pytest.raises(RowError, match="are in one layer") as caught:
        with_inter_links(graph, np.array([[0, 2], [0, 1]]))
    assert caught.value.row == 1


def test_links_of_shared_ids_do_not_depend_on_the_links_there_are():
    graph = graph_of("x.a x.b", "y.a y.c", "x.b y.c 5")
    assert links_of_shared_ids(graph).tolist() == [[0, 2]]
    assert links_of_shared_ids(graph.without(inter=graph.inter)).tolist() == [[0, 2]]
    assert links_of_shared_ids(with_apart(graph.without(inter=graph.inter), [[0, 2]])).tolist() == [[0, 2]]


def test_the_ways_of_duplicates_are_united():
    rows = [("a", 0, "b", 0), ("b", 0, "a", 0), ("c", 0, "b", 0), ("c", 0, "d", 0), ("d", 0, "d", 0), ("a", 1, "b", 1)]
    table = replace(edges(rows), one_way=np.array([True, True, True, False, True, False]))
    graph = build(["x", "y"], table)
    assert graph.intra.tolist() == [[0, 1], [1, 2], [2, 3], [4, 5]]
    assert graph.intra_arcs.tolist() == [3, 2, 3, 3]


def test_links_between_layers_have_no_direction():
    graph = build(["x", "y"], replace(edges([("a", 0, "b", 1)]), one_way=np.array([True])))
    assert graph.n_inter == 1
    assert graph.intra_arcs is None


@pytest.mark.parametrize(
    "ways", [np.array([0, 1], "u1"), np.array([1], "u1"), np.array([1, 4], "u1"), np.array([1, 2])]
)
def test_a_ready_made_graph_with_ways_that_are_none_is_refused(ways):
    graph = build(["x"], edges([("a", 0, "b", 0), ("b", 0, "c", 0)]))
    validate(replace(graph, intra_arcs=np.array([1, 2], "u1")))
    with pytest.raises(GraphError, match="every link goes one way or both"):
        validate(replace(graph, intra_arcs=ways))


# ---- who is not who --------------------------------------------------------------------------------------

CHAIN = graph_of("x.a x.b", "y.a y.b", "z.a z.b", "x.a y.a", "y.a z.a")


def said(message, row, ask):
    with pytest.raises(RowError, match=message) as caught:
        ask()
    assert (caught.value.row, caught.value.table) == row


def test_pairs_known_to_be_different_add_up_in_the_order_of_links():
    graph = with_apart(CHAIN, [[5, 0], [1, 3]])
    assert graph.apart.tolist() == [[0, 5], [1, 3]]
    assert with_apart(graph, [[1, 2], [0, 5], [5, 0]]).apart.tolist() == [[0, 5], [1, 2], [1, 3]]
    assert with_apart(graph, []) == graph
    assert graph.apart.dtype == np.int32
    validate(graph)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ([0, 2], r"'a' \(layer 'x'\) and 'a' \(layer 'y'\) are said to be different, but a known link makes them one"),
        ([4, 0], r"'a' \(layer 'z'\) and 'a' \(layer 'x'\) are said to be different, but a chain of known links makes"),
        ([0, 1], r"'a' \(layer 'x'\) and 'b' \(layer 'x'\) are different anyway, in one layer"),
        ([3, 3], r"'b' \(layer 'y'\) and 'b' \(layer 'y'\) are one node"),
    ],
)
def test_a_pair_that_cannot_be_different_or_is_anyway_is_named(pair, message):
    said(message, (1, "apart"), lambda: with_apart(CHAIN, [[0, 5], pair]))


@pytest.mark.parametrize("pair", [[0, 6], [-1, 2]])
def test_a_pair_beyond_the_nodes_is_refused(pair):
    with pytest.raises(GraphError, match="expected 0 to 5"):
        with_apart(CHAIN, [pair])


def test_links_that_join_what_is_different_are_refused():
    graph = with_apart(CHAIN.without(inter=CHAIN.inter), [[0, 4]])
    assert with_inter_links(graph, np.array([[0, 2], [3, 4]])).apart.tolist() == [[0, 4]]
    links = np.array([[1, 3], [0, 2], [4, 2], [3, 5]])
    said(
        "'a' .* and 'a' .* chain of known links makes them one unit",
        (2, "edges"),
        lambda: with_inter_links(graph, links),
    )
    with pytest.raises(GraphError, match="but a known link makes them one unit"):
        link_by_id(graph)
    with pytest.raises(GraphError, match="but a known link makes them one unit"):
        validate(replace(CHAIN, inter=np.array([[0, 4]], dtype=np.int32), apart=graph.apart))


@pytest.mark.parametrize(
    "apart", [[[5, 0]], [[1, 3], [0, 5]], [[0, 5], [0, 5]], [[0, 1]], [[0, 6]], [[-1, 3]], [[1, 3, 5]]]
)
def test_pairs_out_of_order_or_of_one_layer_or_of_no_nodes_are_refused(apart):
    with pytest.raises(GraphError, match="the graph is damaged"):
        validate(replace(CHAIN, apart=np.array(apart, dtype=np.int32)))


# ---- the order of layers -------------------------------------------------------------------------------------------


def test_layers_in_another_order_are_the_same_network():
    graph = social(people=40, layers=3, seed=3, directed=0.5, names=True)
    rng = np.random.default_rng(0)
    graph = replace(
        graph,
        intra_weight=rng.uniform(1, 9, graph.n_intra),
        inter_weight=rng.uniform(1, 9, graph.n_inter),
        horizontal_features=Features(("f",), rng.normal(size=(graph.n_nodes, 1)).astype(np.float32)),
    )
    strange = np.argwhere((graph.node_layer[:, None] < graph.node_layer) & (graph.unit[:, None] != graph.unit))[:5]
    graph = with_apart(graph, strange)
    turned = in_layer_order(graph, graph.layers[::-1])
    validate(turned)
    assert turned.layers == graph.layers[::-1]
    place = turned.positions(graph.nodes)
    for one, other in ((graph.arcs, turned.arcs), (graph.weighted_adjacency, turned.weighted_adjacency)):
        assert (one != other[place][:, place]).nnz == 0
    assert {frozenset(pair) for pair in place[graph.apart].tolist()} == {frozenset(p) for p in turned.apart.tolist()}
    assert (graph.vertical != turned.vertical[place][:, place]).nnz == 0
    assert np.array_equal(turned.horizontal_features.values[place], graph.horizontal_features.values)
    assert in_layer_order(turned, graph.layers) == graph


def test_other_layers_stay_as_they_are():
    graph = graph_of("x.a y.a", layers="xy")
    for layers in (("x", "y"), ("x", "z"), ("y",)):
        assert in_layer_order(graph, layers) is graph
