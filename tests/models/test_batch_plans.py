"""Steps of a training in batches: as full batch where a batch is everything, and no dearer in a larger network."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from mpxgat.training.batches import EVERYONE, BatchTrainee, SampledPlan, encode
from mpxgat.training.links import LinkTrainee, Stream, cut_validation
from tests.examples import random_graph
from tests.models.batch_parts import couples, part_of, ring, with_everything

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")


class NoChance:
    """The same non-links whenever they are drawn, however many."""

    def __init__(self, pairs):
        self.pairs = pairs

    def draw(self, count, rng):
        return self.pairs


def first_step(trainee):
    trainee.module.train()
    (loss,) = trainee.losses(0)
    loss.backward()
    return [loss, *(each.grad for each in trainee.module.parameters())]


# ---- a batch of everything is full batch -----------------------------------------------------------------


@pytest.mark.parametrize("preset", ["paper", "reference"])
@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
@pytest.mark.parametrize("graph", [random_graph(1), with_everything(random_graph(1))], ids=["plain", "everything"])
def test_a_batch_of_everything_has_the_loss_and_gradients_of_full_batch(graph, kind, preset):
    part = part_of(graph, kind, preset=preset, dropout=0.0)
    cut = cut_validation(part.links, 0.1, part.sampler(), np.random.default_rng(0))
    non_links = NoChance(part.sampler().draw(4 * part.n_nodes, np.random.default_rng(1)))  # all nodes are ends
    assert len(np.unique(non_links.pairs)) == part.n_nodes
    network = part.network(cut.training_rows, CPU)
    plan = part.plan(network, len(cut.training))
    if kind == "horizontal":
        plan = SampledPlan(network, len(cut.training), (EVERYONE,))
    whole, batch = part.new_net(), part.new_net()
    messages = network.whole()
    full = LinkTrainee(whole, lambda generator: whole(*network.inputs, messages), cut, non_links, Stream((0,)), CPU)
    expected = first_step(full)
    found = first_step(BatchTrainee(batch, plan, cut, non_links, Stream((0,)), CPU))
    for one, other in zip(expected, found, strict=True):
        assert torch.allclose(one, other.to_dense() if other.is_sparse else other, atol=1e-7)
    assert any(gradient.is_sparse for gradient in found) == (part.features is None)


@pytest.mark.parametrize("preset", ["paper", "reference"])
@pytest.mark.parametrize("kind", ["horizontal", "vertical"])
@pytest.mark.parametrize("graph", [random_graph(2), with_everything(random_graph(2))], ids=["plain", "everything"])
def test_embeddings_in_pieces_are_those_of_full_batch(graph, kind, preset, monkeypatch):
    monkeypatch.setattr("mpxgat.training.batches._NODES_AT_ONCE", 20)
    part = part_of(graph, kind, preset=preset)
    net = part.new_net().eval()
    assert replace(part, batch=16).embed(net) == pytest.approx(part.embed(net), abs=1e-5)


def test_with_every_neighbour_the_ends_of_a_batch_are_embedded_as_in_full_batch():
    part = part_of(random_graph(3, people=150, degree=3), "horizontal", dropout=0.0)
    network = part.network(None, CPU)
    net = part.new_net().eval()
    everyone = net(*network.inputs, network.whole())
    ends = np.array([4, 9, 30])
    scope = SampledPlan(network, 8, (EVERYONE,) * 3).around(ends, np.random.default_rng(0))
    assert len(scope.nodes) < part.n_nodes
    found = encode(network, net, scope)[torch.from_numpy(scope.places(ends))]
    assert torch.allclose(found, everyone[torch.from_numpy(ends)], atol=1e-6)


def test_an_epoch_takes_every_link_once_and_as_many_non_links():
    seen = {"horizontal": [], "vertical": []}
    graph = random_graph(5)
    for kind, links in seen.items():
        part = part_of(graph, kind)
        cut = cut_validation(part.links, 0.1, part.sampler(), np.random.default_rng(0))
        plan = part.plan(part.network(cut.training_rows, CPU), 10)
        batches = list(plan.batches(np.random.default_rng(0)))
        assert len(batches) == plan.steps == -(-len(cut.training) // 10)
        links += np.concatenate(batches).tolist()
        assert sorted(links) == list(range(len(cut.training)))
        losses = list(BatchTrainee(part.new_net(), plan, cut, part.sampler(), Stream((0,)), CPU).losses(0))
        assert len(losses) == plan.steps


# ---- cost -------------------------------------------------------------------------------------------------


class Largest(TorchDispatchMode):
    """Notes the most elements that a tensor made inside has; views and changes in place make none."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        given = {each.untyped_storage().data_ptr() for each in _dense(args, kwargs)}
        for made in _dense(result):
            if made.untyped_storage().data_ptr() not in given:
                Largest.elements = max(Largest.elements, made.numel())
        return result


def _dense(*values):
    return [each for each in tree_flatten(values)[0] if isinstance(each, torch.Tensor) and not each.is_sparse]


@pytest.mark.parametrize("make", [ring, couples])
def test_what_a_step_touches_does_not_depend_on_the_number_of_nodes(make):
    touched, largest = [], []
    for n in (2000, 20_000):
        part = make(n, hidden=4, out=4, blocks=2)
        cut = cut_validation(part.links, 0.1, part.sampler(), np.random.default_rng(0))
        plan, net = part.plan(part.network(cut.training_rows, CPU), 8), part.new_net()
        losses = BatchTrainee(net, plan, cut, part.sampler(), Stream((0,)), CPU).losses(0)
        Largest.elements = 0
        with Largest():
            next(losses).backward()
        largest.append(Largest.elements)
        rows = {each.grad._nnz() for each in net.parameters() if each.grad.is_sparse}
        assert len(rows) == 1
        assert max(rows) <= 1.2 * part.extent(8)[0]  # what is estimated on average
        touched += rows
    assert touched[1] < 1.2 * touched[0]
    assert largest[1] < 1.2 * largest[0] < 20_000
