"""Rules of thumb: what plain structure says about a pair, without learning.

Every table shows them beside the models: a method that does not beat them has learned little.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.models import signals
from mpxgat.models.base import Model, Positions, Scores
from mpxgat.models.signals import Nothing, Signal, Weighted
from mpxgat.training.session import Session


class StructuralModel(Model):
    """A model that is a signal for intra pairs and one for inter pairs; the seed has no effect."""

    _intra: Signal
    _inter: Signal

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        self._intra = self._intra_signal(graph)
        self._inter = self._inter_signal(graph)

    @abstractmethod
    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        """What orders pairs within a layer."""

    @abstractmethod
    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        """What orders pairs of different layers."""

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return self._intra.pairs(pairs[:, 0], pairs[:, 1])

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        return self._inter.pairs(pairs[:, 0], pairs[:, 1])

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """All pairs of rows and columns by one sparse or dense product for each signal."""
        signal = self._intra if self._is_intra(rows, cols) else self._inter
        return signal.block(rows, cols)


class Rules(StructuralModel):
    """All rules together, each deciding where the ones before it are silent."""

    name = "rules"
    description = "closure, exclusion, matched neighbours, degrees; shared links and neighbours within a layer"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        """A link between the units in another layer; then neighbours shared in the layer and in the union of
        all layers; then the product of degrees.
        """
        union = signals.union_of_layers(graph)
        # Both counts of shared neighbours are at most the largest number of neighbours in the union.
        most = 2 * np.diff(union.indptr).max(initial=0) + 2.0
        return Weighted(
            [
                (most, signals.linked_in_union(graph, union)),
                (1.0, signals.common_neighbours(graph)),
                (1.0, signals.common_neighbours_in_union(graph, union)),
                (1.0, signals.degree_product(graph)),
            ]
        )

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        """Transitivity says yes, uniqueness says no; then matched neighbours; then similarity of degree."""
        most = graph.degree.max(initial=0) + 2.0  # more than matched neighbours and similarity can add up to
        return Weighted(
            [
                (most, signals.same_unit(graph)),
                (-most, signals.unit_clash(graph)),
                (1.0, signals.matched_neighbours(graph)),
                (1.0, signals.degree_similarity(graph)),
            ]
        )


class Closure(StructuralModel):
    """Transitivity alone."""

    name = "closure"
    description = "inter: 1 if a chain of known links joins the two (transitivity); intra: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return Nothing()

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return signals.same_unit(graph)


class Exclusion(StructuralModel):
    """Uniqueness alone."""

    name = "exclusion"
    description = "inter: -1 if the two units both have a node in some layer (uniqueness); intra: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return Nothing()

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return Weighted([(-1.0, signals.unit_clash(graph))])


class MatchedNeighbours(StructuralModel):
    """Matched neighbours alone."""

    name = "matched-neighbours"
    description = "inter: neighbours of the one known to be neighbours of the other; intra: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return Nothing()

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return signals.matched_neighbours(graph)


class CommonNeighbours(StructuralModel):
    """Common neighbours alone."""

    name = "common-neighbours"
    description = "intra: number of common neighbours in the layer; inter: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return signals.common_neighbours(graph)

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return Nothing()


class AdamicAdar(StructuralModel):
    """Adamic–Adar alone."""

    name = "adamic-adar"
    description = "intra: common neighbours in the layer, rare ones counting more; inter: nothing"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return signals.adamic_adar(graph)

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return Nothing()


class Degree(StructuralModel):
    """Degrees alone."""

    name = "degree"
    description = "intra: product of degrees; inter: similarity of degrees"

    def _intra_signal(self, graph: MultiplexGraph) -> Signal:
        return signals.degree_product(graph)

    def _inter_signal(self, graph: MultiplexGraph) -> Signal:
        return signals.degree_similarity(graph)
