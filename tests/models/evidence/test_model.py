import re
from dataclasses import asdict, replace
from inspect import signature

import numpy as np
import pytest
import torch

from mpxgat import splits
from mpxgat.build import with_apart, with_inter_links
from mpxgat.errors import InputError, SettingError
from mpxgat.evaluation import evaluate, rank_counterparts
from mpxgat.graph import Features, describe
from mpxgat.io.arrays import read_arrays, write_arrays
from mpxgat.matching import with_reasons
from mpxgat.matching.match import layer_pairs
from mpxgat.metrics import auc
from mpxgat.models import load_model, make_model
from mpxgat.models.base import KIND, STATE
from mpxgat.models.evidence import Evidence, EvidenceSettings, inter_features, surroundings, walks
from mpxgat.models.evidence import rounds as evidence_rounds
from mpxgat.models.evidence import training as evidence_learning
from mpxgat.models.evidence.features import PLAIN
from mpxgat.models.evidence.intra_features import IntraFeatures
from mpxgat.models.evidence.model import saved_details
from mpxgat.models.rules import MatchedNeighbours
from mpxgat.pairs import pair_keys
from mpxgat.synthetic import social, truth
from mpxgat.training.parallel import Processes, Session
from tests.examples import graph_of, random_graph
from tests.matching.doubles import check_matcher, is_open
from tests.models.evidence.graphs import copies_of, neighbours_of
from tests.threads import on_any_number_of_threads

QUICK = {"embeddings": "none", "rounds": 2, "splits": 2, "trees": 30}

pytestmark = pytest.mark.usefixtures("one_thread")


def fitted(graph, *, seed=0, **settings):
    return Evidence(seed=seed, **(QUICK | settings)).fit(graph)


def planted(seed=7, **settings):
    return social(**({"people": 300, "layers": 3, "seed": seed, "overlap": 0.7} | settings))


@pytest.fixture(scope="module")
def split():
    return splits.held_out_units(planted(people=400), 100)


@pytest.fixture(scope="module")
def model(split):
    return fitted(split.train, trees=40)


@pytest.fixture(scope="module")
def smaller_split():
    return splits.held_out_units(planted(people=200), 100)


@pytest.fixture(scope="module")
def with_embeddings(smaller_split):
    return fitted(smaller_split.train, embeddings="anchored")


@pytest.fixture(params=["model", "with_embeddings"])
def any_model(request):
    return request.getfixturevalue(request.param)


def inter_pairs(graph, step=1):
    return np.argwhere(graph.node_layer[:, None] < graph.node_layer)[::step]


def some_pairs(graph, n=4000):
    pairs = np.random.default_rng(1).integers(graph.n_nodes, size=(n, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]]


def hidden_truth(graph):
    """True links of a planted network that its known links do not tell."""
    links = truth(graph)
    return links[graph.unit[links[:, 0]] != graph.unit[links[:, 1]]]


def same_matches(one, other, threshold=0.5):
    return one.match_all(threshold).to_table().equals(other.match_all(threshold).to_table())


# ---- what it finds ---------------------------------------------------------------------------------------


def test_it_finds_hidden_links_of_both_kinds(any_model, split, smaller_split):
    judged = next(each for each in (split, smaller_split) if each.train is any_model.graph)
    found, plain = evaluate(any_model, judged), evaluate(MatchedNeighbours().fit(judged.train), judged)
    assert found.inter.values["auc"] > max(0.95, plain.inter.values["auc"])
    assert found.inter.values["hits@1"] > plain.inter.values["hits@1"] + 0.1
    assert found.inter.values["mrr"] > plain.inter.values["mrr"] + 0.1
    assert found.intra.values["auc"] > 0.8


def test_it_finds_hidden_links_of_nodes_whose_other_copies_are_known():
    split = splits.marked_nodes(planted(8), 100)
    found, plain = (evaluate(each, split) for each in (fitted(split.train), MatchedNeighbours().fit(split.train)))
    assert found.inter.values["auc"] > 0.99
    assert found.inter.values["auc_hard"] > 0.9
    assert found.inter.values["hits@1"] > plain.inter.values["hits@1"] + 0.2
    assert found.intra.values["auc"] > 0.85


def check_decided(model):
    graph = model.graph
    pairs = inter_pairs(graph, step=7)
    pairs = np.concatenate([pairs, graph.inter])
    score = model.score(pairs)
    known = graph.unit[pairs[:, 0]] == graph.unit[pairs[:, 1]]
    is_free = np.array([is_open(graph, *pair) for pair in pairs.tolist()])
    assert known.any()
    assert (~known & ~is_free).any()
    assert score[known].min() > score[~known].max()
    assert score[~known & ~is_free].max() < score[is_free].min()


