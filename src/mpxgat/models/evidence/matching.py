"""Who could be whom: scored candidates, their probabilities, and the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph, describe
from mpxgat.matching.calibration import Isotonic
from mpxgat.matching.match import Candidates, Matcher, layer_pairs, rank_by_node
from mpxgat.matching.reasons import Explanation, Reason
from mpxgat.models.evidence.candidates import CandidateSearch, PairArray, against_competitors
from mpxgat.models.evidence.classifier import Ensemble, Scores
from mpxgat.models.evidence.features import (
    COMPETITORS,
    COPIES,
    DEGREES,
    EMBEDDINGS,
    KEPT,
    LAYERS,
    NEIGHBOURS,
    SURROUNDINGS,
    InterFeatures,
    matrix,
)
from mpxgat.pairs import PairList, pair_keys
from mpxgat.training.parallel import Engine, results

LayerPair = tuple[int, int]
_NAMED = 5  # shared neighbours
_SHARES = 2  # of the work for each worker: the last one to end keeps the others waiting for less


class EvidenceMatching:
    """Candidates of a graph and what speaks for them.

    features        of the graph
    ensemble        its log-odds, and what each feature adds
    calibration     from scores against competitors to probabilities
    score           the model's scores (m,) of pairs (m, 2)
    search          nodes of a layer that are scored for each node
    """

    def __init__(
        self,
        graph: MultiplexGraph,
        features: InterFeatures,
        ensemble: Ensemble,
        calibration: Isotonic,
        score: Callable[[PairArray], Scores],
        search: CandidateSearch,
    ):
        self._graph, self._features, self._ensemble, self._calibration = graph, features, ensemble, calibration
        self._score = score
        self._search = search
        self._scored: dict[LayerPair, tuple[PairArray, Scores, Scores]] = {}

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """The best k partners of every open node, from both sides, best first."""
        pairs, relative, _ = self._score_layers(layer_a, layer_b)
        order = np.argsort(-relative, kind="stable")
        pairs, relative = pairs[order], relative[order]
        kept = (rank_by_node(pairs[:, 0], relative).rank <= k) | (rank_by_node(pairs[:, 1], relative).rank <= k)
        return Candidates(pairs[kept].astype(np.int32), self._calibration.apply(relative[kept]))

    def explain(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """Why (k, 2) pairs of nodes of different layers have their probabilities; shared neighbours are counted."""
        if not len(pairs):
            return []
        ordered = np.sort(pairs.astype(np.int64), axis=1)  # the lower layer first
        columns = self._features.columns(PairList(ordered))
        parts = self._ensemble.contributions(matrix(columns))
        by_reason: dict[str, NDArray[np.float64]] = {}
        for column, part in zip(columns, parts[:, :-1].T, strict=True):
            by_reason[column.reason] = by_reason.get(column.reason, 0.0) + part
        probability = self._calibration.apply(self._relative(ordered))
        score = np.log(probability / (1 - probability))
        rest = score - parts.sum(axis=1)
        found = []
        for row, (first, second) in enumerate(pairs.tolist()):
            numbers = {column.name: float(value[row]) for column, value in columns.items()}
            reasons = [
                Reason(label, self._finding(label, numbers, first, second), float(value[row]))
                for label, value in by_reason.items()
            ]
            reasons.sort(key=lambda reason: -abs(reason.contribution))
            reasons.append(Reason("all pairs weighed together", "one partner at most; calibrated", float(rest[row])))
            base, odds = float(parts[row, -1]), float(score[row])
            found.append(Explanation(first, second, float(probability[row]), base, tuple(reasons), odds))
        return found

    def with_names(self, found: Explanation) -> Explanation:
        """The same with shared neighbours named, the first few."""
        named = self._shared_neighbours(found.first, found.second)
        reasons = (replace(reason, finding=named) if reason.label == NEIGHBOURS else reason for reason in found.reasons)
        return replace(found, reasons=tuple(reasons))

    def _finding(self, label: str, numbers: Mapping[str, float], first: int, second: int) -> str:
        """What was found, in words; ``numbers`` by the names of their columns."""
        words = {
            NEIGHBOURS: "{matched neighbours:.0f} known to be shared",
            SURROUNDINGS: "similarity {joint_far, cosine:.2f} of 1",
            COMPETITORS: f"{_ranked(numbers['joint_far, rank low'])} and {_ranked(numbers['joint_far, rank high'])} "
            "others are more similar",
            DEGREES: f"{self._graph.degree[first]} and {self._graph.degree[second]} links",
            EMBEDDINGS: "score {anchored:.2f}",
            COPIES: "{copies, low:.0f} and {copies, high:.0f} nodes",
            LAYERS: "log of the share of pairs {prior:.1f}",
        }
        return words[label].format_map(numbers)

    def _shared_neighbours(self, first: int, second: int) -> str:
        """How many, and who: the first few by name."""
        known = self._features.neighbour_units
        units = np.intersect1d(known[[first]].indices, known[[second]].indices)
        names = [describe(self._graph.nodes[int(node)]) for node in self._features.node_of_unit[units[:_NAMED]]]
        more = f" and {len(units) - _NAMED} more" if len(units) > _NAMED else ""
        return f"{len(units)} known to be shared" + (f": {', '.join(names)}{more}" if names else "")

    def _score_layers(self, layer_a: int, layer_b: int) -> tuple[PairArray, Scores, Scores]:
        """Candidates of two layers, their scores against competitors, and their own; kept for the next question."""
        if (layer_a, layer_b) not in self._scored:
            pairs = self._features.candidates_between(layer_a, layer_b, self._search)
            score = self._score(pairs)
            self._scored[layer_a, layer_b] = pairs, against_competitors(pairs, score), score
        return self._scored[layer_a, layer_b]

    def _relative(self, pairs: PairArray) -> Scores:
        """(k,) the scores of pairs, the lower layer first, against their competitors."""
        found = np.empty(len(pairs))
        layers = self._graph.node_layer[pairs]
        for layer_a, layer_b in np.unique(layers, axis=0).tolist():
            here = np.flatnonzero((layers == (layer_a, layer_b)).all(axis=1))
            found[here] = self._relative_between(layer_a, layer_b, pairs[here])
        return found

    def _relative_between(self, layer_a: int, layer_b: int, wanted: PairArray) -> Scores:
        """(k,) as `_relative`, for pairs of two layers; one that is no candidate joins the candidates on its own."""
        pairs, relative, score = self._score_layers(layer_a, layer_b)
        known, keys = pair_keys(pairs, self._graph.n_nodes), pair_keys(wanted, self._graph.n_nodes)
        rows = np.flatnonzero(np.isin(known, keys))
        row_of = dict(zip(known[rows].tolist(), rows.tolist(), strict=True))
        found = np.empty(len(wanted))
        for place, key in enumerate(keys.tolist()):
            if key in row_of:
                found[place] = relative[row_of[key]]
            else:
                pair = wanted[place : place + 1]
                joined, scores = np.concatenate([pairs, pair]), [score, self._score(pair)]
                found[place] = against_competitors(joined, np.concatenate(scores))[-1]
        return found


def _ranked(rank: float) -> str:
    return f"{rank:.0f}" + (" or more" if rank >= KEPT else "")


# ---- candidates of many pairs of layers, found side by side by an engine ---------------------------------


@dataclass(frozen=True, eq=False)
class FoundCandidates:
    """A matcher whose candidates, ``k`` for a node, are there already; everything else is asked of the matcher."""

    matcher: Matcher
    k: int
    found: dict[LayerPair, Candidates]

    @property
    def graph(self) -> MultiplexGraph:
        """The matcher's."""
        return self.matcher.graph

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """As the matcher gives them."""
        assert k == self.k
        return self.found[layer_a, layer_b]

    def explain(self, first: int, second: int) -> Explanation:
        """As the matcher says."""
        return self.matcher.explain(first, second)

    def explain_many(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """As the matcher says."""
        return self.matcher.explain_many(pairs)


def find_candidates(matcher: Matcher, k: int, engine: Engine, advance: Callable[[int], None]) -> FoundCandidates:
    """Candidates of all pairs of layers by the engine's workers; ``advance`` hears how many pairs are done."""
    pairs = list(layer_pairs(matcher.graph))
    shares = [share for number in range(_SHARES * engine.jobs) if (share := pairs[number :: _SHARES * engine.jobs])]
    found: dict[LayerPair, Candidates] = {}
    work = partial(_candidates_of, matcher, k)
    for share, candidates in zip(shares, results(engine, work, shares, 0, "looked for candidates"), strict=True):
        found |= dict(zip(share, candidates, strict=True))
        advance(len(share))
    return FoundCandidates(matcher, k, found)


def _candidates_of(matcher: Matcher, k: int, pairs: Sequence[LayerPair]) -> list[Candidates]:
    return [matcher.candidates(a, b, k) for a, b in pairs]
