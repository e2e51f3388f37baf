"""Features of pairs of different layers against slow counts."""

import numpy as np
import pytest

from mpxgat.matching.match import layer_pairs
from mpxgat.models.evidence.candidates import CandidateSearch
from mpxgat.models.evidence.features import InterFeatures, layer_prior
from mpxgat.models.evidence.walks import short_walks
from mpxgat.pairs import PairGrid, PairList
from tests.examples import graph_of
from tests.matching.doubles import is_open
from tests.models.evidence.checks import check_grid, check_numbers, check_symmetry
from tests.models.evidence.graphs import GRAPHS, copies_of, layers_of, named, neighbours_of

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def vectors_for(graph):
    return np.random.default_rng(9).normal(size=(graph.n_nodes, 4)).astype(np.float32)


def features_of(graph):
    return InterFeatures(graph, short_walks(graph), layer_prior(graph), vectors_for(graph))


def inter_pairs(graph):
    """All pairs of nodes of different layers, the lower layer first."""
    return np.argwhere(graph.node_layer[:, None] < graph.node_layer)


def cosine(rows, i, j):
    lengths = np.linalg.norm(rows[i]) * np.linalg.norm(rows[j])
    return rows[i] @ rows[j] / lengths if lengths else 0.0


@every_graph
def test_no_number_depends_on_which_node_comes_first(graph):
    check_symmetry(features_of(graph), inter_pairs(graph))


@every_graph
def test_a_grid_has_the_numbers_of_the_list(graph):
    features = features_of(graph)
    for a, b in layer_pairs(graph):
        check_grid(features, PairGrid(graph.layer_nodes(a), graph.layer_nodes(b)))


@every_graph
def test_every_number_is_finite_and_one_for_each_pair(graph):
    check_numbers(features_of(graph), inter_pairs(graph))


@every_graph
def test_neighbours_that_match_and_that_could(graph):
    near, copies, layers = neighbours_of(graph), copies_of(graph), layers_of(graph)
    pairs = inter_pairs(graph)
    found = named(features_of(graph).columns(PairList(pairs)))
    for row, (i, j) in enumerate(pairs.tolist()):
        matched = sum(y in copies[x] for x in near[i] for y in near[j])
        could = sorted(
            [
                sum(int(graph.node_layer[j]) in layers[x] for x in near[i]),
                sum(int(graph.node_layer[i]) in layers[y] for y in near[j]),
            ]
        )
        assert found["matched neighbours"][row] == matched
        assert found["neighbours that could match, low"][row] == could[0]
        assert found["neighbours that could match, high"][row] == could[1]
        fewer, more = (matched / max(count, 1) for count in could)
        assert found["matched neighbours of the fewer that could"][row] == pytest.approx(fewer)
        assert found["matched neighbours of the more that could"][row] == pytest.approx(more)


@every_graph
def test_walks_are_compared_plain_and_at_length_one(graph):
    pairs = inter_pairs(graph)
    found = named(features_of(graph).columns(PairList(pairs)))
    for name, weighted in short_walks(graph).weighted.items():
        rows = weighted.toarray()
        assert found[f"{name}, overlap"] == pytest.approx([rows[i] @ rows[j] for i, j in pairs], abs=1e-12)
        assert found[f"{name}, cosine"] == pytest.approx([cosine(rows, i, j) for i, j in pairs], abs=1e-12)