def test_vectors_are_those_of_the_embeddings(model, with_embeddings):
    horizontal, vertical = with_embeddings.embeddings()
    assert horizontal.dtype == vertical.dtype == np.float32
    assert horizontal is with_embeddings.horizontal is with_embeddings.anchored.horizontal
    assert vertical is with_embeddings.vertical is with_embeddings.anchored.vertical
    assert len(horizontal) == with_embeddings.graph.n_nodes
    with pytest.raises(SettingError, match="embeddings none has no vectors"):
        model.embeddings()
    with pytest.raises(SettingError, match="not fitted"):
        Evidence().embeddings()


def test_known_links_score_above_and_forbidden_pairs_below_everything():
    graph = random_graph(21, people=40, known=0.6)
    model = fitted(graph)
    assert len(model.candidates(0, 1, 1))  # so it has learned
    check_decided(model)


def test_a_score_does_not_depend_on_which_node_comes_first(model):
    pairs = some_pairs(model.graph)
    assert np.abs(model.score(pairs) - model.score(pairs[:, ::-1])).max() < 1e-9


@pytest.mark.parametrize(("rows", "cols"), [(2, 0), (0, 2), (0, 0)])
def test_a_block_without_rows_or_columns_is_empty(model, rows, cols):
    found = model.score_block(model.graph.layer_nodes(0)[:rows], model.graph.layer_nodes(1)[:cols])
    assert found.shape == (rows, cols)


# ---- how it learns ---------------------------------------------------------------------------------------


class Seen:
    """Which pairs of which graph features were computed of."""

    def __init__(self, monkeypatch, features):
        self.asked = []
        asked = self.asked

        class Spy(features):
            def __init__(self, graph, *others, **named):
                super().__init__(graph, *others, **named)
                self.seen = graph

            def columns(self, pairs):
                asked.append((self.seen, np.stack([pairs.first, pairs.second], axis=1)))
                return super().columns(pairs)

        monkeypatch.setattr(evidence_learning, features.__name__, Spy)


def test_no_intra_link_is_evidence_for_itself(monkeypatch):
    graph = random_graph(23, people=80)
    seen = Seen(monkeypatch, IntraFeatures)
    fitted(graph, hidden_intra=0.2)
    links = {tuple(pair) for pair in graph.intra.tolist()}
    assert seen.asked
    for hidden, pairs in seen.asked:
        asked = {tuple(sorted(pair)) for pair in pairs.tolist()}
        assert not asked & {tuple(pair) for pair in hidden.intra.tolist()}
        assert asked & links == links - {tuple(pair) for pair in hidden.intra.tolist()}
        assert (graph.node_layer[pairs[:, 0]] == graph.node_layer[pairs[:, 1]]).all()


@on_any_number_of_threads
def test_the_number_of_torchs_threads_does_not_matter(tmp_path):
    graph = planted(9)
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        try:
            found.append(fitted(graph).save(tmp_path / f"{threads}.safetensors").read_bytes())
        finally:
            torch.set_num_threads(1)
    assert found[0] == found[1]


def test_splits_in_parallel_processes_give_the_same_bytes(tmp_path):
    graph = planted(9, people=150)
    settings = QUICK | {"embeddings": "anchored", "rounds": 1}
    alone = fitted(graph, **settings).save(tmp_path / "alone.safetensors")
    made = make_model("evidence", seed=0, **settings)
    beside = made.fit(graph, Session(engine=Processes(2))).save(tmp_path / "beside.safetensors")
    assert alone.read_bytes() == beside.read_bytes()


def test_it_says_nothing_while_it_works(capfd, tmp_path):
    for graph in (random_graph(24), graph_of("x.a x.b", "y.a y.b", "x.a y.a")):
        model = fitted(graph)
        model.match_all()
        load_model(model.save(tmp_path / "model.safetensors"))
    assert capfd.readouterr() == ("", "")


# ---- matches ---------------------------------------------------------------------------------------------


def test_it_keeps_the_contract_of_matchers(any_model):
    check_matcher(any_model)


def test_exclusive_candidates_of_a_node_sum_to_one_at_most(any_model):
    """With all candidates, from both sides and towards every layer: also in a graph that it did not learn on."""
    graph = any_model.graph
    fewer = any_model.extend(graph.without(inter=graph.inter[::2]))
    for model in (any_model, fewer):
        for a, b in layer_pairs(graph):
            found = model.candidates(a, b, 10**6)
            assert len(found)
            assert ((found.probability >= 0) & (found.probability <= 1)).all()
            for side in (0, 1):
                assert np.bincount(found.pairs[:, side], found.probability).max() <= 1 + 1e-9


def test_what_is_among_the_candidates_is_measured_on_links_hidden_again(split, model, tmp_path):
    wanted = {tuple(sorted(pair)) for pair in split.inter.positives.tolist()}
    found = [model.candidates(a, b, 10**6).pairs.tolist() for a, b in layer_pairs(model.graph)]
    recall = len(wanted & {tuple(pair) for pairs in found for pair in pairs}) / len(wanted)
    assert model.candidate_recall == pytest.approx(recall, abs=0.15)
    assert model.training_summary()["candidate_recall"] == model.candidate_recall
    assert load_model(model.save(tmp_path / "model.safetensors")).candidate_recall == model.candidate_recall
    assert model.extend(model.graph).candidate_recall == model.candidate_recall


