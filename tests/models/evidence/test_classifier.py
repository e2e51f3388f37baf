"""The classifier: scores that are sums of contributions, saved as text, the same bytes on any number of threads."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from mpxgat.metrics import auc
from mpxgat.models.evidence.classifier import Classifier, Hyperparameters

QUICK = Hyperparameters(trees=20, smallest_leaf=20)


def some_features(rows=2000, seed=0):
    """Features of which the first decides most, the second helps, and the others are noise."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 5)).astype(np.float32)
    odds = 3 * features[:, 0] + features[:, 1] - 2
    return features, rng.random(rows) < 1 / (1 + np.exp(-odds))


def learned(seed=0):
    return Classifier.fit(*some_features(), seed, QUICK)


@pytest.fixture(scope="module")
def classifier():
    return learned()


def test_it_learns(classifier):
    features, label = some_features(seed=1)
    score = classifier.score(features)
    assert score.shape == (len(features),)
    assert score.dtype == np.float64
    assert auc(score[label], score[~label]) > 0.85


def test_contributions_and_base_add_up_to_the_score(classifier):
    features, _ = some_features(300, seed=2)
    parts = classifier.contributions(features)
    assert parts.shape == (300, 6)
    assert parts.sum(axis=1) == pytest.approx(classifier.score(features), abs=1e-9)
    assert np.ptp(parts[:, -1]) == 0  # the base is that of all pairs
    assert np.abs(parts[:, 0]).mean() > 3 * np.abs(parts[:, 2]).mean()


def test_no_pair_has_no_score(classifier):
    assert classifier.score(np.empty((0, 5), dtype=np.float32)).shape == (0,)


@pytest.mark.parametrize("label", [True, False])
def test_labels_of_one_kind_give_finite_scores(label):
    features, _ = some_features(200)
    classifier = Classifier.fit(features, np.full(200, label), 0, QUICK)
    assert np.isfinite(classifier.score(features)).all()


def test_hardly_any_pair_gives_finite_scores():
    features, _ = some_features(3)
    classifier = Classifier.fit(features, np.array([True, False, False]), 0, Hyperparameters())
    assert np.isfinite(classifier.score(features)).all()
    assert classifier.contributions(features).sum(axis=1) == pytest.approx(classifier.score(features))


# ---- the same bytes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnThreads(Hyperparameters):
    """Trees grown on a number of threads of one's choice."""

    threads: int = 1

    def parameters(self, seed):
        assert "num_threads" in super().parameters(seed)
        return super().parameters(seed) | {"num_threads": self.threads}


@pytest.mark.parametrize("random", [True, False])
def test_one_and_two_threads_grow_the_same_trees(random):
    features, label = some_features(20_000)
    found = []
    for threads in (1, 2):
        parameters = OnThreads(trees=10, random_thresholds=random, threads=threads)
        classifier = Classifier.fit(features, label, 3, parameters)
        trees = classifier.to_arrays()["trees"].tobytes()
        assert b"threads" not in trees
        found.append((trees, classifier.score(features).tobytes(), classifier.contributions(features).tobytes()))
    assert found[0] == found[1]


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    one, again, other = (learned(seed=seed).to_arrays()["trees"].tobytes() for seed in (5, 5, 6))
    assert one == again
    assert one != other


def test_seeds_beyond_those_of_lightgbm_are_no_trouble():
    assert np.isfinite(learned(seed=2**63 - 1).score(some_features()[0])).all()


# ---- saving ----------------------------------------------------------------------------------------------


def test_saved_and_loaded_it_scores_the_same(classifier):
    features, _ = some_features(seed=4)
    arrays = classifier.to_arrays()
    loaded = Classifier.from_arrays(arrays)
    assert loaded.score(features).tobytes() == classifier.score(features).tobytes()
    assert loaded.contributions(features).tobytes() == classifier.contributions(features).tobytes()
    again = loaded.to_arrays()
    assert again.keys() == arrays.keys()
    assert all(np.array_equal(again[name], arrays[name]) for name in arrays)


@pytest.mark.parametrize("part", ["trees", "digest"])
def test_a_missing_or_empty_part_is_told(classifier, part):
    arrays = classifier.to_arrays()
    with pytest.raises(ValueError, match="the saved classifier cannot be read"):
        Classifier.from_arrays({name: array for name, array in arrays.items() if name != part})
    with pytest.raises(ValueError, match="the saved classifier cannot be read"):
        Classifier.from_arrays(arrays | {part: arrays[part][:0]})


@pytest.mark.parametrize("text", [b"\xff\xfe", b"nothing of the kind", b"tree\nversion=v4\n"])
def test_another_text_is_told(classifier, text):
    with pytest.raises(ValueError, match="the saved classifier cannot be read"):
        Classifier.from_arrays(classifier.to_arrays() | {"trees": np.frombuffer(text, dtype=np.uint8)})


# LightGBM ends the process (abort, segmentation fault) or never returns on many texts with a small damage, so this is
# tried in a process of its own.
_DAMAGED = """
import sys
import numpy as np
from mpxgat.models.evidence.classifier import Classifier

with np.load(sys.argv[1]) as saved:
    arrays = dict(saved)
text = arrays["trees"].tobytes()
damages = {
    "half": text[: len(text) // 2],
    "number of leaves": text.replace(b"num_leaves=", b"num_leaves=9", 1),
    "children": text.replace(b"left_child=", b"left_child=+", 1),
    "size of a tree": text.replace(b"tree_sizes=", b"tree_sizes=9", 1),
    "head of a tree": text.replace(b"Tree=1", b"Tree;1", 1),
}
for name, damaged in damages.items():
    try:
        Classifier.from_arrays(arrays | {"trees": np.frombuffer(damaged, dtype=np.uint8)}).score(np.zeros((1, 5), "f4"))
        found = "read"
    except ValueError:
        found = "told"
    with open(sys.argv[2], "a") as results:
        print(f"{name}: {found}", file=results)
"""


def test_a_damaged_text_is_told_and_does_not_end_the_process(classifier, tmp_path):
    np.savez(tmp_path / "classifier.npz", **classifier.to_arrays())
    results = tmp_path / "results.txt"
    results.touch()
    command = [sys.executable, "-c", _DAMAGED, str(tmp_path / "classifier.npz"), str(results)]
    done = subprocess.run(command, capture_output=True, timeout=60)
    names = ("half", "number of leaves", "children", "size of a tree", "head of a tree")
    assert results.read_text().splitlines() == [f"{name}: told" for name in names]
    assert done.returncode == 0
