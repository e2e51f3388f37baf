"""Which pairs can still be one unit: not known to be one already, and no layer where both units have a node."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.errors import GraphError
from mpxgat.graph import MultiplexGraph
from mpxgat.nodes import describe
from mpxgat.units import unit_presence


@dataclass(frozen=True, eq=False)
class Uniqueness:
    """The known units of a graph and the layers they are in."""

    graph: MultiplexGraph
    presence: sparse.csr_array  # (units, layers) 1 where a unit has a node

    @classmethod
    def of(cls, graph: MultiplexGraph) -> Uniqueness:
        """What the known links of a graph say."""
        return cls(graph, sparse.csr_array(unit_presence(graph)))

    def known(self, pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
        """(k,) where (k, 2) pairs are known to be one unit, if only by a chain of links."""
        units = self.graph.unit[pairs]
        return np.asarray(units[:, 0] == units[:, 1])

    def forbidden(self, pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
        """(k,) where (k, 2) pairs cannot be one unit: it would have two nodes in a layer."""
        units = self.graph.unit[pairs]
        shared = self.presence[units[:, 0]].multiply(self.presence[units[:, 1]]).sum(axis=1)
        return np.asarray((shared > 0) & (units[:, 0] != units[:, 1]))

    def check_open(self, pairs: NDArray[np.int32]) -> None:
        """GraphError names a pair that is known or forbidden."""
        for closed, why in ((self.known(pairs), "are known to be"), (self.forbidden(pairs), "cannot be")):
            if closed.any():
                first, second = (describe(self.graph.nodes[int(i)]) for i in pairs[np.flatnonzero(closed)[0]])
                raise GraphError(f"the model offers {first} and {second}, which {why} one unit; expected an open pair")

    def counterpart(self, layer: int) -> NDArray[np.bool_]:
        """(n,) which nodes have a known counterpart in a layer; true for the layer's own nodes."""
        found = self.presence[:, [layer]].toarray()[:, 0] > 0
        return np.asarray(found[self.graph.unit])

    def obstacle(self, first: int, second: int) -> tuple[int, int] | None:
        """Two nodes of one layer that a unit of the two nodes would have; None if the pair is not forbidden."""
        graph = self.graph
        if graph.unit[first] == graph.unit[second]:
            return None
        copies, others = (np.flatnonzero(graph.unit == graph.unit[node]) for node in (first, second))
        one, other = np.nonzero(graph.node_layer[copies][:, None] == graph.node_layer[others])
        return (int(copies[one[0]]), int(others[other[0]])) if len(one) else None
