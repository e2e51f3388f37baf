"""MPXGAT trained in batches of links: what it learns, resumed to the same bytes, batches chosen by memory."""

from dataclasses import replace

import numpy as np
import pytest

from mpxgat import synthetic
from mpxgat.errors import SettingError, TrainingError
from mpxgat.metrics import auc
from mpxgat.models import load_model, make_model
from mpxgat.models.mpxgat import MPXGAT, MPXGATSettings
from mpxgat.models.mpxgat_parts import LayerPart, batch_sizes
from mpxgat.training.parallel import Processes, Session
from tests.examples import graph_of, random_graph
from tests.models.batch_parts import SMALL, couples, part_of, ring, with_everything

pytestmark = pytest.mark.usefixtures("one_thread")


def bytes_of(model, path):
    return model.save(path / "model").read_bytes()


@pytest.mark.parametrize(
    ("name", "everything"), [("mpxgat", False), ("mpxgat", True), ("gat", True), ("mpxgat-random", False)]
)
def test_full_is_what_it_was_and_batches_are_something_else(name, everything, tmp_path):
    graph = with_everything(random_graph(4)) if everything else random_graph(4)
    auto, full, batches = (make_model(name, seed=1, batch=b, **SMALL).fit(graph) for b in ("auto", "full", 16))
    assert np.array_equal(auto.vertical, full.vertical)
    assert np.array_equal(auto.horizontal, full.horizontal)
    assert not np.array_equal(full.vertical, batches.vertical)
    assert np.isfinite(batches.vertical).all()
    assert np.isfinite(batches.horizontal).all()
    assert {part["batch"] for part in full.training_summary()["parts"].values()} == {"full"}
    assert {part["batch"] for part in batches.training_summary()["parts"].values()} == {16}
    assert "batch" not in auto.settings  # so that what was trained before there were batches is known again
    assert batches.settings["batch"] == 16
    loaded = load_model(batches.save(tmp_path / "model"))
    assert loaded.training_summary() == batches.training_summary()


def test_a_layer_is_learned_in_batches_as_in_full_batch():
    graph = synthetic.social(people=250, layers=1, seed=0, mean_degree=10, presence=1.0)
    settings = {"hidden": 16, "out": 16, "check_every": 10, "dropout": 0.2, "weight_decay": 1e-4}
    best = {}
    for batch, epochs in ((None, 80), (64, 8)):  # with the decay of full batch at every step, all ends at 0 here
        part = replace(part_of(graph, "horizontal", epochs=epochs, **settings), batch=batch)
        best[batch] = part.learn(None, lambda report: None).outcome.best_value
    assert best[64] > max(0.65, best[None] - 0.03)


def test_inter_links_are_learned_in_batches():
    graph = synthetic.social(people=150, layers=2, seed=0)
    model = make_model("mpxgat-random", batch=32, **{**SMALL, "hidden": 16, "epochs": 40, "dropout": 0.2}).fit(graph)
    others = np.random.default_rng(0).integers(graph.n_nodes, size=(3000, 2))
    others = others[graph.node_layer[others[:, 0]] != graph.node_layer[others[:, 1]]]
    assert auc(model.score(graph.inter), model.score(others)) > 0.8  # links it was trained on


@pytest.mark.parametrize("graph", [random_graph(6), with_everything(random_graph(6))], ids=["plain", "everything"])
def test_interrupted_and_resumed_it_ends_in_the_same_bytes(graph, tmp_path):
    expected = bytes_of(MPXGAT(seed=2, batch=20, **SMALL).fit(graph), tmp_path)
    for stop_after in (2, 13):
        folder = tmp_path / str(stop_after)
        folder.mkdir()
        epochs = []

        def stop(part, report, epochs=epochs, stop_after=stop_after):
            epochs.append(report.epoch)
            if len(epochs) > stop_after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            MPXGAT(seed=2, batch=20, **SMALL).fit(graph, Session(folder, report=stop, save_every=0))
        assert any(folder.iterdir())
        resumed = MPXGAT(seed=2, batch=20, **SMALL).fit(graph, Session(folder, save_every=0))
        assert bytes_of(resumed, tmp_path) == expected


def test_layers_in_parallel_processes_give_the_same_bytes(tmp_path):
    graph = random_graph(4, layers=2)
    settings = {**SMALL, "epochs": 3, "batch": 30}
    alone = bytes_of(MPXGAT(**settings).fit(graph), tmp_path)
    assert bytes_of(MPXGAT(**settings).fit(graph, Session(engine=Processes(2))), tmp_path) == alone


def test_layers_without_links_and_networks_without_inter_links_are_no_trouble():
    for graph in (
        graph_of("x.a x.b", "y.a y.b"),
        graph_of("x.a x.a", "y.a y.a", "x.a y.a"),
        graph_of("x.a x.b", "x.b x.c"),
    ):
        assert np.isfinite(MPXGAT(batch=2, **SMALL).fit(graph).vertical).all()