@pytest.mark.parametrize(("profile", "scaled"), [("near", False), ("far", True), ("joint_far", True)])
@pytest.mark.parametrize("graph", [GRAPHS["three layers"], GRAPHS["two layers"]], ids=["three", "two"])
def test_competitors_are_ranked_by_the_number_they_are_compared_by(graph, profile, scaled):
    rows = short_walks(graph).weighted[profile].toarray()
    pairs = np.array([pair for pair in inter_pairs(graph).tolist() if is_open(graph, *pair)])
    found = named(features_of(graph).columns(PairList(pairs)))

    def similarity(i, j):
        return cosine(rows, i, j) if scaled else rows[i] @ rows[j]

    def from_side(i, j):
        others = graph.layer_nodes(int(graph.node_layer[j])).tolist()
        others_similar = sorted((similarity(i, k) for k in others if is_open(graph, i, k)), reverse=True)
        own = similarity(i, j)
        rank = sum(other > own + 1e-9 for other in others_similar[:8])
        share = own / sum(others_similar) if sum(others_similar) else 0.0
        return rank, share, own - sum(others_similar[:5]) / 5

    for row, (i, j) in enumerate(pairs[:: len(pairs) // 150 + 1].tolist()):
        row *= len(pairs) // 150 + 1
        for what, one, other in zip(("rank", "share", "lead"), from_side(i, j), from_side(j, i), strict=True):
            assert found[f"{profile}, {what} low"][row] == pytest.approx(min(one, other), abs=1e-9)
            assert found[f"{profile}, {what} high"][row] == pytest.approx(max(one, other), abs=1e-9)


@every_graph
def test_degrees_copies_prior_and_embeddings(graph):
    near, copies = neighbours_of(graph), copies_of(graph)
    pairs, vectors = inter_pairs(graph), vectors_for(graph).astype(np.float64)
    found = named(features_of(graph).columns(PairList(pairs)))
    degree = [np.log1p(len(there)) for there in near]
    of_neighbours = [np.mean([degree[x] for x in there]) if there else 0.0 for there in near]
    of_unit = [np.log1p(sum(len(near[copy]) for copy in those)) for those in copies]
    known = [min(len(those), 3) for those in copies]
    both = {"degree": degree, "neighbours' degree": of_neighbours, "unit's degree": of_unit, "copies": known}
    for name, value in both.items():
        ends = [sorted((value[i], value[j])) for i, j in pairs]
        assert found[f"{name}, low"] == pytest.approx([low for low, _ in ends])
        assert found[f"{name}, high"] == pytest.approx([high for _, high in ends])
    for name in ("degree", "neighbours' degree"):
        gaps = [abs(both[name][i] - both[name][j]) for i, j in pairs]
        assert found[f"{name}, difference"] == pytest.approx(gaps, abs=1e-12)
    prior, layer = layer_prior(graph), graph.node_layer
    assert found["prior"] == pytest.approx([prior[layer[i], layer[j]] for i, j in pairs])
    assert found["anchored"] == pytest.approx([vectors[i] @ vectors[j] for i, j in pairs], abs=1e-9)


def test_without_embeddings_there_is_no_such_number():
    graph = GRAPHS["two layers"]
    with_them = features_of(graph).columns(PairList(inter_pairs(graph)))
    without = InterFeatures(graph, short_walks(graph), layer_prior(graph), None).columns(PairList(inter_pairs(graph)))
    assert {column.name for column in with_them} - {column.name for column in without} == {"anchored"}


def test_the_prior_is_the_log_share_of_known_links():
    graph = graph_of("x.a x.b", "x.b x.c", "y.a y.b", "z.a z.a", "x.a y.a", "x.b y.b", "y.b z.a", layers="xyz")
    prior = layer_prior(graph)
    assert np.array_equal(prior, prior.T)
    assert prior[0, 1] == pytest.approx(np.log(2.5 / 6))
    assert prior[1, 2] == pytest.approx(np.log(1.5 / 2))
    assert prior[0, 2] == pytest.approx(np.log(0.5 / 3))


@every_graph
def test_candidates_are_the_most_similar_by_short_walks_through_all_layers(graph):
    rows = short_walks(graph).weighted["joint_far"].toarray()
    features = features_of(graph)
    for a, b in layer_pairs(graph):
        found = {tuple(pair) for pair in features.candidates_between(a, b, CandidateSearch(2)).tolist()}
        similar = {
            (i, j): rows[i] @ rows[j]
            for i in graph.layer_nodes(a).tolist()
            for j in graph.layer_nodes(b).tolist()
            if is_open(graph, i, j) and rows[i] @ rows[j] > 1e-12
        }
        assert found <= set(similar)
        for side in (0, 1):
            for node in {pair[side] for pair in similar}:
                mine = sorted((value for pair, value in similar.items() if pair[side] == node), reverse=True)
                taken = sorted((similar[pair] for pair in found if pair[side] == node), reverse=True)
                assert taken[:2] == pytest.approx(mine[:2])  # ties may go to either


def test_a_hidden_link_leaves_no_trace():
    """The evidence for a pair is that of a graph that never had the link, down to the last bit."""
    known = ["x.a x.b", "x.b x.c", "x.a x.d", "y.a y.b", "y.b y.c", "y.a y.d", "x.b y.b", "x.d y.d"]
    hidden = graph_of(*known, "x.a y.a", layers="xy")
    never = graph_of(*known, layers="xy")
    pair = np.array([[hidden.index("a", "x"), hidden.index("a", "y")]])
    features = features_of(hidden.without(inter=pair)), features_of(never), features_of(hidden)
    without, plain, told = (named(each.columns(PairList(pair))) for each in features)
    assert all(np.array_equal(without[name], plain[name]) for name in plain)
    assert any(not np.array_equal(told[name], plain[name]) for name in plain)  # so it would have shown


def test_a_nodes_own_unit_is_no_evidence_for_another_pair_of_it():
    """Two nodes that are linked with each other's copies do not look alike for that."""
    graph = graph_of("x.a x.b", "y.a y.b", "x.a y.a", "x.b y.b", layers="xy")
    pair = np.array([[graph.index("a", "x"), graph.index("b", "y")]])
    found = named(features_of(graph).columns(PairList(pair)))
    assert found["near, overlap"].tolist() == found["joint, overlap"].tolist() == [0.0]
    assert found["matched neighbours"].tolist() == [0.0]
