"""What of a fitted model is made when it is first asked for, so that who loads a model waits for nothing else.

`match` needs no features within layers and no embeddings, whose network needs torch, which alone takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import Arrays
from mpxgat.models.base import Vectors, damage_told
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

_VECTORS = ("horizontal", "vertical")


class Embedded:
    """The embeddings inside: vectors of the nodes, and the model that made them, once somebody needs more."""

    def __init__(self, horizontal: Vectors, make_model: Callable[[], Anchored]):
        self.horizontal = horizontal
        self._make_model = make_model

    @classmethod
    def of(cls, model: Anchored) -> Embedded:
        """Of a model that is there already."""
        return cls(model.horizontal, partial(_itself, model))

    @classmethod
    def from_arrays(cls, graph: MultiplexGraph, state: Arrays, notes: Any, seed: int) -> Embedded:
        """What the model's ``_state`` and ``_notes`` gave; ValueError unless every node has its finite vectors."""
        for vectors in (state[name] for name in _VECTORS):
            if vectors.ndim != 2 or len(vectors) != graph.n_nodes or not np.isfinite(vectors).all():
                raise ValueError(f"vectors of the shape {vectors.shape}, expected finite ones, one for each node")
        if not isinstance(notes, Mapping):
            raise TypeError(f"notes of the kind {type(notes).__name__}, expected names and values")
        return cls(state["horizontal"], partial(_restored, graph, state, notes, seed))

    @cached_property
    def model(self) -> Anchored:
        """The fitted model; InputError if the file that it is read from was damaged."""
        return self._make_model()


def _itself(model: Anchored) -> Anchored:
    """A function of this module, as models are sent to workers."""
    return model


def _restored(graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any], seed: int) -> Anchored:
    from mpxgat.models.anchored import Anchored

    with damage_told():
        return Anchored(seed=seed).restore(graph, state, notes)


@dataclass(frozen=True, eq=False)
class Structure:
    """What a graph says about pairs of nodes, beside what the rounds found (``joint``; None without any)."""

    graph: MultiplexGraph
    joint: Joint | None
    horizontal: Vectors | None
    attributes: Attributes
    details: LinkDetails

    @cached_property
    def units(self) -> KnownUnits:
        """Who may still match whom."""
        return KnownUnits.of(self.graph)

    @cached_property
    def intra(self) -> IntraFeatures:
        """Of pairs within a layer."""
        return IntraFeatures(self.graph, short_walks(self.graph), self.horizontal, self.attributes, self.details)

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
    graph: MultiplexGraph, horizontal: Vectors | None, attributes: Attributes, details: LinkDetails
) -> list[str]:
    """Of features of pairs within a layer."""
    empty = _without_nodes(graph)
    vectors = None if horizontal is None else horizontal[:0]
    return column_names(IntraFeatures(empty, short_walks(empty), vectors, attributes, details).columns)


def _without_nodes(graph: MultiplexGraph) -> MultiplexGraph:
    return graph.subgraph(np.zeros(graph.n_nodes, dtype=bool))
