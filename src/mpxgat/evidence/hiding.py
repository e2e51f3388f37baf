"""Self-made splits: known links of a training graph hidden again, so that a judge can learn on them.

Evidence is computed with them hidden, so no link is ever evidence for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.units import unit_matrix, unit_sizes

Pairs64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HiddenInter:
    """A graph with fewer known inter links, and what was hidden.

    graph       the same nodes without the hidden links
    positives   (p, 2) pairs of one unit whose nodes now lie in different known units
    touched     (k,) nodes of units that lost a link or, having none to lose, were chosen as well
    """

    graph: MultiplexGraph
    positives: Pairs64
    touched: NDArray[np.int64]


def hide_inter(graph: MultiplexGraph, rng: np.random.Generator, units: float, detached: float) -> HiddenInter:
    """Dissolve a share of all known units (single nodes among them), and detach one node of a share of the larger ones.

    units       share of the units whose links are all hidden, as for accounts nobody has linked yet
    detached    share of the units with three nodes or more that lose a single node, as for a new account of somebody
                whose others are known
    """
    size = unit_sizes(graph)
    dissolved = _chosen(np.arange(graph.n_units), units, graph.n_units, rng)
    loosened = _chosen(np.flatnonzero((size > 2) & ~dissolved), detached, graph.n_units, rng)
    leaving = np.zeros(graph.n_nodes, dtype=bool)
    nodes = rng.permutation(np.flatnonzero(loosened[graph.unit]))
    leaving[nodes[np.unique(graph.unit[nodes], return_index=True)[1]]] = True
    gone = dissolved[graph.unit[graph.inter[:, 0]]] | leaving[graph.inter].any(axis=1)
    hidden = graph.without(inter=graph.inter[gone])
    touched = np.flatnonzero(dissolved[graph.unit] | loosened[graph.unit])
    return HiddenInter(hidden, _parted(graph, hidden), touched)


@dataclass(frozen=True, eq=False)
class HiddenIntra:
    """A graph with fewer links of both kinds, and the intra links (p, 2) that were hidden."""

    graph: MultiplexGraph
    positives: Pairs64


def hide_intra(graph: MultiplexGraph, rng: np.random.Generator, intra: float, inter: float) -> HiddenIntra:
    """Hide a random share of the intra links, and of the inter links with them."""
    within = graph.intra[rng.random(len(graph.intra)) < intra]
    across = graph.inter[rng.random(len(graph.inter)) < inter]
    return HiddenIntra(graph.without(intra=within, inter=across), within.astype(np.int64))


def _chosen(units: NDArray[np.int64], share: float, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(count,) which units were drawn."""
    chosen = np.zeros(count, dtype=bool)
    chosen[rng.choice(units, size=round(share * len(units)), replace=False)] = True
    return chosen


def _parted(graph: MultiplexGraph, hidden: MultiplexGraph) -> Pairs64:
    """Pairs (i < j) that are one unit in ``graph`` and not in ``hidden``."""
    unit = unit_matrix(graph)
    first, second = sparse.coo_array(sparse.triu(unit @ unit.T, k=1)).coords
    apart = hidden.unit[first] != hidden.unit[second]
    return np.stack([first[apart], second[apart]], axis=1).astype(np.int64)
