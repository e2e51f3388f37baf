from dataclasses import replace

import numpy as np
import pytest

from mpxgat import splits, synthetic
from mpxgat.errors import SettingError, TrainingError
from mpxgat.evaluation import evaluate
from mpxgat.graph import Features
from mpxgat.models import make_model
from mpxgat.models.mpxgat import MPXGAT, PUBLISHED, MPXGATSettings
from mpxgat.models.mpxgat_parts import LayerPart, VerticalPart
from mpxgat.training import parallel as side_by_side
from mpxgat.training.parallel import Processes, Session
from tests.examples import graph_of, random_graph

SMALL = {"hidden": 8, "out": 6, "heads": 2, "epochs": 30, "check_every": 5, "lr": 0.01}


@pytest.fixture(scope="module")
def fitted():
    return MPXGAT(seed=1, **SMALL).fit(random_graph(1))


def test_every_node_has_a_horizontal_and_a_vertical_vector(fitted):
    n = fitted.graph.n_nodes
    assert fitted.horizontal.shape == fitted.vertical.shape == (n, 6)
    assert np.isfinite(fitted.horizontal).all()
    assert np.isfinite(fitted.vertical).all()


def test_scores_are_dot_products_of_the_right_vectors(fitted):
    graph = fitted.graph
    intra, inter = graph.intra[:5], graph.inter[:5]
    h, v = fitted.horizontal.astype(float), fitted.vertical.astype(float)
    assert fitted.score(intra) == pytest.approx((h[intra[:, 0]] * h[intra[:, 1]]).sum(axis=1))
    assert fitted.score(inter) == pytest.approx((v[inter[:, 0]] * v[inter[:, 1]]).sum(axis=1))


def test_it_learns_the_links_of_a_planted_network():
    graph = synthetic.social(people=150, layers=2, seed=0, mean_degree=10)
    split = splits.marked_nodes(graph, seed=0)
    settings = {"hidden": 16, "out": 16, "heads": 2, "epochs": 150, "lr": 0.01, "dropout": 0.2}
    result = evaluate(MPXGAT(seed=0, **settings).fit(split.train), split)
    assert result.intra.values["auc"] > 0.6
    model = MPXGAT(seed=0, **settings).fit(graph)
    rng = np.random.default_rng(0)
    others = rng.integers(graph.n_nodes, size=(4000, 2))
    others = others[graph.node_layer[others[:, 0]] != graph.node_layer[others[:, 1]]]
    known, unknown = model.score(graph.inter), model.score(others)
    assert (known[:, None] > unknown[None, :]).mean() > 0.7  # links it was trained on


@pytest.mark.parametrize("preset", ["paper", "reference"])
def test_beta_can_be_read_for_every_block_and_head(preset):
    model = MPXGAT(preset=preset, **SMALL).fit(random_graph(2))
    assert [len(block) for block in model.beta] == [2, 2, 2]
    if preset == "paper":  # one β for the block, which has moved from its start
        assert all(block[0] == block[1] != 0.5 for block in model.beta)


def test_history_has_a_row_for_every_validation(fitted):
    assert list(fitted.history) == [
        "layer 1 of 3: L0", "layer 2 of 3: L1", "layer 3 of 3: L2", "between layers",
    ]  # fmt: skip
    rows = fitted.history["between layers"]
    assert [row["epoch"] for row in rows] == [5, 10, 15, 20, 25, 30]
    assert all({"loss", "validation", "beta_1", "beta_2", "beta_3"} <= row.keys() for row in rows)
    assert fitted.training_summary()["parts"]["between layers"]["epochs"] == 30


