"""What the anchored model sees of every node: walks to the identities around it, and a few numbers.

Every known unit has one *identity row*, shared by its nodes in all layers: a random row, so that a sum of rows is a
random projection of the exact profile over units. A node's view by a head is the sum of the rows that walks of k steps
from the node end at, the step from a unit to its other copies being free. Two nodes with matching neighbourhoods get
like views, whether or not a link between them is known; a node whose inter links are hidden has no anchored row of
its own, so its view cannot hold its own identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import unit_matrix, unit_presence, unit_sizes

Floats = NDArray[np.float32]
Nodes = NDArray[np.int64]

_RARITIES = (0.2, 0.8)  # of the two heads of one step; their mixture is learned
_FAR_RARITY = 0.5  # of heads of more steps
_TINY = 1e-6


@dataclass(frozen=True, eq=False)
class Background:
    """(heads, layers, d) what the views of all nodes of a layer have in common: the direction of their mean.

    Long walks end at the same few hubs wherever they start. Taken out of the views, so that the rest can be compared.
    """

    anchored: Floats
    union: Floats


@dataclass(frozen=True, eq=False)
class Views:
    """What is seen of n nodes. Rows of views have length 1, or 0 where nothing is seen.

    anchored    (heads, n, d) over units known in two layers or more: only those tell nodes of two layers apart
    union       (heads + 1, n, d) over all units and from all copies of the node; the first is the unit's own row
    identity    (n, d) row of the node's unit, 0 if no other node of it is known
    numbers     (n, p) degrees and the like, and features of the nodes
    presence    (n, layers) 1 where the node's unit has a node
    layer       (n,)
    """

    anchored: Floats
    union: Floats
    identity: Floats
    numbers: Floats
    presence: Floats
    layer: NDArray[np.int64]

    def take(self, nodes: Nodes) -> Views:
        """The rows of ``nodes``, in that order."""
        return Views(
            self.anchored[:, nodes],
            self.union[:, nodes],
            self.identity[nodes],
            self.numbers[nodes],
            self.presence[nodes],
            self.layer[nodes],
        )

    def chunks(self, size: int) -> Iterator[Views]:
        """The same in parts of at most ``size`` nodes; one empty part if there are no nodes."""
        for start in range(0, max(len(self.layer), 1), size):
            yield self.take(np.arange(start, min(start + size, len(self.layer))))


def n_heads(hops: int) -> int:
    """Heads of views: two of one step, one of every longer walk."""
    return len(_RARITIES) + hops - 1


def identity_rows(seed: int, count: int, dimensions: int) -> Floats:
    """(count, d) random rows of length about 1. More rows begin with the same rows, so new nodes change no old one."""
    rng = np.random.default_rng((seed, 1))
    rows = rng.standard_normal((count, dimensions), dtype=np.float32)
    rows /= np.float32(np.sqrt(dimensions))
    return rows


def see(
    graph: MultiplexGraph,
    born: Nodes,
    rows: Floats,
    hops: int,
    background: Background | None = None,
    nodes: Nodes | None = None,
) -> tuple[Views, Background]:
    """Views of all nodes of a graph, and the background that was taken out of them.

    born        (n,) every node's place in ``rows``; a unit has the row of its node with the smallest
    background  one to take out instead of the graph's own: views of nodes far from a change then stay as they were
    nodes       whose views are kept, in that order; None for all. The others' never take memory all at once.
    """
    kept = np.arange(graph.n_nodes) if nodes is None else nodes
    walk = _Walk(graph, rows[_unit_births(graph, born)])
    anchored, lengths, common = walk.views(
        walk.anchored, hops, None if background is None else background.anchored, kept
    )
    union, _, common_union = walk.views(walk.all_units, hops, None if background is None else background.union, kept)
    own = union[0]
    own[:] = walk.rows[graph.unit[kept]]
    views = Views(
        anchored=anchored[1:],
        union=union,
        identity=own * walk.anchored[graph.unit[kept]][:, None],
        numbers=np.concatenate([_numbers(graph, walk)[kept], lengths, _features(graph)[kept]], axis=1),
        presence=walk.presence[kept],
        layer=graph.node_layer[kept].astype(np.int64),
    )
    return views, Background(common, common_union)


class _Walk:
    """Walks on one graph."""

    def __init__(self, graph: MultiplexGraph, unit_rows: Floats):
        self.rows = unit_rows
        self._graph = graph
        self._to_unit = unit_matrix(graph).astype(np.float32)  # (n, units)
        self.size = unit_sizes(graph)
        self.anchored = (self.size > 1).astype(np.float32)
        self.all_units = np.ones(graph.n_units, dtype=np.float32)
        self.unit_degree = np.bincount(graph.unit, weights=graph.degree, minlength=graph.n_units)
        self.presence = unit_presence(graph)[graph.unit]
        self._inverse_degree = (1 / np.maximum(graph.degree, 1)).astype(np.float32)
        self._layers = sparse.csr_array(  # (layers, n) means
            (np.ones(graph.n_nodes, dtype=np.float32), (graph.node_layer, np.arange(graph.n_nodes))),
            shape=(graph.n_layers, graph.n_nodes),
        )

    def mean(self, values: Floats) -> Floats:
        """Mean over the neighbours in the layer: (n, …) -> (n, …)."""
        sums = self._graph.adjacency @ values
        scale = self._inverse_degree if values.ndim == 1 else self._inverse_degree[:, None]
        return np.asarray(sums * scale, dtype=np.float32)

    def over_copies(self, values: Floats) -> Floats:
        """Mean over all nodes of the unit: (n, d) -> (n, d)."""
        sums = np.asarray(self._to_unit.T @ values, dtype=np.float32)
        sums /= self.size[:, None].astype(np.float32)
        found: Floats = sums[self._graph.unit]
        return found

    def views(self, weight: Floats, hops: int, background: Floats | None, kept: Nodes) -> tuple[Floats, Floats, Floats]:
        """(1 + heads, k, d) views over units with these weights, (k, heads) logarithms of their lengths, and the
        background taken out. The first view is left open, for the own row.
        """
        pooled = weight is self.all_units  # nodes of one unit see what any of them sees
        found = np.empty((1 + n_heads(hops), len(kept), self.rows.shape[1]), dtype=np.float32)
        lengths, common = [], []
        for head, seen in enumerate(self._heads(weight, hops)):
            view = self.over_copies(seen) if pooled else seen
            lengths.append(np.log(_lengths(view) + 1e-3)[kept])
            direction = self._common_direction(view) if background is None else background[head]
            common.append(direction)
            view = view[kept]
            if head >= len(_RARITIES):
                along = direction[self._graph.node_layer[kept]]
                view -= np.einsum("ij,ij->i", view, along)[:, None] * along
            np.divide(view, (_lengths(view) + _TINY)[:, None], out=found[1 + head])
        return found, np.stack(lengths, axis=1), np.stack(common)

    def _heads(self, weight: Floats, hops: int) -> Iterator[Floats]:
        """A unit's row weighs degree^-rarity: a neighbour that many have tells little."""
        rare = np.maximum(self.unit_degree, 1)
        for rarity in _RARITIES:
            yield self._one_step((weight * rare**-rarity).astype(np.float32))
        seen = self._one_step((weight * rare**-_FAR_RARITY).astype(np.float32))
        for _ in range(hops - 1):
            seen = self.mean(self.over_copies(seen))
            yield seen

    def _one_step(self, weight: Floats) -> Floats:
        return self.mean((self.rows * weight[:, None])[self._graph.unit])

    def _common_direction(self, view: Floats) -> Floats:
        sums = np.asarray(self._layers @ view, dtype=np.float32)
        return np.asarray(sums / (_lengths(sums) + _TINY)[:, None], dtype=np.float32)


