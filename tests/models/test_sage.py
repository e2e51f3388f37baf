import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from mpxgat import splits, synthetic
from mpxgat.errors import SettingError
from mpxgat.evaluation import evaluate
from mpxgat.graph import Features
from mpxgat.models import make_model
from mpxgat.models import sage as graphsage_module
from mpxgat.models.sage import ByDegree, GraphSAGE, SageLinks, SageSettings, all_hops, draw_hops
from mpxgat.nn.sage import SageBlock, SageNet, contrast_loss, mean_rows
from mpxgat.training.parallel import Session
from tests.examples import graph_of, random_graph

SMALL = {"dimensions": 8, "epochs": 4, "batch": 64}
MultiplexSAGE = partial(GraphSAGE, links="separate")
BOTH = [GraphSAGE, MultiplexSAGE]
both_models = pytest.mark.parametrize("model", BOTH, ids=["graphsage", "multiplexsage"])

pytestmark = pytest.mark.usefixtures("one_thread")


def kinds_of(model, graph):
    return model()._kinds(graph.n_nodes, graph.n_layers, graph.intra, graph.inter)


@pytest.fixture(scope="module")
def sage_conv():
    with warnings.catch_warnings():  # its import warns of what torch deprecates
        warnings.simplefilter("ignore")
        geometric = pytest.importorskip("torch_geometric.nn")
    return geometric.SAGEConv


def edge_index(links):
    return torch.from_numpy(np.concatenate([links, links[:, ::-1]]).T.astype(np.int64))


# ---- the network -----------------------------------------------------------------------------------------


def test_a_block_over_all_neighbours_is_a_sageconv_of_pytorch_geometric(sage_conv):
    graph = random_graph(0)
    block = SageBlock(5, 7, 1, torch.Generator().manual_seed(0))
    conv = sage_conv(5, 7, aggr="mean", bias=False)
    conv.lin_r.weight.data, conv.lin_l.weight.data = (W.detach().T for W in block.W)
    x = torch.randn(graph.n_nodes, 5, generator=torch.Generator().manual_seed(1))
    links = np.concatenate([graph.intra, graph.inter])
    expected = conv(x, edge_index(links))
    assert torch.allclose(block(x, all_hops(kinds_of(GraphSAGE, graph))[0]), expected, atol=1e-6)


def test_with_two_kinds_it_adds_a_sageconv_over_the_inter_links(sage_conv):
    graph = random_graph(0)
    block = SageBlock(5, 7, 2, torch.Generator().manual_seed(0))
    over_intra = sage_conv(5, 7, aggr="mean", bias=False)
    over_inter = sage_conv(5, 7, aggr="mean", bias=False, root_weight=False)
    over_intra.lin_r.weight.data, over_intra.lin_l.weight.data, over_inter.lin_l.weight.data = (
        W.detach().T for W in block.W
    )
    x = torch.randn(graph.n_nodes, 5, generator=torch.Generator().manual_seed(1))
    expected = over_intra(x, edge_index(graph.intra)) + over_inter(x, edge_index(graph.inter))
    assert torch.allclose(block(x, all_hops(kinds_of(MultiplexSAGE, graph))[0]), expected, atol=1e-6)


def test_means_and_their_gradient():
    h = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    rows, offsets = torch.tensor([0, 2, 2, 5, 1]), torch.tensor([0, 3, 3, 4, 5])
    assert torch.allclose(mean_rows(h, rows, offsets)[0], (h[0] + 2 * h[2]) / 3)
    assert not mean_rows(h, rows, offsets)[1].any()  # an empty list
    assert torch.autograd.gradcheck(lambda h: mean_rows(h, rows, offsets), h)


def test_the_loss_is_cross_entropy_of_links_and_all_negatives():
    z, other, negatives = (F.normalize(torch.randn(n, 4)) for n in (6, 6, 3))
    links, non_links = (z * other).sum(1), z @ negatives.T
    expected = sum(
        F.binary_cross_entropy_with_logits(scores, torch.full_like(scores, label), reduction="sum")
        for scores, label in ((links, 1.0), (non_links, 0.0))
    )
    assert float(contrast_loss(z, other, negatives)) == pytest.approx(float(expected) / 6, abs=1e-5)


