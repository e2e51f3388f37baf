"""Matches of many layer pairs made to agree: units that have at most one node in a layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import NODE_DTYPE

Pairs = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Cliques:
    """Units after matching. All pairs of a unit are one and the same, so units are disjoint cliques.

    unit            (n,) unit of every node, numbered by first node; known units are whole in it
    pairs           (m, 2) the pairs of one unit that were not known before; first < second, rows sorted
    probability     (m,) of the weakest link on the path that joins the two; known links count as sure
    joined_by       (m, 2) that weakest link: the pair that brought the two parts of the unit together
    """

    unit: NDArray[np.int32]
    pairs: Pairs
    probability: NDArray[np.float64]
    joined_by: Pairs


def merge_units(graph: MultiplexGraph, pairs: Pairs, probability: NDArray[np.float64]) -> Cliques:
    """Merge the known units of a graph along (k, 2) pairs, the most probable first (ties: by the nodes' positions).

    A pair whose units both have a node in some layer is passed over. Since probabilities fall from merge to merge,
    the pair that merges two units is the weakest link on every path that it makes.
    """
    merger = _Merger(graph, pairs)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -probability))
    for (first, second), chance in zip(pairs[order].tolist(), probability[order].tolist(), strict=True):
        merger.offer(first, second, chance)
    return merger.cliques()


class _Merger:
    """Units that grow: nodes and layers (as bits) of each, by the number of one of the known units in it.

    Only the units of nodes that are ``offered`` are looked at; the others stay as they are.
    """

    def __init__(self, graph: MultiplexGraph, offered: Pairs):
        self._known = graph.unit
        changing = np.zeros(graph.n_units, dtype=bool)
        changing[graph.unit[offered]] = True
        self._nodes = np.flatnonzero(changing[graph.unit])
        self._unit: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._layers: dict[int, int] = {}
        columns = (self._nodes, graph.unit[self._nodes], graph.node_layer[self._nodes])
        for node, unit, layer in zip(*(column.tolist() for column in columns), strict=True):
            self._unit[node] = unit
            self._members.setdefault(unit, []).append(node)
            self._layers[unit] = self._layers.get(unit, 0) | 1 << layer
        self._found: list[tuple[int, int, float, int, int]] = []

    def offer(self, first: int, second: int, chance: float) -> None:
        """Merge the units of two nodes, unless they are one already or share a layer."""
        one, other = self._unit[first], self._unit[second]
        if one == other or self._layers[one] & self._layers[other]:
            return
        for u in self._members[one]:
            for v in self._members[other]:
                self._found.append((min(u, v), max(u, v), chance, first, second))
        # A unit has at most as many nodes as there are layers, so relabelling it is cheap.
        for node in self._members[other]:
            self._unit[node] = one
        self._members[one] += self._members.pop(other)
        self._layers[one] |= self._layers.pop(other)

    def cliques(self) -> Cliques:
        """What has come of it."""
        unit = self._known.copy()
        unit[self._nodes] = [self._unit[node] for node in self._nodes.tolist()]
        _, first, inverse = np.unique(unit, return_index=True, return_inverse=True)
        number = np.empty(len(first), dtype=np.int32)
        number[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        nodes = np.array([(u, v, a, b) for u, v, _, a, b in self._found], dtype=NODE_DTYPE).reshape(-1, 4)
        chances = np.array([chance for _, _, chance, _, _ in self._found], dtype=np.float64)
        order = np.lexsort((nodes[:, 1], nodes[:, 0]))  # no pair is found twice
        return Cliques(number[inverse], nodes[order, :2], chances[order], nodes[order, 2:])
