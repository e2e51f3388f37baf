"""networkx: one graph for each layer, one graph for all, and back."""

from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given, settings

from mpxgat.build import links_of_shared_ids
from mpxgat.errors import InputError, OutputError
from mpxgat.io.networkx_graphs import anchors_of, from_networkx, to_networkx, to_networkx_layers
from mpxgat.pairs import BOTH_WAYS, FORWARD
from tests.examples import graph_of, random_graph
from tests.io.graph_strategies import graphs

pytestmark = pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")  # see test_data_warnings.py


def links(graph, kind):
    return {(tuple(graph.nodes[a]), tuple(graph.nodes[b])) for a, b in getattr(graph, kind).tolist()}


# ---- one graph for each layer --------------------------------------------------------------------------


def test_shared_keys_are_copies():
    graph = from_networkx({"x": nx.Graph([(1, 2), (2, 2)]), "y": nx.Graph([(2, 3)])})
    assert graph.layers == ("x", "y")
    assert links(graph, "intra") == {(("1", "x"), ("2", "x")), (("2", "y"), ("3", "y"))}
    assert links(graph, "inter") == {(("2", "x"), ("2", "y"))}


def test_anchors_take_the_place_of_shared_keys():
    layers = {"x": nx.path_graph(3), "y": nx.path_graph(3)}
    graph = from_networkx(layers, anchors=[((0, "x"), (2, "y"))])
    assert links(graph, "inter") == {(("0", "x"), ("2", "y"))}
    assert from_networkx(layers, anchors=[]).n_inter == 0


def test_directed_graphs_and_multigraphs_become_simple():
    directed = nx.DiGraph([(1, 2), (2, 1), (2, 3)])
    parallel = nx.MultiGraph()
    parallel.add_edge("a", "b", weight=2)
    parallel.add_edge("b", "a", weight=5)
    graph = from_networkx({"d": directed, "m": parallel})
    assert graph.n_intra == 3
    assert graph.intra_weight.tolist() == [1.0, 1.0, 5.0]
    assert graph.intra_arcs.tolist() == [BOTH_WAYS, FORWARD, BOTH_WAYS]
    assert [layer.is_directed() for layer in to_networkx_layers(graph).values()] == [True, False]


def test_node_attributes():
    layer = nx.Graph()
    layer.add_node("a", **{"h:x": 1.5, "v:y": 2, "role": "boss", "age": 40, "h:z": "text"})
    layer.add_node("b", **{"h:x": 3})
    graph = from_networkx({"l": layer})
    assert graph.horizontal_features.names == ("x",)
    assert graph.horizontal_features.values.tolist() == [[1.5], [3.0]]
    assert graph.vertical_features.values.tolist() == [[2.0], [0.0]]
    assert {name: column.to_pylist() for name, column in graph.attributes.items()} == {
        "role": ["boss", ""],
        "h:z": ["text", ""],
    }


# ---- one graph for all ---------------------------------------------------------------------------------


def test_nodes_that_are_pairs():
    single = nx.Graph([((1, "x"), (2, "x")), ((1, "y"), (3, "y")), ((2, "x"), (3, "y"))])
    graph = from_networkx(single)
    assert links(graph, "inter") == {(("2", "x"), ("3", "y"))}


def test_without_edges_between_layers_shared_units_are_linked():
    graph = from_networkx(nx.Graph([((1, "x"), (2, "x")), ((1, "y"), (3, "y"))]))
    assert links(graph, "inter") == {(("1", "x"), ("1", "y"))}


def test_nodes_with_layer_and_unit_attributes():
    single = nx.Graph()
    single.add_node(0, layer="x", unit="ann")
    single.add_node(1, layer="x")
    single.add_node(2, layer="y", unit="ann", role="boss")
    graph = from_networkx(single)
    assert list(graph.nodes) == [("1", "x"), ("ann", "x"), ("ann", "y")]
    assert graph.n_inter == 1
    assert set(graph.attributes) == {"role"}


# ---- errors --------------------------------------------------------------------------------------------


def weighted(weight):
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=weight)
    return {"l": graph}


def with_node(**data):
    graph = nx.Graph()
    graph.add_node("a", **data)
    return {"l": graph}


