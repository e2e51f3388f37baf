"""What of a fitted model is made when it is first asked for, so that who loads a model waits for nothing else.

`match` needs no features within layers and no embeddings, whose network needs torch, which alone takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mpxgat.features import check_same_features
from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import Arrays
from mpxgat.models.base import Vectors, check_vectors, damage_told
from mpxgat.models.evidence.attributes import Attributes
from mpxgat.models.evidence.features import LinkDetails, column_names
from mpxgat.models.evidence.inter_features import InterFeatures
from mpxgat.models.evidence.intra_features import IntraFeatures
from mpxgat.models.evidence.matching import EvidenceMatching
from mpxgat.models.evidence.rounds import Joint
from mpxgat.models.evidence.surroundings import Surroundings
from mpxgat.models.evidence.walks import short_walks
from mpxgat.models.rules import Rules
from mpxgat.pairs import KnownUnits

if TYPE_CHECKING:
    from mpxgat.models.anchored import Anchored


class Embedded:
    """The embeddings inside: the model that makes them, and vectors of the nodes, which a file has without it."""

    def __init__(self, make_model: Callable[[], Anchored], saved: Vectors | None = None):
        self._make_model, self._saved = make_model, saved

    @classmethod
    def of(cls, model: Anchored) -> Embedded:
        """Of a model that is there already."""
        return cls(partial(_itself, model))

    @classmethod
    def from_arrays(cls, graph: MultiplexGraph, state: Arrays, notes: Any, seed: int) -> Embedded:
        """What the model's ``_state`` and ``_notes`` gave; GraphError unless every node has its finite vectors."""
        check_vectors(graph, state["horizontal"], state["vertical"])
        if not isinstance(notes, Mapping):
            raise TypeError(f"notes of the kind {type(notes).__name__}, expected names and values")
        return cls(partial(_restored, graph, state, notes, seed), state["horizontal"])

    def extend(self, fitted: MultiplexGraph, graph: MultiplexGraph) -> Embedded:
        """Those of another graph than the fitted one; SettingError if its features are others."""
        check_same_features(graph, fitted)
        return Embedded(partial(_extended, self, graph))

    @cached_property
    def model(self) -> Anchored:
        """The fitted model; InputError if the file that it is read from was damaged."""
        return self._make_model()

    @cached_property
    def horizontal(self) -> Vectors:
        """(n, d) vectors whose dot products are features within layers."""
        return self.model.horizontal if self._saved is None else self._saved


def _itself(model: Anchored) -> Anchored:
    """A function of this module, as models are sent to workers."""
    return model


def _restored(graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any], seed: int) -> Anchored:
    from mpxgat.models.anchored import Anchored

    with damage_told():
        return Anchored(seed=seed).restore(graph, state, notes)


def _extended(embedded: Embedded, graph: MultiplexGraph) -> Anchored:
    return embedded.model.extend(graph)


@dataclass(frozen=True, eq=False)
class Structure:
    """What a graph says about pairs of nodes, beside what the rounds found (``joint``; None without any)."""

    graph: MultiplexGraph
    joint: Joint | None
    embedded: Embedded | None
    attributes: Attributes
    details: LinkDetails

    @cached_property
    def units(self) -> KnownUnits:
        """Who may still match whom."""
        return KnownUnits.of(self.graph)

    @cached_property
    def intra(self) -> IntraFeatures:
        """Of pairs within a layer."""
        vectors = self.embedded.horizontal if self.embedded else None
        return IntraFeatures(self.graph, short_walks(self.graph), vectors, self.attributes, self.details)

    @cached_property
    def rules(self) -> Rules:
        """The rules of thumb."""
        return Rules().fit(self.graph)

    @cached_property
    def matching(self) -> EvidenceMatching | None:
        """Candidates and what speaks for them."""
        return EvidenceMatching(self.graph, self.joint) if self.joint else None


def inter_column_names(graph: MultiplexGraph, details: LinkDetails, attributes: Attributes) -> list[str]:
    """Of features of pairs of different layers, as this version computes them: those of a graph without nodes."""
    empty = _without_nodes(graph)
    prior, pairs = np.zeros((graph.n_layers, graph.n_layers)), np.empty((0, 2), dtype=np.int64)
    return InterFeatures(empty, Surroundings.of(empty, details), prior, None, pairs, attributes=attributes).names


def intra_column_names(
    graph: MultiplexGraph, attributes: Attributes, details: LinkDetails, *, embedded: bool
) -> list[str]:
    """Of features of pairs within a layer."""
    empty = _without_nodes(graph)
    vectors = np.empty((0, 1), dtype=np.float32) if embedded else None
    return column_names(IntraFeatures(empty, short_walks(empty), vectors, attributes, details).columns)


def _without_nodes(graph: MultiplexGraph) -> MultiplexGraph:
    return graph.subgraph(np.zeros(graph.n_nodes, dtype=bool))
