"""Curves against scikit-learn and against the package's own exact measures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_curve, roc_curve

from mpxgat.metrics import auc, average_precision
from mpxgat.report.curves import LinkCurve, thinned

scores = st.lists(st.integers(-4, 4).map(float) | st.sampled_from([math.inf, -math.inf, 0.5]), min_size=1, max_size=30)


def curve_of(links, non_links):
    curve = LinkCurve(links)
    half = len(non_links) // 2
    curve.add(non_links[:half])
    curve.add(non_links[half:])
    return curve


@given(scores, scores)
def test_areas_are_exact_with_ties(links, non_links):
    curve = curve_of(links, non_links)
    assert curve.auc() == pytest.approx(auc(links, non_links), abs=1e-12)
    assert curve.average_precision() == pytest.approx(average_precision(links, non_links), abs=1e-12)


@pytest.mark.parametrize("digits", [1, 6])
def test_points_are_those_of_scikit_learn(digits):
    rng = np.random.default_rng(0)
    links, non_links = rng.normal(1, 1, 40).round(digits), rng.normal(0, 1, 300).round(digits)
    curve = curve_of(links, non_links)
    truth, score = np.repeat([1, 0], [40, 300]), np.concatenate([links, non_links])
    false, true, _ = roc_curve(truth, score, drop_intermediate=False)
    x, y = curve.roc()
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) >= 0).all()
    on_it = set(zip(false.round(9), true.round(9), strict=True))
    assert set(zip(x.round(9), y.round(9), strict=True)) <= on_it
    precision, recall, thresholds = precision_recall_curve(truth, score)
    at_links = np.isin(thresholds, links)
    found_recall, found_precision = curve.precision_recall()
    assert found_recall == pytest.approx(recall[:-1][at_links][::-1])
    assert found_precision == pytest.approx(precision[:-1][at_links][::-1])


def test_without_links_or_non_links_there_is_no_area():
    assert math.isnan(LinkCurve([]).auc())
    assert math.isnan(LinkCurve([]).average_precision())
    assert math.isnan(LinkCurve([1.0]).auc())


def test_thinning_keeps_the_ends_and_the_shape():
    x = np.linspace(0, 1, 10_000)
    y = np.sqrt(x)
    places = thinned(x, y, 100)
    assert len(places) <= 102
    assert (places[0], places[-1]) == (0, len(x) - 1)
    assert np.abs(np.interp(x, x[places], y[places]) - y).max() < 0.02
    assert thinned(x[:5], y[:5], 100).tolist() == [0, 1, 2, 3, 4]
