"""Who is who: from the candidates that a model offers to matches, one to one, that agree over all layers.

A model offers candidates of two layers with calibrated probabilities. `match_layers` ranks them and takes the best
one-to-one assignment; `match_all` does so for every pair of layers and merges what was assigned into units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.errors import GraphError, SettingError, listed, quoted
from mpxgat.graph import LayerLike, MultiplexGraph, describe, frozen
from mpxgat.matching.assignment import Cliques, assign, check_threshold, merge_units
from mpxgat.matching.reasons import Explanation
from mpxgat.pairs import KnownUnits, found_among, pair_keys
from mpxgat.plots import outcomes_and_probabilities, pair_label
from mpxgat.tabular import Tabular

if TYPE_CHECKING:
    import altair as alt

Pairs = NDArray[np.int32]
Numbers = NDArray[np.float64]
Advance = Callable[[int], None]

DEFAULT_THRESHOLD = 0.9
DEFAULT_K = 5
_STEPS = (0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)  # thresholds to fall back to
_ARRAYS = ("pairs", "probability", "rank", "runner_up", "chosen", "joined_by")
_BINS, _SHOWN_PAIRS = 20, 60  # of probability, and of layers, in a chart


# ---- what a matcher offers ------------------------------------------------------------------------------


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


def no_candidates(graph: MultiplexGraph) -> Candidates:
    """What a model offers that found too few known links in a graph to learn from."""
    silence = f"{len(graph.inter)} links between layers are known, too few to learn who is who: nothing is matched"
    return Candidates(np.empty((0, 2), dtype=np.int32), np.empty(0), silence)


@runtime_checkable
class Matcher(Protocol):
    """A fitted model that knows candidates for the nodes of two layers and can say why."""

    @property
    def graph(self) -> MultiplexGraph:
        """The graph whose nodes are matched."""

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """The best ``k`` partners of every open node of two layers (``layer_a < layer_b``), seen from both sides.

        Never pairs known to be one unit (if only by a chain of links), never pairs that uniqueness forbids or that are
        known to be different: only those that `mpxgat.pairs.KnownUnits` leaves open.
        """

    def explain(self, first: int, second: int) -> Explanation:
        """Why the pair of two nodes (``first < second``, different layers) has its probability."""

    def explain_many(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """As `explain`, for (k, 2) pairs in their order; findings may be shorter."""


class MatchesLayers:
    """What a `Matcher` has besides, where a model inherits from this: its matches, layers and nodes told by names."""

    def match_layers(
        self: Matcher,
        layer_a: LayerLike,
        layer_b: LayerLike,
        k: int = DEFAULT_K,
        *,
        threshold: float = DEFAULT_THRESHOLD,
    ) -> Matches:
        """The best candidates of every open node of two layers, told by name or number; see `mpxgat.matching`."""
        return match_layers(self, layer_a, layer_b, k, threshold=threshold)

    def match(self: Matcher, layer_a: LayerLike, layer_b: LayerLike, k: int = DEFAULT_K) -> Matches:
        """As `match_layers`."""
        return match_layers(self, layer_a, layer_b, k)

    def match_all(self: Matcher, threshold: float = DEFAULT_THRESHOLD, k: int = DEFAULT_K) -> Matches:
        """Who is who over all layers: one to one, consistent, none below the threshold; see `mpxgat.matching`."""
        return match_all(self, threshold, k)


def check_two_layers(graph: MultiplexGraph, pairs: NDArray[np.integer[Any]]) -> None:
    """SettingError if both nodes of one of the (k, 2) pairs are in one layer."""
    layers = graph.node_layer[pairs]
    for first, second in pairs[layers[:, 0] == layers[:, 1]].tolist():
        raise SettingError(f"the nodes {first} and {second} are in one layer, expected nodes of two layers")


def layer_pairs(graph: MultiplexGraph) -> list[tuple[int, int]]:
    """All pairs of layers, the lower one first."""
    return [(a, b) for a in range(graph.n_layers) for b in range(a + 1, graph.n_layers)]


# ---- matches --------------------------------------------------------------------------------------------


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

    def plotted(self) -> list[dict[str, Any]]:
        """The parts of a bar: pair, outcome, nodes, and place from left to right."""
        counts = {
            "matched": self.matched,
            "below threshold": self.below_threshold,
            "outdone": self.outdone,
            "no candidate": self.no_candidate,
        }
        pair = pair_label(self.layer_a, self.layer_b)
        return [
            {"pair": pair, "outcome": outcome, "nodes": nodes, "place": place}
            for place, (outcome, nodes) in enumerate(counts.items())
        ]


@dataclass(frozen=True)
class Lower:
    """What there would be below a threshold that no pair reaches.

    highest     the highest probability of any pair
    threshold   a round number that some pairs do reach; None where all are next to nothing
    matches     how many matches that threshold would give
    """

    highest: float
    threshold: float | None
    matches: int


@dataclass(frozen=True, eq=False)
class Matches(Tabular):
    """Candidates for nodes, and which of them are matches. Notebooks show the first of them.

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
    lower           where nothing is matched, what a lower threshold would give; None if there is no candidate either
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
    lower: Lower | None = None

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        layers = {*np.unique(self.graph.node_layer[self.pairs]).tolist()}
        where = listed((self.graph.layers[number] for number in sorted(layers)), 4) or "no layers"
        rows = f"{len(self):,} pairs, {int(self.chosen.sum()):,} of them matched"
        return f"<Matches: {rows}, at a threshold of {self.threshold}, in {where}>"

    def plot(self) -> alt.VConcatChart:
        """A chart of what became of the nodes of every pair of layers, and of the probabilities of their best
        candidates. It shows in Jupyter, and ``chart.save("name.svg")`` writes it.
        """
        layers = self.graph.layers
        best = self.rank == 1
        numbers, counts = self.graph.node_layer[self.pairs[best, 0]], []
        for number in np.unique(numbers).tolist():
            count, ends = np.histogram(self.probability[best][numbers == number], np.arange(_BINS + 1) / _BINS)
            counts += [
                {"layer": layers[number], "low": low, "high": high, "nodes": nodes}
                for low, high, nodes in zip(ends.tolist(), ends[1:].tolist(), count.tolist(), strict=False)
                if nodes
            ]
        largest = sorted(self.outcomes, key=lambda outcome: -outcome.open_nodes)[:_SHOWN_PAIRS]
        rows = [row for outcome in self.outcomes if outcome in largest for row in outcome.plotted()]
        return outcomes_and_probabilities(layers, rows, counts, self.threshold)

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
    matcher: Matcher,
    layer_a: LayerLike,
    layer_b: LayerLike,
    k: int = DEFAULT_K,
    *,
    threshold: float = DEFAULT_THRESHOLD,
) -> Matches:
    """The best ``k`` candidates in ``layer_b`` of every open node of ``layer_a``, node by node, best first.

    Layers are told by their names or their numbers, from 0. ``chosen`` are those of the best one-to-one assignment of
    the two layers; one that ranks behind the k-th is listed as well. Matches with other layers are not looked at:
    `match_all` does that.
    """
    graph = matcher.graph
    _check(graph, k, threshold)
    first, second = graph.layer_index(layer_a), graph.layer_index(layer_b)
    if first == second:
        raise SettingError("the two layers to match are one and the same, expected two different ones")
    units = KnownUnits.of(graph)
    layers = (min(first, second), max(first, second))
    candidates = _candidates(matcher, units, layers, k)
    chosen = assign(candidates.pairs, candidates.probability, threshold)
    result = _outcome(graph, units, (first, second), candidates, candidates.pairs[chosen], threshold)
    pairs = candidates.pairs if first < second else candidates.pairs[:, ::-1]
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
        lower=None if chosen.any() else _lower([candidates], threshold, lambda assigned: int(assigned[0].sum())),
    )


