"""The judge: scores that are sums of contributions, saved as text, the same bytes on any number of threads."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from mpxgat.metrics import auc
from mpxgat.models.evidence.classifier import Growth, Judge

QUICK = Growth(trees=20, smallest_leaf=20)


def some_evidence(rows=2000, seed=0):
    """Evidence whose first column decides most, whose second helps, and whose others are noise."""
    rng = np.random.default_rng(seed)
    evidence = rng.normal(size=(rows, 5)).astype(np.float32)
    odds = 3 * evidence[:, 0] + evidence[:, 1] - 2
    return evidence, rng.random(rows) < 1 / (1 + np.exp(-odds))


def learned(offset=0.0, seed=0, growth=QUICK):
    return Judge.learn(*some_evidence(), offset, seed, growth)


@pytest.fixture(scope="module")
def judge():
    return learned(offset=-1.5)


def test_it_learns(judge):
    evidence, label = some_evidence(seed=1)
    score = judge.score(evidence)
    assert score.shape == (len(evidence),)
    assert score.dtype == np.float64
    assert auc(score[label], score[~label]) > 0.85


@pytest.mark.parametrize(
    ("rate", "judges", "trees", "expected"),
    [(0.05, 1, 300, 0.05), (0.05, 4, 150, 0.1), (0.1, 16, 75, 0.3), (0.5, 4, 150, 0.5)],
)
def test_judges_that_decide_together_have_fewer_trees_each(rate, judges, trees, expected):
    growth = Growth(rate=rate).among(judges)
    assert growth == Growth(trees=trees, rate=pytest.approx(expected))


def test_the_offset_is_added_to_every_score():
    evidence, _ = some_evidence(seed=1)
    plain, moved = learned(0.0).score(evidence), learned(-2.5).score(evidence)
    assert moved == pytest.approx(plain - 2.5, abs=1e-12)


def test_contributions_and_base_add_up_to_the_score(judge):
    evidence, _ = some_evidence(300, seed=2)
    parts = judge.contributions(evidence)
    assert parts.shape == (300, 6)
    assert parts.sum(axis=1) == pytest.approx(judge.score(evidence), abs=1e-9)
    assert np.ptp(parts[:, -1]) == 0  # the base is that of all pairs
    assert np.abs(parts[:, 0]).mean() > 3 * np.abs(parts[:, 2]).mean()


def test_no_pair_has_no_score(judge):
    assert judge.score(np.empty((0, 5), dtype=np.float32)).shape == (0,)


def test_importance_is_shared_out(judge):
    found = judge.importance(["first", "second", "a", "b", "c"])
    assert sum(found.values()) == pytest.approx(1)
    assert max(found, key=found.get) == "first"


@pytest.mark.parametrize("label", [True, False])
def test_labels_of_one_kind_give_finite_scores(label):
    evidence, _ = some_evidence(200)
    judge = Judge.learn(evidence, np.full(200, label), 0.0, 0, QUICK)
    assert np.isfinite(judge.score(evidence)).all()
    assert sum(judge.importance("abcde").values()) == 0


def test_hardly_any_pair_gives_finite_scores():
    evidence, _ = some_evidence(3)
    judge = Judge.learn(evidence, np.array([True, False, False]), 0.0, 0, Growth())
    assert np.isfinite(judge.score(evidence)).all()
    assert judge.contributions(evidence).sum(axis=1) == pytest.approx(judge.score(evidence))


# ---- the same bytes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnThreads(Growth):
    """Trees grown on a number of threads of one's choice."""

    threads: int = 1

    def parameters(self, seed):
        return super().parameters(seed) | {"num_threads": self.threads}


@pytest.mark.parametrize("random", [True, False])
def test_one_and_two_threads_grow_the_same_trees(random):
    evidence, label = some_evidence(20_000)
    found = []
    for threads in (1, 2):
        growth = OnThreads(trees=10, random=random, threads=threads)
        judge = Judge.learn(evidence, label, -1.0, 3, growth)
        trees, _, parameters = judge.to_arrays()["trees"].tobytes().partition(b"\nparameters:")
        assert b"[num_threads: %d]" % threads in parameters
        found.append((trees, judge.score(evidence).tobytes(), judge.contributions(evidence).tobytes()))
    assert found[0] == found[1]


def test_the_same_seed_gives_the_same_bytes_and_another_does_not():
    one, again, other = (learned(seed=seed).to_arrays()["trees"].tobytes() for seed in (5, 5, 6))
    assert one == again
    assert one != other


def test_seeds_beyond_those_of_lightgbm_are_no_trouble():
    assert np.isfinite(learned(seed=2**63 - 1).score(some_evidence()[0])).all()


# ---- saving ----------------------------------------------------------------------------------------------


def test_saved_and_loaded_it_judges_the_same(judge):
    evidence, _ = some_evidence(seed=4)
    arrays = judge.to_arrays()
    loaded = Judge.from_arrays(arrays)
    assert loaded.score(evidence).tobytes() == judge.score(evidence).tobytes()
    assert loaded.contributions(evidence).tobytes() == judge.contributions(evidence).tobytes()
    again = loaded.to_arrays()
    assert again.keys() == arrays.keys()
    assert all(np.array_equal(again[name], arrays[name]) for name in arrays)


@pytest.mark.parametrize("part", ["trees", "offset"])
def test_a_missing_or_empty_part_is_told(judge, part):
    arrays = judge.to_arrays()
    with pytest.raises(ValueError, match="the saved judge cannot be read"):
        Judge.from_arrays({name: array for name, array in arrays.items() if name != part})
    with pytest.raises(ValueError, match="the saved judge cannot be read"):
        Judge.from_arrays(arrays | {part: arrays[part][:0]})


@pytest.mark.parametrize("text", [b"\xff\xfe", b"nothing of the kind", b"tree\nversion=v4\n"])
def test_another_text_is_told(judge, text):
    with pytest.raises(ValueError, match="the saved judge cannot be read"):
        Judge.from_arrays(judge.to_arrays() | {"trees": np.frombuffer(text, dtype=np.uint8)})


# LightGBM ends the process (abort, segmentation fault) or never returns on many texts with a small damage, so this is
# tried in a process of its own.
_DAMAGED = """
import sys
import numpy as np
from mpxgat.models.evidence.classifier import Judge

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
        Judge.from_arrays(arrays | {"trees": np.frombuffer(damaged, dtype=np.uint8)}).score(np.zeros((1, 5), "f4"))
        found = "read"
    except ValueError:
        found = "told"
    with open(sys.argv[2], "a") as results:
        print(f"{name}: {found}", file=results)
"""


def test_a_damaged_text_is_told_and_does_not_end_the_process(judge, tmp_path):
    np.savez(tmp_path / "judge.npz", **judge.to_arrays())
    results = tmp_path / "results.txt"
    results.touch()
    command = [sys.executable, "-c", _DAMAGED, str(tmp_path / "judge.npz"), str(results)]
    done = subprocess.run(command, capture_output=True, timeout=60)
    names = ("half", "number of leaves", "children", "size of a tree", "head of a tree")
    assert results.read_text().splitlines() == [f"{name}: told" for name in names]
    assert done.returncode == 0
