from dataclasses import replace

import numpy as np
import pytest

from mpxgat import splits
from mpxgat.errors import SettingError, TrainingError
from mpxgat.evaluation import evaluate
from mpxgat.graph import Features
from mpxgat.io.arrays import read_arrays
from mpxgat.models.anchored import Anchored, AnchoredSettings
from mpxgat.models.base import KIND, STATE
from mpxgat.models.rules import MatchedNeighbours, Rules
from mpxgat.training.parallel import Session
from tests.examples import graph_of, random_graph

SMALL = {"dimensions": 16, "hidden": 8, "terms": 4, "splits": 2, "steps": 4, "epochs": 3}

pytestmark = pytest.mark.usefixtures("one_thread")


def fitted(graph, *, seed=0, **settings):
    return Anchored(seed=seed, **(SMALL | settings)).fit(graph)


@pytest.fixture(scope="module")
def model():
    return fitted(random_graph(0))


def larger_graph(seed=0):
    return random_graph(seed, people=300, degree=10)


@pytest.mark.parametrize("protocol", ["units", "marked"])
def test_it_finds_hidden_counterparts_better_than_matched_neighbours(protocol):
    split = splits.make_split(larger_graph(), protocol, 100)
    model = fitted(split.train, dimensions=128, hidden=16, steps=20, epochs=8)
    rules = MatchedNeighbours().fit(split.train)
    found, plain = (evaluate(each, split).inter.values["auc"] for each in (model, rules))
    assert found > max(plain, 0.9)


def test_hidden_links_within_layers_are_found_better_than_by_rules():
    split = splits.marked_nodes(larger_graph(1), 100)
    models = fitted(split.train, dimensions=64, steps=20), Rules().fit(split.train)
    found, plain = (evaluate(each, split).intra.values["auc"] for each in models)
    assert found > plain


def test_training_raises_the_validation():
    split = splits.held_out_units(larger_graph(2), 100)
    history = fitted(split.train, steps=10, epochs=6).history["inner splits"]
    assert max(row["validation"] for row in history) > history[0]["validation"]
    assert all(0 < row["beta"] < 1 for row in history)


def test_the_same_graph_is_embedded_the_same(model):
    horizontal, vertical = model.embed_graph(model.graph)
    assert np.array_equal(horizontal, model.horizontal)
    assert np.array_equal(vertical, model.vertical)


def test_a_graph_with_hidden_links_is_embedded_as_if_they_had_never_been_there(model):
    """Nothing of the links that the model was fitted on stays in what it embeds later."""
    hidden = model.graph.inter[:5]
    rest = model.graph.without(inter=hidden)
    _, vertical = model.embed_graph(rest)
    assert not np.array_equal(vertical[hidden[:, 0]], model.vertical[hidden[:, 0]])
    alone = np.flatnonzero(np.bincount(rest.unit)[rest.unit] == 1)
    detached = np.intersect1d(hidden, alone)
    assert len(detached)
    d = SMALL["dimensions"]
    identity = slice(4 * d, 5 * d)  # after one block of columns for each length of walk
    assert not vertical[detached, identity].any()
    assert model.vertical[detached, identity].any(axis=1).all()


def test_another_number_of_nodes_is_refused(model):
    smaller = model.graph.subgraph(np.arange(model.graph.n_nodes - 1))
    with pytest.raises(SettingError, match=r"use extend\(graph\)"):
        model.embed_graph(smaller)


# ---- new nodes -------------------------------------------------------------------------------------------


def far_graph(*more):
    """Two parts without a link between them; further links may join the second."""
    one = ["x.a x.b", "x.b x.c", "y.a y.b", "y.b y.c", "x.a y.a", "x.b y.b", "x.c y.c"]
    two = ["x.p x.q", "x.q x.r", "y.p y.q", "y.q y.r", "x.p y.p", "x.r y.r"]
    return graph_of(*one, *two, *more)


def test_nodes_far_from_what_is_new_keep_their_vectors():
    old, new = far_graph(), far_graph("x.0new x.q", "y.0new y.q", "x.0new y.0new")
    model = fitted(old)
    extended = model.extend(new)
    assert extended.graph is new
    assert extended.vertical.shape == (new.n_nodes, model.vertical.shape[1])
    for name in "abc":
        for layer in "xy":
            before, after = old.index(name, layer), new.index(name, layer)
            assert extended.vertical[after] == pytest.approx(model.vertical[before], abs=1e-5)
            assert extended.horizontal[after] == pytest.approx(model.horizontal[before], abs=1e-5)
    changed = old.index("q", "x"), new.index("q", "x")
    assert np.abs(extended.vertical[changed[1]] - model.vertical[changed[0]]).max() > 1e-3


def test_a_new_unit_with_known_neighbours_is_recognised():
    graph = larger_graph(3)
    split = splits.held_out_units(graph, 100)
    marked = split.inter.negatives.nodes
    old = split.train.subgraph(np.setdiff1d(np.arange(graph.n_nodes), marked))
    extended = fitted(old, dimensions=128, steps=10).extend(split.train)
    assert evaluate(extended, split).inter.values["auc"] > 0.85


