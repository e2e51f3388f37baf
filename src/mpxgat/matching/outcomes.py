"""What became of the nodes of two layers, and why some are left unmatched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.errors import quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.matching.matcher import Candidates
from mpxgat.matching.uniqueness import Uniqueness


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