def match_all(
    matcher: Matcher,
    threshold: float = DEFAULT_THRESHOLD,
    k: int = DEFAULT_K,
    advance: Advance = lambda layer_pairs: None,
) -> Matches:
    """The matches of all layers, chosen so that with the known links they are units with one node in a layer at most,
    and none with two nodes that are known to be different.

    Each pair of layers is assigned one to one by its best ``k`` candidates, then units are merged, the most probable
    pair first. Every pair of nodes that a merged unit joins is listed once, its node in the lower layer; pairs known
    before are not. ``advance`` is told of the layer pairs done.
    """
    graph = matcher.graph
    _check(graph, k, threshold)
    units = KnownUnits.of(graph)
    searched: list[_Searched] = []
    for layers in layer_pairs(graph):
        candidates = _candidates(matcher, units, layers, k)
        searched.append(_Searched(layers, candidates, assign(candidates.pairs, candidates.probability, threshold)))
        advance(1)
    every = [part.candidates for part in searched]
    cliques = _merged(graph, every, [part.assigned for part in searched])
    found = [_agreed(graph, part, cliques) for part in searched]

    def count(assigned: Sequence[NDArray[np.bool_]]) -> int:
        return len(_merged(graph, every, assigned).pairs)

    outcomes = (
        _outcome(graph, units, part.layers, part.candidates, rows["pairs"], threshold)
        for part, rows in zip(searched, found, strict=True)
    )
    return Matches(
        graph=graph,
        threshold=threshold,
        **{name: np.concatenate([rows[name] for rows in found]) for name in _ARRAYS},
        outcomes=tuple(outcomes),
        notes=_notes(graph, range(graph.n_layers), cliques.pairs, every),
        lower=None if len(cliques.pairs) else _lower(every, threshold, count),
    )


def _check(graph: MultiplexGraph, k: int, threshold: float) -> None:
    check_threshold(threshold)
    if k < 1:
        raise SettingError(f"the number of candidates wanted is {k}, expected at least 1")
    if graph.n_layers < 2:
        raise SettingError(f"a network of {graph.n_layers} layers has nothing to match, expected at least 2")


