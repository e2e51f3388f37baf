"""The jury: the mean of its judges, in scores and in reasons; saved and loaded it judges the same."""

import numpy as np
import pytest

from mpxgat.models.evidence.classifier import Growth, Judge, Jury

QUICK = Growth(trees=5, smallest_leaf=20)


def judge(seed, offset=0.0, columns=4):
    rng = np.random.default_rng(seed)
    evidence = rng.normal(size=(500, columns)).astype(np.float32)
    return Judge.learn(evidence, rng.normal(size=500) < evidence[:, 0], offset, seed, QUICK)


@pytest.fixture(scope="module")
def jury():
    return Jury([judge(0, -1.0), judge(1, -2.0), judge(2)])


@pytest.fixture(scope="module")
def evidence():
    return np.random.default_rng(3).normal(size=(100, 4)).astype(np.float32)


def test_it_says_what_the_judges_say_in_the_mean(jury, evidence):
    assert jury.n_columns == 4
    assert jury.score(evidence) == pytest.approx(np.mean([one.score(evidence) for one in jury.judges], axis=0))
    parts = np.mean([one.contributions(evidence) for one in jury.judges], axis=0)
    assert jury.contributions(evidence) == pytest.approx(parts)


def test_contributions_and_base_add_up_to_the_score(jury, evidence):
    assert jury.contributions(evidence).sum(axis=1) == pytest.approx(jury.score(evidence), abs=1e-9)


def test_the_judge_of_a_jury_of_one_decides(evidence):
    one = judge(0)
    assert Jury([one]).score(evidence).tobytes() == one.score(evidence).tobytes()


def test_no_pair_has_no_score(jury, evidence):
    assert jury.score(evidence[:0]).shape == (0,)


def test_saved_and_loaded_it_judges_the_same(jury, evidence):
    loaded = Jury.from_arrays(jury.to_arrays())
    assert len(loaded.judges) == 3
    assert loaded.score(evidence).tobytes() == jury.score(evidence).tobytes()


@pytest.mark.parametrize("gone", ["0.", "1.", ""])
def test_missing_judges_are_told(jury, gone):
    arrays = {name: array for name, array in jury.to_arrays().items() if not name.startswith(gone)}
    with pytest.raises(ValueError, match="not numbered from 0 on"):
        Jury.from_arrays(arrays)


def test_what_an_earlier_version_saved_is_told():
    with pytest.raises(ValueError, match="another version"):
        Jury.from_arrays(judge(0).to_arrays())


def test_judges_of_different_evidence_are_told():
    with pytest.raises(ValueError, match="different columns"):
        Jury.from_arrays(Jury([judge(0), judge(1, columns=5)]).to_arrays())
