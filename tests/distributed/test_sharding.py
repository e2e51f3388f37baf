"""Rows shared out among workers: everyone gets what they ask for, and sums do not depend on who computed what."""

import numpy as np
import pytest
import torch

from mpxgat.distributed.group import Alone, as_first, from_everyone
from mpxgat.distributed.sharding import Owners
from tests.distributed.thread_group import as_group

PIECES = [np.array([0, 3]), np.array([1]), np.array([2, 5, 6]), np.array([4, 7])]
N = 8


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6])
def test_every_node_has_one_owner_who_keeps_whole_pieces(size):
    def look(group):
        owners = Owners(N, PIECES, group)
        assert all(len(set(owners.worker[piece])) == 1 for piece in PIECES)
        assert np.array_equal(owners.own[owners.place[owners.own]], owners.own)
        pieces = [owners.own[places] for places in owners.own_pieces()]
        return owners.own, [piece.tolist() for piece in pieces if len(piece)], len(pieces)

    found = as_group(size, look)
    assert sorted(np.concatenate([own for own, *_ in found])) == list(range(N))
    assert [piece for _, pieces, _ in found for piece in pieces] == [piece.tolist() for piece in PIECES]
    assert len({count for *_, count in found}) == 1  # all take as many turns


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_fetched_rows_are_those_of_the_nodes_asked_for(size):
    table, other = torch.arange(N * 3.0).view(N, 3), torch.arange(N * 1.0).view(N, 1)

    def ask(group):
        owners = Owners(N, PIECES, group)
        own = torch.from_numpy(owners.own)
        nodes = np.random.default_rng(group.rank).integers(N, size=5 * (group.rank != 1))  # the second asks for nothing
        return nodes, owners.fetch([table[own], other[own]], nodes)

    for nodes, rows in as_group(size, ask):
        assert torch.equal(rows, torch.cat([table, other], 1)[torch.from_numpy(nodes)])


def test_sums_are_the_same_bytes_for_any_number_of_workers():
    rng = np.random.default_rng(0)
    turns = [(rng.integers(N, size=6), torch.from_numpy(rng.normal(size=(6, 2)).astype(np.float32))) for _ in range(7)]

    def add(group):
        mine = range(group.rank, len(turns), group.size)
        owners = Owners(N, PIECES, group)
        nodes = np.concatenate([turns[turn][0] for turn in mine] or [np.empty(0, dtype=np.int64)])
        values = torch.cat([turns[turn][1] for turn in mine] or [torch.empty(0, 2)])
        places, sums = owners.add_up(nodes, np.repeat(list(mine), 6), values)
        whole = torch.zeros(N, 2)
        whole[torch.from_numpy(owners.own)[places]] = sums
        return whole

    expected = torch.zeros(N, 2)
    for nodes, values in turns:
        for node, value in zip(nodes, values, strict=True):
            expected[node] += value
    for size in (1, 2, 3, 4):
        assert torch.equal(torch.stack(as_group(size, add)).sum(0), expected)


def test_what_everyone_and_the_first_says():
    everyone = as_group(3, lambda group: torch.cat(from_everyone(group, torch.tensor([group.rank]))).tolist())
    assert everyone == [[0, 1, 2]] * 3
    assert as_group(3, lambda group: as_first(group, group.rank + 5)) == [5, 5, 5]
    assert as_first(Alone(), 7) == 7
