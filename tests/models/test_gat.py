import numpy as np
import pytest

from mpxgat.errors import InputError, SettingError
from mpxgat.metrics import auc
from mpxgat.models import load_model, make_model
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.nn.mpxgat import REFERENCE, HorizontalNet
from mpxgat.nn.ops import elu
from tests.examples import random_graph

SMALL = {"hidden": 8, "out": 6, "heads": 2, "epochs": 30, "check_every": 5, "lr": 0.01}


def test_gat_differs_from_mpxgat_in_the_vertical_model_only():
    graph = random_graph(1)
    plain, full = make_model("gat", seed=1, **SMALL).fit(graph), MPXGAT(seed=1, **SMALL).fit(graph)
    assert np.array_equal(plain.horizontal, full.horizontal)
    assert not np.array_equal(plain.vertical, full.vertical)
    assert plain.beta == []


def test_what_the_horizontal_embeddings_are_does_not_matter_to_gat():
    graph = random_graph(1)
    trained, random = (
        make_model("gat", seed=1, horizontal=source, **SMALL).fit(graph) for source in ("trained", "random")
    )
    assert np.array_equal(trained.vertical, random.vertical)
    assert list(random.training_summary()["parts"]) == ["between layers"]
    assert random.attention(0)["horizontal"] == []
    assert random.attention(0)["vertical"][0][1].shape == (3, 2)


def test_the_ablations_are_arguments():
    graph = random_graph(1)
    named, given = make_model("gat", seed=1, **SMALL), MPXGAT(vertical="gat", seed=1, **SMALL)
    assert np.array_equal(named.fit(graph).vertical, given.fit(graph).vertical)
    assert (named.name, given.name) == ("gat", "mpxgat")
    assert "vertical" not in named.settings
    assert given.settings["vertical"] == "gat"
    with pytest.raises(SettingError, match="no setting 'vertical'"):
        make_model("gat", vertical="gat-v")


@pytest.mark.parametrize("preset", ["paper", "reference"])
def test_gat_is_the_standard_one_whatever_the_preset(preset):
    model = make_model("gat", preset=preset, horizontal="random", seed=1, **SMALL).fit(random_graph(1))
    part, net = model.vertical_network()
    expected = HorizontalNet(part.n_nodes, part.widths, generator=part.start(), style=REFERENCE)
    assert net.state_dict().keys() == expected.state_dict().keys()
    assert all(block.activation is elu for block in net.blocks)


def test_a_wrong_source_is_named():
    with pytest.raises(SettingError, match="horizontal is 'dreamt', expected trained or random"):
        make_model("gat", horizontal="dreamt")


def test_random_horizontal_embeddings_are_uniform_and_reach_the_vertical_model():
    graph = random_graph(1)
    one, other = (make_model("mpxgat-random", seed=seed, **SMALL).fit(graph) for seed in (1, 2))
    assert one.horizontal.min() >= 0
    assert one.horizontal.max() < 1
    assert one.horizontal.mean() == pytest.approx(0.5, abs=0.03)
    assert not np.array_equal(one.horizontal, other.horizontal)
    assert len(one.beta) == 3
    assert all(block[0] != 0.5 for block in one.beta)


@pytest.mark.parametrize("model", ["gat", "mpxgat-random"])
def test_links_they_were_trained_on_are_told_from_others(model):
    graph = random_graph(3, people=150, layers=2, degree=6)
    fitted = make_model(model, seed=0, **SMALL | {"epochs": 150, "dropout": 0.2}).fit(graph)
    rng = np.random.default_rng(0)
    others = rng.integers(graph.n_nodes, size=(4000, 2))
    others = others[graph.node_layer[others[:, 0]] != graph.node_layer[others[:, 1]]]
    assert auc(fitted.score(graph.inter), fitted.score(others)) > 0.7


@pytest.mark.parametrize("change", ["rows", "dimensions", "numbers"])
def test_a_file_without_a_vector_for_each_node_is_refused(change, tmp_path):
    graph = random_graph(3, people=20)
    model = make_model("gat", seed=100, hidden=2, out=2, heads=1, epochs=1).fit(graph)
    vectors = model.horizontal
    wrong = {"rows": vectors[:-1], "dimensions": vectors.ravel(), "numbers": np.where(vectors == 0, 1, np.nan)}[change]
    model._horizontal = np.ascontiguousarray(wrong, dtype=np.float32)
    model._vertical = model._horizontal
    model.save(tmp_path / "model.safetensors")
    with pytest.raises(InputError, match="one for each node"):
        load_model(tmp_path / "model.safetensors")
