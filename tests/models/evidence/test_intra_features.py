"""Features of pairs of one layer against slow counts."""

from dataclasses import replace

import numpy as np
import pytest

from mpxgat.models.evidence.features import LinkDetails, column_names
from mpxgat.models.evidence.intra_features import IntraFeatures
from mpxgat.models.evidence.surroundings import relative_weights
from mpxgat.models.evidence.walks import short_walks
from mpxgat.pairs import PairGrid, PairList
from tests.examples import graph_of
from tests.models.evidence.checks import check_grid, check_numbers, check_symmetry
from tests.models.evidence.graphs import GRAPHS, copies_of, layers_of, named, neighbours_of

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def vectors_for(graph):
    return np.random.default_rng(9).normal(size=(graph.n_nodes, 4)).astype(np.float32)


def features_of(graph):
    return IntraFeatures(graph, short_walks(graph), vectors_for(graph))


def intra_pairs(graph):
    """All pairs of nodes of one layer, linked or not."""
    layer, place = graph.node_layer, np.arange(graph.n_nodes)
    return np.argwhere((layer[:, None] == layer) & (place[:, None] < place))


def union_of(graph):
    """For each unit the units that some layer links with it."""
    near = [set() for _ in range(graph.n_units)]
    for i, there in enumerate(neighbours_of(graph)):
        near[graph.unit[i]] |= {int(graph.unit[j]) for j in there}
    return near


@every_graph
def test_no_number_depends_on_which_node_comes_first(graph):
    check_symmetry(features_of(graph), intra_pairs(graph))


@every_graph
def test_a_grid_has_the_numbers_of_the_list(graph):
    features = features_of(graph)
    for layer in range(graph.n_layers):
        nodes = graph.layer_nodes(layer)
        check_grid(features, PairGrid(nodes[::2], nodes))


@every_graph
def test_every_number_is_finite_and_one_for_each_pair(graph):
    check_numbers(features_of(graph), intra_pairs(graph))


def check_neighbours(found, where, near, ends):
    """Common neighbours and walks of three links in one graph; ``ends`` are the pairs as its nodes."""
    for row, (i, j) in enumerate(ends):
        common = near[i] & near[j]
        assert found[f"common neighbours {where}"][row] == len(common)
        adamic_adar = sum(1 / np.log(len(near[x])) for x in common)
        assert found[f"common neighbours, rare ones more {where}"][row] == pytest.approx(adamic_adar)
        allocation = sum(1 / len(near[x]) for x in common)
        assert found[f"common neighbours, by degree {where}"][row] == pytest.approx(allocation)
        roots = np.sqrt(max(len(near[i]), 1) * max(len(near[j]), 1))
        assert found[f"common neighbours, relative {where}"][row] == pytest.approx(len(common) / roots)
        walks = sum(1 / np.sqrt(len(near[u]) * len(near[v])) for u in near[i] for v in near[u] if j in near[v])
        assert found[f"paths of three links {where}"][row] == pytest.approx(walks)


@every_graph
def test_shared_neighbours_in_the_layer(graph):
    pairs = intra_pairs(graph)
    found = named(features_of(graph).columns(PairList(pairs)))
    check_neighbours(found, "in the layer", neighbours_of(graph), pairs.tolist())


@every_graph
def test_shared_neighbours_in_any_layer(graph):
    pairs = intra_pairs(graph)
    found = named(features_of(graph).columns(PairList(pairs)))
    check_neighbours(found, "in any layer", union_of(graph), graph.unit[pairs].tolist())


@every_graph
def test_what_other_layers_say(graph):
    near, copies, layers = neighbours_of(graph), copies_of(graph), layers_of(graph)
    pairs = intra_pairs(graph)
    found = named(features_of(graph).columns(PairList(pairs)))
    linked = [sum(y in near[x] for x in copies[i] for y in copies[j]) for i, j in pairs]
    assert found["layers where the two are linked"].tolist() == linked
    assert found["layers that have both"].tolist() == [len(layers[i] & layers[j]) for i, j in pairs]