@both_models
def test_drawn_neighbours_estimate_what_all_of_them_give(model):
    """With as many draws as to leave little to chance."""
    graph = random_graph(1)
    kinds = [replace(kind, samples=(2000, 2000)) for kind in kinds_of(model, graph)]
    net = SageNet(graph.n_nodes, 6, len(kinds), None, torch.Generator().manual_seed(0))
    nodes = np.arange(3, graph.n_nodes, 5)
    with torch.no_grad():
        drawn = net(draw_hops(kinds, nodes, np.random.default_rng(0)))
        everyone = net(all_hops(kinds))
    assert drawn.shape == (len(nodes), 6)
    assert (drawn - everyone[nodes]).abs().max() < 0.15
    assert (drawn - everyone[nodes]).abs().mean() < 0.015


# ---- chance ----------------------------------------------------------------------------------------------


def test_multiplexsage_draws_intra_and_inter_neighbours_apart():
    graph = random_graph(2)
    kinds = kinds_of(MultiplexSAGE, graph)
    assert [kind.samples for kind in kinds] == [(25, 10), (2, 2)]  # two other layers
    nodes = np.arange(graph.n_nodes)
    for kind, same in zip(kinds, (True, False), strict=True):
        drawn = kind.neighbours.draw(nodes, 10, np.random.default_rng(0))
        receiver = np.repeat(nodes, drawn.sizes)
        assert len(receiver) > 100
        assert ((graph.node_layer[receiver] == graph.node_layer[drawn.members]) == same).all()
    (together,) = kinds_of(GraphSAGE, graph)
    assert np.array_equal(together.neighbours.sizes, sum(kind.neighbours.sizes for kind in kinds))


def test_negatives_are_drawn_by_degree_to_the_power_of_three_quarters():
    degree = np.array([0, 1, 16, 0, 81])
    drawn = ByDegree.of(degree).draw(36_000, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=5)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert counts[[1, 2, 4]] == pytest.approx(np.array([1, 8, 27]) * 1000, rel=0.12)


@both_models
def test_validation_links_of_both_kinds_carry_no_message_and_are_not_trained_on(model, monkeypatch):
    seen = {}

    class Watched(graphsage_module.SageTrainee):
        def __init__(self, net, links, kinds, *more):
            super().__init__(net, links, kinds, *more)
            seen.update(links=links, kinds=kinds, trained=self._links)

    monkeypatch.setattr(graphsage_module, "SageTrainee", Watched)
    graph = random_graph(3)
    model(seed=100, **SMALL).fit(graph)
    carried = set()
    for kind in seen["kinds"]:
        ends = np.repeat(np.arange(graph.n_nodes), kind.neighbours.sizes), kind.neighbours.members
        carried |= set(zip(*(end.tolist() for end in ends), strict=True))
    trained = {tuple(pair) for pair in seen["trained"].tolist()}
    held = [tuple(pair) for part in (seen["links"].intra, seen["links"].inter) for pair in part.links.tolist()]
    assert len(held) == round(0.1 * graph.n_intra) + round(0.1 * graph.n_inter)
    assert not set(held) & (carried | trained)
    assert len(trained) + len(held) == graph.n_intra + graph.n_inter
    assert len(carried) == 2 * len(trained)


def test_validation_compares_links_with_non_links_of_the_same_kind():
    graph = random_graph(4)
    links = SageLinks.cut(graph, 0.2, np.random.default_rng(0))
    for part, same in ((links.intra, True), (links.inter, False)):
        layer = graph.node_layer[part.non_links]
        assert ((layer[:, 0] == layer[:, 1]) == same).all()
        assert (part.non_links[:, 0] != part.non_links[:, 1]).all()
        assert len(part.non_links) == 10 * len(part.links)
    known = {tuple(pair) for pair in graph.intra.tolist()}
    assert not known & {tuple(sorted(pair)) for pair in links.intra.non_links.tolist()}


# ---- the models ------------------------------------------------------------------------------------------


