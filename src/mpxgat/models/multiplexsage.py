"""MultiplexSAGE (Gallo et al. 2023): GraphSAGE that tells intra from inter links.

Its aggregator has three matrices: for the node itself, for the mean of drawn intra neighbours, and for the mean of
drawn inter neighbours. It is trained on links of both kinds, like GraphSAGE.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.models.graphsage import GraphSAGE
from mpxgat.models.sage_training import Kind
from mpxgat.sampling.neighbours import Neighbours


class MultiplexSAGE(GraphSAGE):
    """One embedding for both kinds of link. Settings by name: see `mpxgat.models.graphsage.SageSettings`."""

    name = "multiplexsage"
    description = "GraphSAGE with separate means over intra and inter links"

    def _kinds(
        self, n_nodes: int, n_layers: int, intra: NDArray[np.integer[Any]], inter: NDArray[np.integer[Any]]
    ) -> list[Kind]:
        """Two kinds. A node has at most one counterpart in each other layer: no more than these are drawn."""
        samples = self._settings.samples_1, self._settings.samples_2
        most = max(n_layers - 1, 1)
        return [
            Kind(Neighbours.of(n_nodes, intra), samples),
            Kind(Neighbours.of(n_nodes, inter), (min(samples[0], most), min(samples[1], most))),
        ]