def test_attention_of_a_node_sums_to_one_over_itself_and_its_neighbours(fitted):
    graph = fitted.graph
    node = int(np.argmax(graph.degree))
    heard = fitted.attention(node)
    adjacency, vertical = graph.adjacency, graph.vertical
    for kind, matrix in (("horizontal", adjacency), ("vertical", vertical)):
        senders = [sender for sender, _ in heard[kind]]
        assert set(senders) == {node, *matrix.indices[matrix.indptr[node] : matrix.indptr[node + 1]].tolist()}
        total = sum(weights for _, weights in heard[kind])
        assert total.shape == (3, 2)
        assert total == pytest.approx(np.ones((3, 2)), abs=1e-5)


def test_features_and_weights_change_what_is_learned():
    graph = random_graph(3)
    plain = MPXGAT(**SMALL).fit(graph)
    rng = np.random.default_rng(0)
    features = Features(("p", "q"), rng.normal(size=(graph.n_nodes, 2)).astype(np.float32))
    with_features = MPXGAT(**SMALL).fit(replace(graph, horizontal_features=features, vertical_features=features))
    assert with_features._parameters[0]["blocks.0.attend.transform.W_i"].shape[0] == 2
    assert not np.allclose(with_features.vertical, plain.vertical)
    weighted = MPXGAT(**SMALL).fit(replace(graph, intra_weight=rng.uniform(1, 9, graph.n_intra)))
    assert any(name.endswith("attend.u") for name in weighted._parameters[0])
    assert not np.allclose(weighted.horizontal, plain.horizontal)


def test_layers_in_parallel_processes_give_the_same_bytes(tmp_path):
    graph = random_graph(4, layers=2)
    settings = {**SMALL, "epochs": 6}
    alone = MPXGAT(**settings).fit(graph).save(tmp_path / "a")
    reports = []
    session = Session(engine=Processes(2), report=lambda part, report: reports.append(part))
    beside = MPXGAT(**settings).fit(graph, session).save(tmp_path / "b")
    assert alone.read_bytes() == beside.read_bytes()
    assert reports[:2] == ["layer 1 of 2: L0", "layer 2 of 2: L1"]


def test_layers_are_not_trained_side_by_side_where_the_memory_does_not_hold_them(monkeypatch):
    asked, reports = [], []
    monkeypatch.setattr(side_by_side, "fits", lambda needed: asked.append(needed) is not None)
    graph = random_graph(4, layers=2)
    session = Session(engine=Processes(2), report=lambda part, report: reports.append(part))
    MPXGAT(**{**SMALL, "epochs": 6}).fit(graph, session)
    parts = [LayerPart.of(graph, number, MPXGATSettings.of(**SMALL), seed=0) for number in range(2)]
    assert asked == [sum(part.memory() + side_by_side._PROCESS_BYTES for part in parts)]
    assert reports.count("layer 1 of 2: L0") > 1  # every epoch, as in this process


def test_a_file_whose_notes_or_widths_are_damaged_is_refused_before_they_cost_anything():
    model = MPXGAT(**{**SMALL, "epochs": 1}).fit(random_graph(4, layers=2))
    state, notes = model._state(), model._notes()
    with pytest.raises(TypeError, match="notes of the kind list"):
        MPXGAT(**SMALL).restore(model.graph, state, [notes])
    huge = MPXGAT(**{**SMALL, "hidden": 10_000_000})
    with pytest.raises(ValueError, match="bytes of parameters, expected about"):
        huge.restore(model.graph, state, notes)


def test_validation_links_carry_no_messages_and_are_not_trained_on():
    graph = random_graph(5, people=200)
    part = LayerPart.of(graph, 0, MPXGATSettings.of(**SMALL), seed=0)
    from mpxgat.training.links import cut_validation

    parts = cut_validation(part.links, 0.1, part.sampler(), np.random.default_rng(0))
    held = {tuple(pair) for pair in parts.links.tolist()}
    messages = part.neighbourhood(parts.training_rows)
    carried = set(zip(messages.receivers.tolist(), messages.senders.tolist(), strict=True))
    assert len(held) == round(0.1 * len(part.links))
    assert not held & carried
    assert not held & {tuple(pair) for pair in parts.training.tolist()}
    assert not held & {tuple(pair) for pair in parts.non_links.tolist()}


