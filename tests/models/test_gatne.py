from dataclasses import replace

import numpy as np
import pytest
import torch

from mpxgat import splits, synthetic
from mpxgat.errors import SettingError
from mpxgat.evaluation import evaluate
from mpxgat.graph import Features
from mpxgat.models import gatne as gatne_module
from mpxgat.models import make_model
from mpxgat.models.gatne import GATNE, GATNESettings, SkipGramTrainee
from mpxgat.models.sage import SageLinks
from mpxgat.nn.gatne import FeatureMaps, GATNENet, Means, NodeTables, SkipGramBatch, skip_gram_loss
from mpxgat.training.links import Stream
from mpxgat.training.parallel import Session
from mpxgat.training.walks import Neighbours
from tests.examples import graph_of, random_graph

SMALL = {"dimensions": 8, "edge_dimensions": 4, "attention_dimensions": 6, "epochs": 4}
CPU = torch.device("cpu")

pytestmark = pytest.mark.usefixtures("one_thread")


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def means_over(graph):
    lists = [Neighbours.of(graph.n_nodes, links) for links in (graph.intra, graph.inter)]
    return [Means.of(*map(torch.from_numpy, (each.offsets, each.members)), torch.float64) for each in lists]


# ---- the network -----------------------------------------------------------------------------------------


def slow_vector(net, graph, node, kind):
    """v_ir by the formula, for one node."""
    b, u = (part.detach().numpy() for part in net.nodes())
    U = []
    for type_, links in enumerate((graph.intra, graph.inter)):
        heard = [u[type_, y if x == node else x] for x, y in links.tolist() if node in (x, y)]
        U.append(sum(heard) / len(heard) if heard else np.zeros(u.shape[2]))
    W, w, M = (getattr(net, name).detach().numpy()[kind] for name in ("W", "w", "M"))
    logits = np.array([w @ np.tanh(W.T @ column) for column in U])
    a = np.exp(logits) / np.exp(logits).sum()
    return b[node] + net.alpha * M.T @ (a[0] * U[0] + a[1] * U[1])


@pytest.mark.parametrize("inputs", ["tables", "features"])
def test_vectors_are_those_of_a_slow_loop_over_nodes(inputs):
    graph = random_graph(0, people=20)
    if inputs == "tables":
        nodes = NodeTables(graph.n_nodes, 7, 5, 2, generator())
    else:
        x = torch.randn(graph.n_nodes, 3, generator=generator(), dtype=torch.float64)
        nodes = FeatureMaps(x, 7, 5, 2, beta=0.5, generator=generator())
    net = GATNENet(nodes, 4, alpha=0.7, generator=generator(1)).double()
    means = means_over(graph)
    assert any(len(mean.members) for mean in means)
    for kind in range(2):
        expected = [slow_vector(net, graph, node, kind) for node in range(graph.n_nodes)]
        assert net(kind, means).detach().numpy() == pytest.approx(np.array(expected), abs=1e-12)


def test_features_enter_through_a_bent_and_a_straight_map():
    x = torch.randn(5, 3, generator=generator(), dtype=torch.float64)
    maps = FeatureMaps(x, 4, 2, 2, beta=0.25, generator=generator()).double()
    b, u = maps()
    assert torch.allclose(b, torch.tanh(x @ maps.H + maps.h) + 0.25 * x @ maps.D)
    for type_ in range(2):
        assert torch.allclose(u[type_], torch.tanh(x @ maps.G + maps.g)[:, 2 * type_ : 2 * type_ + 2])


def test_gradients_of_vectors_are_right():
    graph = graph_of("x.a x.b", "x.b x.c", "y.a y.b", "x.a y.a")
    net = GATNENet(NodeTables(graph.n_nodes, 3, 2, 2, generator()), 2, alpha=1.0, generator=generator(1)).double()
    means = means_over(graph)
    names = [name for name, _ in net.named_parameters() if name != "context"]
    values = tuple(net.get_parameter(name) for name in names)

    def vectors(*values):
        return torch.func.functional_call(net, dict(zip(names, values, strict=True)), (1, means))

    assert torch.autograd.gradcheck(vectors, values)


def test_the_loss_and_its_gradient_are_those_of_skip_gram_pair_by_pair():
    v, c = (torch.randn(6, 4, generator=generator(s), dtype=torch.float64).requires_grad_() for s in range(2))
    centres = torch.tensor([0, 0, 2, 5])
    contexts = torch.tensor([[1, 3, 3], [0, 4, 1], [5, 5, 0], [2, 2, 4]])
    batch = SkipGramBatch(torch.searchsorted(centres, torch.arange(7)), contexts)
    slow = torch.zeros((), dtype=torch.float64)
    for i, (j, *negatives) in zip(centres.tolist(), contexts.tolist(), strict=True):
        slow = slow - torch.sigmoid(v[i] @ c[j]).log() - sum(torch.sigmoid(-v[i] @ c[k]).log() for k in negatives)
    fast = skip_gram_loss(v, c, batch)
    assert float(fast.detach()) == pytest.approx(float(slow.detach()) / 4)
    for one, other in zip(
        torch.autograd.grad(3 * fast, (v, c)), torch.autograd.grad(3 * slow / 4, (v, c)), strict=True
    ):
        assert torch.allclose(one, other)


