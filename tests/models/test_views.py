import numpy as np
import pytest

from mpxgat.models.anchored import identity_rows, n_heads, see
from tests.examples import graph_of, random_graph

HOPS = 3


def views_of(graph, *, rows=None, background=None):
    rows = identity_rows(0, graph.n_nodes, 16) if rows is None else rows
    return see(graph, np.arange(graph.n_nodes), rows, HOPS, background)


def test_one_step_is_the_sum_of_the_rows_of_anchored_neighbours_by_rarity():
    graph = random_graph(1, people=30)
    rows = np.eye(graph.n_nodes, dtype=np.float32)  # profiles themselves instead of projections
    views, _ = views_of(graph, rows=rows)
    first = {unit: int(np.flatnonzero(graph.unit == unit)[0]) for unit in range(graph.n_units)}
    for head, rarity in enumerate((0.2, 0.8)):
        for node in range(graph.n_nodes):
            expected = np.zeros(graph.n_nodes)
            for other in graph.adjacency[[node]].indices:
                copies = np.flatnonzero(graph.unit == graph.unit[other])
                if len(copies) > 1:
                    expected[first[graph.unit[other]]] += max(graph.degree[copies].sum(), 1) ** -rarity
            length = np.linalg.norm(expected)
            assert views.anchored[head, node] == pytest.approx(expected / (length or 1), abs=1e-3)


def test_nodes_with_the_same_anchored_neighbours_are_alike_without_a_link_between_them():
    graph = graph_of("x.me x.a", "x.me x.b", "y.i y.a", "y.i y.b", "y.other y.c", "x.c x.a", "x.a y.a", "x.b y.b")
    views, _ = views_of(graph)
    me, i, other = graph.index("me", "x"), graph.index("i", "y"), graph.index("other", "y")
    for head in range(2):
        assert views.anchored[head, me] @ views.anchored[head, i] == pytest.approx(1, abs=1e-3)
    assert not views.anchored[:2, other].any()  # c is known in no other layer
    assert not views.identity[me].any()


def test_copies_share_one_identity():
    graph = graph_of("x.a x.b", "y.a y.b", "x.a y.a")
    views, _ = views_of(graph)
    one, other = graph.index("a", "x"), graph.index("a", "y")
    assert np.array_equal(views.identity[one], views.identity[other])
    assert views.identity[one].any()
    assert views.presence[one].tolist() == [1, 1]
    assert views.presence[graph.index("b", "x")].sum() == 1


def test_shapes_and_lengths():
    graph = random_graph(2)
    views, background = views_of(graph)
    heads = n_heads(HOPS)
    assert views.anchored.shape == (heads, graph.n_nodes, 16)
    assert views.union.shape == (heads + 1, graph.n_nodes, 16)
    assert background.anchored.shape == (heads, graph.n_layers, 16)
    lengths = np.linalg.norm(views.anchored, axis=2)
    assert ((lengths < 1.001) & ((lengths > 0.9) | (lengths < 0.5))).all()
    assert np.isfinite(views.numbers).all()


def test_the_background_is_gone_from_long_walks():
    graph = random_graph(3)
    rows = identity_rows(0, graph.n_nodes, 16)
    views, background = views_of(graph, rows=rows)
    along = background.anchored[2][graph.node_layer]
    assert np.abs((views.anchored[2] * along).sum(1)).max() < 1e-4
    again, _ = views_of(graph, rows=rows, background=background)
    assert np.array_equal(again.anchored, views.anchored)


def test_more_rows_begin_with_the_same_rows():
    assert np.array_equal(identity_rows(3, 20, 8)[:7], identity_rows(3, 7, 8))
    assert not np.array_equal(identity_rows(3, 7, 8), identity_rows(4, 7, 8))


def test_parts_make_up_the_whole():
    views, _ = views_of(random_graph(4))
    parts = list(views.chunks(50))
    assert len(parts) > 1
    assert np.array_equal(np.concatenate([part.union for part in parts], axis=1), views.union)
    assert np.array_equal(np.concatenate([part.numbers for part in parts]), views.numbers)
