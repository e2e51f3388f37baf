"""The scale on which log-odds make an honest plan: found again where it is planted; whose rows count for how much."""

import numpy as np
import pytest
from scipy.special import expit

from mpxgat.matching.plan import Rivals
from mpxgat.models.evidence.scale import (
    ANY_SHARE,
    Judged,
    Reading,
    Scale,
    bereaved_factor,
    fit_scale,
    likelihood,
    lonely_share,
)

CANDIDATES = 3  # of a node


def stars(count, scale, seed, *, mean=0.0, spread=3.0):
    """Nodes with three candidates each, which have no other; who is whom drawn by planted log-odds of scores."""
    rng = np.random.default_rng(seed)
    nodes = np.arange(count)
    pairs = np.stack([np.repeat(nodes, CANDIDATES), count + np.arange(count * CANDIDATES)], axis=1)
    layer = np.repeat([0, 1], [count, count * CANDIDATES]).astype(np.int32)
    score = rng.normal(mean, spread, size=len(pairs))
    odds = np.exp(scale.apply(score)).reshape(count, CANDIDATES)
    chances = np.concatenate([np.ones((count, 1)), odds], axis=1)
    drawn = (rng.random((count, 1)) * chances.sum(axis=1, keepdims=True) > chances.cumsum(axis=1)).sum(axis=1)
    label = (drawn[:, None] == np.arange(1, CANDIDATES + 1)).ravel()
    return judged(pairs, layer, score, label)


NONE = np.empty((0, 2), dtype=np.int64)


def judged(pairs, layer, score, label, *, weight=1.0, bereaved=0.0, missed=NONE, barred=NONE):
    """All told, each non-link with some weight."""
    weights = (np.where(label, 0.0, np.broadcast_to(each, label.shape)) for each in (weight, bereaved))
    return Judged(pairs, layer, score, label, *weights, np.concatenate([pairs[label], missed]), barred)


def none_at_all():
    return judged(NONE, np.array([0, 1], dtype=np.int32), np.zeros(0), np.zeros(0) > 0)


def one_pair(score, *, label, **told):
    ends = np.array([[0, 1]]), np.array([0, 1], dtype=np.int32)
    return judged(*ends, np.array([score]), np.array([label]), **told)


@pytest.mark.parametrize("planted", [Scale(0.0, 1.0), Scale(-1.5, 1.3), Scale(1.0, 0.6)], ids=str)
def test_a_planted_scale_is_found_again(planted):
    folds = [stars(1500, planted, seed) for seed in range(3)]
    found = fit_scale(folds, 0)  # every link is told
    assert found.shift == pytest.approx(planted.shift, abs=0.35)  # the search is cut short
    assert found.slope == pytest.approx(planted.slope, abs=0.15)


# ---- nodes without a counterpart --------------------------------------------------------------------------


def best_scores(first_node, count, mean, seed):
    """Nodes with one candidate each, whose scores spread around some mean."""
    nodes = first_node + 2 * np.arange(count)
    return np.stack([nodes, nodes + 1], axis=1), np.random.default_rng(seed).normal(mean, 1.0, size=count)


def mixture(with_one, with_none, *, told, seed=0):
    """Nodes with a counterpart score around 1.5, the others around 0."""
    (paired, high), (others, low) = (
        best_scores(0, with_one, 1.5, seed),
        best_scores(2 * with_one, with_none, 0, seed + 1),
    )
    pairs, score = np.concatenate([paired, others]), np.concatenate([high, low])
    layer = np.tile([0, 1], len(pairs)).astype(np.int32)
    if not told:
        none = np.zeros(len(pairs))
        return Judged(pairs, layer, score, none > 0, none, none, NONE, NONE)
    label = np.arange(len(pairs)) < with_one
    return judged(pairs, layer, score, label, bereaved=1.0 * ~label, barred=others)


@pytest.mark.parametrize(("with_one", "with_none"), [(1000, 4000), (1000, 1000), (2000, 0)])
def test_bereaved_nodes_count_as_many_times_as_there_are_nodes_without_a_counterpart(with_one, with_none):
    fold, whole = mixture(3000, 1500, told=True), mixture(with_one, with_none, told=False, seed=7)
    lonely = lonely_share([fold], [whole])
    assert lonely.value == pytest.approx(with_none / (with_one + with_none), abs=0.1)
    assert 0 < lonely.variance < 0.01
    assert bereaved_factor([fold], with_none / (with_one + with_none)) == pytest.approx(with_none / with_one * 2)


def test_nodes_that_nothing_speaks_for_do_not_matter():
    fold, whole = mixture(3000, 1500, told=True), mixture(1000, 1000, told=False, seed=7)
    lonely, score = best_scores(4000, 5000, -9, 3)
    more = Judged(
        np.concatenate([whole.pairs, lonely]),
        np.tile([0, 1], 7000).astype(np.int32),
        np.concatenate([whole.score, score]),
        *(np.zeros(7000, dtype=kind) for kind in (bool, float, float)),
        NONE,
        NONE,
    )
    assert lonely_share([fold], [more]) == lonely_share([fold], [whole])


