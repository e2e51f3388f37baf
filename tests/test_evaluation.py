import math
import tracemalloc
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from mpxgat import splits
from mpxgat.errors import SettingError
from mpxgat.evaluation import evaluate, pairs_to_score, rank_counterparts
from mpxgat.io import anchors_of, from_networkx, to_networkx_layers
from mpxgat.models import make_model
from mpxgat.synthetic import social
from tests.examples import graph_of, random_graph


@cache
def evaluated(protocol):
    split = splits.make_split(random_graph(21, people=120, known=0.9), protocol, seed=2)
    model = make_model("rules").fit(split.train)
    return split, model, evaluate(model, split)


@pytest.fixture(params=["marked", "units"])
def case(request):
    return evaluated(request.param)


def labelled(model, targets, keep=lambda pairs: np.ones(len(pairs), dtype=bool)):
    negatives = np.concatenate([block.pairs() for block in targets.negatives.blocks()])
    pairs = np.concatenate([targets.positives, negatives])
    truth = np.r_[np.ones(len(targets.positives)), np.zeros(len(negatives))]
    kept = keep(pairs)
    return truth[kept], model.score(pairs[kept])


def test_auc_and_ap_equal_sklearn_over_all_pairs(case):
    split, model, result = case
    for targets, measures in ((split.intra, result.intra), (split.inter, result.inter)):
        truth, scores = labelled(model, targets)
        assert measures.values["auc"] == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
        assert measures.values["ap"] == pytest.approx(average_precision_score(truth, scores), abs=1e-12)
        assert (measures.positives, measures.negatives) == (truth.sum(), (1 - truth).sum())


def test_hard_pairs_are_those_no_rule_decides(case):
    split, model, result = case
    unit, layer = split.train.unit, split.train.node_layer
    layers_of = [set(layer[unit == u].tolist()) for u in range(split.train.n_units)]

    def undecided(pairs):
        return np.array([not layers_of[unit[i]] & layers_of[unit[j]] for i, j in pairs])

    truth, scores = labelled(model, split.inter, undecided)
    assert result.inter.values["auc_hard"] == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)


def brute_force_rank(model, node, true):
    """1, plus one for every strictly higher candidate, plus one half for every other that ties."""
    layer = model.graph.node_layer
    candidates = [other for other in range(model.graph.n_nodes) if layer[other] == layer[true]]
    score = dict(zip(candidates, model.score([[node, other] for other in candidates]), strict=True))
    higher = sum(score[other] > score[true] for other in candidates)
    ties = sum(score[other] == score[true] for other in candidates if other != true)
    return 1 + higher + ties / 2


@pytest.mark.parametrize("protocol", ["marked", "units", "anchors 0.4"])
def test_ranks_run_over_all_nodes_of_the_other_layer_both_ways(protocol):
    split, model, result = evaluated(protocol)
    assert (np.diff(split.train.node_layer[split.inter.positives]) > 0).all()  # forward: to the later layer
    forward = np.array([brute_force_rank(model, u, v) for u, v in split.inter.positives])
    backward = np.array([brute_force_rank(model, v, u) for u, v in split.inter.positives])
    expected = {"forward": forward, "backward": backward, "mean": np.concatenate([forward, backward])}
    for way, rank in expected.items():
        assert result.ranks[way]["mrr"] == pytest.approx(np.mean(1 / rank))
        for k in (1, 5, 10, 30):
            assert result.ranks[way][f"hits@{k}"] == pytest.approx(np.mean(rank <= k))
    for name, value in result.ranks["mean"].items():
        ways = [result.ranks[way][name] for way in ("forward", "backward")]
        assert result.inter.values[name] == value == pytest.approx(np.mean(ways))
    alone = rank_counterparts(model, split)
    assert np.array_equal(alone.forward, forward)
    assert np.array_equal(alone.backward, backward)


@pytest.mark.parametrize("model", ["degree", "matched-neighbours"])
def test_ranks_of_scores_with_many_ties(model, monkeypatch):
    monkeypatch.setattr("mpxgat.evaluation._CANDIDATES_AT_ONCE", 100)  # rows come in several parts
    split = splits.known_anchors(random_graph(5, people=40), seed=1, known=0.3)
    fitted = make_model(model).fit(split.train)
    found = rank_counterparts(fitted, split)
    assert (found.forward % 1 > 0).any()
    assert found.forward.tolist() == [brute_force_rank(fitted, u, v) for u, v in split.inter.positives]
    assert found.backward.tolist() == [brute_force_rank(fitted, v, u) for u, v in split.inter.positives]


