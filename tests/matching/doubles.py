"""A matcher whose probabilities are given, and the contract that every matcher must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from mpxgat.build import with_apart, with_inter_links
from mpxgat.graph import MultiplexGraph, describe
from mpxgat.matching import Candidates, Explanation, Matcher, Reason
from mpxgat.matching.match import layer_pairs
from tests.examples import graph_of

steady = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def is_open(graph: MultiplexGraph, u: int, v: int) -> bool:
    """Whether two nodes can still be matched, by the definition."""
    layers = [set(graph.node_layer[graph.unit == graph.unit[node]].tolist()) for node in (u, v)]
    return bool(graph.unit[u] != graph.unit[v] and not layers[0] & layers[1]) and not are_apart(graph, graph.unit, u, v)


def are_apart(graph: MultiplexGraph, unit: np.ndarray, u: int, v: int) -> bool:
    """Whether two nodes, or any others of their units as ``unit`` (n,) has them, are said to be different."""
    said = {frozenset(pair) for pair in unit[graph.apart].tolist()}
    return frozenset((int(unit[u]), int(unit[v]))) in said


def some_apart(graph: MultiplexGraph, count: int) -> MultiplexGraph:
    """The graph with random pairs of two layers, which known links do not join, said to be different."""
    strange = np.argwhere((graph.node_layer[:, None] < graph.node_layer) & (graph.unit[:, None] != graph.unit))
    return with_apart(graph, np.random.default_rng(count).choice(strange, count))


class TableMatcher:
    """Probabilities from a table: {(first, second): probability}."""

    name = "table"

    def __init__(self, graph: MultiplexGraph, table: dict[tuple[int, int], float]):
        self.graph = graph
        self.table = {pair: chance for pair, chance in table.items() if is_open(graph, *pair)}

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        assert layer_a < layer_b
        rows = [(*pair, p) for pair, p in self.table.items() if self._layers(pair) == (layer_a, layer_b)]
        kept = set()
        for side in (0, 1):
            for node in {row[side] for row in rows}:
                kept |= set(sorted((r for r in rows if r[side] == node), key=lambda r: (-r[2], r))[:k])
        best = sorted(kept, key=lambda r: (-r[2], r))
        pairs = np.array([row[:2] for row in best], dtype=np.int32).reshape(-1, 2)
        return Candidates(pairs, np.array([row[2] for row in best], dtype=np.float64))

    def explain(self, first: int, second: int) -> Explanation:
        chance = self.table.get((first, second), 1e-6)
        score = float(np.log(chance / (1 - chance)))
        found = ", ".join(describe(self.graph.nodes[node]) for node in (first, second))
        reasons = (
            Reason("degrees", "3 and 4", -0.5),
            Reason("the table", found, score + 4.5),
            Reason("luck", "no", 0.0),
        )
        return Explanation(first, second, chance, -4.0, reasons, score)

    def explain_many(self, pairs: np.ndarray) -> list[Explanation]:
        return [self.explain(first, second) for first, second in pairs.tolist()]

    def _layers(self, pair: tuple[int, int]) -> tuple[int, int]:
        return int(self.graph.node_layer[pair[0]]), int(self.graph.node_layer[pair[1]])


@st.composite
def matchers(draw: st.DrawFn) -> TableMatcher:
    """Two to five layers with few known links, some pairs known to be different and many probable ones, often equally
    probable: conflicts abound.
    """
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bare = graph_of(*(f"{layer}.{node} {layer}.{node}" for layer, size in enumerate(sizes) for node in range(size)))
    unit = np.concatenate([rng.permutation(4)[:size] for size in sizes])
    inter = np.argwhere(bare.node_layer[:, None] < bare.node_layer)
    copies = inter[unit[inter[:, 0]] == unit[inter[:, 1]]]
    graph = with_inter_links(bare, copies[rng.random(len(copies)) < draw(st.sampled_from([0.0, 0.1, 0.5]))])
    strange = inter[graph.unit[inter[:, 0]] != graph.unit[inter[:, 1]]]
    graph = with_apart(graph, strange[rng.random(len(strange)) < draw(st.sampled_from([0.0, 0.05, 0.3]))])
    some = inter[rng.random(len(inter)) < draw(st.sampled_from([0.1, 0.5, 1.0]))]
    chances = rng.choice([0.05, 0.5, 0.9, 0.95, *rng.random(4)], size=len(some)).clip(0.01, 0.99)
    return TableMatcher(graph, {(int(u), int(v)): float(p) for (u, v), p in zip(some, chances, strict=True)})


def check_matcher(matcher: Matcher, k: int = 3) -> None:
    """What every matcher must keep: for models' tests as well."""
    graph = matcher.graph
    assert isinstance(matcher, Matcher)
    for layers in layer_pairs(graph):
        found = matcher.candidates(*layers, k)
        assert (graph.node_layer[found.pairs] == layers).all()
        assert all(is_open(graph, *pair) for pair in found.pairs.tolist())
        assert len({tuple(pair) for pair in found.pairs.tolist()}) == len(found)
        again = matcher.candidates(*layers, k)
        assert np.array_equal(found.pairs, again.pairs)
        assert np.array_equal(found.probability, again.probability)
        for (first, second), chance in list(zip(found.pairs.tolist(), found.probability.tolist(), strict=True))[:20]:
            why = matcher.explain(first, second)
            assert (why.first, why.second) == (first, second)
            assert why.probability == pytest.approx(chance, abs=1e-6)
            total = why.base + sum(reason.contribution for reason in why.reasons)
            assert total == pytest.approx(why.score, abs=1e-6)
