"""`MultiplexGraph`, its nodes and their features."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mpxgat.build import with_apart
from mpxgat.errors import GraphError
from mpxgat.graph import Features, MultiplexGraph, Node, describe
from tests.examples import graph_of, random_graph

SMALL = graph_of("x.b x.a", "x.c x.b", "y.a y.d", "x.a y.a", "z.e z.e", "z.e y.d")
WEIGHTED = graph_of("x.a x.b 2", "x.a y.a 3")
ARRAYS = ("layer_start", "intra", "inter", "intra_weight", "inter_weight")


def test_nodes_are_found_by_id_and_layer():
    assert [SMALL.index(*node) for node in SMALL.nodes] == list(range(6))
    assert SMALL.node_layer.tolist() == [0, 0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("node", "layer", "said"),
    [("q", "x", "no node 'q' in layer 'x'"), ("a", "w", "no layer 'w'; the layers are 'x', 'y', 'z'")],
)
def test_an_unknown_node_is_named(node, layer, said):
    with pytest.raises(GraphError, match=said):
        SMALL.index(node, layer)


def test_positions_take_pairs_of_ids():
    assert SMALL.positions([("c", "x"), ("a", "y")]).tolist() == [2, 3]


def test_non_ascii_ids_are_found():
    graph = graph_of("x.é x.z", "x.😀 x.Z", "x.ｚ x.a")
    assert [graph.index(*node) for node in graph.nodes] == list(range(6))


def test_arrays_cannot_be_changed():
    for array in (SMALL.intra, SMALL.inter, SMALL.layer_start, SMALL.node_layer, SMALL.unit, SMALL.degree):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_arrays_a_graph_is_made_from_stay_writeable():
    given = {name: getattr(WEIGHTED, name).copy() for name in ARRAYS}
    graph = MultiplexGraph(WEIGHTED.layers, ids=WEIGHTED.ids, **given)
    for name, array in given.items():
        with pytest.raises(ValueError, match="read-only"):
            getattr(graph, name)[0] = 1
        array[0] = 1


def test_matrices_agree_with_the_links():
    dense = np.zeros((6, 6))
    for u, v in SMALL.intra:
        dense[u, v] = dense[v, u] = 1
    assert np.array_equal(SMALL.adjacency.toarray(), dense)
    assert np.array_equal(SMALL.degree, dense.sum(axis=1))
    assert SMALL.vertical.nnz == 2 * SMALL.n_inter


def test_weights_enter_the_weighted_adjacency_only():
    graph = graph_of("x.a x.b 2.5", "x.b x.c 1")
    assert graph.adjacency.sum() == 4
    assert graph.weighted_adjacency.sum() == 7
    assert graph.unweighted().intra_weight is None


def test_units_are_components_of_inter_links_numbered_by_first_node():
    graph = graph_of("x.a y.a", "y.a z.a", "x.b x.c", "z.q y.w")
    assert graph.unit.tolist() == [0, 1, 2, 0, 3, 0, 3]
    assert graph.n_units == 4


def test_largest_component_spans_both_kinds_of_link():
    graph = graph_of("x.a x.b", "x.b y.c", "y.c y.d", "x.e x.f", "w.g w.h")
    largest = graph.largest_component()
    assert list(largest.nodes) == [("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")]
    assert largest.layers == ("x", "y")
    assert largest.n_intra == 2
    assert largest.n_inter == 1


def test_subgraph_keeps_weights_features_and_attributes_in_step():
    import dataclasses

    import pyarrow as pa

    graph = graph_of("x.a x.b 2", "x.b x.c 3", "y.a y.b", "x.c y.b")
    graph = dataclasses.replace(
        graph,
        horizontal_features=Features(("p",), np.arange(5)[:, None]),
        attributes={"label": pa.array(list("ABCDE"), pa.large_string())},
    )
    part = graph.subgraph([1, 2, 4])
    assert list(part.nodes) == [("b", "x"), ("c", "x"), ("b", "y")]
    assert part.intra_weight.tolist() == [3]
    assert part.horizontal_features.values.ravel().tolist() == [1, 2, 4]
    assert part.attributes["label"].to_pylist() == ["B", "C", "E"]
    assert part.inter.tolist() == [[1, 2]]


def test_one_layer_alone():
    layer = SMALL.layer("y")
    assert list(layer.nodes) == [("a", "y"), ("d", "y")]
    assert layer.n_inter == 0


def test_without_takes_links_out_and_leaves_the_rest():
    graph = random_graph(0)
    gone_intra, gone_inter = graph.intra[::3], graph.inter[::2]
    rest = graph.without(intra=gone_intra[:, ::-1], inter=gone_inter)
    assert rest.n_nodes == graph.n_nodes
    assert {tuple(p) for p in rest.intra} == {tuple(p) for p in graph.intra} - {tuple(p) for p in gone_intra}
    assert {tuple(p) for p in rest.inter} == {tuple(p) for p in graph.inter} - {tuple(p) for p in gone_inter}


def test_without_names_a_pair_that_is_no_link():
    with pytest.raises(GraphError, match=r"no intra link joins 'a' \(layer 'x'\) and 'c' \(layer 'x'\)"):
        SMALL.without(intra=[[0, 2]])
    with pytest.raises(GraphError, match="no inter link"):
        SMALL.without(inter=[[2, 5]])


@pytest.mark.parametrize("pair", [[0, SMALL.n_nodes + 1], [-1, 1]])
def test_without_does_not_take_a_pair_beyond_the_nodes_for_another_one(pair):
    with pytest.raises(GraphError, match="expected 0 to"):
        SMALL.without(intra=[pair])


def test_nothing_asked_for_is_nothing_taken():
    assert SMALL.subgraph([]).n_nodes == 0
    assert SMALL.without(intra=[], inter=[]) == SMALL


APART = with_apart(SMALL, SMALL.positions([("d", "y"), ("c", "x"), ("e", "z"), ("b", "x")]).reshape(2, 2))


def named(graph, pairs):
    return {tuple(graph.nodes[int(end)] for end in pair) for pair in pairs}


def test_what_is_known_to_be_different_stays_with_its_nodes():
    assert SMALL.apart.shape == (0, 2)
    assert named(APART, APART.apart) == {(("c", "x"), ("d", "y")), (("b", "x"), ("e", "z"))}
    part = APART.subgraph(APART.positions([("b", "x"), ("d", "y"), ("e", "z")]))
    assert named(part, part.apart) == {(("b", "x"), ("e", "z"))}
    assert APART.layer("x").apart.shape == (0, 2)
    assert named(APART, APART.largest_component().apart) == named(APART, APART.apart)
    for rest in (APART.without(intra=APART.intra, inter=APART.inter), APART.unweighted()):
        assert np.array_equal(rest.apart, APART.apart)


def test_what_was_said_to_be_different_can_be_taken_back():
    assert APART.without(apart=APART.apart[:, ::-1]) == SMALL
    assert len(APART.without(apart=APART.apart[:1]).apart) == 1
    with pytest.raises(GraphError, match=r"'a' \(layer 'x'\) and 'e' \(layer 'z'\) are not said to be different"):
        APART.without(apart=[SMALL.positions([("a", "x"), ("e", "z")])])


def test_what_is_known_to_be_different_tells_graphs_apart():
    assert APART != SMALL
    prints = [each.fingerprint() for each in (SMALL, APART, APART.without(apart=APART.apart[:1]))]
    assert len({*prints}) == 3
    assert APART.without(apart=APART.apart).fingerprint() == prints[0]
    assert APART.node_fingerprint() == SMALL.node_fingerprint()


def test_equality_and_fingerprint_follow_the_content():
    same = graph_of("z.e z.e", "x.b x.c", "z.e y.d", "y.d y.a", "x.a x.b", "y.a x.a", layers="xyz")
    assert same == SMALL
    assert same.fingerprint() == SMALL.fingerprint()
    other = SMALL.without(inter=SMALL.inter[:1])
    assert other != SMALL
    assert other.fingerprint() != SMALL.fingerprint()
    heavier = graph_of("x.b x.a 2", "x.c x.b", "y.a y.d", "x.a y.a", "z.e z.e", "z.e y.d")
    assert heavier != SMALL
    assert heavier.fingerprint() != SMALL.fingerprint()


def test_the_fingerprint_tells_where_one_id_ends_and_the_next_begins():
    def graph(*ids, layers=("x",)):
        starts = np.array([0, *np.cumsum([len(ids)])])
        none = np.empty((0, 2), dtype=np.int32)
        return MultiplexGraph(layers, starts, pa.array(ids, pa.large_string()), none, none)

    spelled = [("a", "b\0c"), ("a\0b", "c"), ("ab", "c"), ("a", "bc"), ("a\0", "bc")]
    for method in (MultiplexGraph.fingerprint, MultiplexGraph.node_fingerprint):
        assert len({method(graph(*ids)) for ids in spelled}) == len(spelled)
        assert method(graph("b", layers=("xa",))) != method(graph("ab", layers=("x",)))


def test_the_fingerprint_of_nodes_is_that_of_layers_in_order_and_ids():
    print_of = MultiplexGraph.node_fingerprint
    assert print_of(SMALL.without(intra=SMALL.intra)) == print_of(SMALL)
    assert print_of(graph_of("x.a x.b", "y.a y.b")) != print_of(graph_of("y.a y.b", "x.a x.b"))
    assert print_of(graph_of("x.a x.b", "y.c y.d")) != print_of(graph_of("x.a x.b", "x.c y.d"))
    assert print_of(SMALL.subgraph([1, 2])) == print_of(graph_of("x.b x.c"))  # ids that begin amid a buffer


def test_a_million_nodes_and_eight_million_links_stay_below_one_gigabyte():
    from mpxgat.build import EdgeTable, build

    # Measured on a tenth of that size: arrays grow in proportion to nodes and links.
    nodes, links = 100_000, 800_000
    rng = np.random.default_rng(0)
    ends = rng.integers(nodes, size=(2, links))
    ids = pa.array([f"user-{i:07d}" for i in range(nodes)], pa.large_string())
    layer = ends % 4
    edges = EdgeTable(ids.take(pa.array(ends[0])), layer[0], ids.take(pa.array(ends[1] // 4 * 4 + layer[0])), layer[0])
    graph = build(list("wxyz"), edges)
    held = graph.nbytes()
    assert graph.adjacency.nnz == 2 * graph.n_intra  # made now, and counted from here on
    assert graph.nbytes() > held
    assert graph.nbytes() * 10 < 1e9


NODES = graph_of("x.b x.a", "x.c x.b", "y.a y.d", "x.a y.a", "z.e z.e", "z.e y.d").nodes


def test_nodes_are_sorted_by_layer_then_id_and_known_by_both():
    assert list(NODES) == [("a", "x"), ("b", "x"), ("c", "x"), ("a", "y"), ("d", "y"), ("e", "z")]
    assert NODES[-1] == Node("e", "z")
    assert NODES[1:3] == [Node("b", "x"), Node("c", "x")]


@pytest.mark.parametrize("position", [6, -7])
def test_a_position_beyond_the_nodes_is_an_index_error(position):
    with pytest.raises(IndexError, match="of 6"):
        _ = NODES[position]


def test_a_node_is_described_by_id_and_layer():
    assert describe(Node("a", "x")) == "'a' (layer 'x')"


def test_features_must_be_finite_and_fit():
    with pytest.raises(GraphError, match="feature 'q' of node 1 is nan"):
        Features(("p", "q"), np.array([[1, 2], [3, np.nan]]))
    with pytest.raises(GraphError, match="expected one column for each of 1 names"):
        Features(("p",), np.zeros((3, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_cannot_be_changed_but_the_array_they_came_from_can(dtype):
    given = np.zeros((2, 1), dtype=dtype)
    features = Features(("p",), given)
    with pytest.raises(ValueError, match="read-only"):
        features.values[0] = 1
    given[0] = 1
    assert given.tolist() == [[1], [0]]


# ---- direction -------------------------------------------------------------------------------------------

CHAIN = graph_of("x.a x.b", "x.b x.c", "x.a x.c", "y.a y.b", "x.a y.a")
DIRECTED = replace(CHAIN, intra_arcs=np.array([1, 2, 3, 3], dtype=np.uint8))


def test_arcs_go_from_row_to_column_and_the_rest_stays_undirected():
    # a→b, c→a, b↔c and, in the other layer, both ways
    expected = {(0, 1), (2, 0), (1, 2), (2, 1), (3, 4), (4, 3)}
    assert set(zip(*map(np.ndarray.tolist, DIRECTED.arcs.nonzero()), strict=True)) == expected
    assert np.array_equal(CHAIN.arcs.toarray(), CHAIN.adjacency.toarray())
    assert np.array_equal(DIRECTED.adjacency.toarray(), CHAIN.adjacency.toarray())
    assert DIRECTED.degree.tolist() == CHAIN.degree.tolist()
    assert DIRECTED.directed_layers.tolist() == [True, False]
    assert not CHAIN.directed_layers.any()


def test_direction_is_part_of_what_a_graph_is_and_only_where_there_is_any():
    mutual = replace(CHAIN, intra_arcs=np.full(4, 3, dtype=np.uint8))
    assert mutual.intra_arcs is None
    assert mutual == CHAIN
    assert mutual.fingerprint() == CHAIN.fingerprint() == DIRECTED.undirected().fingerprint()
    assert DIRECTED.undirected() == CHAIN
    turned = replace(DIRECTED, intra_arcs=np.array([2, 2, 3, 3], dtype=np.uint8))
    assert len({graph.fingerprint() for graph in (CHAIN, DIRECTED, turned)}) == 3
    assert DIRECTED not in (CHAIN, turned)


def test_direction_survives_what_makes_smaller_graphs():
    assert DIRECTED.subgraph([0, 2, 3]).intra_arcs.tolist() == [2]
    assert DIRECTED.subgraph([1, 2]).intra_arcs is None
    assert DIRECTED.without(intra=[[0, 1]]).intra_arcs.tolist() == [2, 3, 3]
    assert DIRECTED.without(inter=DIRECTED.inter).intra_arcs.tolist() == DIRECTED.intra_arcs.tolist()
    assert DIRECTED.largest_component() == DIRECTED
    assert DIRECTED.layer("x").intra_arcs.tolist() == [1, 2, 3]
    assert DIRECTED.unweighted() == DIRECTED
