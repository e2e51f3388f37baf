"""Whole components of a network: batches of links that nothing outside can send a message to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.links import group_members
from mpxgat.nodes import NODE_DTYPE
from mpxgat.sampling.subgraphs import Subgraph, ranges


@dataclass(frozen=True, eq=False)
class _Lists:
    """Members of groups: those of group g are members[offsets[g] : offsets[g+1]], ascending."""

    offsets: NDArray[np.int64]
    members: NDArray[np.int64]

    @classmethod
    def of(cls, group: NDArray[np.integer[Any]], n_groups: int) -> _Lists:
        lists = group_members(group.astype(NODE_DTYPE), np.zeros(len(group), dtype=np.int8), n_groups)
        return cls(lists.indptr.astype(np.int64), lists.indices.astype(np.int64))

    def sizes(self, groups: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        sizes: NDArray[np.int64] = self.offsets[groups + 1] - self.offsets[groups]
        return sizes

    def of_groups(self, groups: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Members of all these groups, group by group."""
        members: NDArray[np.int64] = self.members[ranges(self.offsets[groups], self.sizes(groups))]
        return members


@dataclass(frozen=True, eq=False)
class Components:
    """Nodes in groups with no link between two groups. Groups are meant to be small: one is never divided.

    links   (m, 2)
    group   (n,) of every node, numbered from 0
    """

    links: NDArray[np.integer[Any]]
    group: NDArray[np.integer[Any]]
    _nodes: _Lists
    _rows: _Lists

    @classmethod
    def of(cls, group: NDArray[np.integer[Any]], links: NDArray[np.integer[Any]]) -> Components:
        """Groups that contain the components of the links; a group may be several components, or a single node."""
        assert np.array_equal(group[links[:, 0]], group[links[:, 1]]), "a link joins two groups"
        n_groups = int(group.max(initial=-1)) + 1
        return cls(links, group, _Lists.of(group, n_groups), _Lists.of(group[links[:, 0]], n_groups))

    def batches(self, size: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """Rows of all links in random order, cut into batches of about ``size``; all links of a group in one of them.

        Batches are about equal, so that none is left over that is too small to learn from.
        """
        groups = rng.permutation(np.flatnonzero(np.diff(self._rows.offsets)))
        return [self._rows.of_groups(part) for part in _packed(groups, self._rows.sizes(groups), size)]

    def around(self, seeds: NDArray[np.integer[Any]]) -> Subgraph:
        """The whole groups of all seeds."""
        return self._subgraph(np.unique(self.group[seeds]))

    def pieces(self, size: int) -> Iterator[Subgraph]:
        """All groups, in subgraphs of about ``size`` nodes."""
        groups = np.arange(len(self._nodes.offsets) - 1)
        return (self._subgraph(part) for part in _packed(groups, self._nodes.sizes(groups), size))

    def _subgraph(self, groups: NDArray[np.integer[Any]]) -> Subgraph:
        nodes, rows = np.sort(self._nodes.of_groups(groups)), np.sort(self._rows.of_groups(groups))
        return Subgraph.of(nodes, rows, self.links)


def _packed(groups: NDArray[np.integer[Any]], sizes: NDArray[np.int64], size: int) -> list[NDArray[np.integer[Any]]]:
    """Runs of groups whose sizes sum to about ``size``, all about equal; none of them empty."""
    total = int(sizes.sum())
    if not total:
        return []
    run = (np.cumsum(sizes) - sizes) * -(-total // size) // total
    return np.split(groups, np.flatnonzero(np.diff(run)) + 1)
