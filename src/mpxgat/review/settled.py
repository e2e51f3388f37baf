"""What decisions settle: pairs that are one unit or different ones by what was known and decided, and a graph of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mpxgat.build import with_apart, with_further_links
from mpxgat.errors import InputError, SettingError
from mpxgat.graph import MultiplexGraph, describe
from mpxgat.pairs import group_members, unit_sizes
from mpxgat.review.decisions import ACCEPT, REJECT, Decision, Pair

SAME, DIFFERENT = "same", "different"


class Units:
    """The known units of a graph, ready to be asked for their nodes."""

    def __init__(self, graph: MultiplexGraph):
        self.graph = graph
        groups = group_members(graph.unit, np.zeros(graph.n_nodes, dtype=np.int8), graph.n_units)
        self._order, self._start = groups.indices, np.concatenate([[0], np.cumsum(unit_sizes(graph))])
        self.apart: list[list[int]] = graph.unit[graph.apart].tolist()
        self._by_layer: dict[int, dict[int, int]] = {}  # of units that were asked for

    def by_layer(self, unit: int) -> Mapping[int, int]:
        """The nodes of a unit by their layers."""
        if unit not in self._by_layer:
            nodes = self._order[self._start[unit] : self._start[unit + 1]].tolist()
            self._by_layer[unit] = {int(self.graph.node_layer[node]): node for node in nodes}
        return self._by_layer[unit]


class Settled:
    """Units as accepted pairs have merged them, and which of these are known to be different.

    InputError names the decision that contradicts what is known or the other decisions.
    """

    def __init__(self, units: Units, decisions: Collection[Decision], path: Path | None = None):
        self._units, self._path = units, path
        self._parent: dict[int, int] = {}
        self._nodes: dict[int, dict[int, int]] = {}  # of merged units
        accepted, rejected = ([each for each in decisions if each.answer == answer] for answer in (ACCEPT, REJECT))
        for each in accepted:
            self._merge(each)
        self._apart = {frozenset(map(self._root, pair)) for pair in units.apart}
        for each in accepted:
            if frozenset((self.unit(each.pair[0]),)) in self._apart:
                self._contradiction(each, "they are one unit with nodes that the network says are different")
        for each in rejected:
            self._separate(each)

    def status(self, pair: Pair) -> str | None:
        """Whether two nodes are the same or different; None if that is open."""
        one, other = (self.unit(node) for node in pair)
        if one == other:
            return SAME
        if frozenset((one, other)) in self._apart or self._layers(one).keys() & self._layers(other).keys():
            return DIFFERENT
        return None

    def unit(self, node: int) -> int:
        """The number of a node's unit, which is that of a known unit in it."""
        return self._root(int(self._units.graph.unit[node]))

    def units(self) -> NDArray[np.int64]:
        """(n,) of all nodes."""
        found = self._units.graph.unit.astype(np.int64)
        for unit in self._parent:
            found[list(self._units.by_layer(unit).values())] = self._root(unit)
        return found

    # ---- merging ---------------------------------------------------------------------------------------

    def _root(self, unit: int) -> int:
        while unit in self._parent:
            unit = self._parent[unit]
        return unit

    def _layers(self, root: int) -> Mapping[int, int]:
        return self._nodes[root] if root in self._nodes else self._units.by_layer(root)

    def _merge(self, decision: Decision) -> None:
        one, other = (self.unit(node) for node in decision.pair)
        if one == other:
            return
        ours, theirs = self._layers(one), self._layers(other)
        for layer in sorted(ours.keys() & theirs.keys()):
            self._contradiction(decision, f"{self._named(ours[layer], theirs[layer])} of one layer would be one unit")
        self._parent[other] = one
        self._nodes[one] = {**ours, **theirs}

    def _separate(self, decision: Decision) -> None:
        one, other = (self.unit(node) for node in decision.pair)
        if one == other:
            self._contradiction(decision, "known links and accepted pairs make them one unit")
        self._apart.add(frozenset((one, other)))

    def _contradiction(self, decision: Decision, why: str) -> None:
        verb = "accepted" if decision.answer == ACCEPT else "rejected"
        raise InputError(
            f"{self._named(*decision.pair)} are {verb}, but with the other decisions and known links {why}; "
            "take one of them back (u in mpxgat review, or a further line with the decision undo)",
            self._path,
            decision.line or None,
        )

    def _named(self, *nodes: int) -> str:
        return " and ".join(describe(self._units.graph.nodes[node]) for node in nodes)


def with_decisions(graph: MultiplexGraph, decisions: Collection[Decision], path: Path | None = None) -> MultiplexGraph:
    """The graph with what holds of decisions: accepted pairs linked, rejected ones known to be different.

    InputError names a decision that contradicts others or what is known.
    """
    Settled(Units(graph), decisions, path)
    accepted, rejected = (_pairs(decisions, answer) for answer in (ACCEPT, REJECT))
    if len(accepted):
        graph = with_further_links(graph, accepted)
    return with_apart(graph, rejected) if len(rejected) else graph


def _pairs(decisions: Collection[Decision], answer: str) -> NDArray[np.int64]:
    return np.array([each.pair for each in decisions if each.answer == answer], dtype=np.int64).reshape(-1, 2)


def check_new(units: Units, decisions: Mapping[Pair, Decision], decision: Decision) -> None:
    """SettingError if a new decision contradicts what else holds."""
    others = [each for pair, each in decisions.items() if pair != decision.pair]
    status = Settled(units, others).status(decision.pair)
    wrong = {ACCEPT: DIFFERENT, REJECT: SAME}.get(decision.answer)
    if status is not None and status == wrong:
        names = " and ".join(describe(units.graph.nodes[node]) for node in decision.pair)
        settled = "are different" if status == DIFFERENT else "are one unit"
        raise SettingError(f"by the other decisions and known links, {names} {settled}; take one of them back first")
