"""Groups of nodes that are tied more among themselves, for colouring a map."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph

_MOST_LINKS = 100_000
_NAMED = 8


def community_names(graph: MultiplexGraph, seed: int) -> list[str]:
    """A name for every node: "community 1" (the largest) to "community 8", or "others".

    Louvain's method on the units, tied if their nodes are in any layer; connected components where there are too many
    links for it.
    """
    label = _louvain(graph, seed) if graph.n_intra <= _MOST_LINKS else graph.component_labels()
    sizes = np.bincount(label)
    largest = np.argsort(-sizes, kind="stable")[:_NAMED]
    names = dict(zip(largest.tolist(), (f"community {number}" for number in range(1, _NAMED + 1)), strict=False))
    return [names.get(one, "others") for one in label.tolist()]


def _louvain(graph: MultiplexGraph, seed: int) -> NDArray[np.int64]:
    """(n,) community of every node."""
    ties = nx.Graph()
    ties.add_nodes_from(range(graph.n_units))
    ties.add_edges_from(np.unique(np.sort(graph.unit[graph.intra], axis=1), axis=0).tolist())
    of_unit = np.zeros(graph.n_units, dtype=np.int64)
    for number, members in enumerate(nx.community.louvain_communities(ties, seed=seed)):
        of_unit[list(members)] = number
    return of_unit[graph.unit]
