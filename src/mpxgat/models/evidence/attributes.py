"""Attributes that the user named, as evidence: numbers of pairs of nodes, and further candidates.

Nothing else of what is known about nodes is read: ids and columns that were not named never are. See `mpxgat.compare`
for what a comparison is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.compare import Compared, Comparison, Kind, guess, parse_all
from mpxgat.graph import MultiplexGraph
from mpxgat.matching.match import layer_pairs
from mpxgat.models.evidence.features import DEGREES, Column
from mpxgat.pairs import Pairs, Values

ALL = "all"  # the setting that leaves the choice of comparisons to a guess
_PROPOSED = 20  # most alike of a layer for each node and comparison, at most
_FEWEST, _MOST = 3, 300_000  # of a node, and about as many in all by each comparison

PairArray = NDArray[np.int64]
_NOTHING: PairArray = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Attributes:
    """The comparisons of a graph's nodes.

    comparisons     as declared
    compared        as prepared for the graph, in the same order
    proposed_by     for each, (m, 2) pairs of nodes of two layers that are alike, the lower layer first
    """

    comparisons: tuple[Comparison, ...] = ()
    compared: tuple[Compared, ...] = ()
    proposed_by: tuple[PairArray, ...] = ()

    @classmethod
    def of(cls, graph: MultiplexGraph, declared: str, forms: Sequence[str] | None = None) -> Attributes:
        """``declared`` as a text, see `mpxgat.compare.parse_all`, or `ALL`; ``forms`` as `to_notes` gave them.

        SettingError for a column that the graph does not have, or whose values are not of the kind.
        """
        comparisons = guess(graph) if declared == ALL else parse_all(declared)
        known = [None] * len(comparisons) if forms is None else forms
        compared = tuple(each.prepare(graph, form) for each, form in zip(comparisons, known, strict=True))
        return cls(comparisons, compared, tuple(_proposed(graph, each) for each in compared))

    def only(self, declared: Collection[str]) -> Attributes:
        """Those comparisons whose texts are among some; the others propose nothing either."""
        kept = [number for number, each in enumerate(self.comparisons) if str(each) in declared]
        return Attributes(
            tuple(self.comparisons[number] for number in kept),
            tuple(self.compared[number] for number in kept),
            tuple(self.proposed_by[number] for number in kept),
        )

    @cached_property
    def proposed(self) -> PairArray:
        """(m, 2) what any of them proposes, each pair once, in order."""
        return np.unique(np.concatenate([_NOTHING, *self.proposed_by]), axis=0)

    @property
    def names(self) -> list[str]:
        """Of all their numbers."""
        return [name for each in self.compared for name in each.names]

    @property
    def competing(self) -> list[str]:
        """The names of the numbers in which candidates compete."""
        return [name for each in self.compared for name in each.competing]

    def columns(self, pairs: Pairs) -> dict[Column, Values]:
        """All their numbers, in the shape of the pairs."""
        return {
            Column(name, reason): value
            for reason, each in self.by_reason.items()
            for name, value in each.numbers(pairs).items()
        }

    @property
    def by_reason(self) -> dict[str, Compared]:
        """By the reason that their numbers belong to: the column's name."""
        return {f"column {each.label}" if each.label == DEGREES else each.label: each for each in self.compared}

    def to_notes(self) -> dict[str, Any]:
        """What another graph's nodes must be compared by, to be judged by the same classifiers."""
        return {"compared": canonical([*map(str, self.comparisons)]), "forms": [each.form for each in self.compared]}

    @classmethod
    def from_notes(cls, graph: MultiplexGraph, notes: Mapping[str, Any]) -> Attributes:
        """As `to_notes` says; ValueError or SettingError if it is damaged or the graph lacks a column."""
        declared, forms = notes["compared"], notes["forms"]
        if not isinstance(declared, str) or not all(isinstance(form, str) for form in forms):
            raise ValueError("the saved comparisons are damaged, expected texts")
        return cls.of(graph, declared, list(forms))


NO_ATTRIBUTES = Attributes()


def canonical(declared: str | Sequence[str] | Mapping[str, Kind]) -> str:
    """Comparisons as one text, as settings and files hold them; SettingError if it declares something else."""
    return ALL if declared == ALL else ", ".join(map(str, parse_all(declared)))


def _proposed(graph: MultiplexGraph, compared: Compared) -> PairArray:
    """What a comparison proposes of every pair of layers."""
    k = min(_PROPOSED, max(_FEWEST, _MOST // max(graph.n_nodes * (graph.n_layers - 1), 1)))
    found = [_NOTHING]
    for a, b in layer_pairs(graph):
        ours, theirs = graph.layer_nodes(a), graph.layer_nodes(b)
        key = compared.proposals(ours, theirs, k)
        found.append(np.stack([ours[key // len(theirs)], theirs[key % len(theirs)]], axis=1).astype(np.int64))
    return np.concatenate(found)