@pytest.mark.parametrize("k", [1, 2])
def test_candidates_are_the_best_of_every_node_from_both_sides(model, k):
    every = model.candidates(0, 1, 10_000)
    chance = {tuple(pair): p for pair, p in zip(every.pairs.tolist(), every.probability.tolist(), strict=True)}
    found = model.candidates(0, 1, k)
    asked = {tuple(pair) for pair in found.pairs.tolist()}
    assert asked <= chance.keys()
    assert (np.diff(found.probability) <= 0).all()
    for side in (0, 1):
        for node in {pair[side] for pair in chance}:
            best = sorted((p for pair, p in chance.items() if pair[side] == node), reverse=True)[:k]
            mine = sorted((chance[pair] for pair in asked if pair[side] == node), reverse=True)
            assert mine[:k] == best
    needless = [
        pair
        for pair in asked
        if all(
            sum(other[side] == pair[side] and chance[other] > chance[pair] for other in asked) >= k for side in (0, 1)
        )
    ]
    assert not needless


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.9])
def test_matches_are_unique_and_transitive_and_keep_known_links(any_model, threshold):
    graph = any_model.graph
    matches = any_model.match_all(threshold)
    # This refuses links that give a unit two nodes in a layer.
    unit = with_inter_links(graph, np.concatenate([graph.inter, matches.pairs])).unit
    assert (unit[graph.inter[:, 0]] == unit[graph.inter[:, 1]]).all()
    same = np.argwhere(np.triu(unit[:, None] == unit, k=1))
    new = same[graph.unit[same[:, 0]] != graph.unit[same[:, 1]]]
    assert {tuple(pair) for pair in new.tolist()} == {tuple(pair) for pair in matches.pairs.tolist()}
    assert (matches.probability >= threshold).all()
    assert len(matches) or threshold == 0.9


def test_likely_matches_are_mostly_right(split):
    model = fitted(split.train, trees=80, splits=4)
    matches = model.match_all(0.6)
    right = {tuple(pair) for pair in truth(split.train).tolist()}
    assert len(matches) > 50
    assert np.mean([tuple(pair) in right for pair in matches.pairs.tolist()]) > 0.6


def test_match_lists_candidates_of_one_layer_in_another(model):
    matches = model.match("work", "friends", k=2)
    assert (model.graph.node_layer[matches.pairs] == (1, 0)).all()
    assert matches.rank[~matches.chosen].max() == 2
    assert len(np.unique(matches.pairs[matches.chosen])) == 2 * matches.chosen.sum()


def test_reasons_add_up_and_name_shared_neighbours(model):
    graph = model.graph
    near, copies = neighbours_of(graph), copies_of(graph)
    for first, second in model.candidates(0, 1, 1).pairs[:10].tolist():
        why = model.explain(first, second)
        total = why.base + sum(reason.contribution for reason in why.reasons)
        assert total == pytest.approx(why.score)
        assert 1 / (1 + np.exp(-why.score)) == pytest.approx(why.probability)
        finding = next(reason.finding for reason in why.reasons if reason.label == "shared neighbours")
        shared = sorted(min(copies[x]) for x in near[first] if set(copies[x]) & near[second])
        assert finding.startswith(f"{len(shared)} known to be shared")
        assert all(describe(graph.nodes[node]) in finding for node in shared[:5])
        assert (f" and {len(shared) - 5} more" in finding) == (len(shared) > 5)
        degrees = next(reason.finding for reason in why.reasons if reason.label == "degrees")
        assert degrees == f"{len(near[first])} and {len(near[second])} links"
        assert all(reason.finding for reason in why.reasons)


def test_any_pair_of_two_layers_can_be_explained(model):
    for first, second in inter_pairs(model.graph, step=9973).tolist():
        why = model.explain(first, second)
        assert 0 < why.probability < 1
        assert why.base + sum(reason.contribution for reason in why.reasons) == pytest.approx(why.score)


def test_a_pair_that_is_no_candidate_competes_with_those_of_its_nodes(model):
    """A pair nobody would think of is less probable than the best of its two nodes."""
    best = model.candidates(0, 1, 1)
    offered = {tuple(pair) for pair in model.candidates(0, 1, 10_000).pairs.tolist()}
    (first, second), chance = next(
        ((best.pairs[0, 0].item(), other.item()), chance)
        for other, chance in zip(best.pairs[1:, 1], best.probability[1:], strict=True)
        if (best.pairs[0, 0].item(), other.item()) not in offered
    )
    assert model.explain(first, second).probability < chance


