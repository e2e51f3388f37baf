"""The model that chooses: what it tries, what it passes on."""

import numpy as np
import pytest

from mpxgat import synthetic
from mpxgat.errors import SettingError
from mpxgat.models import load_model, make_model
from mpxgat.models.auto import Auto, choose
from mpxgat.splits import marked_nodes, validation_split
from tests.examples import graph_of
from tests.matching.doubles import check_matcher


@pytest.fixture(scope="module")
def graph():
    return synthetic.social(people=150, layers=2, seed=100, known=0.8)


@pytest.fixture(scope="module")
def model(graph):
    return Auto(seed=1).fit(graph)


def test_the_best_of_the_trials_is_chosen(graph, model):
    name, trials = choose(graph, 1)
    assert set(trials) == {"evidence", "anchored", "rules"}
    assert all(0.5 < value <= 1 for value in trials.values())
    assert model.chosen.name == name == max(trials, key=trials.get)
    assert model.training_summary()["trials"] == trials == model.trials


def test_it_chooses_by_both_kinds_of_link_on_a_training_graph_cut_by_its_own_seed(graph, monkeypatch):
    seen = []

    def kept(*arguments):
        seen.append(validation_split(*arguments))
        return seen[-1]

    monkeypatch.setattr("mpxgat.models.auto.validation_split", kept)
    choose(marked_nodes(graph, 1).train, 1)
    assert len(seen[0].intra.positives) > 0
    assert len(seen[0].inter.positives) > 0


def test_scores_are_those_of_the_chosen_model(graph, model):
    alone = make_model(model.chosen.name, seed=1).fit(graph)
    pairs = np.concatenate([graph.intra[:50], graph.inter[:50]])
    assert np.array_equal(model.score(pairs), alone.score(pairs))


def test_it_matches_by_evidence_whatever_was_chosen(graph, model):
    assert model.matcher.name == "evidence"
    check_matcher(model)
    assert model.match_all(0.5).to_table().equals(model.matcher.match_all(0.5).to_table())
    assert model.match(*graph.layers, k=2).to_table().equals(model.matcher.match(*graph.layers, k=2).to_table())


def test_saved_and_loaded_it_has_chosen_the_same(model, tmp_path):
    loaded = load_model(model.save(tmp_path / "model"))
    assert loaded.chosen.name == model.chosen.name
    assert loaded.trials == model.trials
    assert loaded.match_all(0.5).to_table().equals(model.match_all(0.5).to_table())


def test_extended_it_keeps_its_choice(graph, model):
    extended = model.extend(graph)
    assert extended.trials == model.trials
    assert extended.score(graph.inter[:20]) == pytest.approx(model.score(graph.inter[:20]), abs=1e-4)
    assert extended.chosen.name == model.chosen.name


def test_a_network_without_links_to_hide_gets_the_first_contender():
    lonely = graph_of("x.a x.a", "y.b y.b")
    assert choose(lonely, 0) == ("evidence", {})
    assert Auto(seed=0).fit(lonely).chosen.name == "evidence"


def test_it_has_no_settings():
    with pytest.raises(SettingError, match="has no setting 'hidden'"):
        Auto(hidden=3)