# ---- training --------------------------------------------------------------------------------------------


def test_validation_links_of_both_kinds_are_not_walked_on_and_carry_no_message(monkeypatch):
    seen = []

    class Watched(SkipGramTrainee):
        def __init__(self, net, n_nodes, links, *more):
            super().__init__(net, n_nodes, links, *more)
            seen.append((links, self._types))

    monkeypatch.setattr(gatne_module, "SkipGramTrainee", Watched)
    graph = random_graph(3)
    GATNE(seed=100, **SMALL).fit(graph)
    ((links, types),) = seen
    for part, neighbours, every in zip((links.intra, links.inter), types, (graph.intra, graph.inter), strict=True):
        ends = np.stack([np.repeat(np.arange(graph.n_nodes), neighbours.sizes), neighbours.members], axis=1)
        walked = {tuple(sorted(pair)) for pair in ends.tolist()}
        held = {tuple(pair) for pair in part.links.tolist()}
        assert len(held) == round(0.1 * len(every))
        assert not held & walked
        assert held | walked == {tuple(pair) for pair in every.tolist()}


def test_an_epoch_has_every_pair_of_its_walks_once_with_its_negatives():
    graph = random_graph(4)
    settings = GATNESettings.of(**SMALL, walks=2, batch=300, negatives=3)
    links = SageLinks.cut(graph, 0.1, np.random.default_rng(0))
    net = GATNENet(NodeTables(graph.n_nodes, 8, 4, 2, generator()), 6, alpha=1.0, generator=generator())
    trainee = SkipGramTrainee(net, graph.n_nodes, links, settings, Stream((100, 0, 0)), CPU)
    starts = np.tile(np.arange(graph.n_nodes), 2)
    batches = trainee._batches(starts, np.random.default_rng(1))
    assert 290 < max(len(pairs) for _, pairs in batches) <= 300
    per_walk = 2 * sum(10 - distance for distance in range(1, 6))  # nodes of a walk that are up to 5 steps apart
    for kind, neighbours in enumerate(trainee._types):
        pairs = np.concatenate([batch for of, batch in batches if of == kind])
        assert len(pairs) == per_walk * (neighbours.sizes[starts] > 0).sum()
    batch = trainee._with_negatives(batches[0][1], np.random.default_rng(2))
    offsets, contexts = batch.offsets.numpy(), batch.contexts.numpy()
    assert contexts.shape == (len(batches[0][1]), 1 + 3)
    rebuilt = np.stack([np.repeat(np.arange(graph.n_nodes), np.diff(offsets)), contexts[:, 0]], axis=1)
    assert sorted(rebuilt.tolist()) == sorted(batches[0][1].tolist())


def test_a_small_graph_takes_smaller_batches():
    graph = random_graph(4)
    links = SageLinks.cut(graph, 0.1, np.random.default_rng(0))
    net = GATNENet(NodeTables(graph.n_nodes, 8, 4, 2, generator()), 6, alpha=1.0, generator=generator())
    trainee = SkipGramTrainee(net, graph.n_nodes, links, GATNESettings(), Stream((100, 0, 0)), CPU)
    assert 20 <= len(list(trainee.losses(0))) <= 22


def test_an_epoch_too_large_for_memory_comes_in_parts(monkeypatch):
    graph = random_graph(4)
    links = SageLinks.cut(graph, 0.1, np.random.default_rng(0))
    net = GATNENet(NodeTables(graph.n_nodes, 8, 4, 2, generator()), 6, alpha=1.0, generator=generator())
    trainee = SkipGramTrainee(net, graph.n_nodes, links, GATNESettings.of(**SMALL), Stream((100, 0, 0)), CPU)
    walked = []

    def watched(starts, rng):
        walked.append(starts)
        return []

    monkeypatch.setattr(trainee, "_batches", watched)
    monkeypatch.setattr("mpxgat.models.gatne._PAIRS_AT_ONCE", 4000)
    assert list(trainee.losses(0)) == []
    assert max(map(len, walked)) <= 20  # 200 pairs from each start, at most
    assert sorted(np.concatenate(walked)) == list(range(graph.n_nodes))


