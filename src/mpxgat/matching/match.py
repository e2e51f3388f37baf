"""What a model must be able to do so that nodes can be matched by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph, describe, frozen
from mpxgat.matching.assignment import assign, check_threshold
from mpxgat.matching.cliques import Cliques, Uniqueness, merge_units
from mpxgat.pairs import found_among, pair_keys


@dataclass(frozen=True, eq=False)
class Candidates:
    """Possible inter links; SettingError if a shape, an order or a probability is wrong.

    pairs           (k, 2) node positions, the first in a lower layer than the second; no pair twice
    probability     (k,) calibrated chance that the two are one unit, all competitors taken into account
    silence         why there are none, if the model could not learn to match; a sentence

    Among equal probabilities the one listed first ranks first, so a matcher lists the better ones first.
    """

    pairs: NDArray[np.int32]
    probability: NDArray[np.float64]
    silence: str = ""

    def __post_init__(self) -> None:
        if self.pairs.shape != (len(self.probability), 2) or self.probability.ndim != 1:
            found = f"{self.pairs.shape} and {self.probability.shape}"
            raise SettingError(f"pairs and probabilities have the shapes {found}, expected (k, 2) and (k,)")
        if (self.pairs[:, 0] >= self.pairs[:, 1]).any():
            raise SettingError("a candidate's first node stands behind its second, expected the lower layer first")
        if not ((self.probability >= 0) & (self.probability <= 1)).all():  # NaN fails as well
            wrong = self.probability[~((self.probability >= 0) & (self.probability <= 1))][0]
            raise SettingError(f"a candidate has the probability {wrong}, expected 0 to 1")
        object.__setattr__(self, "pairs", frozen(self.pairs))
        object.__setattr__(self, "probability", frozen(self.probability))

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(frozen=True)
class Reason:
    """One bar of a waterfall: what was looked at, what was found, the log-odds it adds."""

    label: str
    finding: str
    contribution: float


@dataclass(frozen=True)
class Explanation:
    """Why a pair has its probability: ``base`` (log-odds before any evidence) and the reasons add up to ``score``."""

    first: int
    second: int
    probability: float
    base: float
    reasons: tuple[Reason, ...]
    score: float


@runtime_checkable
class Matcher(Protocol):
    """A fitted model that knows candidates for the nodes of two layers and can say why."""

    @property
    def graph(self) -> MultiplexGraph:
        """The graph whose nodes are matched."""

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """The best ``k`` partners of every open node of two layers (``layer_a < layer_b``), seen from both sides.

        Never pairs known to be one unit (if only by a chain of links), never pairs that uniqueness forbids.
        """

    def explain(self, first: int, second: int) -> Explanation:
        """Why the pair of two nodes (``first < second``, different layers) has its probability."""


# Ranks of candidates among those of a node.


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows grouped by node, best first (``order``), with the rank of every row and its runner-up's probability."""

    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    runner_up: NDArray[np.float64]


def rank_by_node(node: NDArray[np.int32], probability: NDArray[np.float64]) -> Ranked:
    """Rank the rows of every node by falling probability; among equals the one listed first is first."""
    order = np.lexsort((-probability, node))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = node[order[1:]] != node[order[:-1]]
    first = np.flatnonzero(begins)
    size = np.diff(np.append(first, len(order)))
    start, size = np.repeat(first, size), np.repeat(size, size)  # (k,) of the group that each place belongs to
    place = np.arange(len(order)) - start + 1
    rival = np.where(place > 1, start, np.minimum(start + 1, len(order) - 1))
    rank, runner_up = np.empty(len(order), dtype=np.int64), np.empty(len(order))
    rank[order] = place
    runner_up[order] = np.where(size > 1, probability[order[rival]], 0.0)
    return Ranked(order, rank, runner_up)


# Reasons of many pairs at once, where a model can give them so.


