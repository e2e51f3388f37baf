"""Calibration, against the definition and against scikit-learn."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from mpxgat.errors import SettingError
from mpxgat.matching.calibration import Isotonic, expected_calibration_error
from tests.matching.doubles import steady

ROWS = st.lists(st.tuples(st.floats(-1000, 1000, width=32), st.booleans(), st.floats(0.1, 50)), min_size=1, max_size=40)


def sample(size, seed=0):
    """Scores with labels that come true as 1 / (1 + exp(-(2 s - 1)))."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=size) * 2
    truth = 1 / (1 + np.exp(1 - 2 * score))
    return score, rng.random(size) < truth, truth


@steady
@given(rows=ROWS)
def test_monotone_and_never_certain(rows):
    score, label, weight = map(np.array, zip(*rows, strict=True))
    fitted = Isotonic.fit(score, label, weight)
    at = np.sort(np.concatenate([score, np.linspace(-1100, 1100, 50), [-np.inf, np.inf]]))
    probability = fitted.apply(at)
    assert (np.diff(probability) >= -1e-12).all()
    assert (probability > 0).all()
    assert (probability < 1).all()


@steady
@given(rows=ROWS)
def test_the_order_of_the_rows_does_not_matter_and_weights_count_rows(rows):
    score, label, _ = map(np.array, zip(*rows, strict=True))
    count = np.arange(len(score)) % 3 + 1
    weighted = Isotonic.fit(score[::-1], label[::-1], count[::-1])
    repeated = Isotonic.fit(np.repeat(score, count), np.repeat(label, count))
    assert weighted.apply(score) == pytest.approx(repeated.apply(score), abs=1e-5)


def test_near_the_truth_where_there_are_many_data():
    score, label, _ = sample(20_000)
    at, _, truth = sample(2000, seed=1)
    probability = Isotonic.fit(score, label).apply(at)
    assert np.abs(probability - truth).mean() < 0.02
    assert expected_calibration_error(probability, sample(2000, seed=1)[1]) < 0.03


def test_isotonic_is_sklearns_but_for_the_two_made_up_rows():
    score, label, _ = sample(300)
    made_up = np.concatenate([score, [score.min(), score.max()]])
    theirs = IsotonicRegression(out_of_bounds="clip").fit(made_up, np.concatenate([label, [1, 0]]))
    at = np.linspace(-8, 8, 500)
    assert Isotonic.fit(score, label).apply(at) == pytest.approx(theirs.predict(at), abs=1e-12)


def test_no_positives_and_no_negatives():
    score = np.arange(98.0)
    assert Isotonic.fit(score, np.zeros(98)).apply(score) == pytest.approx(np.full(98, 0.01), abs=1e-6)
    assert Isotonic.fit(score, np.ones(98)).apply(score) == pytest.approx(np.full(98, 0.99), abs=1e-6)


def test_one_score_gives_the_share():
    fitted = Isotonic.fit(np.full(8, 3.0), [1, 1, 1, 1, 0, 0, 0, 0])
    assert fitted.apply([0, 3, 99]) == pytest.approx([0.5, 0.5, 0.5])


def test_one_row():
    fitted = Isotonic.fit([2.0], [1])
    assert fitted.apply([2.0]) == pytest.approx([2 / 3])


def test_few_rows_that_part_perfectly():
    assert Isotonic.fit([1, 2], [0, 1]).apply([1, 1.5, 2]) == pytest.approx([0.5, 0.5, 0.5])
    assert Isotonic.fit([1, 2, 3, 4], [0, 0, 1, 1]).apply([1, 2, 2.5, 3]) == pytest.approx([1 / 3, 1 / 3, 0.5, 2 / 3])


def test_scores_that_tell_the_wrong_way_give_a_level_curve():
    assert len(set(Isotonic.fit([1, 2, 3, 4], [1, 1, 0, 0]).apply([1, 2, 3, 4]))) == 1


def test_rows_without_weight_do_not_count():
    score, label, _ = sample(50)
    weight = np.ones(50)
    weight[:10] = 0
    ours, theirs = Isotonic.fit(score, label, weight), Isotonic.fit(score[10:], label[10:])
    assert np.array_equal(ours.knots, theirs.knots)


@pytest.mark.parametrize(
    ("score", "label", "weight", "said"),
    [
        ([np.nan, 1], [0, 1], None, "a score is not a finite number"),
        ([np.inf, 1], [0, 1], None, "a score is not a finite number"),
        ([0, 1], [0, 2], None, "neither 0 nor 1"),
        ([0, 1], [0, np.nan], None, "neither 0 nor 1"),
        ([0, 1], [0], None, "expected one length"),
        ([0, 1], [0, 1], [1, -1], "negative or not a finite number"),
        ([0, 1], [0, 1], [1, np.nan], "negative or not a finite number"),
        ([0, 1], [0, 1], [0, 0], "no pair to calibrate on"),
        ([], [], None, "no pair to calibrate on"),
    ],
)
def test_what_cannot_be_learned_from_is_named(score, label, weight, said):
    with pytest.raises(SettingError, match=said):
        Isotonic.fit(score, label, weight)


def test_nan_is_no_score():
    with pytest.raises(SettingError, match="not a number"):
        Isotonic.fit([0, 1], [0, 1]).apply([0, np.nan])


def test_to_arrays_and_back():
    score, label, _ = sample(200)
    fitted = Isotonic.fit(score, label)
    again = Isotonic.from_arrays(fitted.to_arrays())
    assert np.array_equal(again.apply(score), fitted.apply(score))


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"knots": np.zeros(1)},
        {"knots": np.zeros(2), "values": np.full(2, 0.5)},
        {"knots": np.arange(2.0), "values": np.array([0.6, 0.5])},
        {"knots": np.arange(2.0), "values": np.array([0.5, 1.0])},
        {"knots": np.arange(2.0), "values": np.array([0.5, np.nan])},
        {"knots": np.empty(0), "values": np.empty(0)},
    ],
)
def test_damaged_arrays_are_refused(arrays):
    with pytest.raises(SettingError, match="expected"):
        Isotonic.from_arrays(arrays)


def test_expected_calibration_error_by_hand():
    probability = np.array([0.05, 0.05, 0.15, 0.95, 1.0])
    label = np.array([0, 1, 0, 1, 1])
    # Bins of width 0.1: two pairs off by |0.05 - 0.5|, one by 0.15, two by |0.975 - 1|.
    assert expected_calibration_error(probability, label) == pytest.approx((2 * 0.45 + 0.15 + 2 * 0.025) / 5)
    assert expected_calibration_error(probability, label, above=0.1) == pytest.approx((0.15 + 2 * 0.025) / 3)
    weighted = expected_calibration_error(probability, label, [1, 1, 8, 0, 0])
    assert weighted == pytest.approx((2 * 0.45 + 8 * 0.15) / 10)
    assert expected_calibration_error(probability, label, bins=1) == pytest.approx(abs((probability - label).mean()))


def test_expected_calibration_error_of_nothing_and_of_nonsense():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(expected_calibration_error([0.1], [0], above=0.5))
        assert np.isnan(expected_calibration_error([], []))
    with pytest.raises(SettingError, match="outside 0 to 1"):
        expected_calibration_error([1.1], [0])
    with pytest.raises(SettingError, match="not a finite number"):
        expected_calibration_error([np.nan], [0])
    with pytest.raises(SettingError, match="0 bins"):
        expected_calibration_error([0.1], [0], bins=0)
