"""Who could be whom: scored candidates, their probabilities, and the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from mpxgat.graph import MultiplexGraph, describe
from mpxgat.matching.match import Candidates, Matcher, layer_pairs, rank_by_node
from mpxgat.matching.reasons import Explanation, Reason
from mpxgat.models.evidence.features import DEGREES, matrix
from mpxgat.models.evidence.inter_features import (
    BEFORE,
    COMPETITORS,
    COPIES,
    DIRECTION,
    KEPT,
    LAYERS,
    NEIGHBOURS,
    PROBABILITY,
    SHAPE,
    SURROUNDINGS,
    WEIGHTS,
)
from mpxgat.models.evidence.rounds import Joint
from mpxgat.models.evidence.surroundings import AGAINST, ALONG, HEAVY_WIDE, TRIANGLES, WIDE
from mpxgat.pairs import PairList, unit_matrix
from mpxgat.training.parallel import Engine, results

LayerPair = tuple[int, int]
_NAMED, _PROBABLE = 5, 2  # shared neighbours, known and probable
_WORTH_TELLING = 0.1  # probability that two neighbours are the same
_SHARED = "neighbours known to be shared"
_SHARES = 2  # of the work for each worker: the last one to end keeps the others waiting for less


class EvidenceMatching:
    """Candidates of a graph and what speaks for them, as the last round has it."""

    def __init__(self, graph: MultiplexGraph, joint: Joint):
        self._graph, self._joint = graph, joint

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """The best k partners of every open node, from both sides, best first."""
        here = (self._graph.node_layer[self._joint.pairs] == (layer_a, layer_b)).all(axis=1)
        pairs, probability = self._joint.pairs[here], self._joint.plan.probability[here]
        order = np.argsort(-probability, kind="stable")
        pairs, probability = pairs[order], probability[order]
        kept = (rank_by_node(pairs[:, 0], probability).rank <= k) | (rank_by_node(pairs[:, 1], probability).rank <= k)
        return Candidates(pairs[kept].astype(np.int32), probability[kept])

    def explain(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """Why (k, 2) pairs of nodes of different layers have their probabilities; shared neighbours are counted."""
        if not len(pairs):
            return []
        ordered = np.sort(pairs.astype(np.int64), axis=1)  # the lower layer first
        columns = self._joint.features.columns(PairList(ordered))
        parts = self._joint.last.contributions(matrix(columns))
        by_reason: dict[str, NDArray[np.float64]] = {}
        for column, part in zip(columns, parts[:, :-1].T, strict=True):
            by_reason[column.reason] = by_reason.get(column.reason, 0.0) + part
        score = self._joint.planned(PairList(ordered))
        shared = PairList(ordered).overlap(self._neighbour_units, self._neighbour_units)
        rest = score - parts.sum(axis=1)
        found = []
        for row, (first, second) in enumerate(pairs.tolist()):
            numbers = {column.name: float(value[row]) for column, value in columns.items()}
            numbers[_SHARED] = float(shared[row])
            reasons = [
                Reason(label, self._finding(label, numbers, first, second), float(value[row]))
                for label, value in by_reason.items()
            ]
            reasons.sort(key=lambda reason: -abs(reason.contribution))
            reasons.append(Reason("all pairs weighed together", "one partner at most", float(rest[row])))
            base, odds = float(parts[row, -1]), float(score[row])
            found.append(Explanation(first, second, float(expit(odds)), base, tuple(reasons), odds))
        return found

    def with_names(self, found: Explanation) -> Explanation:
        """The same with shared neighbours named, the first few."""
        named = self._shared_neighbours(found.first, found.second)
        reasons = (replace(reason, finding=named) if reason.label == NEIGHBOURS else reason for reason in found.reasons)
        return replace(found, reasons=tuple(reasons))

    def _finding(self, label: str, numbers: Mapping[str, float], first: int, second: int) -> str:
        """What was found, in words; ``numbers`` by the names of their columns."""
        ranks = (_ranked(numbers[f"{WIDE}, rank among the {who}'s"]) for who in ("first", "second"))
        triangles = np.expm1(self._joint.features.surroundings.shape[TRIANGLES])
        words = {
            NEIGHBOURS: _known(numbers[_SHARED]),
            SURROUNDINGS: f"similarity {{{WIDE}:.2f}} of 1",
            DIRECTION: f"similarity {{{ALONG}:.2f}} along and {{{AGAINST}:.2f}} against the arcs",
            WEIGHTS: f"similarity {{{HEAVY_WIDE}:.2f}} of 1",
            COMPETITORS: f"{' and '.join(ranks)} others are more similar",
            DEGREES: f"{self._graph.degree[first]} and {self._graph.degree[second]} links",
            SHAPE: f"{triangles[first]:.0f} and {triangles[second]:.0f} triangles",
            BEFORE: f"p = {{{PROBABILITY}:.2f}}",
            COPIES: "{copies of the first:.0f} and {copies of the second:.0f} nodes",
            LAYERS: "log of the share of pairs {prior:.1f}",
        }
        if label in words:
            return words[label].format_map(numbers)
        return self._joint.features.attributes.by_reason[label].describe(first, second)

    def _shared_neighbours(self, first: int, second: int) -> str:
        """Those known to be shared, and the surest of those that may be: how many, and the first few by name."""
        graph = self._graph
        known = np.intersect1d(self._neighbour_units[[first]].indices, self._neighbour_units[[second]].indices)
        names = [self._name(int(np.flatnonzero(graph.unit == unit)[0])) for unit in known[:_NAMED]]
        more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        found = _known(len(known)) + (f": {', '.join(names)}{more}" if names else "")
        ours, theirs = (graph.adjacency[[node]].indices for node in (first, second))
        matched = self._joint.features.matching[ours][:, theirs].tocoo()
        for place in np.argsort(-matched.data, kind="stable")[:_PROBABLE]:
            chance = float(matched.data[place])
            if chance >= _WORTH_TELLING:
                one, other = self._name(ours[matched.row[place]]), self._name(theirs[matched.col[place]])
                found += (
                    f"; {one} and {other} are {'probably' if chance >= 0.5 else 'perhaps'} the same (p = {chance:.2f})"
                )
        return found

    @cached_property
    def _neighbour_units(self) -> sparse.csr_array:
        """(n, units) 1 where a node has a neighbour of a known unit."""
        units = sparse.csr_array(self._graph.adjacency @ unit_matrix(self._graph))
        units.data[:] = 1
        return units

    def _name(self, node: int) -> str:
        return describe(self._graph.nodes[int(node)])


def _known(shared: float) -> str:
    return f"{shared:.0f} known to be shared"


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
