import numpy as np
import pyarrow as pa
import pytest

from mpxgat.build import EdgeTable, RowError, build, link_by_id, links_of_shared_ids, with_inter_links
from mpxgat.errors import GraphError
from tests.examples import graph_of


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