def test_an_explanation_does_not_depend_on_which_node_comes_first(model):
    for first, second in model.candidates(0, 1, 2).pairs[::25].tolist():
        one, other = model.explain(first, second), model.explain(second, first)
        assert one.probability == pytest.approx(other.probability)


def test_reasons_in_words(model):
    table = with_reasons(model, model.match_all(0.6).head(5))
    words = table.column("reasons").to_pylist()
    assert len(words) == 5
    assert any("known to be shared" in text for text in words)


# ---- input it must bear ----------------------------------------------------------------------------------


@pytest.mark.parametrize("links", [0, 1, 5])
def test_too_few_known_links_leave_the_rules(links):
    whole = planted(3, people=120)
    graph = with_inter_links(whole, whole.inter[np.linspace(0, whole.n_inter - 1, links, dtype=int)])
    model = fitted(graph)
    assert np.isfinite(model.score(some_pairs(graph))).all()
    check_matcher(model)
    matches = model.match_all(0.5)
    assert len(matches) == 0
    assert all(outcome.no_candidate == outcome.open_nodes for outcome in matches.outcomes)
    if links:
        check_decided(model)


def test_a_model_that_could_not_learn_knows_no_odds():
    """It says nothing about a pair: neither that it is sure, nor a score that is at odds with its probability."""
    whole = planted(3, people=60)
    graph = with_inter_links(whole, whole.inter[:3])
    why = fitted(graph).explain(0, graph.n_nodes - 1)
    assert why.base + sum(reason.contribution for reason in why.reasons) == pytest.approx(why.score)
    assert 1 / (1 + np.exp(-why.score)) == pytest.approx(why.probability, abs=1e-6)


