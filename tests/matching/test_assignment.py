"""The assignment, against all assignments there are."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat.errors import SettingError
from mpxgat.matching import assignment
from mpxgat.matching.assignment import assign
from tests.matching.doubles import steady

PROBABILITIES = st.sampled_from([0.1, 0.5, 0.9]) | st.floats(0.001, 0.999)
TABLES = st.dictionaries(st.tuples(st.integers(0, 4), st.integers(5, 9)), PROBABILITIES, max_size=9)
THRESHOLDS = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]) | st.floats(0.01, 0.99)


@pytest.fixture(params=["dense", "sparse"])
def solver(request, monkeypatch):
    monkeypatch.setattr(assignment, "_DENSE_ENTRIES", 1 << 16 if request.param == "dense" else 0)


def arrays(table):
    return np.array(list(table), dtype=np.int32).reshape(-1, 2), np.array(list(table.values()), dtype=np.float64)


def one_to_one(pairs):
    return all(len(set(side)) == len(side) for side in (pairs[:, 0].tolist(), pairs[:, 1].tolist()))


def gain(probability, threshold):
    probability, threshold = (np.clip(value, 1e-12, 1 - 1e-12) for value in (probability, threshold))
    return np.log(probability / (1 - probability)) - np.log(threshold / (1 - threshold))


def best_gain(pairs, probability, threshold):
    rows = np.flatnonzero(probability >= threshold)
    every = (list(some) for size in range(len(rows) + 1) for some in combinations(rows, size))
    return max(gain(probability[some], threshold).sum() for some in every if one_to_one(pairs[some]))


@pytest.mark.usefixtures("solver")
class TestBothSolvers:
    @steady
    @given(table=TABLES, threshold=THRESHOLDS)
    def test_as_good_as_the_best_of_all(self, table, threshold):
        pairs, probability = arrays(table)
        chosen = assign(pairs, probability, threshold)
        assert one_to_one(pairs[chosen])
        assert (probability[chosen] >= threshold).all()
        assert gain(probability[chosen], threshold).sum() == pytest.approx(
            best_gain(pairs, probability, threshold), abs=1e-6
        )

    @steady
    @given(table=TABLES, threshold=THRESHOLDS, data=st.data())
    def test_the_order_of_the_pairs_does_not_matter(self, table, threshold, data):
        pairs, probability = arrays(table)
        order = np.array(data.draw(st.permutations(range(len(pairs)))), dtype=np.int64)
        expected = assign(pairs, probability, threshold)[order]
        assert assign(pairs[order], probability[order], threshold).tolist() == expected.tolist()

    def test_two_good_pairs_rather_than_one_better(self):
        pairs = np.array([(0, 5), (0, 6), (1, 5)])
        assert assign(pairs, np.array([0.95, 0.9, 0.9]), 0.5).tolist() == [False, True, True]
        assert assign(pairs, np.array([0.95, 0.51, 0.51]), 0.5).tolist() == [True, False, False]

    def test_a_pair_at_the_threshold_itself_is_taken(self):
        pairs = np.array([(0, 5), (1, 5), (1, 6)])
        assert assign(pairs, np.array([0.9, 0.9, 0.9]), 0.9).tolist() == [True, False, True]

    def test_certainty_does_no_harm(self):
        pairs = np.array([(0, 5), (0, 6), (1, 5)])
        assert assign(pairs, np.array([1.0, 0.0, 0.0]), 0.0).tolist() == [True, False, False]
        assert assign(pairs, np.array([1.0, 0.0, 0.0]), 1.0).tolist() == [True, False, False]


def test_both_solvers_reach_the_same_total(monkeypatch):
    rng = np.random.default_rng(0)
    keys = np.unique(rng.integers(200 * 200, size=1500))
    pairs = np.stack([keys // 200, 200 + keys % 200], axis=1).astype(np.int32)
    probability = np.round(rng.random(len(pairs)), 2).clip(0.01, 0.99)
    totals = []
    for entries in (1 << 16, 0):
        monkeypatch.setattr(assignment, "_DENSE_ENTRIES", entries)
        chosen = assign(pairs, probability, 0.2)
        assert one_to_one(pairs[chosen])
        totals.append(gain(probability[chosen], 0.2).sum())
    assert totals[0] == pytest.approx(totals[1], abs=1e-6)


def test_nothing_to_assign():
    assert assign(np.empty((0, 2), dtype=np.int32), np.empty(0), 0.5).tolist() == []


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_is_a_probability(threshold):
    with pytest.raises(SettingError, match="expected a probability from 0 to 1"):
        assign(np.array([(0, 1)]), np.array([0.5]), threshold)