@every_graph
def test_what_short_walks_meet(graph):
    pairs, unit = intra_pairs(graph), graph.unit
    found = named(features_of(graph).columns(PairList(pairs)))
    walks = short_walks(graph)
    visits = walks.visits[np.arange(graph.n_nodes)].toarray()
    ends = [sorted((visits[i, unit[j]], visits[j, unit[i]])) for i, j in pairs]
    assert found["met on walks, low"] == pytest.approx([low for low, _ in ends])
    assert found["met on walks, high"] == pytest.approx([high for _, high in ends])
    for name, weighted in walks.weighted.items():
        rows = weighted.toarray()
        lengths = np.linalg.norm(rows, axis=1)
        overlap = np.array([rows[i] @ rows[j] for i, j in pairs])
        scale = np.array([lengths[i] * lengths[j] for i, j in pairs])
        assert found[f"{name}, overlap"] == pytest.approx(overlap, abs=1e-6)
        cosine = np.divide(overlap, scale, out=np.zeros(len(pairs)), where=scale > 0)
        assert found[f"{name}, cosine"] == pytest.approx(cosine, abs=1e-6)


@every_graph
def test_degrees_density_and_embeddings(graph):
    near, union = neighbours_of(graph), union_of(graph)
    pairs, vectors = intra_pairs(graph), vectors_for(graph).astype(np.float64)
    found = named(features_of(graph).columns(PairList(pairs)))
    degree = [np.log1p(len(there)) for there in near]
    of_neighbours = [np.mean([degree[x] for x in there]) if there else 0.0 for there in near]
    of_union = [np.log1p(len(union[unit])) for unit in graph.unit]
    both = {"degree": degree, "degree in any layer": of_union, "neighbours' degree": of_neighbours}
    for name, value in both.items():
        ends = [sorted((value[i], value[j])) for i, j in pairs]
        assert found[f"{name}, low"] == pytest.approx([low for low, _ in ends])
        assert found[f"{name}, high"] == pytest.approx([high for _, high in ends])
    layer = graph.node_layer
    links = [sum(layer[u] == number for u, _ in graph.intra) for number in range(graph.n_layers)]
    density = [np.log((links[number] + 0.5) / (layer == number).sum() ** 2) for number in range(graph.n_layers)]
    assert found["density"] == pytest.approx([density[layer[i]] for i, _ in pairs])
    assert found["anchored"] == pytest.approx([vectors[i] @ vectors[j] for i, j in pairs], abs=1e-9)


def test_without_embeddings_there_is_no_such_number():
    graph = GRAPHS["two layers"]
    with_them = features_of(graph).columns(PairList(intra_pairs(graph)))
    without = IntraFeatures(graph, short_walks(graph), None).columns(PairList(intra_pairs(graph)))
    assert {column.name for column in with_them} - {column.name for column in without} == {"anchored"}


def test_a_hidden_link_leaves_no_trace():
    """The evidence for a pair is that of a graph that never had the link, down to the last bit."""
    known = ["x.a x.c", "x.b x.c", "x.a x.d", "x.d x.e", "x.e x.b", "y.a y.b", "x.a y.a", "x.b y.b"]
    hidden, never = graph_of(*known, "x.a x.b"), graph_of(*known)
    pair = np.array([[hidden.index("a", "x"), hidden.index("b", "x")]])
    features = features_of(hidden.without(intra=pair)), features_of(never), features_of(hidden)
    without, plain, told = (named(each.columns(PairList(pair))) for each in features)
    assert all(np.array_equal(without[name], plain[name]) for name in plain)
    assert without["layers where the two are linked"].tolist() == [1.0]  # in the other layer
    assert told["layers where the two are linked"].tolist() == [2.0]


# ---- direction and weights -------------------------------------------------------------------------------

DETAILS = LinkDetails(direction=True, weights=True)


