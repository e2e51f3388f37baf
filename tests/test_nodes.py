import pytest

from mpxgat.graph import Node, describe
from tests.examples import graph_of

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