def test_a_layer_without_known_links_is_left_alone_and_told():
    whole = planted(3)
    apart = (whole.node_layer[whole.inter] != 2).all(axis=1)
    graph = with_inter_links(whole, whole.inter[apart][: apart.sum() * 3 // 4])
    model = fitted(graph)
    check_matcher(model)
    matches = model.match_all(0.3)
    assert len(matches) > 0
    assert (graph.node_layer[matches.pairs] != 2).all()
    assert any("'messages' has no known link to any other layer" in note for note in matches.notes)
    assert len(model.candidates(0, 2, 5)) == len(model.candidates(1, 2, 5)) == 0
    assert np.isfinite(model.score(inter_pairs(graph, step=53))).all()


def test_few_known_links_are_enough_to_order_pairs():
    graph = social(people=1200, layers=2, seed=3, overlap=0.8, known=0.05, presence=0.9)
    assert graph.n_inter < 60
    model = fitted(graph, splits=4, trees=20)
    positives = hidden_truth(graph)
    assert auc(model.score(positives), model.score(inter_pairs(graph, step=331))) > 0.85
    assert len(model.candidates(0, 1, 1)) > 0  # it has learned, and does not just follow the rules
    check_matcher(model, k=1)


def test_two_layers_with_an_anchor_list():
    graph = social(people=400, layers=2, seed=4, overlap=0.8, known=0.4, presence=0.9)
    model = fitted(graph, splits=4)
    check_matcher(model)
    matches = model.match_all(0.5)
    right = {tuple(pair) for pair in hidden_truth(graph).tolist()}
    found = sum(tuple(pair) in right for pair in matches.pairs.tolist())
    assert found > 0.6 * len(matches)
    assert found > 0.2 * len(right)


def test_features_are_no_trouble():
    graph = planted(5, people=150, layers=2)
    values = np.random.default_rng(0).normal(size=(graph.n_nodes, 1))
    featured = replace(graph, vertical_features=Features(("age",), values))
    model = fitted(featured, embeddings="anchored", trees=5)
    check_matcher(model, k=1)
    assert np.isfinite(model.score(some_pairs(featured))).all()
    with pytest.raises(SettingError, match="features"):
        model.extend(graph)


@pytest.mark.parametrize("nodes", [0, 1])
def test_hardly_any_node_is_no_trouble(nodes):
    graph = random_graph(8).subgraph(np.arange(nodes))
    assert fitted(graph).score(np.empty((0, 2), dtype=int)).shape == (0,)


def test_layers_without_a_non_link_or_without_a_link_are_no_trouble():
    complete = [f"{layer}.{i:02d} {layer}.{j:02d}" for layer in "xy" for i in range(12) for j in range(i)]
    empty = [f"{layer}.{i:02d} {layer}.{i:02d}" for layer in "xy" for i in range(50)]
    anchors = [f"x.{i:02d} y.{i:02d}" for i in range(10)]
    for links in (complete + anchors, empty + anchors):
        graph = graph_of(*links, layers="xy")
        model = fitted(graph, splits=8, hidden_intra=0.3)
        assert np.isfinite(model.score(some_pairs(graph))).all()
        check_matcher(model)


# ---- new nodes -------------------------------------------------------------------------------------------


def links_of(graph, prefix=""):
    """As `graph_of` reads them; nodes that have no link as links with themselves."""
    ends = [f"{layer}.{prefix}{name}" for name, layer in graph.nodes]
    links = [f"{ends[u]} {ends[v]}" for u, v in graph.intra.tolist() + graph.inter.tolist()]
    return [f"{end} {end}" for end in ends] + links


def test_extended_by_nothing_it_is_the_same(any_model):
    model = any_model
    extended = model.extend(model.graph)
    assert extended is not model
    pairs = some_pairs(model.graph)
    assert np.array_equal(extended.score(pairs), model.score(pairs))
    assert same_matches(extended, model)


def test_pairs_far_from_what_is_new_keep_their_inter_scores(any_model):
    model = any_model
    old = model.graph
    further = planted(6, people=60, known=0.5)
    new = graph_of(*links_of(old), *links_of(further, "0"), layers=old.layers)
    place = new.positions(old.nodes)
    pairs = inter_pairs(old, step=29)
    before = model.score(pairs)
    extended = model.extend(new)
    assert extended.graph is new
    assert model.graph is old
    assert np.array_equal(model.score(pairs), before)
    assert np.abs(extended.score(place[pairs]) - before).max() < 1e-6
    # Strangers with as little in common may come before the third best, so all of theirs are asked for.
    mine, theirs = model.candidates(0, 1, 3), extended.candidates(0, 1, 10**6)
    chances = dict(zip(map(tuple, theirs.pairs.tolist()), theirs.probability.tolist(), strict=True))
    found = [chances[tuple(pair)] for pair in place[mine.pairs].tolist()]
    assert found == pytest.approx(mine.probability.tolist(), abs=1e-6)


def test_new_units_are_recognised_without_learning_again(split):
    marked = split.inter.negatives.nodes
    graph = split.train
    old = graph.subgraph(np.setdiff1d(np.arange(graph.n_nodes), marked))
    extended = fitted(old).extend(graph)
    check_matcher(extended)
    found = evaluate(extended, split)
    assert found.inter.values["auc"] > 0.95
    plain = evaluate(MatchedNeighbours().fit(graph), split)
    assert found.inter.values["hits@1"] > plain.inter.values["hits@1"]


def test_a_link_that_is_new_is_known_from_then_on(model):
    graph = model.graph
    pair = model.candidates(0, 1, 1).pairs[0]
    extended = model.extend(with_inter_links(graph, np.concatenate([graph.inter, pair[None]])))
    assert extended.score(pair) > model.score(pair) + 100
    assert pair.tolist() not in extended.candidates(0, 1, 5).pairs.tolist()


def test_an_extended_model_can_be_saved_and_extended_again(model, tmp_path):
    rest = model.extend(model.graph.without(inter=model.graph.inter[:50]))
    loaded = load_model(rest.save(tmp_path / "model.safetensors"))
    assert same_matches(loaded, rest)
    assert same_matches(loaded.extend(model.graph), model)


def test_other_layers_are_refused(model):
    graph = model.graph
    for other in (graph.subgraph(graph.node_layer < 2), replace(graph, layers=("a", "b", "c"))):
        with pytest.raises(SettingError, match="expected those that were learned on: 'friends', 'work', 'messages'"):
            model.extend(other)


# ---- saving and settings ---------------------------------------------------------------------------------


def test_a_loaded_model_matches_and_explains_the_same(any_model, tmp_path):
    model = any_model
    loaded = load_model(model.save(tmp_path / "model.safetensors"))
    assert same_matches(loaded, model)
    for layers in ((0, 1), (1, 2)):
        one, other = loaded.candidates(*layers, 3), model.candidates(*layers, 3)
        assert np.array_equal(one.pairs, other.pairs)
        assert np.array_equal(one.probability, other.probability)
    pair = model.candidates(0, 1, 1).pairs[0].tolist()
    assert loaded.explain(*pair) == model.explain(*pair)


@pytest.mark.parametrize(
    "part",
    [
        "prior",
        "round.0.scale",
        "round.0.weight",
        "round.1.base",
        "intra.trees",
        "joint.pairs",
        "joint.log_odds",
    ],
)
def test_a_file_that_lacks_a_part_is_told(model, part, tmp_path):
    path = model.save(tmp_path / "model.safetensors")
    header, arrays = read_arrays(path, KIND)
    without = {name: array for name, array in arrays.items() if name != STATE + part}
    for damaged in (without, without | {STATE + part: arrays[STATE + part][:0]}):
        write_arrays(path, KIND, header, damaged)
        with pytest.raises(InputError):
            load_model(path)


def rewritten(model, path, change):
    """The model's file, its header changed."""
    header, arrays = read_arrays(model.save(path), KIND)
    change(header["notes"])
    write_arrays(path, KIND, header, arrays)
    return path


def swap(names, one, other):
    names[one], names[other] = names[other], names[one]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: swap(made["columns"]["inter"], 0, 1), "column 1 of the inter classifier is 'near, rank among"),
        (lambda made: swap(made["columns"]["intra"], 2, 4), "column 3 of the intra classifier is 'paths of three"),
        (lambda made: made["columns"]["intra"].pop(), r"the intra classifier has \d+ columns, this version computes"),
        (lambda made: made["constants"].update({"walks.decay": 0.5}), "'walks.decay' = '0.5', this version has 0.6"),
        (lambda made: made["constants"].pop("walks.decay"), "'walks.decay' = 'None', this version has 0.6"),
        (lambda made: made["constants"].update({"other": 1}), "'other' = '1', this version has None"),
        (lambda made: made["versions"].update({"mpxgat": "0.0.1"}), "made with mpxgat '0.0.1', this is mpxgat"),
        (lambda made: made["versions"].update({"lightgbm": "3.3.5"}), "made with lightgbm '3.3.5', this is lightgbm 4"),
        (lambda made: made["versions"].update({"scipy": "0.19.1"}), "made with scipy '0.19.1', this is scipy 1"),
        (lambda made: made.pop("versions"), "a damaged model file"),
    ],
)
def test_what_was_made_otherwise_is_refused_by_name(model, change, message, tmp_path):
    path = rewritten(model, tmp_path / "model.safetensors", lambda notes: change(notes["made_with"]))
    with pytest.raises(InputError, match=message):
        load_model(path)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (walks, "DECAY"),
        (walks, "LARGEST"),
        (inter_features, "KEPT"),
        (inter_features, "_BEST"),
        (inter_features, "_CANDIDATES"),
        (surroundings, "_SHARED"),
    ],
)
def test_a_version_with_another_constant_does_not_load_it(model, module, name, tmp_path, monkeypatch):
    path = model.save(tmp_path / "model.safetensors")
    monkeypatch.setattr(
        module, name, getattr(module, name) / 2 if name in ("DECAY", "_SHARED") else getattr(module, name) - 1
    )
    with pytest.raises(InputError, match=f"this version has {getattr(module, name)}; train the model again"):
        load_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda notes: notes.update(candidate_recall=7.5), "candidate_recall is '7.5', expected a number from 0 to 1"),
        (lambda notes: notes.update(candidate_recall=-0.1), "candidate_recall is '-0.1'"),
        (lambda notes: notes.update(candidate_recall="all"), "candidate_recall is 'all'"),
        (lambda notes: notes.update(candidate_recall=True), "candidate_recall is 'True'"),
        (lambda notes: notes.update(validation=3), "a damaged model file"),
        (lambda notes: notes["validation"].update(inter={}), "validation.inter has nothing, expected evidence, rules"),
        (lambda notes: notes["validation"].update(inter=[]), "validation.inter has nothing"),
        (lambda notes: notes["validation"].update(inter=4), "a damaged model file"),
        (lambda notes: notes["validation"].update(other={}), "validation of 'other' links"),
        (lambda notes: notes["validation"]["inter"].update(rules=1.5), "validation.inter.rules is '1.5'"),
        (lambda notes: notes["validation"]["inter"].update(rules=float("nan")), "validation.inter.rules is 'nan'"),
        (lambda notes: notes["validation"]["intra"].update(magic=0.5), "validation.intra has evidence, rules, magic,"),
    ],
)
def test_numbers_out_of_bounds_are_told(model, change, message, tmp_path):
    path = rewritten(model, tmp_path / "model.safetensors", change)
    with pytest.raises(InputError, match=message):
        load_model(path)