# ---- choosing ---------------------------------------------------------------------------------------------


def memory_of(monkeypatch, number):
    monkeypatch.setattr("mpxgat.system.available_bytes", lambda: number)


def batches_of(model):
    return [part["batch"] for part in model.training_summary()["parts"].values()]


def test_where_memory_is_short_auto_takes_the_largest_batch_that_fits(monkeypatch):
    for part in (ring(400_000), couples(400_000)):
        needed = {size: part.memory(size) for size in (256, 512, 1024, None)}
        assert sorted(needed.values()) == list(needed.values())
        for size in (256, 512, None):
            memory_of(monkeypatch, needed[size])
            assert batch_sizes([part], Session()) == [size]
        memory_of(monkeypatch, needed[256] - 1)
        with pytest.raises(TrainingError, match=rf"training {part.label} would need about .* smaller hidden"):
            batch_sizes([part], Session())
        with pytest.raises(TrainingError, match="batch = auto needs less"):
            batch_sizes([replace(part, settings=MPXGATSettings.of(**SMALL, batch="full"))], Session())
        with pytest.raises(TrainingError, match=f"training {part.label} would need about"):
            batch_sizes([replace(part, settings=MPXGATSettings.of(**SMALL, batch=1024))], Session())


def test_what_was_learned_before_counts(monkeypatch):
    part = ring(50_000)
    memory_of(monkeypatch, part.memory(None) + part.learned_bytes())
    assert batch_sizes([part] * 2, Session()) == [None, None]
    assert batch_sizes([part] * 3, Session())[2] is not None


def test_a_model_is_trained_in_the_batches_that_auto_chose(monkeypatch):
    graph = random_graph(7, people=300, layers=2, degree=20)
    layers = [LayerPart.of(graph, number, MPXGATSettings.of(**SMALL), 0) for number in range(2)]
    enough = max(part.memory(None) for part in layers) + layers[0].learned_bytes()
    across = part_of(graph, "vertical")
    held = sum(part.learned_bytes() for part in layers)
    assert held + across.memory(32) <= enough < held + across.memory(64)
    monkeypatch.setattr("mpxgat.models.mpxgat_parts._LEAST", 16)
    memory_of(monkeypatch, enough)
    model = MPXGAT(**{**SMALL, "epochs": 1}).fit(graph)
    assert batches_of(model) == ["full", "full", 32]


def test_a_resumed_training_goes_on_with_the_batches_it_was_begun_with(monkeypatch, tmp_path):
    graph = random_graph(8, layers=2)
    settings = {**SMALL, "epochs": 3}

    def stop(part, report):
        if part.startswith("layer 2") and report.epoch == 2:
            raise KeyboardInterrupt

    expected = bytes_of(MPXGAT(**settings).fit(graph), tmp_path)
    with pytest.raises(KeyboardInterrupt):
        MPXGAT(**settings).fit(graph, Session(tmp_path, report=stop, save_every=0))
    memory_of(monkeypatch, 10)  # nothing would fit now
    assert bytes_of(MPXGAT(**settings).fit(graph, Session(tmp_path)), tmp_path) == expected


def test_resuming_never_switches_to_other_batches_silently(tmp_path):
    graph = random_graph(8, layers=2)
    settings = {**SMALL, "epochs": 3}

    def stop(part, report):
        raise KeyboardInterrupt

    for begun, now, said in (
        ("full", 16, r"another batch \(full, now 16, 16, 16\)"),
        (16, "full", r"another batch \(16, 16, 16, now full\)"),
        (16, 17, r"another batch \(16, 16, 16, now 17, 17, 17\)"),
    ):
        folder = tmp_path / f"{begun}-{now}"
        folder.mkdir()
        with pytest.raises(KeyboardInterrupt):
            MPXGAT(batch=begun, **settings).fit(graph, Session(folder, report=_after_two(stop), save_every=0))
        with pytest.raises(TrainingError, match=said):
            MPXGAT(batch=now, **settings).fit(graph, Session(folder))
        resumed = MPXGAT(batch="auto", **settings).fit(graph, Session(folder))
        assert batches_of(resumed) == [begun] * 3


def _after_two(stop):
    def report(part, epoch):
        if epoch.epoch == 2:
            stop(part, epoch)

    return report


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        (0, "batch is '0', expected auto, full or a whole number of at least 1"),
        (-5, "batch is '-5', expected auto, full"),
        ("many", "batch is 'many', expected auto, full"),
        (2.5, "batch is '2.5', expected a whole number or a text"),
        (True, "batch is 'True', expected a whole number or a text"),
    ],
)
def test_bad_batches_get_one_clear_line(batch, said):
    with pytest.raises(SettingError, match=said):
        MPXGAT(batch=batch)