def test_ranks_of_a_model_that_saw_hidden_links_are_refused():
    graph = random_graph(5)
    with pytest.raises(SettingError, match="of the test links"):
        rank_counterparts(make_model("rules").fit(graph), splits.known_anchors(graph, seed=0))


def test_with_anchors_intra_measures_are_undefined_and_overall_is_inter():
    split = splits.known_anchors(random_graph(21), seed=2)
    result = evaluate(make_model("rules").fit(split.train), split)
    assert (result.intra.positives, result.intra.negatives, result.intra_by_layer) == (0, 0, {})
    assert all(math.isnan(value) for value in result.intra.values.values())
    assert result.overall_auc == pytest.approx(result.inter.values["auc"])
    truth, scores = labelled(make_model("rules").fit(split.train), split.inter)
    assert result.inter.values["auc"] == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)


def test_layers_are_measured_one_by_one(case):
    split, model, result = case
    layer = split.train.node_layer
    names = split.train.layers
    assert sum(m.positives for m in result.inter_by_layer.values()) == result.inter.positives
    assert sum(m.negatives for m in result.intra_by_layer.values()) == result.intra.negatives
    for (a, b), measures in result.inter_by_layer.items():
        wanted = [names.index(a), names.index(b)]
        truth, scores = labelled(model, split.inter, lambda pairs, w=wanted: (layer[pairs] == w).all(axis=1))
        if 0 < truth.sum() < len(truth):
            assert measures.values["auc"] == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)


def test_overall_weighs_by_positives(case):
    _, _, result = case
    expected = np.average(
        [result.intra.values["auc"], result.inter.values["auc"]],
        weights=[result.intra.positives, result.inter.positives],
    )
    assert result.overall_auc == pytest.approx(expected)


def test_progress_counts_about_all_pairs(case):
    split, model, _ = case
    counted = []
    evaluate(model, split, counted.append)
    assert sum(counted) == pytest.approx(pairs_to_score(split), rel=0.5)


def test_many_layers_do_not_fill_memory():
    split = splits.marked_nodes(social(40, 60, seed=0), seed=0)
    model = make_model("degree").fit(split.train)
    tracemalloc.start()
    result = evaluate(model, split)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(result.inter_by_layer) == 60 * 59 // 2
    assert peak < 50e6


def test_hidden_links_without_any_non_link_are_counted_by_layer():
    split = splits.held_out_units(graph_of("x.a x.b", "y.a y.b", "x.a y.a"), seed=0, share=1)
    nowhere = np.empty(0, dtype=np.int32)
    alone = replace(split, inter=replace(split.inter, negatives=splits.InterNegatives(nowhere, nowhere, nowhere)))
    inter = evaluate(make_model("rules").fit(split.train), alone).inter_by_layer
    assert {key: (part.positives, part.negatives) for key, part in inter.items()} == {("x", "y"): (1, 0)}


def test_a_split_without_positives_is_measured_as_undefined():
    graph = graph_of("x.a x.b", "x.c x.d", "y.a y.b")
    split = splits.marked_nodes(graph, seed=0, share=1.0)
    result = evaluate(make_model("rules").fit(split.train), split)
    assert math.isnan(result.inter.values["auc"])
    assert math.isnan(result.inter.values["mrr"])


def test_a_model_of_another_graph_is_refused():
    split = splits.marked_nodes(random_graph(0), seed=0)
    with pytest.raises(SettingError, match="nodes, the split has"):
        evaluate(make_model("rules").fit(graph_of("x.a x.b")), split)


def test_a_model_of_the_same_network_with_its_layers_in_another_order_is_refused():
    graph = social(people=60, layers=2, seed=0)
    turned = from_networkx(dict(reversed(to_networkx_layers(graph).items())), anchors=anchors_of(graph))
    split = splits.marked_nodes(graph, seed=0)
    assert turned.n_nodes == graph.n_nodes
    with pytest.raises(SettingError, match="other nodes, or its layers in another order"):
        evaluate(make_model("rules").fit(turned), split)
