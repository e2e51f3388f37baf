"""Probabilities of links within layers, on scores of which the truth is planted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat.errors import InputError, SettingError
from mpxgat.io.arrays import read_arrays, write_arrays
from mpxgat.matching.calibration import expected_calibration_error
from mpxgat.models import make_model
from mpxgat.models.base import KIND, load_model
from mpxgat.models.link_curve import MISSING, LinkCurve
from mpxgat.splits import marked_nodes
from mpxgat.synthetic import social
from tests.examples import random_graph
from tests.matching.doubles import steady

SCORES = st.lists(st.floats(-1e6, 1e6, width=32), min_size=30, max_size=60)
N_LINKS, N_PAIRS = 100_000, 400_000


def planted(share=MISSING, seed=0):
    """Scores of hidden links, and of open pairs with so large a share of missing links among them, and which these are.

    Links score about 4 more than other pairs: the chance at a score is logistic.
    """
    rng = np.random.default_rng(seed)
    hidden = rng.normal(4, 1, size=5000)
    missing = round(share * N_LINKS)
    scores = np.concatenate([rng.normal(4, 1, size=missing), rng.normal(0, 1, size=N_PAIRS)])
    return hidden, scores, np.arange(len(scores)) < missing


def fitted(hidden, scores):
    return LinkCurve.fit(hidden, scores, np.ones(len(scores)), N_LINKS)


def test_a_planted_curve_is_recovered():
    hidden, scores, truth = planted()
    probability = fitted(hidden, scores).apply(scores)
    assert expected_calibration_error(probability, truth, above=0.01) < 0.02
    true_odds = MISSING * N_LINKS / N_PAIRS * np.exp(4 * np.array([2.5, 3.0, 3.5]) - 8)
    assert fitted(hidden, scores).apply([2.5, 3.0, 3.5]) == pytest.approx(true_odds / (1 + true_odds), rel=0.25)


@pytest.mark.parametrize("share", [0.004, 0.03])
def test_another_share_of_missing_links_may_be_told(share):
    hidden, scores, truth = planted(share)
    curve = fitted(hidden, scores)
    assert expected_calibration_error(curve.apply(scores, share), truth, above=0.01) < 0.02
    assert expected_calibration_error(curve.apply(scores), truth, above=0.01) > 0.02  # the usual one is wrong


def test_a_sample_with_weights_says_what_all_pairs_say():
    hidden, scores, truth = planted()
    rng = np.random.default_rng(1)
    chance = np.where(scores > 1.5, 0.5, 0.05)
    drawn = rng.random(len(scores)) < chance
    curve = LinkCurve.fit(hidden, scores[drawn], 1 / chance[drawn], N_LINKS)
    assert expected_calibration_error(curve.apply(scores), truth, above=0.01) < 0.02


@steady
@given(SCORES, SCORES, st.integers(1, 10**9))
def test_monotone_finite_and_never_certain(hidden, scores, n_links):
    curve = LinkCurve.fit(hidden, scores, np.ones(len(scores)), n_links)
    at = np.sort(np.concatenate([hidden, scores, [-np.inf, np.inf]]))
    probability = curve.apply(at)
    assert (np.diff(probability) >= 0).all()
    assert ((probability > 0) & (probability < 1)).all()
    assert np.isfinite(curve.reliability).all()


def test_scores_that_are_all_equal_have_the_base_rate():
    curve = LinkCurve.fit(np.zeros(50), np.zeros(100), np.full(100, 1e4), N_LINKS)
    assert curve.apply([0.0]) == pytest.approx(MISSING * N_LINKS / 1e6, rel=0.01)


def test_too_little_to_learn_from():
    assert LinkCurve.fit(np.zeros(29), np.zeros(100), np.ones(100), 100) is None
    assert LinkCurve.fit(np.zeros(100), np.zeros(29), np.ones(29), 100) is None


def test_reliability_is_that_of_the_other_half():
    hidden, scores, _ = planted()
    pairs, claimed, found = fitted(hidden, scores).reliability
    assert np.abs(claimed - found).sum() / pairs.sum() < 0.02
    assert found.sum() == pytest.approx(MISSING * N_LINKS * (hidden > 2).mean(), rel=0.1)


@pytest.mark.parametrize("missing", [0, -1, 1.5, float("nan")])
def test_no_share(missing):
    with pytest.raises(SettingError, match=r"a share of .* of the links is missing"):
        fitted(*planted()[:2]).apply([0.0], missing)


def test_kept_as_arrays():
    curve = fitted(*planted()[:2])
    again = LinkCurve.from_arrays(curve.to_arrays())
    assert again.apply([1.0, 2.0, 3.0]).tobytes() == curve.apply([1.0, 2.0, 3.0]).tobytes()
    assert again.reliability.tobytes() == curve.reliability.tobytes()


# ---- of models -----------------------------------------------------------------------------------------------------


SMALL = {
    "anchored": {"dimensions": 16, "splits": 2, "steps": 4, "epochs": 3},
    "evidence": {"splits": 2, "trees": 20, "embeddings": "none"},
    "graphsage": {"dimensions": 8, "epochs": 2},
    "gatne": {"dimensions": 8, "edge_dimensions": 4, "attention_dimensions": 4, "epochs": 2},
    "mpxgat": {"hidden": 8, "out": 8, "heads": 2, "epochs": 8, "check_every": 4},
}


@pytest.fixture(scope="module", params=sorted(SMALL))
def model(request):
    return make_model(request.param, seed=0, **SMALL[request.param]).fit(social(people=250, layers=3, seed=0))


def test_every_learned_model_gives_probabilities_within_layers(model):
    graph = model.graph
    nodes = graph.layer_nodes(0)
    pairs = np.stack(np.triu_indices(len(nodes), 1), axis=1) + nodes[0]
    found = model.link_probability(pairs)
    linked = np.isnan(found)
    assert linked.sum() == (graph.node_layer[graph.intra[:, 0]] == 0).sum()
    expected = MISSING * len(graph.intra) * len(nodes) / graph.n_nodes  # about
    assert expected / 4 < found[~linked].sum() < 4 * expected
    likelier = model.link_probability(pairs, missing=2 * MISSING)
    assert (likelier[~linked] > found[~linked]).mean() > 0.5


def test_two_layers_have_probabilities_where_there_is_a_plan(model):
    graph = model.graph
    pairs = np.array([(u, v) for u in graph.layer_nodes(0)[:30] for v in graph.layer_nodes(1)[:30]])
    found = model.link_probability(pairs)
    if model.name == "evidence":
        open_pairs = graph.unit[pairs[:, 0]] != graph.unit[pairs[:, 1]]
        assert np.array_equal(~np.isnan(found), open_pairs)
        assert ((found[open_pairs] >= 0) & (found[open_pairs] <= 1)).all()
        told = model.explain(*pairs[open_pairs][0]).probability
        assert found[open_pairs][0] == pytest.approx(told) or found[open_pairs][0] == 0
    else:
        assert np.isnan(found).all()


@pytest.mark.parametrize("name", ["anchored", "evidence"])
def test_extended_it_keeps_its_curve(name):
    graph = social(people=250, layers=3, seed=0)
    model = make_model(name, seed=0, **SMALL[name]).fit(graph)
    assert model.link_curve is not None
    assert model.extend(graph).link_curve is model.link_curve


def test_hidden_links_are_likelier_than_others():
    split = marked_nodes(social(people=400, layers=3, seed=1), seed=0)
    model = make_model("evidence", seed=0, **SMALL["evidence"]).fit(split.train)
    nodes = split.train.layer_nodes(0)
    others = np.stack(np.triu_indices(len(nodes), 1), axis=1) + nodes[0]
    assert model.link_probability(split.intra.positives).mean() > 3 * np.nanmean(model.link_probability(others))


def test_fitted_again_on_too_little_it_has_no_curve():
    model = make_model("anchored", seed=0, **SMALL["anchored"]).fit(social(people=250, layers=3, seed=0))
    assert model.link_curve is not None
    assert model.fit(random_graph(0, people=10, layers=2)).link_curve is None


def test_a_model_that_learns_nothing_has_none():
    model = make_model("rules").fit(random_graph(0))
    assert model.link_curve is None
    assert np.isnan(model.link_probability([[0, 1], [1, 100]])).all()


@pytest.mark.parametrize(
    ("part", "damage", "said"),
    [
        ("values", lambda values: values[::-1].copy(), "the values of a calibration are damaged"),
        ("knots", lambda knots: np.zeros_like(knots), "the knots of a calibration are damaged"),
        ("reliability", lambda bins: bins - 1, "the reliability of a curve is damaged"),
        ("reliability", None, "the curve of probabilities within layers has no reliability"),
        ("knots", None, "a calibration with the parts"),
    ],
)
def test_a_damaged_curve_is_refused_by_name(model, tmp_path, part, damage, said):
    header, arrays = read_arrays(model.save(tmp_path / "model"), KIND)
    name = f"state.link_curve.{part}"
    if damage is None:
        del arrays[name]
    else:
        arrays[name] = damage(arrays[name])
    write_arrays(tmp_path / "damaged", KIND, {k: header[k] for k in ("model", "seed", "settings", "notes")}, arrays)
    with pytest.raises(InputError, match=said):
        load_model(tmp_path / "damaged")
