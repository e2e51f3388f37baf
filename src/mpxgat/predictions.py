"""Links that a fitted model holds likely: of given pairs, of one node, or the best of all.

Pairs that are known are left out of what is searched: links, nodes known to be one unit (if only by a chain of links),
and pairs of layers that uniqueness forbids. Ties go to the pair whose nodes come first in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import LayerLike, MultiplexGraph, NodeLike
from mpxgat.io.frames import is_frame, pairs_in_frame
from mpxgat.models.base import Model, Positions
from mpxgat.pairs import KnownUnits, pair_keys
from mpxgat.tabular import Tabular

Pairs = NDArray[np.int64]
Scores = NDArray[np.float64]
Advance = Callable[[int], None]

_TILE_COLUMNS = 4096
_TILE_PAIRS = 1 << 19
_PAIRS_AT_ONCE = 1 << 16
_DEFAULT_K = 10


@dataclass(frozen=True, eq=False)
class Predictions(Tabular):
    """Scored pairs of a graph's nodes. Notebooks show the first of them.

    pairs       (k, 2) positions
    score       (k,) what the model gives; scores of intra and inter pairs are not comparable
    rank        (k,) from 1 (best), within what was ranked together
    probability (k,) of being a link that the graph lacks, NaN where the model gives none; see `Model.link_probability`
    """

    graph: MultiplexGraph
    pairs: Pairs
    score: Scores
    rank: NDArray[np.int64]
    probability: Scores

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        within = int((np.diff(self.graph.node_layer[self.pairs], axis=1) == 0).sum())
        return f"<Predictions: {within:,} pairs within layers, {len(self) - within:,} between layers>"

    def to_table(self) -> pa.Table:
        """Columns source, source_layer, target, target_layer, kind ("intra" or "inter"), score, probability, rank.

        A probability is null where there is none.
        """
        layers = pa.array(self.graph.layers, pa.large_string())
        numbers = self.graph.node_layer[self.pairs]
        kinds = np.where(numbers[:, 0] == numbers[:, 1], "intra", "inter").tolist()
        return pa.table(
            {
                "source": self.graph.ids.take(pa.array(self.pairs[:, 0])),
                "source_layer": layers.take(pa.array(numbers[:, 0])),
                "target": self.graph.ids.take(pa.array(self.pairs[:, 1])),
                "target_layer": layers.take(pa.array(numbers[:, 1])),
                "kind": pa.array(kinds, pa.large_string()),
                "score": pa.array(self.score),
                "probability": pa.array(self.probability, mask=np.isnan(self.probability)),
                "rank": pa.array(self.rank),
            }
        )


def predict_pairs(model: Model, pairs: Any, *, missing: float | None = None) -> Predictions:
    """The given pairs in their order; ranked among the pairs of their kind.

    pairs       a (k, 2) array of positions; pairs of nodes, each as (id, layer), as an id that one layer only has, or
                as a position; or a DataFrame with the columns source, source_layer, target, target_layer, or with two
                columns called by layers
    missing     the share of links within layers that probabilities take to be missing, here and below; None: as many
                as the protocols hide
    """
    graph = model.graph
    ends = pairs_in_frame(pairs, graph) if is_frame(pairs) else graph.pair_positions(pairs)
    score = model.score(ends)
    intra = graph.node_layer[ends[:, 0]] == graph.node_layer[ends[:, 1]]
    rank = np.empty(len(ends), dtype=np.int64)
    for rows in (np.flatnonzero(intra), np.flatnonzero(~intra)):
        rank[rows[_best_first(ends[rows], score[rows])]] = np.arange(1, len(rows) + 1)
    return Predictions(graph, ends, score, rank, model.link_probability(ends, score, missing=missing))


def predict_node(
    model: Model,
    node: NodeLike,
    layer: LayerLike | None = None,
    k: int | None = None,
    *,
    missing: float | None = None,
) -> Predictions:
    """The ``k`` best partners (10 by default) of a node in its own layer, then in each other layer where it has no
    counterpart. Ranked within each layer.

    The node is an id with the name of its layer, ``predict_node(model, "ann", "work")``, or anything that
    `MultiplexGraph.index` takes. A number in the layer's place is ``k``: ``predict_node(model, ("ann", "work"), 5)``.
    """
    if isinstance(layer, (int, np.integer)):
        if k is not None:
            raise SettingError(f"the layer {layer} beside k, expected a name; by number it is (id, {layer})")
        k, layer = int(layer), None
    return _of_node(model, model.graph.index(node, layer), _DEFAULT_K if k is None else k, missing)


def _of_node(model: Model, node: int, k: int, missing: float | None) -> Predictions:
    graph, known = model.graph, _Known.of(model.graph)
    home = int(graph.node_layer[node])
    copies = set(graph.node_layer[graph.unit == graph.unit[node]].tolist()) - {home}
    rows = np.array([node], dtype=np.int64)
    found = []
    for number in [home, *(layer for layer in range(graph.n_layers) if layer != home and layer not in copies)]:
        best = _Best(k)
        for columns in _chunks(graph.layer_nodes(number), _TILE_COLUMNS):
            best.offer(rows, columns, model.score_block(rows, columns), known)
        found.append(best.predictions(model, missing))
    return join(graph, found)


def predict_top(
    model: Model,
    k: int = _DEFAULT_K,
    layers: tuple[LayerLike, LayerLike] | None = None,
    advance: Advance = lambda pairs: None,
    *,
    missing: float | None = None,
) -> Predictions:
    """The ``k`` best pairs of two layers (or within one, given twice); of all layers: ``k`` intra, then ``k`` inter.

    Layers are told by their names or their numbers, from 0. Scores are computed in blocks of bounded size, and only the
    best are kept. ``advance`` is told of the pairs done.
    """
    graph, known = model.graph, _Known.of(model.graph)
    if layers is not None:
        return _best_of(model, k, [_two_layers(graph, layers)], known, advance, missing)
    within = [(number, number) for number in range(graph.n_layers)]
    between = [(a, b) for a in range(graph.n_layers) for b in range(a + 1, graph.n_layers)]
    return join(graph, [_best_of(model, k, pairs, known, advance, missing) for pairs in (within, between)])


def pairs_to_search(graph: MultiplexGraph, layers: tuple[LayerLike, LayerLike] | None = None) -> int:
    """About how many pairs `predict_top` looks at: the total of what it tells ``advance``."""
    sizes = [int(size) for size in np.diff(graph.layer_start)]
    every = [(a, b) for a in range(len(sizes)) for b in range(a, len(sizes))]
    return sum(sizes[a] * sizes[b] for a, b in (every if layers is None else [_two_layers(graph, layers)]))


def _two_layers(graph: MultiplexGraph, layers: tuple[LayerLike, LayerLike]) -> tuple[int, int]:
    if isinstance(layers, str) or len(layers) != 2:
        raise SettingError(f"layers is {quoted(layers)}, expected two layers, or one twice")
    return graph.layer_index(layers[0]), graph.layer_index(layers[1])


def _best_of(
    model: Model, k: int, layers: Iterable[tuple[int, int]], known: _Known, advance: Advance, missing: float | None
) -> Predictions:
    best = _Best(k)
    for a, b in layers:
        row_nodes, column_nodes = model.graph.layer_nodes(a), model.graph.layer_nodes(b)
        height = max(1, _TILE_PAIRS // min(len(column_nodes), _TILE_COLUMNS))
        for rows in _chunks(row_nodes, height):
            for columns in _chunks(column_nodes, _TILE_COLUMNS):
                if a != b or columns[-1] > rows[0]:  # within a layer every pair is looked at once
                    best.offer(rows, columns, model.score_block(rows, columns), known, once=a == b)
                advance(len(rows) * len(columns))
    return best.predictions(model, missing)


@dataclass(frozen=True, eq=False)
class _Known:
    """What need not be predicted."""

    graph: MultiplexGraph
    links: NDArray[np.int64]  # keys of the intra links, sorted
    units: KnownUnits

    @classmethod
    def of(cls, graph: MultiplexGraph) -> _Known:
        return cls(graph, pair_keys(graph.intra, graph.n_nodes), KnownUnits.of(graph))

    def open(self, pairs: Pairs) -> NDArray[np.bool_]:
        """(k,) where a pair is neither a link nor one unit nor forbidden; computed in chunks."""
        answer = np.empty(len(pairs), dtype=bool)
        for start in range(0, len(pairs), _PAIRS_AT_ONCE):
            chunk = pairs[start : start + _PAIRS_AT_ONCE]
            first, second = chunk.T
            intra = self.graph.node_layer[first] == self.graph.node_layer[second]
            keys = pair_keys(chunk, self.graph.n_nodes)
            linked = np.searchsorted(self.links, keys, "right") > np.searchsorted(self.links, keys)
            decided = self.units.decided(first, second)
            answer[start : start + _PAIRS_AT_ONCE] = np.where(intra, (first != second) & ~linked, ~decided)
        return answer


class _Best:
    """The ``k`` best pairs of all that are offered."""

    def __init__(self, k: int):
        if k < 1:
            raise SettingError(f"the number of links wanted is {k}, expected at least 1")
        self._k = k
        self._pairs: Pairs = np.empty((0, 2), dtype=np.int64)
        self._score: Scores = np.empty(0)

    def offer(self, rows: Positions, columns: Positions, scores: Scores, known: _Known, *, once: bool = False) -> None:
        """All pairs of a block that are not known; with ``once`` only those whose first node comes first."""
        wanted = self._wanted(rows, columns, scores)
        if once:
            wanted &= rows[:, None] < columns[None, :]
        row, column = np.nonzero(wanted)
        pairs = np.stack([rows[row], columns[column]], axis=1).astype(np.int64)
        score = scores[row, column]
        is_open = known.open(pairs)
        pairs, score = pairs[is_open], score[is_open]
        if len(score) > self._k:  # most of a block goes here, before anything is sorted
            enough = score >= np.partition(score, -self._k)[-self._k]
            pairs, score = pairs[enough], score[enough]
        pairs, score = np.concatenate([self._pairs, pairs]), np.concatenate([self._score, score])
        kept = _best_first(pairs, score)[: self._k]
        self._pairs, self._score = pairs[kept], score[kept]

    def predictions(self, model: Model, missing: float | None) -> Predictions:
        """The best, with exactly the numbers that ``model.score`` gives."""
        score = model.score(self._pairs)
        order = _best_first(self._pairs, score)
        pairs, score = self._pairs[order], score[order]
        probability = model.link_probability(pairs, score, missing=missing)
        return Predictions(model.graph, pairs, score, np.arange(1, len(order) + 1), probability)

    def _wanted(self, rows: Positions, columns: Positions, scores: Scores) -> NDArray[np.bool_]:
        """Where a block's pairs could be among the best."""
        if len(self._score) < self._k:
            return np.ones(scores.shape, dtype=bool)
        worst = tuple(self._pairs[-1].tolist())
        later = (int(rows[0]), int(columns[0])) > worst  # then every tie in this block is lost
        return np.asarray(scores > self._score[-1] if later else scores >= self._score[-1])


def _best_first(pairs: Pairs, score: Scores) -> NDArray[np.int64]:
    """Order by falling score; among equals by the first node's position, then the second's."""
    return np.lexsort((pairs[:, 1], pairs[:, 0], -score))


def join(graph: MultiplexGraph, parts: Sequence[Predictions]) -> Predictions:
    """Several lists as one; each keeps its ranks."""
    return Predictions(
        graph,
        np.concatenate([part.pairs for part in parts]),
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.rank for part in parts]),
        np.concatenate([part.probability for part in parts]),
    )


def _chunks(nodes: Positions, size: int) -> Iterator[Positions]:
    for start in range(0, len(nodes), size):
        yield nodes[start : start + size]
