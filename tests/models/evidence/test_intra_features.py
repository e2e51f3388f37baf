"""Features of pairs of one layer against slow counts."""

import numpy as np
import pytest

from mpxgat.models.evidence.intra_features import IntraFeatures
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
