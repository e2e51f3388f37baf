"""The best model for a network, chosen on links hidden from its training links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mpxgat.arrays import Arrays
from mpxgat.graph import MultiplexGraph
from mpxgat.matching.matcher import Candidates, Explanation
from mpxgat.matching.matches import Matches
from mpxgat.metrics import auc
from mpxgat.models.anchored import Anchored
from mpxgat.models.base import Model, Positions, Scores
from mpxgat.models.evidence import Evidence
from mpxgat.models.registry import make_model
from mpxgat.splits import Negatives, Split, validation_split
from mpxgat.training.session import Session

# What takes part and how it is tried: a quick judge stands for the full one. Of equals the first is taken.
_CONTENDERS: dict[str, dict[str, Any]] = {
    "evidence": {"splits": 2, "trees": 100, "embeddings": "none"},
    "anchored": {},
    "rules": {},
}
_NON_LINKS = 20_000
_CHOSEN, _MATCHER = "chosen.", "matcher."


class Auto(Model):
    """Tries `evidence`, `anchored` and `rules` on links hidden again (protocol marked), and fits the one that tells
    them from non-links best, by the mean of intra and inter AUC. No settings; `chosen` and `trials` say what it found.
    Scores are those of the chosen model; matches are always those of `evidence`, which gives calibrated probabilities.
    """

    name = "auto"
    description = "the best of evidence, anchored and rules, chosen on validation links"

    def __init__(self, /, *, seed: int = 0, **settings: Any):
        super().__init__(seed=seed, **settings)
        self._model: Model | None = None
        self._matcher: Evidence | None = None
        self._trials: dict[str, float] = {}

    @property
    def chosen(self) -> Model:
        """The fitted model that was chosen."""
        _ = self.graph  # says so if the model is not fitted
        assert self._model is not None
        return self._model

    @property
    def matcher(self) -> Evidence:
        """The fitted model that matches."""
        _ = self.graph
        assert self._matcher is not None
        return self._matcher

    @property
    def trials(self) -> dict[str, float]:
        """Validation AUC of everything that was tried; empty if there was nothing to hide."""
        return dict(self._trials)

    def training_summary(self) -> dict[str, Any]:
        """What was chosen, the trials, and the chosen model's own summary."""
        return {"chosen": self.chosen.name, "trials": self.trials, **self.chosen.training_summary()}

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        best, self._trials = choose(graph, self.seed)
        self._model = make_model(best, seed=self.seed).fit(graph, session)
        self._matcher = self._model if isinstance(self._model, Evidence) else Evidence(seed=self.seed).fit(graph)

    def extend(self, graph: MultiplexGraph) -> Self:
        """The same models for another graph, without learning again; a new model."""
        model, matcher = type(self)(seed=self.seed), self.matcher.extend(graph)
        if isinstance(self.chosen, Evidence):
            model._model = matcher
        elif isinstance(self.chosen, Anchored):
            model._model = self.chosen.extend(graph)
        else:  # rules learn nothing
            model._model = make_model(self.chosen.name).fit(graph)
        model._trials, model._matcher, model._graph = self._trials, matcher, graph
        return model

    # ---- scores and matches ----------------------------------------------------------------------------

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """By the chosen model."""
        return self.chosen.score_block(rows, cols)

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return self.chosen._score_intra(pairs)

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        return self.chosen._score_inter(pairs)

    def match(self, layer_a: str, layer_b: str, k: int = 5) -> Matches:
        """See `Evidence.match`."""
        return self.matcher.match(layer_a, layer_b, k)

    def match_all(self, threshold: float = 0.9, k: int = 5) -> Matches:
        """See `Evidence.match_all`."""
        return self.matcher.match_all(threshold, k)

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """See `Evidence.candidates`."""
        return self.matcher.candidates(layer_a, layer_b, k)

    def explain(self, first: int, second: int) -> Explanation:
        """See `Evidence.explain`."""
        return self.matcher.explain(first, second)

    # ---- saving ----------------------------------------------------------------------------------------

    def _state(self) -> Arrays:
        state = {_CHOSEN + name: array for name, array in self.chosen._state().items()}
        if self.chosen is self.matcher:
            return state
        return state | {_MATCHER + name: array for name, array in self.matcher._state().items()}

    def _notes(self) -> dict[str, Any]:
        notes = {"chosen": self.chosen.name, "trials": self._trials, "notes": self.chosen._notes()}
        return notes if self.chosen is self.matcher else {**notes, "matcher": self.matcher._notes()}

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        self._trials = dict(notes["trials"])
        chosen, matcher = (
            {name.removeprefix(part): array for name, array in state.items() if name.startswith(part)}
            for part in (_CHOSEN, _MATCHER)
        )
        self._model = make_model(notes["chosen"], seed=self.seed).restore(graph, chosen, notes["notes"])
        if isinstance(self._model, Evidence):
            self._matcher = self._model
        else:
            self._matcher = Evidence(seed=self.seed).restore(graph, matcher, notes["matcher"])


def choose(graph: MultiplexGraph, seed: int) -> tuple[str, dict[str, float]]:
    """The name of the best contender, and the validation AUC of each (none if no link could be hidden)."""
    trials = _try_all(graph, seed)
    return max(trials, key=lambda name: trials[name], default=next(iter(_CONTENDERS))), trials


def _try_all(graph: MultiplexGraph, seed: int) -> dict[str, float]:
    """Validation AUC of every contender; empty if no link could be hidden."""
    split = validation_split(graph, "marked", seed)
    if not len(split.intra.positives) + len(split.inter.positives):
        return {}
    return {
        name: _validation_auc(make_model(name, seed=seed, **settings).fit(split.train), split, seed)
        for name, settings in _CONTENDERS.items()
    }


def _validation_auc(model: Model, split: Split, seed: int) -> float:
    """Mean of intra and inter AUC, against a sample of the non-links; of one of them where the other has no links."""
    rng = np.random.default_rng([seed, 3])
    found = []
    for targets in (split.intra, split.inter):
        non_links = _some(targets.negatives, rng)
        if len(targets.positives) and len(non_links):
            found.append(auc(model.score(targets.positives), model.score(non_links)))
    return float(np.mean(found)) if found else 0.5


def _some(negatives: Negatives, rng: np.random.Generator) -> NDArray[np.int32]:
    """(k, 2) about `_NON_LINKS` of them, at random."""
    share = _NON_LINKS / max(negatives.cells(), 1)
    drawn = [np.empty((0, 2), dtype=np.int32)]
    for block in negatives.blocks():
        pairs = block.pairs()
        drawn.append(pairs[rng.random(len(pairs)) < share])
    return np.concatenate(drawn)