def _candidates(matcher: Matcher, units: KnownUnits, layers: tuple[int, int], k: int) -> Candidates:
    """What a matcher offers for two layers, checked."""
    graph, candidates = matcher.graph, matcher.candidates(*layers, k)
    found = graph.node_layer[candidates.pairs]
    if (found != layers).any():
        raise SettingError(f"the model offers candidates of other layers than {layers[0]} and {layers[1]}")
    keys = np.sort(pair_keys(candidates.pairs, graph.n_nodes))
    if (keys[1:] == keys[:-1]).any():
        raise SettingError("the model offers a pair twice, expected every candidate once")
    first, second = candidates.pairs.T
    for closed, why in ((units.same(first, second), "are known to be"), (units.clash(first, second), "cannot be")):
        if closed.any():
            one, other = (describe(graph.nodes[int(node)]) for node in candidates.pairs[np.flatnonzero(closed)[0]])
            raise GraphError(f"the model offers {one} and {other}, which {why} one unit; expected an open pair")
    return candidates


# ---- ranks of candidates --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows grouped by node, best first (``order``), with the rank of every row and its runner-up's score."""

    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    runner_up: NDArray[np.float64]


def rank_by_node(node: NDArray[np.integer[Any]], score: NDArray[np.float64]) -> Ranked:
    """Rank the rows of every node by falling score; among equals the one listed first is first."""
    order = np.lexsort((-score, node))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = node[order[1:]] != node[order[:-1]]
    first = np.flatnonzero(begins)
    size = np.diff(np.append(first, len(order)))
    start, size = np.repeat(first, size), np.repeat(size, size)  # (k,) of the group that each place belongs to
    place = np.arange(len(order)) - start + 1
    best_other = np.where(place > 1, start, np.minimum(start + 1, len(order) - 1))
    rank, runner_up = np.empty(len(order), dtype=np.int64), np.empty(len(order))
    rank[order] = place
    runner_up[order] = np.where(size > 1, score[order[best_other]], 0.0)
    return Ranked(order, rank, runner_up)


# ---- agreement over layers ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Searched:
    """The candidates of a pair of layers, and which of them its own assignment takes."""

    layers: tuple[int, int]
    candidates: Candidates
    assigned: NDArray[np.bool_]


def _merged(graph: MultiplexGraph, searched: Sequence[Candidates], assigned: Sequence[NDArray[np.bool_]]) -> Cliques:
    """Units merged along what every pair of layers was assigned."""
    pairs = [found.pairs[taken] for found, taken in zip(searched, assigned, strict=True)]
    chances = [found.probability[taken] for found, taken in zip(searched, assigned, strict=True)]
    return merge_units(graph, np.concatenate(pairs), np.concatenate(chances))


def _agreed(graph: MultiplexGraph, part: _Searched, cliques: Cliques) -> dict[str, NDArray[Any]]:
    """The arrays of `Matches` for two layers: the pairs that are one unit now, ranked among all candidates."""
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
    return {
        "pairs": pairs[row],
        "probability": probability[row],
        "rank": ranked.rank[row],
        "runner_up": ranked.runner_up[row],
        "chosen": np.ones(len(row), dtype=bool),
        "joined_by": np.where(assigned[row, None], pairs[row], cliques.joined_by[mine]),
    }


def _lower(
    searched: Sequence[Candidates], threshold: float, matches: Callable[[list[NDArray[np.bool_]]], int]
) -> Lower | None:
    """What a lower threshold would give, by what says how many matches come of the candidates that are assigned."""
    highest = max((float(found.probability.max(initial=0)) for found in searched), default=0.0)
    if highest == 0:
        return None
    below = next((step for step in _STEPS if step < threshold and step <= highest), None)
    if below is None:
        return Lower(highest, None, 0)
    return Lower(highest, below, matches([assign(found.pairs, found.probability, below) for found in searched]))


# ---- what became of the nodes ---------------------------------------------------------------------------


def _outcome(
    graph: MultiplexGraph,
    units: KnownUnits,
    layers: tuple[int, int],
    candidates: Candidates,
    matched: NDArray[np.int32],
    threshold: float,
) -> Outcome:
    """Count what became of two layers' nodes, given the (m, 2) pairs matched between them."""
    still_open = np.zeros(graph.n_nodes, dtype=bool)
    for home, other in (layers, layers[::-1]):
        nodes = graph.layer_nodes(home)
        still_open[nodes] = ~units.has_node_in(other)[nodes]
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


def _notes(
    graph: MultiplexGraph, layers: tuple[int, ...] | range, matched: Pairs, searched: Sequence[Candidates]
) -> tuple[str, ...]:
    """Why the model is silent, and which of some layers are tied to no other and got no match; sentences."""
    silence = dict.fromkeys(candidates.silence for candidates in searched if candidates.silence)
    reached = {*np.unique(graph.node_layer[matched]).tolist(), *np.unique(graph.node_layer[graph.inter]).tolist()}
    untied = (
        f"layer {quoted(graph.layers[number])} has no known link to any other layer: nothing ties it to the others, "
        "so its nodes are left unmatched"
        for number in sorted({*layers} - reached)
    )
    return (*silence, *untied)
