"""What a loaded model computes only when it is asked for: it is the same then, and damage is told."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from mpxgat.errors import InputError, SettingError
from mpxgat.features import encode_features
from mpxgat.io.arrays import read_arrays, write_arrays
from mpxgat.models import load_model
from mpxgat.models.base import KIND, STATE
from mpxgat.models.evidence import Evidence
from mpxgat.synthetic import social

pytestmark = pytest.mark.usefixtures("one_thread")

WITHOUT_TORCH = """
import sys
from mpxgat.models import load_model
from mpxgat.matching import with_reasons

model = load_model(sys.argv[1])
found = model.match_all(0.5)
assert with_reasons(model, found).num_rows == len(found) > 0
assert "torch" not in sys.modules, "torch"
assert "lightgbm" not in sys.modules, "lightgbm"
"""


@pytest.fixture(scope="module")
def fitted():
    graph = social(people=120, layers=3, seed=7, overlap=0.7, names=True, known=0.7)
    return Evidence(rounds=2, splits=2, trees=10).fit(graph)


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    return fitted.save(tmp_path_factory.mktemp("saved") / "model.safetensors")


@pytest.fixture
def loaded(saved):
    return load_model(saved)


def some_pairs(graph, n=2000):
    pairs = np.random.default_rng(1).integers(graph.n_nodes, size=(n, 2))
    return pairs[pairs[:, 0] != pairs[:, 1]]


def test_matching_needs_no_torch_and_no_lightgbm(saved):
    subprocess.run([sys.executable, "-c", WITHOUT_TORCH, saved], check=True)


def test_candidates_need_no_features(loaded):
    assert len(loaded.candidates(0, 1, 3).pairs)
    assert "features" not in vars(loaded._joint)
    assert "intra" not in vars(loaded._structure)
    assert "model" not in vars(loaded._embedded)


def test_everything_is_the_same(fitted, loaded):
    pairs = some_pairs(fitted.graph)
    assert loaded.score(pairs).tobytes() == fitted.score(pairs).tobytes()
    probability = [model.link_probability(pairs) for model in (loaded, fitted)]
    assert np.array_equal(*probability, equal_nan=True)
    for one, other in zip(loaded.embeddings(), fitted.embeddings(), strict=True):
        assert one.tobytes() == other.tobytes()
    assert loaded.rules.score(pairs).tobytes() == fitted.rules.score(pairs).tobytes()


def test_saved_again_it_has_the_same_bytes(saved, loaded, tmp_path):
    assert loaded.save(tmp_path / "again.safetensors").read_bytes() == saved.read_bytes()


@pytest.mark.parametrize("asked", [False, True])
def test_a_worker_gets_the_same_model(fitted, loaded, asked):
    pairs = some_pairs(fitted.graph, 200)
    if asked:
        loaded.score(pairs)
    sent = pickle.loads(pickle.dumps(loaded))  # noqa: S301 - made here
    assert sent.score(pairs).tobytes() == fitted.score(pairs).tobytes()
    assert sent.match_all(0.5).to_table().equals(fitted.match_all(0.5).to_table())


def test_a_loaded_model_is_extended_as_the_fitted_one_is(fitted, loaded):
    graph = fitted.graph.subgraph(np.arange(fitted.graph.n_nodes) % 10 > 0)
    pairs = some_pairs(graph)
    one, other = loaded.extend(graph), fitted.extend(graph)
    assert one.score(pairs).tobytes() == other.score(pairs).tobytes()
    assert one.horizontal.tobytes() == fitted.anchored.extend(graph).horizontal.tobytes()
    again = one.extend(fitted.graph)
    assert again.match_all(0.5).to_table().equals(fitted.match_all(0.5).to_table())


def test_a_graph_with_other_features_is_refused_at_once(fitted, loaded):
    graph = encode_features(fitted.graph, "joined:date")
    for model in (fitted, loaded):
        with pytest.raises(SettingError, match=r"expected none .* as in the fitted graph"):
            model.extend(graph)


def damaged(saved, folder, change):
    """The model's file, an array of its embeddings changed."""
    header, arrays = read_arrays(saved, KIND)
    parts = {name: array.copy() for name, array in arrays.items()}
    change(parts)
    path = folder / "damaged.safetensors"
    write_arrays(path, KIND, header, parts)
    return path


def first_row_left_out(parts, name):
    parts[f"{STATE}anchored.{name}"] = parts[f"{STATE}anchored.{name}"][1:]


def not_a_number(parts, name):
    parts[f"{STATE}anchored.{name}"][0, 0] = np.nan


@pytest.mark.parametrize("name", ["horizontal", "vertical"])
@pytest.mark.parametrize("damage", [first_row_left_out, not_a_number])
def test_damaged_vectors_are_told_at_once(saved, tmp_path, name, damage):
    path = damaged(saved, tmp_path, lambda parts: damage(parts, name))
    with pytest.raises(InputError, match="expected finite ones, one for each node"):
        load_model(path)


@pytest.mark.parametrize("part", ["identity", "net.mean", "net.vertical_terms.W", "background.union"])
def test_a_damaged_network_is_told_when_it_is_needed(saved, tmp_path, part):
    path = damaged(saved, tmp_path, lambda parts: parts.pop(f"{STATE}anchored.{part}"))
    model = load_model(path)
    assert len(model.match_all(0.5))
    with pytest.raises(InputError, match="a damaged model file"):
        model.embeddings()
