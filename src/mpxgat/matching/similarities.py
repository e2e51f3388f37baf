"""Who is who by similarities that are no probabilities: calibrated on known links that are hidden again.

For models that compare all nodes of two layers. A pair counts by how far it stands out: s / (s + r), where s is its
similarity and r that of its best rival, another open pair of either node. That is above a half where the pair is the
best of both nodes, and it knows no scale: such similarities shrink as more links are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.matching.calibration import Isotonic
from mpxgat.matching.match import DEFAULT_K, Candidates, layer_pairs
from mpxgat.matching.reasons import Explanation, Reason
from mpxgat.pairs import IntArray, KnownUnits, row_parts

Similarity = NDArray[np.floating[Any]]
Between = Callable[[int, int], Similarity]
"""(n_a, n_b) similarities, none below 0, of all nodes of two layers, given by their numbers."""
Numbers = NDArray[np.float64]

_FOLDS = 5  # each hides a part of the known units
_FEWEST, _PLENTY = 30, 200  # known links without which there is no curve; hidden links after which no fold is added
_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class OpenPairs:
    """The pairs of two layers that may still be one unit. Places are (k, 2) rows and columns of the matrix.

    nodes           of the lower layer (n_a,) and of the other (n_b,)
    similarity      (n_a, n_b)
    """

    units: KnownUnits
    nodes: tuple[IntArray, IntArray]
    similarity: Similarity

    def candidates(self, k: int) -> NDArray[np.int64]:
        """Places of the k most similar partners of every node, from both sides; none with a similarity of 0."""
        found = []
        for side in (0, 1):
            value, partner = self._best(side, k)
            node, rank = np.nonzero(value > 0)
            ends = (node, partner[node, rank])
            found.append(np.stack(ends if side == 0 else ends[::-1], axis=1))
        return np.unique(np.concatenate(found), axis=0)

    def pairs(self, places: IntArray) -> NDArray[np.int32]:
        """(k, 2) the nodes at some places."""
        return np.stack([nodes[ends] for nodes, ends in zip(self.nodes, places.T, strict=True)], axis=1, dtype=np.int32)

    def own_and_rival(self, places: IntArray) -> tuple[Numbers, Numbers]:
        """(k,) similarities, and the largest one of another open pair of either node, 0 if there is none."""
        own = self.similarity[places[:, 0], places[:, 1]].astype(np.float64)
        best = (two[ends] for two, ends in zip(self._two_best, places.T, strict=True))
        first, second = (np.where(own == two[:, 0], two[:, 1], two[:, 0]) for two in best)
        return own, np.maximum(first, second)

    def standing(self, places: IntArray) -> Numbers:
        """(k,) from 0 to 1: s / (s + r); 0 where nothing is similar."""
        own, rival = self.own_and_rival(places)
        return np.divide(own, own + rival, out=np.zeros(len(own)), where=own > 0)

    def ranks(self, places: IntArray, side: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(k,) ranks, from 1, among the open partners of the nodes of a side, and how many these are."""
        rank, count = np.empty((2, len(places)), dtype=np.int64)
        own = self.similarity[places[:, 0], places[:, 1]]
        for part in row_parts(places, len(self.nodes[1 - side]), _CELLS):
            rows, is_open = self._rows(places[part, side], side)
            rank[part] = 1 + (is_open & (rows > own[part, None])).sum(axis=1)
            count[part] = is_open.sum(axis=1)
        return rank, count

    @cached_property
    def _two_best(self) -> tuple[Numbers, Numbers]:
        """(n_a, 2) and (n_b, 2) the two largest similarities of every node, descending."""
        return self._best(0, 2)[0], self._best(1, 2)[0]

    def _best(self, side: int, k: int) -> tuple[Numbers, NDArray[np.int64]]:
        """(n, k) the largest similarities of every node of a side, descending, and the partners' places.

        0 where there are fewer partners.
        """
        ours, theirs = self.nodes[side], self.nodes[1 - side]
        value, partner = np.zeros((len(ours), k)), np.zeros((len(ours), k), dtype=np.int64)
        width = min(k, len(theirs))
        for part in row_parts(ours if width else ours[:0], len(theirs), _CELLS):
            rows, is_open = self._rows(np.arange(len(ours))[part], side)
            rows = np.where(is_open, rows, 0)
            best = np.argpartition(-rows, width - 1, axis=1)[:, :width]
            order = np.argsort(-np.take_along_axis(rows, best, axis=1), axis=1, kind="stable")
            partner[part, :width] = np.take_along_axis(best, order, axis=1)
            value[part, :width] = np.take_along_axis(rows, partner[part, :width], axis=1)
        return value, partner

    def _rows(self, places: IntArray, side: int) -> tuple[Similarity, NDArray[np.bool_]]:
        """(r, c) similarities of some nodes of a side to all of the other, and which pairs are open."""
        similarity = self.similarity if side == 0 else self.similarity.T
        return similarity[places], ~self.units.decided(self.nodes[side][places, None], self.nodes[1 - side])


