"""The ensemble: the mean of its classifiers, in scores and in reasons; saved and loaded it scores the same."""

import numpy as np
import pytest

from mpxgat.models.evidence.classifier import Classifier, Ensemble, Hyperparameters
from mpxgat.models.evidence.linear import Exercise, Linear, column_sizes

QUICK = Hyperparameters(trees=5, smallest_leaf=20)


def classifier(seed, columns=4, *, trees=False):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(500, columns)).astype(np.float32)
    label = rng.normal(size=500) < features[:, 0]
    if trees:
        return Classifier.fit(features, label, seed, QUICK)
    size = column_sizes([features])
    return Linear.fit([Exercise.of(features, label, np.ones(500), size, 500, rng)], size)


@pytest.fixture(scope="module")
def ensemble():
    return Ensemble([classifier(0), classifier(1), classifier(2, trees=True)])


@pytest.fixture(scope="module")
def features():
    return np.random.default_rng(3).normal(size=(100, 4)).astype(np.float32)


def test_it_says_what_the_classifiers_say_in_the_mean(ensemble, features):
    assert ensemble.score(features) == pytest.approx(
        np.mean([one.score(features) for one in ensemble.classifiers], axis=0)
    )
    parts = np.mean([one.contributions(features) for one in ensemble.classifiers], axis=0)
    assert ensemble.contributions(features) == pytest.approx(parts)


def test_contributions_and_base_add_up_to_the_score(ensemble, features):
    assert ensemble.contributions(features).sum(axis=1) == pytest.approx(ensemble.score(features), abs=1e-9)


def test_an_ensemble_of_one_is_its_classifier(features):
    one = classifier(0)
    assert Ensemble([one]).score(features).tobytes() == one.score(features).tobytes()


def test_no_pair_has_no_score(ensemble, features):
    assert ensemble.score(features[:0]).shape == (0,)


def test_saved_and_loaded_it_scores_the_same(ensemble, features):
    loaded = Ensemble.from_arrays(ensemble.to_arrays())
    assert [type(each) for each in loaded.classifiers] == [Linear, Linear, Classifier]
    assert loaded.score(features).tobytes() == ensemble.score(features).tobytes()


@pytest.mark.parametrize("gone", ["0.", "1.", ""])
def test_missing_classifiers_are_told(ensemble, gone):
    arrays = {name: array for name, array in ensemble.to_arrays().items() if not name.startswith(gone)}
    with pytest.raises(ValueError, match="not numbered from 0 on"):
        Ensemble.from_arrays(arrays)
