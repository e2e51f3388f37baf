import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from mpxgat import metrics
from mpxgat.errors import SettingError

scores = st.lists(
    st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False, width=64)), min_size=1, max_size=40
)


def brute_force_auc(positives, negatives):
    wins = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    return wins / (len(positives) * len(negatives))


@given(scores, scores, st.integers(1, 10))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_streamed_auc_and_ap_equal_the_definitions(positives, negatives, block):
    ranking = metrics.StreamedRanking(positives)
    for start in range(0, len(negatives), block):
        ranking.add(negatives[start : start + block])
    false, true = ranking.roc()
    assert np.trapezoid(true, false) == pytest.approx(brute_force_auc(positives, negatives), abs=1e-12)
    assert ranking.auc() == pytest.approx(brute_force_auc(positives, negatives), abs=1e-12)
    truth = [1] * len(positives) + [0] * len(negatives)
    if np.isfinite(positives + negatives).all():  # scikit-learn refuses infinities
        expected = average_precision_score(truth, positives + negatives)
        assert ranking.average_precision() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_positives", [5, 877, 6000])
@pytest.mark.parametrize("decimals", [1, 3, 15])
@pytest.mark.parametrize("scale", [1.0, 1e-308, 1e300])
def test_many_scores_with_ties_equal_sklearn(n_positives, decimals, scale):
    rng = np.random.default_rng(0)
    positives = np.round(rng.normal(0.5, 1, n_positives), decimals) * scale
    negatives = np.round(rng.normal(0, 1, 300_000), decimals) * scale
    ranking = metrics.StreamedRanking(positives)
    for part in np.array_split(negatives, 7):
        ranking.add(part)
    truth = np.r_[np.ones(n_positives), np.zeros(len(negatives))]
    both = np.r_[positives, negatives]
    assert ranking.auc() == pytest.approx(roc_auc_score(truth, both), abs=1e-12)
    assert ranking.average_precision() == pytest.approx(average_precision_score(truth, both), abs=1e-12)


@given(scores, scores)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_curves_equal_the_definitions(positives, negatives):
    ranking = metrics.StreamedRanking(positives)
    ranking.add(negatives)
    levels = sorted(set(positives), reverse=True)
    rates = [
        [sum(s > level for s in values) / len(values), sum(s >= level for s in values) / len(values)]
        for level in levels
        for values in (negatives, positives)
    ]
    false, true = ranking.roc()
    assert false.tolist() == [0, *(rate for pair in rates[::2] for rate in pair), 1]
    assert true.tolist() == [0, *(rate for pair in rates[1::2] for rate in pair), 1]
    recall, precision = ranking.precision_recall()
    for level, *found in zip(levels, recall, precision, strict=True):
        right, wrong = (sum(s >= level for s in values) for values in (positives, negatives))
        assert found == [right / len(positives), right / (right + wrong)]


@pytest.mark.parametrize("digits", [1, 6])
def test_points_of_curves_are_those_of_scikit_learn(digits):
    rng = np.random.default_rng(0)
    positives, negatives = rng.normal(1, 1, 40).round(digits), rng.normal(0, 1, 300).round(digits)
    ranking = metrics.StreamedRanking(positives)
    ranking.add(negatives)
    truth, score = np.repeat([1, 0], [40, 300]), np.concatenate([positives, negatives])
    false, true, _ = roc_curve(truth, score, drop_intermediate=False)
    x, y = ranking.roc()
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) >= 0).all()
    on_it = set(zip(false.round(9), true.round(9), strict=True))
    assert set(zip(x.round(9), y.round(9), strict=True)) <= on_it
    precision, recall, thresholds = precision_recall_curve(truth, score)
    at_positives = np.isin(thresholds, positives)
    found_recall, found_precision = ranking.precision_recall()
    assert found_recall == pytest.approx(recall[:-1][at_positives][::-1])
    assert found_precision == pytest.approx(precision[:-1][at_positives][::-1])


@pytest.mark.filterwarnings("error")
def test_infinite_and_huge_scores_are_ordered():
    assert metrics.auc([np.inf], [-np.inf, 0, 1e308, np.inf]) == 3.5 / 4
    assert metrics.auc([-np.inf, 0], [-np.inf]) == 0.75
    assert metrics.auc([-1.7e308, 1.7e308], [0.0, -1.7e308]) == brute_force_auc([-1.7e308, 1.7e308], [0.0, -1.7e308])
    assert metrics.auc([0.0, 5e-324], [0.0, 5e-324]) == 0.5


def test_no_positives_or_no_negatives_is_undefined():
    assert math.isnan(metrics.auc([], [1.0]))
    assert math.isnan(metrics.auc([1.0], []))
    assert math.isnan(metrics.average_precision([], [1.0]))
    assert metrics.average_precision([1.0], []) == 1.0
    assert [part.tolist() for part in metrics.StreamedRanking([]).roc()] == [[0, 0], [0, 0]]


@pytest.mark.parametrize("where", ["positives", "negatives"])
def test_nan_scores_are_refused(where):
    values = {"positives": [0.0], "negatives": [0.0]} | {where: [1.0, math.nan]}
    with pytest.raises(SettingError, match="NaN"):
        metrics.auc(**values)


def test_ranks_average_ties():
    table = np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 1.0], [0.0, 5.0, 5.0]])
    rank = metrics.ranks(table, np.array([2, 0, 1]))
    assert rank.tolist() == [2.0, 2.0, 1.5]
    for row, column, value in zip(table, [2, 0, 1], rank, strict=True):
        assert value == stats.rankdata(-row, method="average")[column]
    assert metrics.mean_reciprocal_rank(rank) == pytest.approx((0.5 + 0.5 + 1 / 1.5) / 3)
    assert metrics.hits_at(rank, 1) == 0
    assert metrics.hits_at(rank, 2) == 1
    assert math.isnan(metrics.hits_at(np.empty(0), 1))


def test_overall_auc_uses_the_papers_weights():
    # arXiv in the paper: 404 intra and 877 inter test links, .80 and .84 give .82 after rounding.
    assert metrics.overall_auc(0.80, 404, 0.84, 877) == pytest.approx((404 * 0.80 + 877 * 0.84) / 1281)
    assert metrics.overall_auc(math.nan, 0, 0.84, 877) == 0.84
    assert math.isnan(metrics.overall_auc(math.nan, 0, math.nan, 0))


def test_welch_equals_the_textbook_formula():
    first, second = [0.83, 0.84, 0.82, 0.85], [0.72, 0.75, 0.70]
    a, b = np.var(first, ddof=1) / 4, np.var(second, ddof=1) / 3
    t = (np.mean(first) - np.mean(second)) / math.sqrt(a + b)
    df = (a + b) ** 2 / (a**2 / 3 + b**2 / 2)
    result = metrics.welch(first, second)
    assert result.statistic == pytest.approx(t)
    assert result.degrees_of_freedom == pytest.approx(df)
    assert result.p_value == pytest.approx(2 * stats.t.sf(t, df))
    with pytest.raises(SettingError, match="at least 2"):
        metrics.welch([1.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)],
)
def test_intervals_of_shares_are_wilsons(hits, n, low, high):
    # The last two are those of Newcombe (1998), table I, method 3.
    share = metrics.Share(hits, n)
    assert share.value == hits / n
    assert (share.low, share.high) == pytest.approx((low, high), abs=5e-5)
    wilson = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert (share.low, share.high) == pytest.approx((wilson.low, wilson.high), abs=1e-6)


def test_of_nothing_every_share_is_possible():
    share = metrics.Share(0, 0)
    assert math.isnan(share.value)
    assert (share.low, share.high) == (0, 1)
