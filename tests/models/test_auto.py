"""The model that chooses: what it tries, what it passes on."""

from inspect import signature

import numpy as np
import pytest

from mpxgat import synthetic
from mpxgat.errors import InputError
from mpxgat.io.arrays import read_arrays, write_arrays
from mpxgat.models import load_model, make_model
from mpxgat.models.auto import Auto
from mpxgat.models.base import KIND
from mpxgat.splits import marked_nodes
from tests.examples import graph_of
from tests.matching.doubles import check_matcher


@pytest.fixture(scope="module")
def graph():
    return synthetic.social(people=150, layers=2, seed=100, known=0.8)


@pytest.fixture(scope="module")
def model(graph):
    return Auto(seed=1).fit(graph)


def test_the_best_of_the_trials_is_chosen(model):
    assert list(model.trials) == ["evidence", "anchored", "rules"]
    assert all(0.5 < value <= 1 for value in model.trials.values())
    assert model.chosen.name == max(model.trials, key=model.trials.get)
    summary = model.training_summary()
    assert summary["chosen"] == model.chosen.name
    assert summary["trials"] == model.trials


@pytest.mark.parametrize("best", ["evidence", "anchored", "rules"])
def test_any_of_the_three_can_be_chosen(graph, model, best, tmp_path):
    other = load_model(model.save(tmp_path / "model"))
    for kind in ("intra", "inter"):
        other.matcher._validation[kind][best] = 1.1
    assert other.chosen.name == best
    assert other.link_curve is other.chosen.link_curve
    assert (other.link_curve is None) == (best == "rules")
    pairs = np.concatenate([graph.intra[:50], graph.inter[:50]])
    assert np.array_equal(other.score(pairs), make_model(best, seed=1).fit(graph).score(pairs))


def test_trials_are_the_mean_over_both_kinds_of_link(model):
    validation = model.matcher.validation
    assert set(validation) == {"intra", "inter"}
    for name, value in model.trials.items():
        assert value == pytest.approx((validation["intra"][name] + validation["inter"][name]) / 2)


def test_it_chooses_by_both_kinds_of_link_on_a_training_graph_cut_by_its_own_seed(graph):
    model = Auto(seed=1).fit(marked_nodes(graph, 1).train)
    assert set(model.matcher.validation) == {"intra", "inter"}


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
    model = Auto(seed=0).fit(lonely)
    assert model.trials == {}
    assert model.chosen.name == "evidence"


def test_its_one_setting_is_what_is_compared():
    assert list(signature(Auto).parameters) == ["seed", "compare"]
    assert Auto().settings == {}
    assert Auto(compare=["city:category"]).settings == {"compare": "city:category"}
    with pytest.raises(TypeError, match="hidden"):
        Auto(hidden=3)


def test_its_vectors_are_those_of_the_embeddings(model):
    horizontal, vertical = model.embeddings()
    assert np.array_equal(horizontal, model.matcher.anchored.horizontal)
    assert np.array_equal(vertical, model.matcher.anchored.vertical)
    assert model.horizontal is horizontal
    assert model.vertical is vertical


def test_one_kind_of_link_is_enough_to_choose_by(model, tmp_path):
    other = load_model(model.save(tmp_path / "model"))
    del other.matcher._validation["inter"]
    assert other.trials == model.matcher.validation["intra"]


def test_a_file_without_a_validation_of_its_links_is_told(model, tmp_path):
    header, arrays = read_arrays(model.save(tmp_path / "model"), KIND)
    header["notes"]["validation"]["inter"] = {}
    write_arrays(tmp_path / "model", KIND, header, arrays)
    with pytest.raises(InputError, match=r"validation\.inter has nothing"):
        load_model(tmp_path / "model")