def open_pairs(graph: MultiplexGraph, between: Between) -> dict[tuple[int, int], OpenPairs]:
    """Of all pairs of layers, the lower one first."""
    units, nodes = KnownUnits.of(graph), [graph.layer_nodes(layer) for layer in range(graph.n_layers)]
    return {(a, b): OpenPairs(units, (nodes[a], nodes[b]), between(a, b)) for a, b in layer_pairs(graph)}


def folds(graph: MultiplexGraph, seed: int) -> list[NDArray[np.int32]]:
    """The inter links (m, 2) in five folds by whole units, at random; none if there are too few links."""
    if len(graph.inter) < _FEWEST:
        return []
    unit = graph.unit[graph.inter[:, 0]]
    units = np.random.default_rng(seed).permutation(np.unique(unit))
    return [graph.inter[np.isin(unit, fold)] for fold in np.array_split(units, _FOLDS)]


@dataclass(frozen=True, eq=False)
class SimilarityMatching:
    """Candidates of a graph by similarity, their probabilities, and what speaks for them.

    among       the open pairs of each two layers, the lower one first
    curve       from standings to probabilities, the same for all layers
    base        log-odds of a candidate of which nothing else is known
    """

    graph: MultiplexGraph
    among: Mapping[tuple[int, int], OpenPairs]
    curve: Isotonic
    base: float

    @classmethod
    def learned(
        cls, graph: MultiplexGraph, between: Between, refit: Callable[[MultiplexGraph], Between], seed: int
    ) -> Self | None:
        """Calibrated on known units, a random fifth hidden at a time; None if too few links are known.

        ``refit`` gives the similarities by a model that sees the graph without any link of the units hidden: no link is
        evidence for itself. Only pairs with a node of these units count, as the truth is not known elsewhere.
        """
        standings, labels, count = [np.empty(0)], [np.empty(0, dtype=bool)], 0
        for hidden in folds(graph, seed):
            touched = np.zeros(graph.n_nodes, dtype=bool)
            touched[hidden] = True
            train = graph.without(inter=hidden)
            for some in open_pairs(train, refit(train)).values():
                places = some.candidates(DEFAULT_K)
                pairs = some.pairs(places)
                certain = touched[pairs].any(axis=1)
                standings.append(some.standing(places[certain]))
                labels.append(graph.unit[pairs[certain, 0]] == graph.unit[pairs[certain, 1]])
            count += len(hidden)
            if count >= _PLENTY:
                break
        standing, label = np.concatenate(standings), np.concatenate(labels)
        if not len(standing):
            return None
        right, wrong = label.sum() + 1, (~label).sum() + 1
        return cls(graph, open_pairs(graph, between), Isotonic.fit(standing, label), float(np.log(right / wrong)))

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """The best k partners of every open node, from both sides, best first."""
        some = self.among[layer_a, layer_b]
        places = some.candidates(k)
        standing = some.standing(places)
        order = np.argsort(-standing, kind="stable")
        return Candidates(some.pairs(places[order]), self.curve.apply(standing[order]))

    def explain(self, pairs: IntArray) -> list[Explanation]:
        """Why (k, 2) pairs of nodes of different layers have their probabilities: one reason, as there is one curve."""
        ordered = np.sort(pairs, axis=1)
        layers = self.graph.node_layer[ordered]
        found: dict[int, Explanation] = {}
        for a, b in np.unique(layers, axis=0).tolist():
            here = np.flatnonzero((layers == (a, b)).all(axis=1))
            explained = self._explained(self.among[a, b], ordered[here] - self.graph.layer_start[[a, b]], pairs[here])
            found |= zip(here.tolist(), explained, strict=True)
        return [found[row] for row in range(len(pairs))]

    def _explained(self, some: OpenPairs, places: IntArray, pairs: IntArray) -> list[Explanation]:
        own, rival = some.own_and_rival(places)
        probability = self.curve.apply(some.standing(places))
        score = np.log(probability / (1 - probability))
        (rank, count), (rank_back, count_back) = (some.ranks(places, side) for side in (0, 1))
        found = []
        for row, (first, second) in enumerate(pairs.tolist()):
            ranks = f"rank {rank[row]} of {count[row]} and, the other way, {rank_back[row]} of {count_back[row]}"
            finding = f"{own[row]:.3g}, {ranks}; best rival {rival[row]:.3g}"
            odds = float(score[row])
            reason = Reason("similarity", finding, odds - self.base)
            found.append(Explanation(first, second, float(probability[row]), self.base, (reason,), odds))
        return found