def with_details(graph):
    rng = np.random.default_rng(8)
    arcs, weight = rng.integers(1, 4, graph.n_intra).astype(np.uint8), rng.uniform(0.5, 3, graph.n_intra)
    return replace(graph, intra_arcs=arcs, intra_weight=weight)


def detailed(graph):
    return IntraFeatures(graph, short_walks(graph), None, details=DETAILS)


@every_graph
def test_numbers_of_arcs_and_weights_are_like_the_others(graph):
    graph = with_details(graph)
    features, pairs = detailed(graph), intra_pairs(graph)
    check_symmetry(features, pairs)
    check_numbers(features, pairs)
    for layer in range(graph.n_layers):
        nodes = graph.layer_nodes(layer)
        check_grid(features, PairGrid(nodes[::2], nodes))


@every_graph
def test_who_follows_and_is_followed(graph):
    graph = with_details(graph)
    pairs = intra_pairs(graph)
    found = named(detailed(graph).columns(PairList(pairs)))
    arcs = graph.arcs.toarray() > 0
    out, back = ([set(np.flatnonzero(row).tolist()) for row in rows] for rows in (arcs, arcs.T))
    near = neighbours_of(graph)

    def alike(i, j):
        return sum(1 / np.sqrt(len(back[k]) * len(out[other])) for other in back[j] for k in out[i] & out[other])

    for row, (i, j) in enumerate(pairs.tolist()):
        both, by_both = out[i] & out[j], back[i] & back[j]
        assert found["followed by both"][row] == len(both)
        rare = sum(1 / np.log(max(len(back[k]), 2)) for k in both)
        assert found["followed by both, rare ones more"][row] == pytest.approx(rare)
        assert found["follow both"][row] == len(by_both)
        rare = sum(1 / np.log(max(len(out[k]), 2)) for k in by_both)
        assert found["follow both, rare ones more"][row] == pytest.approx(rare)
        through = sorted((len(out[i] & back[j]), len(out[j] & back[i])))
        assert [found[f"paths of two arcs, {end}"][row] for end in ("low", "high")] == through
        followed_alike = sorted((alike(i, j), alike(j, i)))
        named_so = [found[f"followed by those who follow the same, {end}"][row] for end in ("low", "high")]
        assert named_so == pytest.approx(followed_alike)
        assert found["followed, high"][row] == pytest.approx(np.log1p(max(len(out[i]), len(out[j]))))
        assert found["followers, low"][row] == pytest.approx(np.log1p(min(len(back[i]), len(back[j]))))
        assert found["common neighbours in the layer"][row] == len(near[i] & near[j])


@every_graph
def test_common_neighbours_by_weight(graph):
    graph = with_details(graph)
    pairs = intra_pairs(graph)
    found = named(detailed(graph).columns(PairList(pairs)))
    weights = relative_weights(graph).toarray().astype(np.float64)
    strength, length = weights.sum(axis=1), np.linalg.norm(weights, axis=1)
    for row, (i, j) in enumerate(pairs.tolist()):
        both = weights[i] * weights[j]
        assert found["common neighbours by weight"][row] == pytest.approx(both.sum())
        by_strength = both[strength > 0] / strength[strength > 0]
        assert found["common neighbours by weight and strength"][row] == pytest.approx(by_strength.sum())
        if length[i] * length[j]:
            relative = both.sum() / (length[i] * length[j])
            assert found["common neighbours by weight, relative"][row] == pytest.approx(relative)
        assert found["strength, low"][row] == pytest.approx(np.log1p(min(strength[i], strength[j])), rel=1e-6)


def test_the_columns_are_there_if_they_were_learned_from_whatever_the_graph_has():
    graph = GRAPHS["two layers"]
    plain, more = (
        features_of(with_details(graph)),
        IntraFeatures(graph, short_walks(graph), vectors_for(graph), details=DETAILS),
    )
    assert column_names(plain.columns) == column_names(features_of(graph).columns)
    assert len(column_names(more.columns)) > len(column_names(plain.columns))
