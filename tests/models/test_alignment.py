"""IsoRank and FINAL against their equations, written out pair by pair; and what all alignment models share."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from mpxgat import system
from mpxgat.errors import GraphError, InputError, SettingError, TrainingError
from mpxgat.graph import Features
from mpxgat.models import alignment, load_model, make_model
from mpxgat.models.alignment import LayerPair
from mpxgat.synthetic import social
from tests.examples import graph_of, random_graph
from tests.matching.doubles import check_matcher

ALIGNMENT = ("isorank", "final", "parrot")
every_model = pytest.mark.parametrize("name", ALIGNMENT)


def two_layers(people=14):
    return random_graph(3, people=people, layers=2, known=0.4)


def with_features(graph, width=3):
    values = np.random.default_rng(0).normal(0.5, 1, size=(graph.n_nodes, width))
    values[1] = 0  # a node of which nothing is known
    return replace(graph, vertical_features=Features(tuple("pqrstu"[:width]), values))


def dense(pair):
    prior = np.zeros(pair.shape)
    prior[pair.at_anchors] = 1 / len(pair.anchors)
    return pair.first.toarray(), pair.second.toarray(), prior


def isorank_by_loops(pair, alpha, iterations):
    first, second, prior = dense(pair)
    similarity = prior
    for _ in range(iterations):
        new = np.zeros(pair.shape)
        for i, j in product(*map(range, pair.shape)):
            for u, v in product(np.flatnonzero(first[i]), np.flatnonzero(second[j])):
                new[i, j] += alpha * similarity[u, v] / (first[u].sum() * second[v].sum())
        similarity = new + (1 - alpha) * prior
    return similarity


def final_by_kronecker(pair, alpha):
    """The closed form (1 - alpha) (I - alpha W)^-1 h, over all pairs of nodes."""
    first, second, prior = dense(pair)
    alike = np.ones(prior.size)
    if pair.features is not None:
        one, other = pair.features
        for p, (i, j) in enumerate(product(*map(range, pair.shape))):
            lengths = np.linalg.norm(one[i]) * np.linalg.norm(other[j])
            alike[p] = max(one[i] @ other[j] / lengths, 0) if lengths else 0
    weighted = np.diag(alike) @ np.kron(first, second) @ np.diag(alike)
    degree = weighted.sum(axis=1)
    scale = np.diag([1 / np.sqrt(each) if each else 0 for each in degree])
    closed = np.linalg.solve(np.eye(prior.size) - alpha * scale @ weighted @ scale, (1 - alpha) * prior.ravel())
    return closed.reshape(pair.shape)


@pytest.mark.parametrize("iterations", [1, 4])
def test_isorank_is_its_equation(iterations):
    graph = two_layers()
    model = make_model("isorank", alpha=0.7, iterations=iterations).fit(graph)
    expected = isorank_by_loops(LayerPair.of(graph, 0, 1), 0.7, iterations)
    np.testing.assert_allclose(model.similarity("L0", "L1"), expected, rtol=1e-6)
    assert (expected > 0).sum() > 5


@pytest.mark.parametrize("graph", [two_layers(), with_features(two_layers())], ids=["FINAL-P", "FINAL-N"])
def test_final_reaches_its_closed_form(graph):
    model = make_model("final", alpha=0.6, iterations=60).fit(graph)
    expected = final_by_kronecker(LayerPair.of(graph, 0, 1), 0.6)
    np.testing.assert_allclose(model.similarity("L0", "L1"), expected, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("name", ["final", "parrot"])
def test_features_count(name):
    graph = two_layers()
    plain, told = (make_model(name).fit(each).similarity("L0", "L1") for each in (graph, with_features(graph)))
    assert not np.allclose(plain, told, rtol=1e-2)


def test_horizontal_and_vertical_features_are_read_together():
    graph = with_features(two_layers(), width=4)
    values = graph.vertical_features.values
    apart = replace(
        graph,
        horizontal_features=Features(("p",), values[:, :1]),
        vertical_features=Features(tuple("qrs"), values[:, 1:]),
    )
    pairs = [LayerPair.of(each, 0, 1) for each in (graph, apart)]
    assert all(np.array_equal(*both) for both in zip(pairs[0].features, pairs[1].features, strict=True))


def test_anchors_are_known_through_a_third_layer_too():
    graph = graph_of("x.c z.c", "x.a y.b", "y.b z.a", "x.a x.c", "z.a z.c", "z.d z.c")
    pair = LayerPair.of(graph, graph.layer_index("x"), graph.layer_index("z"))
    assert sorted(pair.anchors.tolist()) == [[0, 0], [1, 1]]  # a and a by way of b, c and c


@every_model
def test_each_pair_of_layers_is_aligned_by_itself(name):
    graph = random_graph(5, people=20, layers=3)
    model = make_model(name).fit(graph)
    two = graph.subgraph(np.flatnonzero(graph.node_layer < 2))  # units that only meet in the third layer remain anchors
    chained = LayerPair.of(graph, 0, 1).anchors
    direct = LayerPair.of(two, 0, 1).anchors
    assert len(chained) > len(direct)
    linked = graph_of(*_links(graph, two, chained))
    np.testing.assert_allclose(
        model.similarity("L0", "L1"), make_model(name).fit(linked).similarity("L0", "L1"), rtol=1e-5
    )


def _links(graph, two, anchors):
    names = [f"{node.layer}.{node.id}" for node in two.nodes]
    start = two.layer_start
    yield from (f"{name} {name}" for name in names)  # loops declare nodes
    yield from (f"{names[u]} {names[v]}" for u, v in two.intra)
    yield from (f"{names[u]} {names[start[1] + v]}" for u, v in anchors)


@every_model
def test_a_pair_scores_the_same_from_both_sides_and_nothing_within_a_layer(name):
    graph = random_graph(6, people=20)
    model = make_model(name).fit(graph)
    pairs = np.array(list(product(graph.layer_nodes(2), graph.layer_nodes(0))))
    assert np.array_equal(model.score(pairs), model.score(pairs[:, ::-1]))
    assert model.score(pairs).any()
    assert np.array_equal(model.similarity("L0", "L2"), model.similarity("L2", "L0").T)
    assert not model.score_block(graph.layer_nodes(0), graph.layer_nodes(0)).any()
    with pytest.raises(GraphError, match="the layer 'L0' twice"):
        model.similarity("L0", "L0")


@every_model
def test_precision_and_parts_change_nothing_but_rounding(name, monkeypatch):
    graph = with_features(two_layers(30))
    expected = make_model(name).fit(graph).similarity("L0", "L1")
    monkeypatch.setattr(alignment, "_CELLS_AT_ONCE", 50)
    np.testing.assert_array_equal(make_model(name).fit(graph).similarity("L0", "L1"), expected)
    monkeypatch.setattr(alignment, "_MOST_DOUBLE", 0)
    assert LayerPair.of(graph, 0, 1).first.dtype == np.float32
    np.testing.assert_allclose(make_model(name).fit(graph).similarity("L0", "L1"), expected, rtol=1e-3, atol=1e-7)


@every_model
def test_known_counterparts_come_first(name):
    graph = two_layers(30)
    similarity = make_model(name).fit(graph).similarity("L0", "L1")
    first, second = LayerPair.of(graph, 0, 1).at_anchors
    assert (similarity[first].argmax(axis=1) == second).all()


@every_model
def test_too_large_layers_are_refused(name, monkeypatch):
    monkeypatch.setattr(system, "available_bytes", lambda: 1000)
    with pytest.raises(TrainingError, match=r"layers of \d+ and \d+ nodes, would need .* evidence and rules"):
        make_model(name).fit(two_layers())


def test_no_known_counterpart_gives_no_opinion():
    graph = graph_of("x.a x.b", "x.b x.c", "y.a y.b")
    assert not make_model("isorank").fit(graph).similarity("x", "y").any()
    assert not make_model("final").fit(graph).similarity("x", "y").any()


@every_model
def test_a_file_with_other_similarities_is_damaged(name, tmp_path):
    model = make_model(name).fit(two_layers())
    model._similarity[0, 1] = model._similarity[0, 1][1:]
    with pytest.raises(InputError, match=r"similarities of layers 0 and 1 .* expected finite float32"):
        load_model(model.save(tmp_path / "model.safetensors"))


# ---- matching ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=ALIGNMENT)
def matcher(request):
    graph = social(people=200, layers=3, seed=5, known=0.6, mean_degree=10)
    return make_model(request.param, seed=1).fit(graph)


def test_the_contract_of_matchers_is_kept(matcher):
    check_matcher(matcher)
    found = matcher.candidates(0, 1, 2)
    assert len(found) > 100
    assert found.probability.max() > 2 * found.probability.mean()


def test_saved_and_loaded_it_matches_the_same(matcher, tmp_path):
    again = load_model(matcher.save(tmp_path / "model.safetensors"))
    found, expected = (each.match("friends", "messages", k=2).to_table() for each in (again, matcher))
    assert found.equals(expected)
    assert again.match_all(0.3).to_table().equals(matcher.match_all(0.3).to_table())


def test_the_reason_of_a_pair_names_its_similarity_and_ranks(matcher):
    first, second = matcher.candidates(0, 2, 1).pairs[0].tolist()
    (reason,) = matcher.explain(first, second).reasons
    own = matcher.score([[first, second]])[0]
    assert re.match(rf"{own:.3g}, rank \d+ of \d+ and, the other way, \d+ of \d+; best rival", reason.finding)
    with pytest.raises(SettingError, match="the nodes 0 and 1 are in one layer"):
        matcher.explain(0, 1)


def test_matches_are_not_learned_before_they_are_asked_for(monkeypatch):
    graph = social(people=200, layers=2, seed=5, known=0.6)
    model = make_model("isorank").fit(graph)
    seen = []
    learn = alignment.IsoRank._learn
    monkeypatch.setattr(
        alignment.IsoRank, "_learn", lambda self, *given: (seen.append(given[0]), learn(self, *given))[1]
    )
    model.score(graph.inter)
    assert not seen
    matches = model.match_all(0.2)
    assert len(seen) == 5
    assert all(0 < len(hidden.inter) < len(graph.inter) for hidden in seen)
    assert model.match_all(0.2).to_table().equals(matches.to_table())
    assert len(seen) == 5
    model.fit(two_layers())  # another graph, of which too little is known
    assert not len(model.candidates(0, 1, 5))


@every_model
@pytest.mark.parametrize("graph", [two_layers(), random_graph(8).subgraph(np.arange(1))], ids=["few", "one node"])
def test_too_few_known_links_are_told(name, graph):
    model = make_model(name).fit(graph)
    found = model.candidates(0, 1, 5)
    assert not len(found)
    assert found.silence == (
        f"{len(graph.inter)} links between layers are known, too few to learn who is who: nothing is matched"
    )
    if graph.n_nodes > 1:
        (reason,) = model.explain(0, graph.n_nodes - 1).reasons
        assert reason.label == "too few known links"


@pytest.mark.parametrize("name", ["isorank", "final"])
@pytest.mark.parametrize("setting", [{"alpha": 1.0}, {"alpha": -0.1}, {"iterations": 0}])
def test_settings_out_of_range_are_refused(name, setting):
    with pytest.raises(SettingError, match=next(iter(setting))):
        make_model(name, **setting)