def _numbers(graph: MultiplexGraph, walk: _Walk) -> Floats:
    """(n, p) what the degrees of a node, its unit and its neighbours say."""
    degree = np.log1p(graph.degree).astype(np.float32)
    unit_degree = np.log1p(walk.unit_degree[graph.unit]).astype(np.float32)
    share = walk.mean(walk.anchored[graph.unit])
    around = walk.mean(degree)
    layers = walk.presence.sum(1)
    columns = [
        degree,
        unit_degree,
        around,
        walk.mean(around),
        walk.mean(unit_degree),
        share,
        np.log1p(share * graph.degree),
        layers,
        layers > 1,
        graph.degree == 0,
    ]
    return np.stack([np.asarray(column, dtype=np.float32) for column in columns], axis=1)


def _features(graph: MultiplexGraph) -> Floats:
    parts = [part.values for part in (graph.horizontal_features, graph.vertical_features) if part is not None]
    return np.concatenate([np.empty((graph.n_nodes, 0), dtype=np.float32), *parts], axis=1)


def _unit_births(graph: MultiplexGraph, born: Nodes) -> Nodes:
    first = np.full(graph.n_units, np.iinfo(np.int64).max)
    np.minimum.at(first, graph.unit, born)
    return first


def _lengths(rows: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)), dtype=np.float32)
