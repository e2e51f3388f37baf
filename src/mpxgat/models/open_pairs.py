"""A weighted sample of the pairs within layers that are not linked, rich in those that look most like links.

Of thirty million pairs a few thousand are worth asking about, and a plain sample would hold hardly one of them. So
pairs that are linked in another layer are taken first, all of them if they are not too many. The others are drawn in
three ways: any two nodes; two that share a neighbour in the union of all layers, as often as they do; and such that
share one with few others. What a pair stands for is one over how often all ways together were to draw it (the balance
heuristic of Veach and Guibas, 1995). So sums over the sample estimate sums over all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import PairList, found_among, pair_keys, unit_matrix

PairArray = NDArray[np.int64]
Numbers = NDArray[np.float64]
_ENTRIES = 1 << 22  # of neighbours that are looked through for pairs linked elsewhere; plenty
_LEAST_SHARE = 1e-9  # of nothing there is no share


@dataclass(frozen=True, eq=False)
class OpenSample:
    """Pairs without a link, each once.

    pairs       (k, 2) nodes of one layer, the smaller first
    weight      (k,) for how many pairs each stands
    """

    pairs: PairArray
    weight: Numbers


def open_sample(graph: MultiplexGraph, count: int, rng: np.random.Generator) -> OpenSample:
    """At most about ``count`` pairs of the layers of a graph; none if it has no layer of two nodes."""
    ways = _Ways.of(graph)
    elsewhere, share = ways.linked_elsewhere(count // 4, rng)
    drawn = ways.open(ways.draw(count // 4, rng))
    keys, times = np.unique(pair_keys(drawn[ways.elsewhere(drawn) == 0], graph.n_nodes), return_counts=True)
    others = np.stack(np.divmod(keys, graph.n_nodes), axis=1)
    weight = [np.full(len(elsewhere), 1 / max(share, _LEAST_SHARE)), times / ways.expected(others, count // 4)]
    return OpenSample(np.concatenate([elsewhere, others]), np.concatenate(weight))


@dataclass(frozen=True, eq=False)
class _Ways:
    """To pairs of nodes of one layer.

    unit        (n, units) 1 at a node's unit
    linked      (n, units) 1 where a node's unit is linked with a unit in some layer
    rare        (n, units) there, one over how many other nodes of the layer are linked with that unit
    node        (e,) the nodes of the entries of ``linked``, by unit, then layer
    group       (g + 1,) where those of one unit and one layer begin
    """

    graph: MultiplexGraph
    unit: sparse.csr_array
    linked: sparse.csr_array
    rare: sparse.csr_array
    node: NDArray[np.int64]
    group: NDArray[np.int64]

    @classmethod
    def of(cls, graph: MultiplexGraph) -> _Ways:
        """Those of a graph."""
        unit = unit_matrix(graph)
        linked = sparse.csr_array(unit @ (unit.T @ graph.adjacency.astype(np.float64) @ unit))
        linked.data[:] = 1
        by_unit = sparse.csc_array(linked)
        by_unit.sort_indices()
        node = by_unit.indices.astype(np.int64)
        place = np.repeat(np.arange(graph.n_units), np.diff(by_unit.indptr)) * graph.n_layers + graph.node_layer[node]
        group = np.append(np.flatnonzero(np.diff(place, prepend=-1)), len(node))
        size = np.repeat(np.diff(group), np.diff(group))
        by_unit.data = 1 / np.maximum(size - 1, 1)
        return cls(graph, unit, linked, sparse.csr_array(by_unit), node, group)

    def linked_elsewhere(self, most: int, rng: np.random.Generator) -> tuple[PairArray, float]:
        """Open pairs of which the units are linked in some layer, and about which share of all such pairs they are.

        Every pair is found twice, at the entry of either node with the other's unit; the smaller node's counts.
        """
        layer, entries = self.graph.node_layer, self.linked.nnz
        chosen = np.arange(entries) if entries <= _ENTRIES else np.unique(rng.integers(entries, size=_ENTRIES))
        node = np.searchsorted(self.linked.indptr, chosen, "right") - 1
        places = self.graph.unit.astype(np.int64) * self.graph.n_layers + layer
        order = np.argsort(places)
        wanted = self.linked.indices[chosen].astype(np.int64) * self.graph.n_layers + layer[node]
        other = order[np.minimum(np.searchsorted(places[order], wanted), len(order) - 1)]
        found = (places[other] == wanted) & (node < other)
        pairs = self.open(np.stack([node[found], other[found]], axis=1).astype(np.int64))
        kept = np.sort(rng.choice(len(pairs), min(most, len(pairs)), replace=False))
        share = len(chosen) / max(entries, 1) * len(kept) / max(len(pairs), 1)
        return pairs[kept], share

    def open(self, pairs: PairArray) -> PairArray:
        """Those that are not linked."""
        taken = pair_keys(self.graph.intra, self.graph.n_nodes)
        return pairs[~found_among(pair_keys(pairs, self.graph.n_nodes), taken)]

    def draw(self, count: int, rng: np.random.Generator) -> PairArray:
        """(3 * count, 2) pairs of one layer, so many in each way; fewer where a way finds none."""
        layers = self.graph.layer_start.astype(np.int64)
        any_pair = _two_of(layers, _pairs_of(np.diff(layers)), count, rng)
        shared = [_two_of(self.group, mass, count, rng) for mass in (_pairs_of(np.diff(self.group)), self._rare_mass)]
        return np.concatenate([any_pair, *(self.node[each] for each in shared)])

    def expected(self, pairs: PairArray, count: int) -> Numbers:
        """(k,) how often `draw` was to find each pair."""
        some = PairList(pairs)
        totals = [_pairs_of(np.diff(self.graph.layer_start)), _pairs_of(np.diff(self.group)), self._rare_mass]
        rates = [count / max(float(each.sum()), 1) for each in totals]
        found: Numbers = rates[0] + rates[1] * some.overlap(self.linked, self.linked)
        found += rates[2] * some.overlap(self.rare, self.linked)
        return found

    @property
    def _rare_mass(self) -> Numbers:
        """(g,) sums of `rare` over the pairs of each group."""
        size = np.diff(self.group).astype(np.float64)
        return np.where(size > 1, size / 2, 0)

    def elsewhere(self, pairs: PairArray) -> Numbers:
        """(k,) 1 where the units are linked in some layer, else 0."""
        return PairList(pairs).overlap(self.linked, self.unit)


def _two_of(start: NDArray[np.int64], mass: Numbers, count: int, rng: np.random.Generator) -> PairArray:
    """(count, 2) two different places of a group that is drawn by its mass; none if no group has any."""
    up_to = np.cumsum(mass)
    if not len(up_to) or not up_to[-1]:
        return np.empty((0, 2), dtype=np.int64)
    group = np.searchsorted(up_to, rng.random(count) * up_to[-1], "right")
    group = np.minimum(group, np.flatnonzero(mass)[-1])  # rounding may lead beyond the last
    size = np.diff(start)[group]
    first, second = rng.integers(size), rng.integers(size - 1)
    second += second >= first
    return np.stack([start[group] + first, start[group] + second], axis=1)


def _pairs_of(sizes: NDArray[np.int64]) -> Numbers:
    """(g,) how many pairs groups of the given sizes have."""
    size = sizes.astype(np.float64)
    pairs: Numbers = size * (size - 1) / 2
    return pairs