@both_models
def test_one_embedding_of_unit_length_for_both_kinds(model):
    graph = random_graph(5)
    fitted = model(seed=100, **SMALL).fit(graph)
    assert fitted.horizontal.shape == (graph.n_nodes, 8)
    assert fitted.horizontal is fitted.vertical
    assert np.linalg.norm(fitted.horizontal, axis=1) == pytest.approx(np.ones(graph.n_nodes), abs=1e-5)
    part = fitted.training_summary()["parts"]["all links"]
    assert part["epochs"] == 4
    rows = fitted.history["all links"]
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert part["best"] == max(row["validation"] for row in rows) == rows[part["best_epoch"] - 1]["validation"]


@both_models
def test_a_training_that_was_killed_goes_on_to_the_same_bytes(model, tmp_path):
    graph = random_graph(6)
    undisturbed = model(seed=100, **SMALL).fit(graph).save(tmp_path / "a").read_bytes()

    def kill(part, report):
        assert part == "all links"
        if report.epoch == 3:
            raise KeyboardInterrupt

    (tmp_path / "states").mkdir()
    session = Session(tmp_path / "states", report=kill, save_every=0)
    with pytest.raises(KeyboardInterrupt):
        model(seed=100, **SMALL).fit(graph, session)
    epochs = []
    session = replace(session, report=lambda part, report: epochs.append(report.epoch))
    resumed = model(seed=100, **SMALL).fit(graph, session).save(tmp_path / "b").read_bytes()
    assert epochs == [3, 4]
    assert resumed == undisturbed


@both_models
def test_features_are_appended_in_units_of_their_own_spread(model):
    graph = random_graph(7)
    values = np.random.default_rng(0).normal(size=(graph.n_nodes, 2)).astype(np.float32)
    values[:, 1] = 3  # tells nothing
    plain = model(seed=100, **SMALL).fit(graph).horizontal
    small, large = (
        model(seed=100, **SMALL)
        .fit(replace(graph, horizontal_features=Features(("p", "q"), values * scale)))
        .horizontal
        for scale in (1, 1024)
    )
    assert not np.allclose(plain, small)
    assert small == pytest.approx(large, abs=1e-5)


@both_models
def test_a_graph_too_small_for_validation_is_trained_to_the_end(model):
    fitted = model(**SMALL).fit(graph_of("x.a x.b", "y.a y.b", "x.a y.a"))
    assert fitted.training_summary()["parts"]["all links"] == {"epochs": 4, "best_epoch": 0, "best": None}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dimensions": 0}, "dimensions is 0, expected at least 1"),
        ({"samples_1": 0}, "samples_1 is 0, expected at least 1"),
        ({"negatives": 2.5}, "negatives is '2.5', expected a whole number"),
        ({"lr": 0}, "lr is 0, expected a number above 0"),
        ({"validation": 1}, "validation is 1, expected at least 0 and less than 1"),
        ({"device": "quantum"}, "device is 'quantum', expected one that is there"),
        ({"hidden": 3}, "no setting 'hidden'; known are dimensions, samples_1"),
    ],
)
def test_bad_settings_get_one_clear_line(settings, said):
    with pytest.raises(SettingError, match=said):
        make_model("graphsage", **settings).fit(graph_of("x.a x.b"))


def test_the_samples_and_negatives_are_those_of_the_paper():
    settings = SageSettings()
    assert (settings.dimensions, settings.samples_1, settings.samples_2, settings.negatives) == (128, 25, 10, 20)


@both_models
def test_planted_communities_are_found(model):
    """Measured on seeds 100 to 102: intra AUC .92 to .98, inter .79 to .87. GraphSAGE untrained has .47 to .62.

    MultiplexSAGE untrained tells inter links by transitivity (.76 to .82): two nodes with a common counterpart get the
    same vector through the inter matrix.
    """
    graph = synthetic.social(people=150, layers=3, seed=100, mixing=0.05, mean_degree=10, communities=8, presence=0.9)
    split = splits.marked_nodes(graph, seed=100, share=0.4)
    settings = {"dimensions": 32, "batch": 128, "lr": 0.003}
    trained = evaluate(model(seed=100, epochs=40, **settings).fit(split.train), split)
    untrained = evaluate(model(seed=100, epochs=0, **settings).fit(split.train), split)
    assert trained.intra.values["auc"] > 0.8 > untrained.intra.values["auc"] + 0.1
    assert trained.inter.values["auc"] > 0.7
    assert trained.inter.values["auc"] > untrained.inter.values["auc"] + 0.05