def test_classifiers_of_another_size_are_told(model, tmp_path):
    path = model.save(tmp_path / "model.safetensors")
    header, arrays = read_arrays(path, KIND)
    fewer = header | {"settings": header["settings"] | {"trees": 10}}
    write_arrays(path, KIND, fewer, arrays)
    with pytest.raises(InputError, match="an intra classifier of 60 trees, expected at most 15"):
        load_model(path)
    first = f"{STATE}round.0."
    fewer = {name: arrays[first + name][:count] for name, count in (("size", 4), ("mean", 8), ("weight", 8))}
    write_arrays(path, KIND, header, arrays | {first + name: array for name, array in fewer.items()})
    with pytest.raises(InputError, match=r"an inter classifier of 4 columns, expected \d+"):
        load_model(path)
    write_arrays(path, KIND, header, {name: array for name, array in arrays.items() if "joint" not in name})
    with pytest.raises(InputError, match="rounds and what they found go together"):
        load_model(path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"colour": "red"}, "no setting 'colour'"),
        ({"embeddings": "node2vec"}, "embeddings is 'node2vec', expected anchored or none"),
        ({"splits": 0}, "splits is 0"),
        ({"rounds": 0}, "rounds is 0"),
        ({"rounds": 101}, "rounds is 101, expected at most 100"),
        ({"detached": -0.1}, r"detached is -0\.1"),
        ({"detached": 2}, "detached is 2"),
        ({"hidden_intra": float("nan")}, "hidden_intra is nan"),
        ({"hidden_inter": 1.5}, r"hidden_inter is 1\.5"),
        ({"non_links": 0}, "non_links is 0"),
        ({"trees": 0}, "trees is 0"),
        ({"trees": 2.5}, "trees is '2.5', expected a whole number"),
        ({"trees": 10**9}, "trees is 1000000000, expected at most 100000"),
        ({"leaves": 1}, "leaves is 1"),
        ({"leaves": 1_000_000}, "leaves is 1000000"),
        ({"candidates": 0}, "candidates is 0"),
        ({"dissolved": 0.2}, "no setting 'dissolved'"),
        ({"rate": 0.0}, r"rate is 0\.0"),
        ({"rate": -0.1}, r"rate is -0\.1"),
        ({"rate": float("nan")}, "rate is nan"),
        ({"rate": float("inf")}, "rate is inf"),
    ],
)
def test_settings_out_of_range_are_named(wrong, message):
    with pytest.raises(SettingError, match=message):
        EvidenceSettings.of(**wrong)


