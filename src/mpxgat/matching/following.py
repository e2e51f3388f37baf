"""A network's units from one version to the next: ids that stay, and which units are new, changed or gone.

A unit is a set of nodes that known links and matches join. It keeps its id as long as it keeps one of its nodes. Where
units were merged or split, an id goes to the unit that has most of its nodes; of equals to the one whose node stands
first in the network (by layer, then by id). A unit without an id gets one of its own: layer and id of its first node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.build import with_apart, with_further_links
from mpxgat.graph import MultiplexGraph, Node
from mpxgat.io.link_files import GONE
from mpxgat.matching.assignment import merge_units
from mpxgat.matching.match import Matches
from mpxgat.pairs import label_components

NEW, SAME, CHANGED = "new", "same", "changed"
STATUSES = (NEW, SAME, CHANGED, GONE)
MOVED = "moved"  # of a node: from one unit to another

UnitOf = Mapping[Node, str]
"""The id of every node's unit."""


# ---- units and their ids -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A node of a unit, or one that has gone from it; ``previous`` is the unit that it was in, if there is any."""

    unit: str
    status: str
    node: Node
    node_status: str
    previous: str


@dataclass(frozen=True, eq=False)
class Followed:
    """Units and what became of those before.

    unit_of     the id of every node's unit
    rows        all nodes, unit after unit, with those that have gone
    units       by status: how many units, and how many of these have (or had) several nodes
    merged      units that are gone, though a node of theirs is there: it is in another unit now
    split       new units with a node that was in another one
    """

    unit_of: dict[Node, str]
    rows: tuple[Row, ...]
    units: dict[str, tuple[int, int]]
    merged: int
    split: int

    @property
    def nodes(self) -> dict[str, int]:
        """How many nodes have each status."""
        counts = Counter(row.node_status for row in self.rows)
        return {status: counts[status] for status in (NEW, SAME, MOVED, GONE)}

    def to_table(self) -> pa.Table:
        """Columns unit, status, node, node_layer, node_status, previous_unit."""
        columns: dict[str, Sequence[str]] = {
            "unit": [row.unit for row in self.rows],
            "status": [row.status for row in self.rows],
            "node": [row.node.id for row in self.rows],
            "node_layer": [row.node.layer for row in self.rows],
            "node_status": [row.node_status for row in self.rows],
            "previous_unit": [row.previous for row in self.rows],
        }
        return pa.table({name: pa.array(texts, pa.large_string()) for name, texts in columns.items()})

    def to_record(self) -> dict[str, Any]:
        """Counts as plain values."""
        units = {
            status: {"units": every, "of_several_nodes": several} for status, (every, several) in self.units.items()
        }
        return {**units, "merged": self.merged, "split": self.split, "nodes": self.nodes}


def follow(matches: Matches, before: UnitOf) -> Followed:
    """The units that known links and the matches of all layers make, by the ids that their nodes had ``before``."""
    graph = matches.graph
    links = np.concatenate([graph.inter, matches.pairs[matches.chosen]])
    label = label_components(links, graph.n_nodes)
    nodes = list(graph.nodes)
    previous = [before.get(node, "") for node in nodes]
    ids = _ids(label, nodes, previous, before)
    return _followed(label, nodes, previous, ids, before)


def _ids(label: NDArray[np.int32], nodes: Sequence[Node], previous: Sequence[str], before: UnitOf) -> list[str]:
    """The id of every unit, which are numbered by first node."""
    shared = Counter((unit, old) for unit, old in zip(label.tolist(), previous, strict=True) if old)
    found: dict[int, str] = {}
    taken: set[str] = set()
    # A counter keeps the order in which its keys came, and sorting that of equals: the first node decides.
    for (unit, old), _ in sorted(shared.items(), key=lambda item: -item[1]):
        if unit not in found and old not in taken:
            found[unit] = old
            taken.add(old)
    taken |= set(before.values())
    for unit, node in zip(label.tolist(), nodes, strict=True):
        if unit not in found:
            found[unit] = _free_id(node, taken)
            taken.add(found[unit])
    return [found[unit] for unit in range(len(found))]


