"""Parts that workers train together: the right gradients, the same bytes for any number of workers, resumed by any."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from mpxgat.distributed.group import Alone
from mpxgat.distributed.sharding import Owners, embed_own
from mpxgat.distributed.training import SharedTrainee, keep_own_rows, learn_in_group, table_names
from mpxgat.errors import ResumeError, SettingError
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.nn.ops import link_loss
from mpxgat.training.batches import encode
from mpxgat.training.checkpoint import Checkpoint
from mpxgat.training.links import cut_validation
from mpxgat.training.parallel import Processes, Session, raise_first
from tests.distributed.thread_group import as_group
from tests.examples import random_graph
from tests.models.batch_parts import SMALL, part_of, with_everything

pytestmark = pytest.mark.usefixtures("one_thread")

PLAIN, EVERYTHING = random_graph(5), with_everything(random_graph(5))
KINDS = pytest.mark.parametrize("kind", ["horizontal", "vertical"])
GRAPHS = pytest.mark.parametrize("graph", [PLAIN, EVERYTHING], ids=["plain", "everything"])


def shared(graph, kind, **settings):
    return replace(part_of(graph, kind, **{"batch": 20, "shares": 3, **settings}), batch=20)


def silent(report):
    return None


def trained_by(part, size, checkpoint):
    """The part as a group of so many workers leaves it."""
    as_group(size, lambda group: part.learn(checkpoint, silent, group))
    return part.learn(checkpoint, silent)


def same(one, other):
    assert one.outcome == other.outcome
    assert one.parameters.keys() == other.parameters.keys()
    assert all(torch.equal(value, other.parameters[name]) for name, value in one.parameters.items())


@KINDS
@GRAPHS
def test_the_gradient_is_that_of_all_shares_together(kind, graph):
    part = shared(graph, kind, dropout=0.0)
    device = torch.device("cpu")
    cut = cut_validation(part.links, 0.1, part.sampler(), part._stream(0).numpy())
    network = part.network(cut.training_rows, device)
    plan, net, plain = part.plan(network, 20), part.new_net(), part.new_net()
    owners, tables = Owners(part.n_nodes, plan.pieces(), Alone()), table_names(net, network.inputs)
    assert bool(tables) == (graph is PLAIN)
    keep_own_rows(net, tables, owners)
    stream = part._stream(2)
    trainee = SharedTrainee(net, plan, cut, part.sampler(), stream, owners, tables, 3)
    loss = next(trainee.losses(0))
    loss.backward()

    rows = next(iter(plan.batches(stream.at(0).at(0).numpy())))
    parts = []
    for number, share in enumerate(np.array_split(rows, 3)):
        rng = stream.at(0).at(1, 0, number).at(0).numpy()
        links = cut.training[share].astype(np.int64)
        non_links = part.sampler().draw(len(links), rng)
        around = plan.around(np.concatenate([links.ravel(), non_links.ravel()]), rng)
        pairs = [torch.from_numpy(around.places(each)) for each in (links, non_links)]
        parts.append(link_loss(encode(network, plain, around), *pairs) * len(links) / len(rows))
    expected = torch.stack(parts).sum()
    expected.backward()
    assert loss.detach() == pytest.approx(expected.detach())
    for (name, ours), theirs in zip(net.named_parameters(), plain.parameters(), strict=True):
        ours_grad, theirs_grad = (each.to_dense() if each.is_sparse else each for each in (ours.grad, theirs.grad))
        assert torch.allclose(ours_grad, theirs_grad, atol=1e-6), name


@KINDS
@GRAPHS
def test_own_embeddings_are_those_of_all_nodes(kind, graph):
    part = shared(graph, kind)
    plan = part.plan(part.network(None, torch.device("cpu")), 20)
    whole = plan.embed(part.new_net().eval())

    def embed(group):
        owners, net = Owners(part.n_nodes, plan.pieces(), group), part.new_net().train()
        keep_own_rows(net, table_names(net, plan.network.inputs), owners)
        found = embed_own(plan, net, owners)
        assert net.training
        return owners.own, found

    for own, found in as_group(3, embed):
        assert torch.allclose(found, whole[torch.from_numpy(own)], atol=1e-6)


@KINDS
@GRAPHS
def test_same_bytes_for_any_number_of_workers(kind, graph, tmp_path):
    part = shared(graph, kind, epochs=3, check_every=2)
    alone = part.learn(None, silent)
    assert alone.outcome.best_value is not None
    for size in (2, 4):  # more than there are shares, too
        same(trained_by(part, size, Checkpoint(tmp_path / f"{size}.safetensors", {})), alone)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.safetensors", "4.safetensors"]


class _StopError(Exception):
    pass


def stop_at(epoch):
    def report(found):
        if found.epoch == epoch:
            raise _StopError

    return report


@pytest.mark.parametrize(("first", "second"), [(1, 3), (3, 1), (2, 3), (3, 2), (2, 2)])
def test_a_group_of_any_size_goes_on_where_another_was_stopped(first, second, tmp_path):
    part = shared(PLAIN, "horizontal", epochs=6, check_every=2)
    alone = part.learn(None, silent)
    checkpoint = Checkpoint(tmp_path / "part.safetensors", {"of": "this"}, save_every=0)
    with pytest.raises(_StopError):
        as_group(first, lambda group: part.learn(checkpoint, stop_at(4), group))
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == (
        ["part.safetensors"]
        if first == 1
        else [f"part.epoch3.worker{worker + 1}of{first}.safetensors" for worker in range(first)]
    )
    same(trained_by(part, second, checkpoint), alone)
    assert [path.name for path in tmp_path.iterdir()] == ["part.safetensors"]


def test_files_of_an_epoch_that_not_all_have_written_are_not_taken(tmp_path):
    part = shared(PLAIN, "vertical", epochs=6, check_every=2)
    alone = part.learn(None, silent)
    checkpoint = Checkpoint(tmp_path / "part.safetensors", {}, save_every=0)
    with pytest.raises(_StopError):
        as_group(2, lambda group: part.learn(checkpoint, stop_at(4), group))
    one = tmp_path / "part.epoch3.worker1of2.safetensors"
    one.with_name("part.epoch4.worker1of2.safetensors").write_bytes(one.read_bytes())  # killed before the other wrote
    same(trained_by(part, 2, checkpoint), alone)
    assert [path.name for path in tmp_path.iterdir()] == ["part.safetensors"]


@pytest.fixture
def of_something_else(tmp_path):
    """A part, and a place where a group has left a checkpoint of another training."""
    part = shared(PLAIN, "vertical")
    checkpoint = Checkpoint(tmp_path / "part.safetensors", {"of": "this"}, save_every=0)
    with pytest.raises(_StopError):
        as_group(2, lambda group: part.learn(checkpoint, stop_at(2), group))
    return part, replace(checkpoint, identity={"of": "that"})


def test_a_checkpoint_of_something_else_is_refused(of_something_else):
    part, other = of_something_else
    with pytest.raises(ResumeError, match="made with another of"):
        as_group(2, lambda group: part.learn(other, silent, group))


def test_a_model_trained_by_processes_together(tmp_path):
    settings = {**SMALL, "epochs": 2, "batch": 40, "shares": 2}
    alone = MPXGAT(**settings).fit(PLAIN)
    together = MPXGAT(**settings).fit(PLAIN, Session(tmp_path, engine=Processes(2)))
    assert np.array_equal(alone.horizontal, together.horizontal)
    assert np.array_equal(alone.vertical, together.vertical)
    assert alone.settings["shares"] == 2
    assert "shares" not in MPXGAT(**SMALL).settings  # so that what was trained before is known again


def test_an_error_of_workers_is_told(of_something_else):
    part, other = of_something_else
    with pytest.raises(ResumeError, match="made with another of"):
        Processes(2).together(2, partial(learn_in_group, [part], [other]))


def test_the_error_that_made_others_lose_touch_is_told():
    with pytest.raises(SettingError, match="wrong in its own way"):
        raise_first([None, RuntimeError("connection closed by peer"), SettingError("wrong in its own way")])
    with pytest.raises(RuntimeError, match="connection closed"):
        raise_first([RuntimeError("connection closed by peer"), None])
    raise_first([None, None])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"shares": 0}, "shares is 0, expected at least 1"),
        ({"shares": 2}, "shares is 2 and batch auto, expected a number"),
        ({"shares": 2, "batch": "full"}, "shares is 2 and batch full, expected a number"),
        ({"shares": 2, "batch": 8, "device": "cuda"}, "shares is 2 and device 'cuda', expected cpu"),
    ],
)
def test_settings_that_do_not_go_together(settings, words):
    with pytest.raises(SettingError, match=words):
        MPXGAT(**settings)


def test_workers_that_share_need_less_memory_each():
    part = shared(random_graph(5, people=2000), "horizontal", hidden=64)
    alone, of_four = part.memory(20), part.memory(20, 4)
    assert of_four < alone