TWO_LAYERS = {"x": nx.path_graph(3), "y": nx.path_graph(3)}
BAD = {
    "kind": ([1], {}, "a list, expected a networkx graph or a mapping"),
    "kind of a layer": ({"x": 3}, {}, "layer 'x' is a int, expected a networkx graph"),
    "keys that become one": ({"x": nx.Graph([(1, "1")])}, {}, "nodes '1' and ''1'' are both '1' (layer 'x')"),
    "layers that become one": ({1: nx.Graph(), "1": nx.Graph()}, {}, "two layers are called '1'"),
    "weight": (weighted("heavy"), {}, "weight 'heavy' of the edge between 'a' and 'b', expected a finite number"),
    "NaN": (weighted(float("nan")), {}, "weight 'nan' of the edge"),
    "huge": (weighted(10**400), {}, "weight '1000"),
    "true": (weighted(True), {}, "weight 'True' of the edge"),
    "feature": (with_node(**{"h:x": float("inf")}), {}, "'h:x' of node 'a' is 'inf', expected a finite number"),
    "feature too large": (with_node(**{"v:x": 1e300}), {}, "'v:x' of node 'a' is '1e+300'"),
    "empty key": ({"x": nx.Graph([("", "b")])}, {}, "an empty node id"),
    "empty layer": ({"": nx.Graph([("a", "b")])}, {}, "a layer has an empty name"),
    "half a pair": ({"x": nx.Graph([("\ud800", "b")])}, {}, "holds half a surrogate pair"),
    "no layer": (nx.path_graph(2), {}, "node '0' has no layer, expected a pair (unit, layer)"),
    "anchors for one graph": (nx.Graph(), {"anchors": []}, "anchors beside a single graph"),
    "unknown anchor": (TWO_LAYERS, {"anchors": [((0, "x"), (9, "y"))]}, "anchor '((0, 'x'), (9, 'y'))', expected two"),
    "anchor of one end": (TWO_LAYERS, {"anchors": [((0, "x"),)]}, "expected two pairs (node, layer)"),
    "anchor in one layer": (TWO_LAYERS, {"anchors": [((0, "x"), (1, "x"))]}, "joins two nodes of one layer"),
    "two counterparts": (
        TWO_LAYERS,
        {"anchors": [((0, "x"), (0, "y")), ((0, "x"), (1, "y"))]},
        "expected at most one counterpart in a layer",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_node_or_edge(case):
    graphs, options, message = BAD[case]
    with pytest.raises(InputError) as caught:
        from_networkx(graphs, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# ---- going out -----------------------------------------------------------------------------------------


def test_edges_say_their_kind_and_weight():
    graph = to_networkx(graph_of("x.a x.b 2", "y.a y.b", "x.a y.a"))
    assert graph.edges[("a", "x"), ("b", "x")] == {"kind": "intra", "weight": 2.0}
    assert graph.edges[("a", "x"), ("a", "y")] == {"kind": "inter", "weight": 1.0}
    assert set(to_networkx_layers(graph_of("x.a x.b", "y.a y.c"))["y"].edges) == {("a", "c")}


def test_an_attribute_that_would_be_taken_for_the_layer_is_refused():
    graph = random_graph(1)
    with pytest.raises(OutputError, match="an attribute called 'layer'"):
        to_networkx(replace(graph, attributes={"layer": graph.ids}))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(graph=graphs())
def test_round_trip_through_one_graph(graph):
    assert from_networkx(to_networkx(graph)) == graph


@settings(derandomize=True, deadline=None, max_examples=100)
@given(graph=graphs())
def test_round_trip_through_layers(graph):
    layers = to_networkx_layers(graph)
    again = from_networkx(layers, anchors=anchors_of(graph))
    assert again == replace(graph, inter_weight=None)  # anchors have no weights
    if links_of_shared_ids(graph).tolist() == graph.inter.tolist():
        assert from_networkx(layers) == replace(graph, inter_weight=None)
    else:
        with pytest.raises(InputError, match="expected anchors"):
            from_networkx(layers)


def test_layers_of_a_training_graph_do_not_bring_hidden_links_back():
    whole = graph_of("x.a x.b", "y.a y.b", "x.a y.a", "x.b y.b")
    assert from_networkx(to_networkx_layers(whole)) == whole
    for hidden in (whole.inter[:1], whole.inter):
        with pytest.raises(InputError, match="layer 'x' comes from a multiplex"):
            from_networkx(to_networkx_layers(whole.without(inter=hidden)))
