"""What a page shows of a pair: both nodes with their attributes, their neighbourhoods, the reasons; values of JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.matching.reasons import Explanation
from mpxgat.report.explorer import encoded, reason_data
from mpxgat.review.decisions import Pair
from mpxgat.review.settled import Settled

_MOST_NEIGHBOURS = 200  # of a node; the drawing has room for fewer


def picture(
    graph: MultiplexGraph, settled: Settled, pair: Pair, probability: float, why: Explanation
) -> dict[str, Any]:
    """Nodes and attributes side by side, and the network around them with the pair as the only candidate."""
    units = _units(graph, settled, pair)
    nodes, drawn = _neighbourhood(graph, units, pair)
    network = _network_data(graph, units, nodes, drawn)
    ends = np.searchsorted(nodes, pair)
    candidate = {
        "least": 0,
        "left_out": 0,
        "silence": [],
        "pairs": encoded(ends),
        "probability": encoded(np.array([probability])),
        **reason_data([why]),
    }
    attributes = [
        {"name": name, "values": [column[node].as_py() for node in pair]} for name, column in graph.attributes.items()
    ]
    return {
        "nodes": [_told(graph, units, node) for node in pair],
        "attributes": [each for each in attributes if any(each["values"])],
        "node": int(ends[0]),
        "network": {**network, "candidates": candidate},
    }


def _units(graph: MultiplexGraph, settled: Settled, pair: Pair) -> NDArray[np.int64]:
    """(n,) units as decided so far; those of the graph if that would make the two nodes, which are asked about, one."""
    if settled.unit(pair[0]) == settled.unit(pair[1]):
        return graph.unit.astype(np.int64)
    return settled.units()


def _told(graph: MultiplexGraph, units: NDArray[np.int64], node: int) -> dict[str, Any]:
    others = [graph.nodes[int(copy)] for copy in np.flatnonzero(units == units[node]) if copy != node]
    return {
        "id": graph.nodes[node].id,
        "layer": graph.nodes[node].layer,
        "neighbours": int(graph.degree[node]),
        "known": [{"id": other.id, "layer": other.layer} for other in others],
    }


def _neighbourhood(graph: MultiplexGraph, units: NDArray[np.int64], pair: Pair) -> tuple[NDArray[np.int64], list[int]]:
    """The nodes to be drawn, ascending; and those whose neighbours are among them, of each the best only.

    These are the second node and the first with its known copies. The best neighbours are next to most of them, then
    those with most links.
    """
    centres = [*np.flatnonzero(units == units[pair[0]]).tolist(), pair[1]]
    around = [graph.adjacency[[node]].indices for node in centres]
    unit, count = np.unique(np.concatenate([np.unique(units[nodes]) for nodes in around]), return_counts=True)
    shown = []
    for nodes in around:
        seen = count[np.searchsorted(unit, units[nodes])]
        shown.append(nodes[np.lexsort((-graph.degree[nodes], -seen))[:_MOST_NEIGHBOURS]])
    return np.unique(np.concatenate([centres, *shown])).astype(np.int64), centres


def _network_data(
    graph: MultiplexGraph, units: NDArray[np.int64], nodes: NDArray[np.int64], centres: list[int]
) -> dict[str, Any]:
    """As `mpxgat.report.explorer.network_data`, of some nodes; ``totals`` counts all neighbours of the centres."""
    layers, start = np.unique(graph.node_layer[nodes], return_index=True)
    links = sparse.triu(graph.adjacency[nodes][:, nodes]).tocoo()
    by_unit = np.argsort(units[nodes], kind="stable")
    same = units[nodes][by_unit][1:] == units[nodes][by_unit][:-1]
    return {
        "layers": [graph.layers[number] for number in layers],
        "layer_start": [*start.tolist(), len(nodes)],
        "ids": [graph.nodes[int(node)].id for node in nodes],
        "intra": encoded(np.stack([links.row, links.col], axis=1)),
        "inter": encoded(np.stack([by_unit[:-1][same], by_unit[1:][same]], axis=1)),
        "totals": {int(np.searchsorted(nodes, node)): int(graph.degree[node]) for node in centres},
    }
