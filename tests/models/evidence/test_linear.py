"""Logistic regression: planted weights are found again, sums add up, odd columns do no harm, damage is told."""

import numpy as np
import pytest
from scipy.special import expit, logit

from mpxgat.models.evidence import linear as linear_module
from mpxgat.models.evidence.linear import Exercise, Linear, column_sizes, mean_of, scores

MANY = 10**6


def planted(count, seed=0, base=-2.0):
    """Two columns that matter, one that does not, and what they say."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 3)).astype(np.float32)
    odds = base + 1.5 * features[:, 0] - features[:, 1]
    return features, rng.random(count) < expit(odds), odds


def fit(features, label, weight=None, *, most=MANY, start=None):
    size = column_sizes([features])
    weight = np.ones(len(label)) if weight is None else weight
    return Linear.fit([Exercise.of(features, label, weight, size, most, np.random.default_rng(0))], size, start)


@pytest.fixture(scope="module")
def fitted():
    return fit(*planted(4000)[:2])


def test_planted_log_odds_are_found_again(fitted):
    features, _, odds = planted(1000, seed=1)
    error = fitted.score(features) - odds
    assert np.abs(error).mean() < 0.2
    assert abs(error.mean()) < 0.1


def test_the_loss_cannot_be_bettered(fitted):
    """Newton's method has ended where the derivative is nought: rates of links are those expected."""
    features, label, _ = planted(4000)
    assert expit(fitted.score(features)).sum() == pytest.approx(label.sum(), rel=1e-3)


def test_contributions_and_base_add_up_to_the_score(fitted):
    features = planted(50, seed=2)[0]
    parts = fitted.contributions(features)
    assert parts.shape == (50, 4)
    assert parts.sum(axis=1) == pytest.approx(fitted.score(features), abs=1e-9)


def test_a_weight_says_how_many_pairs_a_row_stands_for():
    features, label, _ = planted(600)
    twice = np.concatenate([features, features[~label]]), np.concatenate([label, label[~label]])
    one = fit(*twice)
    other = fit(features, label, np.where(label, 1.0, 2.0))
    # Means and deviations of columns are of rows, so the ridge differs a little.
    assert other.score(features) == pytest.approx(one.score(features), abs=0.1)


def test_of_very_many_non_links_some_are_enough():
    features, label, _ = planted(20_000, base=-4.0)
    whole = fit(features, label)
    some = fit(features, label, most=4000)
    assert some.score(features).tobytes() != whole.score(features).tobytes()
    assert some.score(features) == pytest.approx(whole.score(features), abs=0.8)
    assert np.abs(some.score(features) - whole.score(features)).mean() < 0.15


def test_columns_that_say_nothing_or_reach_far_do_no_harm():
    features, label, odds = planted(4000)
    far = np.exp(8 * np.random.default_rng(3).normal(size=len(label)))
    odd = np.column_stack([features, np.zeros(len(label)), np.ones(len(label)), far]).astype(np.float32)
    score = fit(odd, label).score(odd)
    assert np.isfinite(score).all()
    assert np.corrcoef(score, odds)[0, 1] > 0.98


@pytest.mark.parametrize("label", [True, False])
def test_of_one_class_alone_the_score_stays_finite(label):
    features = planted(200)[0]
    score = fit(features, np.full(200, label)).score(features)
    assert np.isfinite(score).all()
    assert (score > 2).all() == label
    assert (score < -2).all() != label


def test_columns_that_tell_everything_stay_finite():
    features = np.repeat([[0.0], [1.0]], 50, axis=0).astype(np.float32)
    fitted = fit(features, features[:, 0] > 0)
    no, yes = fitted.score(np.array([[0.0], [1.0]], dtype=np.float32))
    assert -20 < no < logit(0.1)
    assert logit(0.9) < yes < 20


def test_no_pair_has_no_score(fitted):
    assert fitted.score(np.zeros((0, 3), dtype=np.float32)).shape == (0,)


def test_the_same_seed_gives_the_same_weights():
    features, label, _ = planted(300)
    one, other = (fit(features, label, most=100) for _ in range(2))
    assert one.weight.tobytes() == other.weight.tobytes()


def test_where_it_starts_does_not_matter(fitted):
    features, label, _ = planted(4000)
    again = fit(features, label, start=fit(*planted(300, seed=7)[:2]))
    assert again.score(features) == pytest.approx(fitted.score(features), abs=0.02)


def test_several_score_at_once_as_each_alone(fitted):
    features, label, _ = planted(4000)
    other = Linear.fit(
        [Exercise.of(features, ~label, np.ones(4000), fitted.size, MANY, np.random.default_rng(0))], fitted.size
    )
    both = scores([fitted, other], features)
    assert both[0].tobytes() == fitted.score(features).tobytes()
    assert both[1].tobytes() == other.score(features).tobytes()


def test_the_mean_says_what_they_say_in_the_mean(fitted):
    features, label, _ = planted(4000)
    rng = np.random.default_rng(0)
    other = Linear.fit([Exercise.of(features, ~label, np.ones(4000), fitted.size, MANY, rng)], fitted.size)
    mean = mean_of([fitted, other, other])
    assert mean.score(features) == pytest.approx((fitted.score(features) + 2 * other.score(features)) / 3)
    parts = (fitted.contributions(features) + 2 * other.contributions(features)) / 3
    assert mean.contributions(features).sum(axis=1) == pytest.approx(parts.sum(axis=1))


def test_scores_are_those_of_terms(fitted):
    """Compiled and in NumPy."""
    features = planted(500, seed=3)[0] * np.float32(-30)
    terms = linear_module._terms(features, fitted.size)
    assert fitted.score(features) == pytest.approx((terms - fitted.mean) @ fitted.weight + fitted.base)


def test_sizes_are_the_same_whole_or_in_parts():
    features = planted(100)[0]
    assert column_sizes([features[:30], features[30:]]) == pytest.approx(column_sizes([features]))


def test_saved_and_loaded_it_scores_the_same(fitted):
    features = planted(50, seed=2)[0]
    assert Linear.from_arrays(fitted.to_arrays()).score(features).tobytes() == fitted.score(features).tobytes()


@pytest.mark.parametrize(
    "damage",
    [
        {"weight": np.zeros(5)},
        {"mean": np.zeros((6, 1))},
        {"base": np.zeros(2)},
        {"size": np.zeros((3, 1))},
        {"weight": np.full(6, np.nan)},
        {"size": -np.ones(3)},
    ],
    ids=str,
)
def test_damaged_weights_are_refused(fitted, damage):
    with pytest.raises(ValueError, match=r"damaged|below 0"):
        Linear.from_arrays(fitted.to_arrays() | damage)
