"""Trees asked as arrays: the library's own scores, to the last bit; other trees are left to it, damaged ones told."""

import lightgbm
import numpy as np
import pytest

from mpxgat.models.evidence.classifier import Classifier, Hyperparameters
from mpxgat.models.evidence.trees import Trees


def some_rows(count=3000, columns=7, seed=0):
    """Numbers of which many are 0 and many are equal."""
    rng = np.random.default_rng(seed)
    features = np.round(rng.normal(size=(count, columns)), 2).astype(np.float32)
    features[:, ::2] = np.maximum(features[:, ::2], 0)
    return features, (features[:, 0] * features[:, 1] + np.abs(features[:, 2])) > 0.8


def grown(leaves=15, rows=3000, trees=20, categories="", **more):
    features, label = some_rows(rows)
    parameters = Hyperparameters(leaves=leaves, trees=trees).parameters(0) | more
    data = lightgbm.Dataset(features, label.astype(float), categorical_feature=categories or "auto")
    return lightgbm.train(parameters, data, trees)


@pytest.mark.parametrize("leaves", [2, 15, 32])
@pytest.mark.parametrize("extra_trees", [True, False])
def test_scores_are_those_of_the_library(leaves, extra_trees):
    booster = grown(leaves, extra_trees=extra_trees)
    trees = Trees.read(booster.model_to_string())
    assert (trees.n_trees, trees.n_features) == (20, 7)
    for count in (0, 1, 63, 64, 65, 20_000):
        features, _ = some_rows(count, seed=1)
        expected = booster.predict(features, raw_score=True) if count else np.zeros(0)
        assert trees.score(features).tobytes() == expected.tobytes()


def test_numbers_on_a_threshold_go_where_the_library_sends_them():
    booster = grown()
    trees = Trees.read(booster.model_to_string())
    on = np.resize(trees.threshold, (len(trees.threshold), 7))
    for features in (on, np.nextafter(on, np.float32(np.inf)), np.nextafter(on, np.float32(-np.inf))):
        assert trees.score(features).tobytes() == booster.predict(features, raw_score=True).tobytes()


def test_trees_that_never_branch_have_one_value():
    booster = grown(rows=10)
    features, _ = some_rows(5)
    assert Trees.read(booster.model_to_string()).score(features) == pytest.approx(
        booster.predict(features, raw_score=True)
    )


@pytest.mark.parametrize("other", [{"leaves": 40, "extra_trees": False}, {"categories": [1]}])
def test_other_trees_are_left_to_the_library(other):
    booster = grown(**other)
    text = booster.model_to_string()
    assert Trees.read(text) is None
    features, _ = some_rows(50, seed=2)
    classifier = Classifier(text)
    assert classifier.score(features).tobytes() == booster.predict(features, raw_score=True).tobytes()
    assert (classifier.n_features, classifier.n_trees) == (7, 20)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("split_feature", "7"),
        ("split_feature", "-1"),
        ("left_child", "0"),
        ("left_child", "900"),
        ("right_child", "-900"),
        ("threshold", "x"),
        ("leaf_value", ""),
    ],
)
def test_a_text_whose_trees_lead_nowhere_is_told(name, written):
    lines = grown(trees=1).model_to_string().splitlines()
    place = next(n for n, line in enumerate(lines) if line.startswith(f"{name}="))
    _, _, rest = lines[place].partition(" ")
    lines[place] = f"{name}={written} {rest}" if written else f"{name}="
    with pytest.raises(ValueError, match=r"tree|damaged|could not convert"):
        Trees.read("\n".join(lines))


def test_other_columns_are_refused():
    trees = Trees.read(grown().model_to_string())
    with pytest.raises(ValueError, match="expected 7 columns"):
        trees.score(np.zeros((3, 6), dtype=np.float32))
