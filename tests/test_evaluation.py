import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, roc_auc_score

from mpxgat import splits
from mpxgat.errors import SettingError
from mpxgat.evaluation import evaluate, pairs_to_score
from mpxgat.models import make_model
from mpxgat.synthetic import social
from tests.examples import graph_of, random_graph


@pytest.fixture(scope="module", params=["marked", "units"])
def case(request):
    split = splits.make_split(random_graph(21, people=120, known=0.9), request.param, seed=2)
    model = make_model("rules").fit(split.train)
    return split, model, evaluate(model, split)


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


def test_ranks_run_over_all_nodes_of_the_other_layer_both_ways(case):
    split, model, result = case
    rank = []
    for pair in split.inter.positives:
        for node, true in (pair, pair[::-1]):
            candidates = np.flatnonzero(split.train.node_layer == split.train.node_layer[true])
            scores = model.score([[node, other] for other in candidates])
            rank.append(stats.rankdata(-scores, method="average")[candidates == true][0])
    assert result.inter.values["mrr"] == pytest.approx(np.mean(1 / np.array(rank)))
    for k in (1, 5, 10, 30):
        assert result.inter.values[f"hits@{k}"] == pytest.approx(np.mean(np.array(rank) <= k))


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
    layers = split.train.layers
    for other in ({"layers": (layers[1], layers[0], *layers[2:])}, {"ids": split.train.ids[::-1]}):
        with pytest.raises(SettingError, match="other nodes than the split's, or in another order"):
            evaluate(make_model("rules").fit(replace(split.train, **other)), split)