def _free_id(node: Node, taken: set[str]) -> str:
    name, number = f"{node.layer}:{node.id}", 1
    while (found := name if number == 1 else f"{name}#{number}") in taken:
        number += 1
    return found


def _followed(
    label: NDArray[np.int32], nodes: Sequence[Node], previous: Sequence[str], ids: Sequence[str], before: UnitOf
) -> Followed:
    old_size, size = Counter(before.values()), np.bincount(label, minlength=len(ids))
    stayed = Counter(unit for unit, old in zip(label.tolist(), previous, strict=True) if old == ids[unit])
    lost = _lost(nodes, before)
    rows: list[Row] = []
    counts = {status: [0, 0] for status in STATUSES}
    places_of = np.split(np.argsort(label, kind="stable"), np.cumsum(size)[:-1])
    for unit, unit_id in enumerate(ids):
        as_before = stayed[unit] == size[unit] == old_size[unit_id]
        status = NEW if unit_id not in old_size else SAME if as_before else CHANGED
        _count(counts[status], int(size[unit]))
        for place in places_of[unit].tolist():
            node_status = NEW if not previous[place] else SAME if previous[place] == unit_id else MOVED
            rows.append(Row(unit_id, status, nodes[place], node_status, previous[place]))
        rows += (Row(unit_id, status, node, GONE, unit_id) for node in lost.pop(unit_id, ()))
    gone = old_size.keys() - set(ids)
    for unit_id in gone:
        _count(counts[GONE], old_size[unit_id])
    rows += (Row(unit_id, GONE, node, GONE, unit_id) for unit_id, missing in lost.items() for node in missing)
    merged = gone & set(previous)
    split = {row.unit for row in rows if row.status == NEW and row.node_status == MOVED}
    units = {status: (every, several) for status, (every, several) in counts.items()}
    unit_of = {node: ids[unit] for node, unit in zip(nodes, label.tolist(), strict=True)}
    return Followed(unit_of, tuple(rows), units, len(merged), len(split))


def _lost(nodes: Iterable[Node], before: UnitOf) -> dict[str, list[Node]]:
    """The nodes that have gone, by the unit that they were in."""
    there = set(nodes)
    lost: dict[str, list[Node]] = {}
    for node, unit in before.items():
        if node not in there:
            lost.setdefault(unit, []).append(node)
    return lost


def _count(both: list[int], nodes: int) -> None:
    both[0] += 1
    both[1] += nodes > 1


# ---- what was decided about another version ------------------------------------------------------------------------


@dataclass(frozen=True)
class Carried:
    """What became of decisions: taken over, of nodes that are not there, and contradicted by what is known now."""

    carried: int
    absent: int
    contradicted: int


def carry_over(
    graph: MultiplexGraph, accepted: Iterable[tuple[Node, Node]], rejected: Iterable[tuple[Node, Node]]
) -> tuple[MultiplexGraph, Carried]:
    """A graph with what was decided about pairs of nodes in another version of the network.

    accepted    one unit: they become known links; of pairs that contradict each other those whose nodes stand first
    rejected    different units: see `MultiplexGraph.apart`
    """
    position = {node: place for place, node in enumerate(graph.nodes)}
    same, lack_same = _placed(accepted, position)
    different, lack_different = _placed(rejected, position)
    merged = merge_units(graph, same.astype(np.int32), np.ones(len(same))).unit
    agree = merged[same[:, 0]] == merged[same[:, 1]]
    if agree.any():
        graph = with_further_links(graph, same[agree])
    unit = graph.unit
    apart = unit[different[:, 0]] != unit[different[:, 1]]
    if apart.any():
        graph = with_apart(graph, different[apart])
    carried, asked = int(agree.sum() + apart.sum()), len(same) + len(different)
    return graph, Carried(carried, lack_same + lack_different, asked - carried)


def _placed(pairs: Iterable[tuple[Node, Node]], position: Mapping[Node, int]) -> tuple[NDArray[np.int64], int]:
    """(k, 2) positions of the pairs whose nodes are both there, and how many are not."""
    every = list(pairs)
    found = [(position[one], position[other]) for one, other in every if one in position and other in position]
    return np.array(found, dtype=np.int64).reshape(-1, 2), len(every) - len(found)