def test_the_signature_has_the_settings_and_their_defaults():
    parameters = dict(signature(Evidence).parameters)
    assert parameters.pop("seed").default == 0
    assert all(each.kind is each.KEYWORD_ONLY for each in parameters.values())
    assert {name: each.default for name, each in parameters.items()} == asdict(EvidenceSettings())
    assert parameters.pop("compare").annotation == "str | Sequence[str] | Mapping[str, Kind]"
    kept = {name: kind for name, kind in EvidenceSettings.__annotations__.items() if name != "compare"}
    assert {name: each.annotation for name, each in parameters.items()} == kept
    with pytest.raises(TypeError, match="colour"):
        Evidence(colour="red")


def test_settings_are_told():
    assert Evidence(seed=3, trees=7).settings == EvidenceSettings(trees=7).to_dict()


def test_too_few_known_links_are_said_to_be_too_few():
    whole = planted(3, people=60)
    model = fitted(with_inter_links(whole, whole.inter[:3]))
    assert (
        model.match_all().notes[0]
        == "3 links between layers are known, too few to learn who is who: nothing is matched"
    )


def test_nodes_of_one_layer_are_not_explained(model):
    with pytest.raises(SettingError, match="the nodes 0 and 1 are in one layer, expected nodes of two layers"):
        model.explain(0, 1)


def test_a_seed_below_zero_is_named():
    with pytest.raises(SettingError, match="seed is -1"):
        Evidence(seed=-1)


def test_a_large_network_is_learned_from_by_two_folds(monkeypatch):
    """What is plenty is made little, between layers and within."""
    graph = social(people=120, layers=3, seed=100, known=0.8)
    monkeypatch.setattr(evidence_rounds, "_PLENTY", 20)
    monkeypatch.setattr(evidence_learning, "_PLENTY", 20)
    seen = []
    fit = evidence_learning._fit
    monkeypatch.setattr(evidence_learning, "_fit", lambda folds, *rest: seen.append(folds) or fit(folds, *rest))
    views: list[int] = []
    make_views = evidence_rounds.make_views
    monkeypatch.setattr(evidence_rounds, "make_views", lambda *given: views.append(given[1]) or make_views(*given))
    model = Evidence(seed=100, embeddings="none", rounds=1, trees=20, hidden_intra=0.2).fit(graph)
    assert [[int(fold.label.sum()) for fold in folds] for folds in seen] == [[20], [20], [20], [20, 20]]
    assert views == [2]
    assert model.validation["inter"]["evidence"] > 0.85


# ---- direction and weights -------------------------------------------------------------------------------


def test_direction_tells_who_is_who():
    graph = social(people=600, layers=2, seed=104, directed=0.8)
    split = splits.make_split(graph, "anchors", seed=104, known=0.5)
    plain = replace(split, train=split.train.undirected())
    found = [rank_counterparts(fitted(each.train), each).measures()["mean"]["hits@1"] for each in (plain, split)]
    assert found[1] > found[0] + 0.05  # .447 and .583; .42 and .52 on average of three seeds


def strengths(graph):
    """A weight for every tie of two people, the same in all layers."""
    person = graph.attributes["person"].cast("int64").to_numpy()[graph.intra]
    low, high = np.sort(person, axis=1).T
    return np.random.default_rng(3).lognormal(0, 2, 1000)[(low * 7919 + high * 104729) % 1000]


@pytest.fixture(scope="module")
def followed():
    graph = planted(people=200, layers=2, directed=1.0, known=0.6)
    return fitted(replace(graph, intra_weight=strengths(graph)))