@runtime_checkable
class ExplainsMany(Protocol):
    """A matcher that is quicker with many pairs than with one after another."""

    def explain_many(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """Why (k, 2) pairs have their probabilities, in their order; findings may be shorter than `explain`'s."""


def explanations(matcher: Matcher, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
    """Why (k, 2) pairs of nodes (first < second, different layers) have their probabilities, in their order."""
    if isinstance(matcher, ExplainsMany):
        return matcher.explain_many(pairs)
    return [matcher.explain(first, second) for first, second in pairs.tolist()]


# Matches: of two layers, with all candidates ranked; or of all layers, chosen so that they agree.


Pairs = NDArray[np.int32]
Numbers = NDArray[np.float64]
Advance = Callable[[int], None]

DEFAULT_THRESHOLD = 0.9
DEFAULT_K = 5
_ARRAYS = ("pairs", "probability", "rank", "runner_up", "chosen", "joined_by")


@dataclass(frozen=True, eq=False)
class Matches:
    """Candidates for nodes, and which of them are matches.

    pairs           (k, 2) a node and its candidate, in another layer
    probability     (k,) that the two are one unit, as the matcher gives it; a match that only follows from others by
                    transitivity gets that of the weakest link on the path which joins the two (known links are
                    sure), if it has no higher one of its own
    rank            (k,) of the candidate among those of the node in that layer, from 1 (best)
    runner_up       (k,) probability of the node's best other candidate in that layer, 0 if there is none
    chosen          (k,) whether the two are matched
    joined_by       (k, 2) the pair that decides: the row's own, or the weakest link on the path from which it follows
    outcomes        what became of the nodes, for each pair of layers that was looked at
    notes           sentences about layers that cannot be matched
    """

    graph: MultiplexGraph
    threshold: float
    pairs: Pairs
    probability: Numbers
    rank: NDArray[np.int64]
    runner_up: Numbers
    chosen: NDArray[np.bool_]
    joined_by: Pairs
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.pairs)

    def head(self, rows: int) -> Matches:
        """The first rows; outcomes and notes stay those of all."""
        return self._rows(np.arange(min(rows, len(self))))

    def most_probable(self, rows: int) -> Matches:
        """The rows with the highest probabilities, highest first; outcomes and notes stay those of all."""
        return self._rows(np.argsort(-self.probability, kind="stable")[:rows])

    def _rows(self, places: NDArray[np.int64]) -> Matches:
        return replace(self, **{name: getattr(self, name)[places] for name in _ARRAYS})

    def to_table(self) -> pa.Table:
        """Columns node, node_layer, candidate, candidate_layer, probability, rank, runner_up, chosen."""
        layers = pa.array(self.graph.layers, pa.large_string())
        numbers = self.graph.node_layer[self.pairs]
        return pa.table(
            {
                "node": self.graph.ids.take(pa.array(self.pairs[:, 0])),
                "node_layer": layers.take(pa.array(numbers[:, 0])),
                "candidate": self.graph.ids.take(pa.array(self.pairs[:, 1])),
                "candidate_layer": layers.take(pa.array(numbers[:, 1])),
                "probability": pa.array(self.probability),
                "rank": pa.array(self.rank),
                "runner_up": pa.array(self.runner_up),
                "chosen": pa.array(self.chosen),
            }
        )


def match_layers(
    matcher: Matcher, layer_a: int, layer_b: int, k: int = DEFAULT_K, *, threshold: float = DEFAULT_THRESHOLD
) -> Matches:
    """The best ``k`` candidates in ``layer_b`` of every open node of ``layer_a``, node by node, best first.

    ``chosen`` are those of the best one-to-one assignment of the two layers; one that ranks behind the k-th is listed
    as well. Matches with other layers are not looked at: `match_all` does that.
    """
    graph = matcher.graph
    _check(graph, k, threshold)
    if layer_a == layer_b:
        raise SettingError("the two layers to match are one and the same, expected two different ones")
    uniqueness = Uniqueness.of(graph)
    layers = (min(layer_a, layer_b), max(layer_a, layer_b))
    candidates = _candidates(matcher, uniqueness, layers, k)
    chosen = assign(candidates.pairs, candidates.probability, threshold)
    result = outcome(uniqueness, (layer_a, layer_b), candidates, candidates.pairs[chosen], threshold)
    pairs = candidates.pairs if layer_a < layer_b else candidates.pairs[:, ::-1]
    ranked = rank_by_node(pairs[:, 0], candidates.probability)
    rows = ranked.order[(ranked.rank <= k)[ranked.order] | chosen[ranked.order]]
    return Matches(
        graph=graph,
        threshold=threshold,
        pairs=pairs[rows],
        probability=candidates.probability[rows],
        rank=ranked.rank[rows],
        runner_up=ranked.runner_up[rows],
        chosen=chosen[rows],
        joined_by=candidates.pairs[rows],
        outcomes=(result,),
        notes=_notes(graph, layers, candidates.pairs[chosen], [candidates]),
    )


def match_all(
    matcher: Matcher,
    threshold: float = DEFAULT_THRESHOLD,
    k: int = DEFAULT_K,
    advance: Advance = lambda layer_pairs: None,
) -> Matches:
    """The matches of all layers, chosen so that with the known links they are units with one node in a layer at most.

    Each pair of layers is assigned one to one by its best ``k`` candidates, then units are merged, the most probable
    pair first. Every pair of nodes that a merged unit joins is listed once, its node in the lower layer; pairs known
    before are not. ``advance`` is told of the layer pairs done.
    """
    graph = matcher.graph
    _check(graph, k, threshold)
    uniqueness = Uniqueness.of(graph)
    searched: list[_Searched] = []
    for layers in layer_pairs(graph):
        candidates = _candidates(matcher, uniqueness, layers, k)
        searched.append(_Searched(layers, candidates, assign(candidates.pairs, candidates.probability, threshold)))
        advance(1)
    cliques = merge_units(graph, *_assigned(searched))
    found = [_agreed(graph, part, cliques) for part in searched]
    outcomes = (
        outcome(uniqueness, part.layers, part.candidates, rows.pairs, threshold)
        for part, rows in zip(searched, found, strict=True)
    )
    pairs = np.concatenate([rows.pairs for rows in found])
    return Matches(
        graph=graph,
        threshold=threshold,
        pairs=pairs,
        probability=np.concatenate([rows.probability for rows in found]),
        rank=np.concatenate([rows.rank for rows in found]),
        runner_up=np.concatenate([rows.runner_up for rows in found]),
        chosen=np.ones(len(pairs), dtype=bool),
        joined_by=np.concatenate([rows.joined_by for rows in found]),
        outcomes=tuple(outcomes),
        notes=_notes(graph, range(graph.n_layers), cliques.pairs, [part.candidates for part in searched]),
    )


def layer_pairs(graph: MultiplexGraph) -> list[tuple[int, int]]:
    """All pairs of layers, the lower one first."""
    return [(a, b) for a in range(graph.n_layers) for b in range(a + 1, graph.n_layers)]


@dataclass(frozen=True, eq=False)
class _Searched:
    """The candidates of a pair of layers, and which of them its own assignment takes."""

    layers: tuple[int, int]
    candidates: Candidates
    assigned: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Agreed:
    """The matches of a pair of layers that agree with those of the others."""

    pairs: Pairs
    probability: Numbers
    rank: NDArray[np.int64]
    runner_up: Numbers
    joined_by: Pairs


def _check(graph: MultiplexGraph, k: int, threshold: float) -> None:
    check_threshold(threshold)
    if k < 1:
        raise SettingError(f"the number of candidates wanted is {k}, expected at least 1")
    if graph.n_layers < 2:
        raise SettingError(f"a network of {graph.n_layers} layers has nothing to match, expected at least 2")


def _candidates(matcher: Matcher, uniqueness: Uniqueness, layers: tuple[int, int], k: int) -> Candidates:
    """What a matcher offers for two layers, checked."""
    candidates = matcher.candidates(*layers, k)
    found = uniqueness.graph.node_layer[candidates.pairs]
    if (found != layers).any():
        raise SettingError(f"the model offers candidates of other layers than {layers[0]} and {layers[1]}")
    keys = np.sort(pair_keys(candidates.pairs, uniqueness.graph.n_nodes))
    if (keys[1:] == keys[:-1]).any():
        raise SettingError("the model offers a pair twice, expected every candidate once")
    uniqueness.check_open(candidates.pairs)
    return candidates


def _assigned(searched: list[_Searched]) -> tuple[Pairs, Numbers]:
    """All assigned pairs with their probabilities."""
    pairs = [part.candidates.pairs[part.assigned] for part in searched]
    probability = [part.candidates.probability[part.assigned] for part in searched]
    return np.concatenate(pairs), np.concatenate(probability)


def _agreed(graph: MultiplexGraph, part: _Searched, cliques: Cliques) -> _Agreed:
    """The pairs of two layers that are one unit now, ranked among all candidates of their nodes."""
    mine = np.flatnonzero((graph.node_layer[cliques.pairs] == part.layers).all(axis=1))
    wanted = pair_keys(cliques.pairs[mine], graph.n_nodes)
    # Pairs that were no candidates join the list, so that they have a rank.
    further = mine[~found_among(wanted, np.sort(pair_keys(part.candidates.pairs, graph.n_nodes)))]
    pairs = np.concatenate([part.candidates.pairs, cliques.pairs[further]])
    probability = np.pad(part.candidates.probability, (0, len(further)))
    assigned = np.pad(part.assigned, (0, len(further)))
    keys = pair_keys(pairs, graph.n_nodes)
    order = np.argsort(keys)
    row = order[np.searchsorted(keys, wanted, sorter=order)]  # (m,) where the matches stand in the list
    follows = ~assigned[row]
    probability[row[follows]] = np.maximum(probability[row[follows]], cliques.probability[mine[follows]])
    ranked = rank_by_node(pairs[:, 0], probability)
    return _Agreed(
        pairs=pairs[row],
        probability=probability[row],
        rank=ranked.rank[row],
        runner_up=ranked.runner_up[row],
        joined_by=np.where(assigned[row, None], pairs[row], cliques.joined_by[mine]),
    )


def _notes(
    graph: MultiplexGraph, layers: tuple[int, ...] | range, matched: Pairs, searched: Sequence[Candidates]
) -> tuple[str, ...]:
    """Why the model is silent, and which of some layers are tied to no other and got no match; sentences."""
    silence = dict.fromkeys(candidates.silence for candidates in searched if candidates.silence)
    reached = set(np.flatnonzero(np.bincount(graph.node_layer[matched].ravel())).tolist())
    wanted = set(layers) - reached
    untied = (why_untied(graph, number) for number in untied_layers(graph).tolist() if number in wanted)
    return (*silence, *untied)


# What became of the nodes of two layers, and why some are left unmatched.


@dataclass(frozen=True)
class Outcome:
    """Counts of nodes of two layers, both layers together. ``open_nodes`` is the sum of the counts after it.

    open_nodes          without a known counterpart in the other layer
    matched             got one
    below_threshold     no candidate reaches the threshold
    outdone             a candidate reaches it, but goes to another node, or contradicts a better match elsewhere
    no_candidate        nothing speaks for anybody
    """

    layer_a: str
    layer_b: str
    open_nodes: int
    matched: int
    below_threshold: int
    outdone: int
    no_candidate: int


def outcome(
    uniqueness: Uniqueness,
    layers: tuple[int, int],
    candidates: Candidates,
    matched: NDArray[np.int32],
    threshold: float,
) -> Outcome:
    """Count what became of two layers' nodes, given the (m, 2) pairs matched between them."""
    graph = uniqueness.graph
    still_open = np.zeros(graph.n_nodes, dtype=bool)
    for home, other in (layers, layers[::-1]):
        nodes = graph.layer_nodes(home)
        still_open[nodes] = ~uniqueness.counterpart(other)[nodes]
    n_open = int(still_open.sum())
    counts = []
    likely = candidates.pairs[candidates.probability >= threshold]
    for nodes in (matched, likely, candidates.pairs):  # every node is counted where it comes first
        reached = np.zeros(graph.n_nodes, dtype=bool)
        reached[nodes] = True
        counts.append(int((reached & still_open).sum()))
        still_open &= ~reached
    done, outdone, below = counts
    names = (graph.layers[layers[0]], graph.layers[layers[1]])
    return Outcome(*names, n_open, done, below, outdone, n_open - done - outdone - below)


def untied_layers(graph: MultiplexGraph) -> NDArray[np.int64]:
    """Layers without any known link to another layer."""
    tied = np.zeros(graph.n_layers, dtype=bool)
    tied[graph.node_layer[graph.inter]] = True
    return np.flatnonzero(~tied)


def why_untied(graph: MultiplexGraph, layer: int) -> str:
    """A sentence about an untied layer whose nodes are left unmatched."""
    return (
        f"layer {quoted(graph.layers[layer])} has no known link to any other layer: nothing ties it to the others, "
        "so its nodes are left unmatched"
    )


# Reasons in words, for the rows of a table of matches.


_TOP = 3
_NOTHING = 0.005  # would be shown as 0.00


def in_words(explanation: Explanation, top: int = _TOP) -> str:
    """The weightiest reasons for or against a pair, with the log-odds each adds; empty if there is none."""
    telling = (reason for reason in explanation.reasons if abs(reason.contribution) >= _NOTHING)
    weighty = sorted(telling, key=lambda reason: -abs(reason.contribution))  # stable among equals
    return "; ".join(f"{one.label}: {one.finding} ({one.contribution:+.2f})" for one in weighty[:top])


def with_reasons(matcher: Matcher, matches: Matches, advance: Callable[[int], None] = lambda rows: None) -> pa.Table:
    """The table of matches with a column ``reasons``; ``advance`` is told of the rows done.

    A match that follows from others has the reasons of the pair from which it follows, and says so.
    """
    nodes = matches.graph.nodes
    known: dict[tuple[int, int], str] = {}
    column = []
    for pair, (first, second) in zip(matches.pairs.tolist(), matches.joined_by.tolist(), strict=True):
        if (first, second) not in known:
            known[first, second] = in_words(matcher.explain(first, second))
        words = known[first, second]
        if {first, second} != set(pair):
            words = f"follows from {describe(nodes[first])} and {describe(nodes[second])}: {words}"
        column.append(words)
        advance(1)
    return matches.to_table().append_column("reasons", pa.array(column, pa.large_string()))
