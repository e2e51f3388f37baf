from __future__ import annotations

import pytest
import torch

from mpxgat.errors import GraphError
from mpxgat.nn import Neighbourhood


def edges(neighbourhood):
    return list(zip(neighbourhood.receivers.tolist(), neighbourhood.senders.tolist(), strict=True))


def test_edges_go_both_ways_with_self_loops_sorted_by_receiver():
    found = Neighbourhood.from_links(4, torch.tensor([[2, 0], [1, 2]]))
    assert edges(found) == [(0, 0), (0, 2), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (3, 3)]
    assert found.offsets.tolist() == [0, 2, 4, 7, 8]
    assert found.sizes.tolist() == [2, 2, 3, 1]
    assert found.senders.dtype == torch.int64


def test_order_of_links_does_not_matter():
    one = Neighbourhood.from_links(4, torch.tensor([[2, 0], [1, 2]]))
    other = Neighbourhood.from_links(4, torch.tensor([[2, 1], [0, 2]], dtype=torch.int32))
    assert edges(one) == edges(other)


def test_reverse_is_the_other_direction():
    found = Neighbourhood.from_links(5, torch.tensor([[0, 1], [1, 2], [0, 3], [3, 1]]))
    there = edges(found)
    assert [there[k] for k in found.reverse.tolist()] == [(j, i) for i, j in there]


def test_weights_follow_their_link_and_self_loops_weigh_one():
    found = Neighbourhood.from_links(3, torch.tensor([[1, 0], [1, 2]]), torch.tensor([0.5, 7.0]))
    assert dict(zip(edges(found), found.weights.tolist(), strict=True)) == {
        (0, 0): 1.0, (1, 1): 1.0, (2, 2): 1.0, (0, 1): 0.5, (1, 0): 0.5, (1, 2): 7.0, (2, 1): 7.0,
    }  # fmt: skip


@pytest.mark.parametrize("heads", [1, 2, 3])
def test_head_edges_are_disjoint_copies(heads):
    base = Neighbourhood.from_links(4, torch.tensor([[2, 0], [1, 2]]), torch.tensor([0.5, 7.0]))
    spread = base.head_edges(heads)
    entries = list(zip(spread.receivers.tolist(), spread.senders.tolist(), strict=True))
    assert entries == sorted((i * heads + k, j * heads + k) for i, j in edges(base) for k in range(heads))
    assert [entries[p] for p in spread.reverse.tolist()] == [(j, i) for i, j in entries]
    assert spread.offsets.tolist() == [sum(i < row for i, _ in entries) for row in range(4 * heads + 1)]
    for k in range(heads):
        picked = [entries[p] for p in spread.position[:, k].tolist()]
        assert picked == [(i * heads + k, j * heads + k) for i, j in edges(base)]
        assert torch.equal(spread.per_edge(spread.weights)[:, k], base.weights)
    assert base.head_edges(heads) is spread


def test_directed_links_send_from_their_first_node_to_their_second():
    found = Neighbourhood.directed(4, torch.tensor([[2, 0], [1, 2], [1, 0]]))
    there = edges(found)
    assert there == [(0, 0), (0, 1), (0, 2), (1, 1), (2, 1), (2, 2), (3, 3)]
    assert [there[k] for k in found.reverse.tolist()] == [(j, i) for i, j in edges(found.turned)]
    spread = found.head_edges(2)
    entries = list(zip(spread.receivers.tolist(), spread.senders.tolist(), strict=True))
    turned = zip(spread.by_sender.receivers.tolist(), spread.by_sender.senders.tolist(), strict=True)
    assert [entries[k] for k in spread.reverse.tolist()] == [(j, i) for i, j in turned]


def test_no_links():
    found = Neighbourhood.from_links(3, torch.empty(0, 2))
    assert edges(found) == [(0, 0), (1, 1), (2, 2)]
    assert found.reverse.tolist() == [0, 1, 2]


def test_to_another_device_keeps_everything():
    found = Neighbourhood.from_links(3, torch.tensor([[0, 1]]), torch.tensor([2.0]))
    found.head_edges(2)
    moved = found.to("meta")
    assert {t.device.type for t in (moved.offsets, moved.senders, moved.reverse, moved.weights)} == {"meta"}
    assert moved._head_edges == {}


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([[0, 3]], "a link names node 3, expected 0 to 2"),
        ([[-1, 2]], "a link names node -1, expected 0 to 2"),
        ([[0, 1], [2, 2]], "a link joins node 2 with itself; self-loops are added by themselves"),
        ([[0, 1], [1, 0]], "the link between 0 and 1 is given twice, expected once"),
    ],
)
def test_wrong_links(links, message):
    with pytest.raises(GraphError) as error:
        Neighbourhood.from_links(3, torch.tensor(links))
    assert str(error.value) == message
