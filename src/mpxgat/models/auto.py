"""The best model for a network, chosen on links hidden from its training links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mpxgat.compare import Kind
from mpxgat.graph import MultiplexGraph, NodeLike
from mpxgat.io.arrays import Arrays
from mpxgat.matching.match import Candidates, MatchesLayers
from mpxgat.matching.reasons import Explanation
from mpxgat.models.base import EmbeddingModel, Model, Positions, Scores, Settings, Vectors
from mpxgat.models.evidence import Evidence
from mpxgat.models.evidence.attributes import canonical
from mpxgat.models.evidence.rounds import ANCHORED
from mpxgat.models.link_curve import LinkCurve
from mpxgat.models.rules import Rules
from mpxgat.training.parallel import Session


@dataclass(frozen=True)
class AutoSettings(Settings):
    """What `auto` can be told.

    compare     columns of the nodes that `evidence` compares, and how: "username:text, city:category"; or "all" for a
                guess; see `mpxgat.compare`. No other column is read
    """

    compare: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values; nothing where nothing is compared."""
        return super().to_dict() if self.compare else {}


class Auto(MatchesLayers, Model):
    """Learns `evidence`, which takes `anchored` and `rules` along, and tells links by the one of the three that does so
    best on links hidden again, by the mean of intra and inter AUC. The one setting, ``compare``, names attributes that
    `evidence` compares; `chosen` and `trials` say what it found. Scores are those of the chosen model; matches are
    always those of `evidence`, which gives calibrated probabilities.
    """

    name = "auto"
    description = "the best of evidence, anchored and rules, chosen on validation links"
    reads = Evidence.reads
    _settings: AutoSettings

    def __init__(self, *, seed: int = 0, compare: str | Sequence[str] | Mapping[str, Kind] = AutoSettings.compare):
        super().__init__(seed=seed)
        self._settings = AutoSettings.of(compare=canonical(compare))
        self._matcher: Evidence | None = None

    def unread(self, graph: MultiplexGraph) -> list[str]:
        """As of `evidence`."""
        return Evidence().unread(graph)

    @property
    def chosen(self) -> Model:
        """The fitted model that was chosen."""
        best = max(self.trials, key=self.trials.__getitem__, default=Evidence.name)  # of equals the first
        if best == Rules.name:
            return self.matcher.rules
        model = self.matcher.anchored if best == ANCHORED else self.matcher  # a part only if it is the best
        assert model is not None
        return model

    @property
    def matcher(self) -> Evidence:
        """The fitted model that matches."""
        _ = self.graph  # says so if the model is not fitted
        assert self._matcher is not None
        return self._matcher

    @property
    def trials(self) -> dict[str, float]:
        """Validation AUC of everything that was tried, mean of both kinds of link; empty if there was too little to
        hide.
        """
        kinds = list(self.matcher.validation.values())
        return {name: float(np.mean([kind[name] for kind in kinds])) for name in (kinds[0] if kinds else ())}

    @property
    def candidate_recall(self) -> float | None:
        """See `Evidence.candidate_recall`."""
        return self.matcher.candidate_recall

    def attributes_of(self, pairs: NDArray[np.integer[Any]]) -> dict[str, list[str]]:
        """See `Evidence.attributes_of`."""
        return self.matcher.attributes_of(pairs)

    def training_summary(self) -> dict[str, Any]:
        """What was chosen, the trials, and the matcher's own summary."""
        return {"chosen": self.chosen.name, "trials": self.trials, **self.matcher.training_summary()}

    @property
    def embedding(self) -> EmbeddingModel | None:
        """That of the chosen model, or of the matcher."""
        return self.chosen.embedding or self.matcher.embedding

    def embeddings(self) -> tuple[Vectors, Vectors]:
        """(n, d) horizontal and vertical vectors; see `Evidence.embeddings`."""
        return self.matcher.embeddings()

    @property
    def horizontal(self) -> Vectors:
        """(n, d) where every node stands within its layer."""
        return self.matcher.horizontal

    @property
    def vertical(self) -> Vectors:
        """(n, d) where every node stands across layers."""
        return self.matcher.vertical

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        self._matcher = self._new_matcher().fit(graph, session)

    def extend(self, graph: MultiplexGraph) -> Self:
        """The same models for another graph, without learning again; a new model."""
        model = type(self)(seed=self.seed, compare=self._settings.compare)
        model._matcher, model._graph = self.matcher.extend(graph), graph
        return model

    # ---- scores and matches ----------------------------------------------------------------------------

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """By the chosen model."""
        return self.chosen.score_block(rows, cols)

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return self.chosen._score_intra(pairs)

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        return self.chosen._score_inter(pairs)

    @property
    def link_curve(self) -> LinkCurve | None:
        """That of the chosen model."""
        return self.chosen.link_curve

    def _inter_probability(self, pairs: NDArray[np.int64]) -> Scores:
        return self.matcher._inter_probability(pairs)

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """See `Evidence.candidates`."""
        return self.matcher.candidates(layer_a, layer_b, k)

    def explain(self, first: NodeLike, second: NodeLike) -> Explanation:
        """See `Evidence.explain`."""
        return self.matcher.explain(first, second)

    def explain_many(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """See `Evidence.explain_many`."""
        return self.matcher.explain_many(pairs)

    # ---- saving ----------------------------------------------------------------------------------------

    def _state(self) -> Arrays:
        return self.matcher._state()

    def _notes(self) -> dict[str, Any]:
        return self.matcher._notes()

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        self._matcher = self._new_matcher().restore(graph, state, notes)

    def _new_matcher(self) -> Evidence:
        return Evidence(seed=self.seed, compare=self._settings.compare)