def test_extending_twice_is_extending_once():
    first, both = far_graph("x.0new x.q"), far_graph("x.0new x.q", "y.0more y.q")
    model = fitted(far_graph())
    stepwise = model.extend(first).extend(both)
    new = both.index("0more", "y")
    assert stepwise.vertical.shape == (both.n_nodes, model.vertical.shape[1])
    a = both.index("a", "x")
    assert stepwise.vertical[a] == pytest.approx(model.extend(both).vertical[a], abs=1e-5)
    assert np.isfinite(stepwise.vertical[new]).all()


def test_other_layers_and_other_features_are_refused(model):
    with pytest.raises(SettingError, match="the graph has the layers"):
        model.extend(graph_of("x.a x.b"))
    graph = model.graph
    featured = replace(graph, vertical_features=Features(("age",), np.ones((graph.n_nodes, 1))))
    for use in (model.embed_graph, model.extend):
        with pytest.raises(SettingError, match="the graph has the features"):
            use(featured)


# ---- bytes -----------------------------------------------------------------------------------------------


def test_a_training_cut_short_goes_on_to_the_same_bytes(tmp_path):
    graph = random_graph(6)
    whole = fitted(graph, epochs=4)

    class StopError(Exception):
        pass

    def stop(part, report):
        if report.epoch == 2:
            raise StopError

    with pytest.raises(StopError):
        Anchored(**(SMALL | {"epochs": 4})).fit(graph, Session(tmp_path, report=stop, save_every=0))
    resumed = Anchored(**(SMALL | {"epochs": 4})).fit(graph, Session(tmp_path))
    assert resumed.vertical.tobytes() == whole.vertical.tobytes()
    assert resumed.history == whole.history


def test_a_loaded_model_embeds_and_extends(tmp_path, model):
    saved = model.save(tmp_path / "model.safetensors")
    header, arrays = read_arrays(saved, KIND)
    state = {name.removeprefix(STATE): array for name, array in arrays.items() if name.startswith(STATE)}
    loaded = Anchored(seed=header["seed"], **header["settings"]).restore(model.graph, state, header["notes"])
    assert np.array_equal(loaded.embed_graph(model.graph)[1], model.vertical)
    assert np.array_equal(loaded.extend(model.graph).vertical, model.extend(model.graph).vertical)


# ---- input it must bear ----------------------------------------------------------------------------------


def test_features_are_read():
    graph = random_graph(7)
    rng = np.random.default_rng(0)
    featured = replace(graph, vertical_features=Features(("age",), rng.normal(size=(graph.n_nodes, 1))))
    assert not np.array_equal(fitted(graph).vertical, fitted(featured).vertical)


@pytest.mark.parametrize("nodes", [0, 1])
def test_hardly_any_node_is_no_trouble(nodes):
    graph = random_graph(8).subgraph(np.arange(nodes))
    assert len(fitted(graph).vertical) == nodes


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"dimensions": 0}, "dimensions is 0"),
        ({"hops": 0}, "hops is 0"),
        ({"splits": 1}, "splits is 1"),
        ({"ranking": -0.1}, "ranking is -0.1"),
        ({"lr": 0.0}, "lr is 0.0"),
        ({"steps": 1.5}, "steps is '1.5'"),
        ({"batch": 0}, "batch is '0', expected auto, full or a whole number"),
        ({"batch": "half"}, "batch is 'half', expected auto, full or a whole number"),
    ],
)
def test_settings_out_of_range_are_named(wrong, message):
    with pytest.raises(SettingError, match=message):
        AnchoredSettings.of(**wrong)


def test_large_networks_have_fewer_dimensions_and_extended_ones_those_they_were_fitted_with(monkeypatch):
    settings = AnchoredSettings()
    assert [settings.dimensions_for(n) for n in (0, 100_000, 200_000, 10**6)] == [256, 256, 128, 32]
    assert AnchoredSettings(dimensions=16).dimensions_for(10**6) == 16
    monkeypatch.setattr("mpxgat.models.anchored._MOST_NODES", 10)
    graph = random_graph(3)
    model = fitted(graph, dimensions=64)
    monkeypatch.undo()
    assert model.horizontal.shape[1] < 64
    assert model.extend(graph).horizontal == pytest.approx(model.horizontal, abs=1e-5)
    assert model.embed_graph(graph)[1].shape == model.vertical.shape


def test_a_step_may_take_all_links_of_a_split(monkeypatch):
    graph = random_graph(3)
    usual, automatic, full = (fitted(graph, **more) for more in ({}, {"batch": "auto"}, {"batch": "full"}))
    assert np.array_equal(usual.vertical, automatic.vertical)
    assert not np.array_equal(usual.vertical, full.vertical)
    monkeypatch.setattr("mpxgat.system.available_bytes", lambda: 1000)
    with pytest.raises(TrainingError, match="batch = auto needs less"):
        fitted(graph, batch="full")


@pytest.mark.parametrize("name", ["hidden", "terms", "hops"])
def test_a_file_whose_widths_are_damaged_is_refused_before_they_cost_anything(model, name):
    huge = Anchored(**(SMALL | {name: 10**11}))
    with pytest.raises(ValueError, match="by its settings"):
        huge.restore(model.graph, model._state(), model._notes())