def test_published_settings_are_those_of_the_paper():
    model = MPXGAT.for_dataset("drosophila", epochs=3)
    settings = MPXGATSettings.of(**model.settings)
    assert (settings.horizontal_widths.hidden, settings.horizontal_widths.heads) == (128, 3)
    assert (settings.vertical_widths.heads, settings.vertical_schedule.lr) == (4, 1e-3)
    assert (settings.blocks, settings.dropout, settings.epochs) == (3, 0.6, 3)
    assert (settings.warm_up, settings.one_hot_scale, settings.vertical_one_hot_scale) == (0, 0, 0)
    assert set(PUBLISHED) == {"arxiv", "drosophila", "fftwyt"}
    with pytest.raises(SettingError, match="no published settings for 'aucs'"):
        MPXGAT.for_dataset("aucs")


def test_one_hot_rows_start_as_wide_as_set_and_features_as_glorot_says():
    graph = random_graph(1, people=200)
    vectors, settings = np.zeros((graph.n_nodes, 4), dtype=np.float32), MPXGATSettings()
    parts = {2.0: LayerPart.of(graph, 0, settings, 0), 4.0: VerticalPart.of(graph, vectors, settings, 0)}
    for scale, part in parts.items():
        first = part.new_net().blocks[0].attend.transform
        assert [float(W.detach().std()) for W in (first.W_i, first.W_j)] == pytest.approx([scale, scale], rel=0.03)
        known = replace(part, features=np.ones((part.n_nodes, 20), dtype=np.float32))
        assert float(known.new_net().blocks[0].attend.transform.W_j.detach().std()) < 0.2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"preset": "leaky"}, "no preset 'leaky'"),
        ({"heads": 0}, "heads is 0, expected at least 1"),
        ({"vertical_heads": 0}, "heads is 0"),
        ({"heads": 2.5}, "heads is '2.5', expected a whole number"),
        ({"heads": True}, "heads is 'True', expected a whole number"),
        ({"lr": -1.0}, "lr is -1.0, expected a number above 0"),
        ({"lr": "fast"}, "lr is 'fast', expected a number"),
        ({"dropout": 1}, "dropout is 1, expected at least 0 and less than 1"),
        ({"validation": 1.5}, "validation is 1.5"),
        ({"one_hot_scale": -1.0}, "one_hot_scale is -1.0, expected at least 0"),
        ({"vertical_one_hot_scale": -1.0}, "vertical_one_hot_scale is -1.0, expected at least 0"),
        ({"vertical_one_hot_scale": None}, "vertical_one_hot_scale is 'None', expected a number"),
        ({"warm_up": -1}, "warm_up is -1, expected at least 0"),
        ({"device": "quantum"}, "device is 'quantum', expected one that is there"),
        ({"device": "cuda:99"}, "device is 'cuda:99', expected one that is there"),
        ({"color": 1}, "no setting 'color'; known are preset, hidden"),
    ],
)
def test_bad_settings_get_one_clear_line(settings, said):
    with pytest.raises(SettingError, match=said):
        make_model("mpxgat", **settings).fit(graph_of("x.a x.b", "y.a y.b", "x.a y.a"))


def test_a_graph_that_does_not_fit_the_memory_is_refused_before(monkeypatch):
    monkeypatch.setattr("mpxgat.system.available_bytes", lambda: 1000)
    with pytest.raises(TrainingError, match="training layer 1 of 3: L0 would need about"):
        MPXGAT(**SMALL).fit(random_graph(0))


def test_the_vertical_part_never_draws_copies_of_one_unit():
    graph = random_graph(6)
    part = VerticalPart.of(graph, np.zeros((graph.n_nodes, 4), dtype=np.float32), MPXGATSettings(), seed=0)
    pairs = part.sampler().draw(5000, np.random.default_rng(0))
    assert (graph.unit[pairs[:, 0]] != graph.unit[pairs[:, 1]]).all()