def test_without_anything_to_compare_nothing_is_read():
    fold = mixture(50, 20, told=True)
    assert lonely_share([fold], [none_at_all()]) == ANY_SHARE
    assert lonely_share([stars(20, Scale(), 1)], [fold]) == ANY_SHARE
    assert lonely_share([none_at_all()], [fold]) == ANY_SHARE
    assert bereaved_factor([none_at_all()], 0.5) == 1


def test_the_fewer_links_the_less_certain_a_reading():
    whole = mixture(1000, 1000, told=False, seed=7)
    few, many = (lonely_share([mixture(2 * count, count, told=True)], [whole]) for count in (30, 1500))
    assert few.variance > 5 * many.variance


def test_readings_count_by_their_precision():
    found = Reading.pooled([Reading(0.2, 0.01), Reading(0.8, 0.03)])
    assert (found.value, found.variance) == pytest.approx((0.35, 0.0075))


def test_if_all_are_lonely_bereaved_nodes_count_much_but_not_without_bound():
    assert bereaved_factor([mixture(50, 20, told=True)], 1.0) == 20


def test_the_more_nodes_have_no_counterpart_the_less_the_plan_expects():
    fold = mixture(3000, 1500, told=True)
    few, many = (fit_scale([fold], share) for share in (0.2, 0.85))
    assert many.shift < few.shift - 0.5


# ---- plans -------------------------------------------------------------------------------------------------


def test_the_plan_is_right_as_often_as_it_says():
    planted = Scale(-2.0, 1.5)
    found = fit_scale([stars(1500, planted, seed) for seed in range(2)], 0)
    fresh = stars(3000, planted, 9)
    p = Rivals(fresh.pairs, fresh.layer).plan(found.apply(fresh.score)).probability
    assert p.sum() == pytest.approx(fresh.is_link.sum(), rel=0.1)
    for low, high in ((0.05, 0.3), (0.3, 0.7), (0.7, 1.0)):
        here = (p >= low) & (p < high)
        assert here.sum() > 100
        assert p[here].mean() == pytest.approx(fresh.is_link[here].mean(), abs=0.06)


def test_nothing_to_learn_from_leaves_a_finite_scale():
    for folds in ([none_at_all()], [one_pair(1.0, label=True)], [one_pair(1.0, label=False)], [none_at_all()] * 3):
        found = fit_scale(folds, 0)
        assert np.isfinite([found.shift, found.slope]).all()


def test_the_same_input_gives_the_same_scale():
    folds = [stars(100, Scale(-1.0, 1.2), seed) for seed in range(2)]
    assert fit_scale(folds, 0.1) == fit_scale(folds, 0.1)


# ---- likelihood ------------------------------------------------------------------------------------------


def test_the_likelihood_of_lone_pairs_by_hand():
    link, untold = one_pair(1.5, label=True), one_pair(3.0, label=False, weight=0.0)
    other = one_pair(-0.5, label=False, weight=0.5)
    assert likelihood([link], Scale()) == pytest.approx(np.log(expit(1.5)))
    assert likelihood([link, other], Scale()) == pytest.approx(np.log(expit(1.5)) + np.log(expit(0.5)) / 2)
    assert likelihood([link, untold], Scale()) == likelihood([link], Scale())
    assert likelihood([link, link], Scale()) == pytest.approx(np.log(expit(1.5)))  # for each link
    assert likelihood([link], Scale(-1.0, 2.0)) == pytest.approx(np.log(expit(2.0)))


def test_links_that_are_no_candidates_cost_much():
    missed = one_pair(1.5, label=True, missed=np.array([[2, 3]]))
    assert likelihood([missed], Scale()) == pytest.approx((np.log(expit(1.5)) + np.log(1e-5)) / 2)


def test_bereaved_ends_count_as_often_as_is_said():
    fold = one_pair(0.5, label=False, weight=1.0, bereaved=0.5)
    once, thrice = (fold.log_likelihood(Scale(), factor) for factor in (1.0, 3.0))
    assert once == pytest.approx(np.log(expit(-0.5)))
    assert thrice == pytest.approx(2 * once)


def test_of_nothing_the_likelihood_is_nought():
    assert likelihood([none_at_all()], Scale()) == 0


def test_the_planted_scale_is_more_likely_than_others():
    planted = Scale(-1.0, 1.0)
    fold = stars(1500, planted, 4)
    best = fold.log_likelihood(planted)
    for other in (Scale(0.5, 1.0), Scale(-2.5, 1.0), Scale(-1.0, 0.5), Scale(-1.0, 2.0)):
        assert fold.log_likelihood(other) < best
