"""Reasons of many pairs at once are those of each pair."""

import re

import numpy as np
import pytest

import mpxgat as mx
from mpxgat.errors import SettingError
from mpxgat.splits import held_out_units
from tests.models.evidence.graphs import some_matching


@pytest.fixture(scope="module")
def model():
    graph = held_out_units(mx.synthetic.social(people=150, layers=3, seed=100, mean_degree=10), seed=100).train
    return mx.Evidence(seed=100, rounds=2, splits=2, trees=20, embeddings="none").fit(graph)


def test_as_one_by_one(model):
    graph = model.graph
    pairs = np.concatenate([model.candidates(0, 2, 3).pairs[:15], model.candidates(0, 1, 3).pairs[:15]])
    strangers = [[0, graph.n_nodes - 1], [1, int(graph.layer_start[1])]]  # no candidates, most probably
    pairs = np.concatenate([pairs, np.array(strangers, dtype=np.int32)])
    for pair, why in zip(pairs.tolist(), model.explain_many(pairs), strict=True):
        one = model.explain(*pair)
        assert [why.first, why.second] == pair
        assert why.probability == pytest.approx(one.probability)
        assert why.score == pytest.approx(one.score)
        assert why.base + sum(reason.contribution for reason in why.reasons) == pytest.approx(why.score)
        for short, full in zip(why.reasons, one.reasons, strict=True):
            assert short.label == full.label
            assert short.contribution == pytest.approx(full.contribution)
            if full.label == "shared neighbours":  # counted, and only one by one named
                assert re.fullmatch(r"\d+ known to be shared", short.finding)
                assert re.fullmatch(re.escape(short.finding) + r"([:;] .+)?", full.finding)
            else:
                assert full.finding == short.finding


def test_probabilities_are_those_of_the_candidates(model):
    found = model.candidates(1, 2, 5)
    assert [why.probability for why in model.explain_many(found.pairs)] == pytest.approx(found.probability.tolist())


def test_no_pair(model):
    assert model.explain_many(np.empty((0, 2), dtype=np.int32)) == []


def test_nodes_of_one_layer_are_refused(model):
    with pytest.raises(SettingError, match="the nodes 0 and 1 are in one layer"):
        model.explain_many(np.array([[0, model.graph.n_nodes - 1], [0, 1]]))


def test_neighbours_that_may_be_the_same_are_named(model, monkeypatch):
    """The surest two of the round before, with their probability, if it is .1 at least."""
    graph = model.graph
    matching = some_matching(graph)
    monkeypatch.setattr(model._joint.features, "matching", matching)
    words, untold = set(), 0
    for first, second in model.candidates(0, 1, 3).pairs.tolist():
        ours, theirs = (graph.adjacency[[node]].indices for node in (first, second))
        chances = sorted(matching[ours][:, theirs].data.tolist(), reverse=True)[:2]
        expected = [("probably" if chance >= 0.5 else "perhaps", chance) for chance in chances if chance >= 0.1]
        finding = next(
            each.finding for each in model.explain(first, second).reasons if each.label == "shared neighbours"
        )
        told = re.findall(r" are (\w+) the same \(p = (\d\.\d\d)\)", finding)
        assert [word for word, _ in told] == [word for word, _ in expected]
        assert [float(chance) for _, chance in told] == pytest.approx([chance for _, chance in expected], abs=0.0051)
        words |= {word for word, _ in told}
        untold += len(chances) - len(told)
    assert words == {"probably", "perhaps"}
    assert untold
