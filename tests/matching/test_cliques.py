"""Merged units: disjoint, one node in a layer at most, known links whole."""

import numpy as np
import pytest
from hypothesis import given

from mpxgat.build import with_apart
from mpxgat.matching.assignment import merge_units
from tests.examples import graph_of
from tests.matching.doubles import are_apart, matchers, steady


def merged(graph, **chances):
    """Units after merging pairs like ``xa_yb=0.9``."""
    names = [tuple(name.split("_")) for name in chances]
    pairs = np.array([[graph.index(end[1], end[0]) for end in pair] for pair in names], dtype=np.int32).reshape(-1, 2)
    return merge_units(graph, pairs, np.array(list(chances.values())))


def named(graph, pairs):
    return ["_".join(node.layer + node.id for node in map(graph.nodes.__getitem__, pair)) for pair in pairs.tolist()]


@steady
@given(matcher=matchers())
def test_units_are_disjoint_cliques_that_keep_known_links(matcher):
    graph = matcher.graph
    pairs = np.array(list(matcher.table), dtype=np.int32).reshape(-1, 2)
    probability = np.array(list(matcher.table.values()), dtype=np.float64)
    cliques = merge_units(graph, pairs, probability)
    unit = cliques.unit
    assert (unit[graph.inter[:, 0]] == unit[graph.inter[:, 1]]).all()
    places = list(zip(unit.tolist(), graph.node_layer.tolist(), strict=True))
    assert len(set(places)) == len(places)
    new = {
        (u, v)
        for u in range(graph.n_nodes)
        for v in range(u + 1, graph.n_nodes)
        if unit[u] == unit[v] and graph.unit[u] != graph.unit[v]
    }
    assert [tuple(pair) for pair in cliques.pairs.tolist()] == sorted(new)
    # Only what is offered merges: known and offered links inside units join all nodes of a unit.
    assert all(tuple(pair) in matcher.table for pair in cliques.joined_by.tolist())
    assert (unit[cliques.joined_by[:, 0]] == unit[cliques.joined_by[:, 1]]).all()
    assert (unit[graph.apart[:, 0]] != unit[graph.apart[:, 1]]).all()
    # And whatever is refused would break uniqueness, or join nodes that are known to be different.
    for u, v in matcher.table:
        if unit[u] != unit[v]:
            layers = [set(graph.node_layer[unit == unit[node]].tolist()) for node in (u, v)]
            assert layers[0] & layers[1] or are_apart(graph, unit, u, v)


@steady
@given(matcher=matchers())
def test_the_weakest_link_is_that_of_the_strongest_path(matcher):
    graph = matcher.graph
    pairs = np.array(list(matcher.table), dtype=np.int32).reshape(-1, 2)
    probability = np.array(list(matcher.table.values()), dtype=np.float64)
    cliques = merge_units(graph, pairs, probability)
    width = (graph.unit[:, None] == graph.unit).astype(float)
    for (u, v), chance in matcher.table.items():
        if cliques.unit[u] == cliques.unit[v]:
            width[u, v] = width[v, u] = chance
    for middle in range(graph.n_nodes):
        width = np.maximum(width, np.minimum(width[:, [middle]], width[[middle]]))
    for (u, v), chance, (a, b) in zip(
        cliques.pairs.tolist(), cliques.probability.tolist(), cliques.joined_by.tolist(), strict=True
    ):
        assert chance == width[u, v] == matcher.table[a, b]


@steady
@given(matcher=matchers())
def test_the_order_of_the_pairs_does_not_matter(matcher):
    pairs = np.array(list(matcher.table), dtype=np.int32).reshape(-1, 2)
    probability = np.array(list(matcher.table.values()), dtype=np.float64)
    one, other = (merge_units(matcher.graph, pairs[::s], probability[::s]) for s in (1, -1))
    assert one.unit.tolist() == other.unit.tolist()
    assert one.probability.tolist() == other.probability.tolist()


GRAPH = graph_of("x.a x.b", "y.a y.b", "z.a z.b", "x.b y.b", layers="xyz")


def test_the_likelier_pair_wins_and_what_follows_is_part_of_it():
    cliques = merged(GRAPH, xa_ya=0.9, ya_za=0.8, xa_zb=0.7)
    assert named(GRAPH, cliques.pairs) == ["xa_ya", "xa_za", "ya_za"]
    assert cliques.probability.tolist() == [0.9, 0.8, 0.8]
    assert named(GRAPH, cliques.joined_by) == ["xa_ya", "ya_za", "ya_za"]
    assert cliques.unit.tolist() == [0, 1, 0, 1, 0, 2]


def test_a_match_with_one_node_of_a_unit_is_one_with_all():
    cliques = merged(GRAPH, yb_za=0.9)
    assert named(GRAPH, cliques.pairs) == ["xb_za", "yb_za"]
    assert cliques.probability.tolist() == [0.9, 0.9]


def test_a_known_counterpart_stays():
    cliques = merged(GRAPH, xb_ya=0.99)
    assert len(cliques.pairs) == 0
    assert cliques.unit.tolist() == GRAPH.unit.tolist()


def test_what_is_different_is_not_joined_through_a_third_layer():
    apart = with_apart(GRAPH, [[GRAPH.index("a", "z"), GRAPH.index("a", "x")]])
    assert named(apart, merged(apart, xa_ya=0.9, ya_za=0.8).pairs) == ["xa_ya"]
    assert named(apart, merged(apart, xa_ya=0.7, ya_za=0.8).pairs) == ["ya_za"]
    by_unit = with_apart(GRAPH, [[GRAPH.index("b", "x"), GRAPH.index("a", "z")]])
    assert named(by_unit, merged(by_unit, yb_za=0.9, yb_zb=0.8).pairs) == ["xb_zb", "yb_zb"]


def test_ties_go_to_the_nodes_that_come_first():
    assert named(GRAPH, merged(GRAPH, xa_zb=0.9, xa_za=0.9).pairs) == ["xa_za"]
    assert named(GRAPH, merged(GRAPH, ya_za=0.9, xa_za=0.9, ya_zb=0.9).pairs) == ["xa_ya", "xa_za", "ya_za"]


@pytest.mark.parametrize("layers", [70])
def test_more_layers_than_a_word_has_bits(layers):
    graph = graph_of(*(f"{chr(0x4E00 + number)}.a {chr(0x4E00 + number)}.b" for number in range(layers)))
    pairs = np.array([(2 * n, 2 * n + 2) for n in range(layers - 1)], dtype=np.int32)
    cliques = merge_units(graph, pairs, np.linspace(0.9, 0.5, layers - 1))
    assert len(cliques.pairs) == layers * (layers - 1) // 2
    assert cliques.unit.max() == layers