def test_what_was_learned_of_direction_and_weights_can_be_saved(followed, tmp_path):
    assert followed.training_summary()["used_between_layers"] == ["direction", "weights"]
    columns = followed._notes()["made_with"]["columns"]
    assert {"along the arcs", "followers", "near by weight"} <= set(columns["inter"])
    assert {"follow both", "common neighbours by weight"} <= set(columns["intra"])
    loaded = load_model(followed.save(tmp_path / "model.safetensors"))
    pairs = some_pairs(followed.graph)
    assert np.array_equal(loaded.score(pairs), followed.score(pairs))
    assert loaded.training_summary() == followed.training_summary()
    assert followed.unread(followed.graph) == []


def test_direction_and_weights_that_say_nothing_are_not_learned_from_between_layers(tmp_path):
    graph = social(people=300, layers=2, seed=100, known=0.8)
    rng = np.random.default_rng(3)
    arcs = rng.integers(1, 4, graph.n_intra).astype(np.uint8)
    noisy = fitted(replace(graph, intra_arcs=arcs, intra_weight=rng.lognormal(0, 1, graph.n_intra)))
    assert noisy.training_summary()["used_between_layers"] == []
    pairs = inter_pairs(graph, step=7)
    assert np.array_equal(noisy.score(pairs), fitted(graph).score(pairs))
    loaded = load_model(noisy.save(tmp_path / "model.safetensors"))
    assert np.array_equal(loaded.score(pairs), noisy.score(pairs))


def test_direction_and_weights_are_among_the_reasons(followed):
    pair = followed.match_all(threshold=0).pairs[0]
    found = followed.explain(*pair.tolist())
    findings = {reason.label: reason.finding for reason in found.reasons}
    assert re.fullmatch(r"similarity \d\.\d\d along and \d\.\d\d against the arcs", findings[inter_features.DIRECTION])
    assert re.fullmatch(r"similarity \d\.\d\d of 1", findings[inter_features.WEIGHTS])
    assert sum(reason.contribution for reason in found.reasons) + found.base == pytest.approx(found.score)


def test_a_model_that_learned_from_direction_takes_a_graph_without_and_back(followed, tmp_path):
    graph = followed.graph
    plain = followed.extend(graph.undirected().unweighted())
    pairs = some_pairs(graph)
    assert not np.array_equal(plain.score(pairs), followed.score(pairs))
    loaded = load_model(plain.save(tmp_path / "model.safetensors"))
    assert np.array_equal(loaded.score(pairs), plain.score(pairs))
    assert np.array_equal(loaded.extend(graph).score(pairs), followed.score(pairs))


def test_a_model_that_learned_without_direction_passes_over_it(model):
    graph = model.graph
    arcs = np.ones(graph.n_intra, dtype=np.uint8)
    pairs = some_pairs(graph)
    assert np.array_equal(model.extend(replace(graph, intra_arcs=arcs)).score(pairs), model.score(pairs))
    assert "link_details" not in model._notes()


def test_damaged_notes_of_what_was_learned_from_are_refused():
    assert saved_details({}) == PLAIN
    for wrong in ("direction", {"direction": 1}, {"colour": True}):
        with pytest.raises(ValueError, match="link_details"):
            saved_details(wrong)


def test_negative_weights_are_said_to_be_left_out(smaller_split):
    graph = replace(smaller_split.train, intra_weight=np.where(np.arange(smaller_split.train.n_intra) % 9, 1.0, -1.0))
    assert Evidence().unread(graph) == ["negative weights"]


# ---- pairs known to be different -------------------------------------------------------------------------


def test_wrong_matches_that_are_said_to_be_different_are_gone_and_the_rest_is_no_worse():
    graph = social(people=600, layers=2, known=0.3, seed=100)
    links = truth(graph)
    hidden = links[graph.unit[links[:, 0]] != graph.unit[links[:, 1]]]
    before = fitted(graph)
    found = before.match_all(threshold=0.05).most_probable(10**6).pairs
    right = np.isin(pair_keys(found, graph.n_nodes), pair_keys(links, graph.n_nodes))
    wrong = found[~right][:10]
    assert len(wrong) == 10
    after = fitted(with_apart(graph, wrong))
    for threshold in (0.0, 0.05, 0.5):
        again = after.match_all(threshold=threshold)
        assert not np.isin(pair_keys(again.pairs, graph.n_nodes), pair_keys(wrong, graph.n_nodes)).any()
    best_open = after.score(hidden).min()
    assert after.score(wrong).max() < best_open
    assert hits(after, hidden) > hits(before, hidden) - 0.02
    check_matcher(after)


def hits(model, links):
    """The share of both ends of links that rank their counterpart first."""
    score = model.score_block(*(model.graph.layer_nodes(layer) for layer in (0, 1)))
    row, column = (links - model.graph.layer_start[:2]).T
    own = score[row, column]
    return np.mean([own >= score[row].max(axis=1), own >= score[:, column].max(axis=0)])
