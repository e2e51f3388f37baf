"""Rows of nodes that are shared out among workers: each keeps those of its own nodes, and asks for others.

Nodes come in pieces that stay together. Pieces do not depend on how many workers there are, so that what is computed
piece by piece is the same bytes for any number of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from mpxgat.training.group import Group

Nodes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Owners:
    """Who keeps which of n nodes. All methods but `own_pieces` are called by all workers at the same time.

    pieces      nodes of every piece, ascending; each node in one
    """

    n_nodes: int
    pieces: Sequence[NDArray[np.integer[Any]]]
    group: Group

    @cached_property
    def worker(self) -> NDArray[np.int64]:
        """(n,) who keeps a node."""
        return self._workers(self.group.size)

    @cached_property
    def place(self) -> Nodes:
        """(n,) where a node stands among those of its worker."""
        place = np.empty(self.n_nodes, dtype=np.int64)
        for worker in range(self.group.size):
            nodes = np.flatnonzero(self.worker == worker)
            place[nodes] = np.arange(len(nodes))
        return place

    @cached_property
    def own(self) -> Nodes:
        """The nodes of this worker, ascending."""
        return self.nodes_of(self.group.rank, self.group.size)

    def nodes_of(self, worker: int, size: int) -> Nodes:
        """The nodes, ascending, that a worker keeps where there are ``size`` of them."""
        return np.flatnonzero(self._workers(size) == worker)

    def own_pieces(self) -> list[Nodes]:
        """Places of this worker's pieces among its own nodes; as many for every worker, filled up with empty ones."""
        of_worker = np.bincount(self._piece_workers(self.group.size), minlength=self.group.size)
        mine = np.flatnonzero(self._piece_workers(self.group.size) == self.group.rank)
        places = [self.place[self.pieces[number]] for number in mine.tolist()]
        return places + [np.empty(0, dtype=np.int64)] * (int(of_worker.max(initial=0)) - len(places))

    def fetch(self, tables: Sequence[Tensor], nodes: NDArray[np.integer[Any]]) -> Tensor:
        """(k, m) the rows of any ``nodes`` (k,), of all tables side by side, if every worker gives those of its own
        nodes, (own, ·) each.
        """
        order = np.argsort(self.worker[nodes], kind="stable")
        asked = self.group.swap(self._for_owners(torch.from_numpy(self.place[nodes[order]]), nodes))
        answers = [torch.cat([rows.index_select(0, places) for rows in tables], 1) for places in asked]
        found = torch.cat(self.group.swap(answers))
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return found.index_select(0, torch.from_numpy(back))

    def add_up(self, nodes: Nodes, turn: NDArray[np.int64], values: Tensor) -> tuple[Tensor, Tensor]:
        """Places of own nodes that any worker has ``values`` (k, m) for, ascending, and the sums of these.

        ``nodes`` (k,) may have one several times; what belongs to one is added in the order of ``turn`` (k,).
        """
        order = np.argsort(self.worker[nodes], kind="stable")
        sent = (torch.from_numpy(self.place[nodes[order]]), torch.from_numpy(turn[order]), values[order])
        place, turns, found = (torch.cat(self.group.swap(self._for_owners(each, nodes))) for each in sent)
        order = np.lexsort((turns.numpy(), place.numpy()))
        own, starts = np.unique(place.numpy()[order], return_index=True)
        offsets = torch.from_numpy(np.append(starts, len(order)))
        sums = F.embedding_bag(torch.from_numpy(order), found, offsets, mode="sum", include_last_offset=True)
        return torch.from_numpy(own), sums

    def _for_owners(self, sorted_rows: Tensor, nodes: NDArray[np.integer[Any]]) -> list[Tensor]:
        counts = np.bincount(self.worker[nodes], minlength=self.group.size)
        return list(torch.split(sorted_rows, counts.tolist()))

    def _workers(self, size: int) -> NDArray[np.int64]:
        worker = np.empty(self.n_nodes, dtype=np.int64)
        for nodes, number in zip(self.pieces, self._piece_workers(size), strict=True):
            worker[nodes] = number
        return worker

    def _piece_workers(self, size: int) -> NDArray[np.int64]:
        return np.arange(len(self.pieces)) * size // max(len(self.pieces), 1)