def test_killed_and_resumed_it_gives_the_same_bytes(tmp_path):
    graph = random_graph(5)
    whole = GATNE(seed=100, **SMALL).fit(graph).save(tmp_path / "whole")

    class KilledError(Exception):
        pass

    def kill(part, report):
        if report.epoch == 3:
            raise KilledError

    with pytest.raises(KilledError):
        GATNE(seed=100, **SMALL).fit(graph, Session(tmp_path, report=kill, save_every=0))
    epochs = []
    session = Session(tmp_path, report=lambda part, report: epochs.append((part, report.epoch)), save_every=0)
    resumed = GATNE(seed=100, **SMALL).fit(graph, session).save(tmp_path / "resumed")
    assert epochs == [("all links", 3), ("all links", 4)]  # two epochs were saved
    assert resumed.read_bytes() == whole.read_bytes()


# ---- what it learns --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def communities():
    """A planted multiplex with clear communities, and a split of it."""
    graph = synthetic.social(people=400, layers=2, seed=100, communities=12, mixing=0.05, mean_degree=12)
    return splits.marked_nodes(graph, seed=100, share=0.4)


def test_it_finds_the_links_of_a_planted_network(communities):
    model = GATNE(seed=100, dimensions=32).fit(communities.train)
    result = evaluate(model, communities)
    assert result.intra.positives > 50
    assert result.intra.values["auc"] > 0.8
    summary = model.training_summary()["parts"]["all links"]
    assert summary["best"] == max(row["validation"] for row in model.history["all links"]) > 0.8
    assert summary["best_epoch"] <= summary["epochs"] <= 50


def test_a_graph_without_nodes_is_no_trouble():
    empty = random_graph(1).subgraph([])
    assert GATNE(seed=100, **SMALL).fit(empty).horizontal.shape == (0, 8)


def test_there_is_a_vector_of_length_one_for_each_node_and_type():
    model = GATNE(seed=100, **SMALL).fit(random_graph(1))
    assert model.horizontal.shape == model.vertical.shape == (model.graph.n_nodes, 8)
    for vectors in (model.horizontal, model.vertical):
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert not np.allclose(model.horizontal, model.vertical)


def with_communities_as_features(graph, shuffle):
    community = np.array([int(text) for text in graph.attributes["community"].to_pylist()])
    rng = np.random.default_rng(0)
    if shuffle:
        community = rng.permutation(community)
    values = np.eye(community.max() + 1)[community] + rng.normal(scale=0.2, size=(graph.n_nodes, community.max() + 1))
    features = Features(tuple(f"f{i}" for i in range(values.shape[1])), values.astype(np.float32))
    return replace(graph, horizontal_features=features)


def test_with_features_it_learns_functions_of_them(communities):
    aucs = []
    for shuffle in (False, True):
        train = with_communities_as_features(communities.train, shuffle)
        model = GATNE(seed=100, dimensions=32, epochs=10).fit(train)
        aucs.append(evaluate(model, replace(communities, train=train)).intra.values["auc"])
    assert aucs[0] > 0.8
    assert aucs[0] > aucs[1] + 0.1


def test_features_of_both_parts_are_read_each_on_one_scale():
    graph = random_graph(2)
    values = np.random.default_rng(0).normal(size=(graph.n_nodes, 3)).astype(np.float32)
    one, other = Features(("p", "q"), values[:, :2]), Features(("r",), values[:, 2:])
    both = GATNE(seed=100, **SMALL).fit(replace(graph, horizontal_features=one, vertical_features=other))
    half = GATNE(seed=100, **SMALL).fit(replace(graph, horizontal_features=one))
    assert not np.allclose(both.horizontal, half.horizontal)
    larger = Features(("r",), 1000 * values[:, 2:] + 5000)
    scaled = GATNE(seed=100, **SMALL).fit(replace(graph, horizontal_features=one, vertical_features=larger))
    assert scaled.horizontal == pytest.approx(both.horizontal, abs=1e-2)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dimensions": 0}, "dimensions is 0, expected at least 1"),
        ({"walk_length": 1}, "walk_length is 1, expected at least 2"),
        ({"window": 0}, "window is 0, expected at least 1"),
        ({"samples": 2.5}, r"samples is '2\.5', expected a whole number"),
        ({"validation": 1.0}, "validation is 1.0, expected at least 0 and less than 1"),
        ({"weight_decay": -1.0}, "weight_decay is -1.0"),
        ({"lr": 0.0}, "lr is 0.0, expected a number above 0"),
        ({"device": "quantum"}, "device is 'quantum', expected one that is there"),
    ],
)
def test_bad_settings_get_one_clear_line(settings, said):
    with pytest.raises(SettingError, match=said):
        make_model("gatne", **settings).fit(graph_of("x.a x.b", "y.a y.b", "x.a y.a"))
