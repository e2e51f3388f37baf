"""What a multiplex looks like in numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from mpxgat.pairs import BOTH_WAYS
from mpxgat.tabular import Tabular, html_of

if TYPE_CHECKING:  # `MultiplexGraph.stats` calls this room, so it must not import that one when running
    from mpxgat.graph import MultiplexGraph


@dataclass(frozen=True)
class LayerStats:
    """One layer: its size, its density 2m/(n(n-1)), the degrees of its nodes; and the share of its links that go both
    ways, which is below 1 if it is directed.
    """

    name: str
    nodes: int
    intra_links: int
    density: float
    mean_degree: float
    max_degree: int
    isolated: int
    mutual: float

    @property
    def directed(self) -> bool:
        """Whether a link goes one way only."""
        return self.mutual < 1


@dataclass(frozen=True)
class OverlapStats:
    """Two layers: shared units, their share of the smaller layer, and shared links.

    ``links_possible`` counts the links of the sparser layer whose two units are both in the other layer,
    ``links_shared`` those of them that are links there too.
    """

    layer_a: str
    layer_b: str
    units_shared: int
    share_of_smaller: float
    links_shared: int
    links_possible: int


@dataclass(frozen=True)
class GraphStats(Tabular):
    """A whole multiplex. ``units`` counts known units: components of the inter links, single nodes too."""

    layers: int
    units: int
    nodes: int
    intra_links: int
    inter_links: int
    weighted: bool
    horizontal_features: int
    vertical_features: int
    per_layer: tuple[LayerStats, ...]
    overlap: tuple[OverlapStats, ...]
    units_by_layers: dict[int, float]
    apart: int = 0  # pairs said to be different units

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def to_table(self) -> pa.Table:
        """A row for each layer; columns as in `LayerStats`."""
        return pa.Table.from_pylist([asdict(layer) for layer in self.per_layer])

    def _repr_html_(self) -> str:
        return html_of(self.to_table(), f"{self.layers:,} layers, {self.units:,} known units, {self.nodes:,} nodes")


def graph_stats(graph: MultiplexGraph) -> GraphStats:
    """Sizes, densities, degrees, overlap between layers, and the share of units in 1, 2, … layers."""
    copies = np.bincount(graph.unit, minlength=graph.n_units)
    share = np.bincount(copies) / max(graph.n_units, 1)
    return GraphStats(
        layers=graph.n_layers,
        units=graph.n_units,
        nodes=graph.n_nodes,
        intra_links=graph.n_intra,
        inter_links=graph.n_inter,
        weighted=graph.intra_weight is not None,
        horizontal_features=len(graph.horizontal_features.names) if graph.horizontal_features else 0,
        vertical_features=len(graph.vertical_features.names) if graph.vertical_features else 0,
        per_layer=tuple(_layer_stats(graph, number) for number in range(graph.n_layers)),
        overlap=_overlaps(graph),
        units_by_layers={count: float(value) for count, value in enumerate(share) if value > 0},
        apart=len(graph.apart),
    )


def _layer_stats(graph: MultiplexGraph, number: int) -> LayerStats:
    degree = graph.degree[graph.layer_start[number] : graph.layer_start[number + 1]]
    nodes, links = len(degree), int(degree.sum()) // 2
    return LayerStats(
        name=graph.layers[number],
        nodes=nodes,
        intra_links=links,
        density=2 * links / (nodes * (nodes - 1)) if nodes > 1 else 0.0,
        mean_degree=float(degree.mean()),
        max_degree=int(degree.max()),
        isolated=int((degree == 0).sum()),
        mutual=_mutual(graph, number),
    )


def _mutual(graph: MultiplexGraph, number: int) -> float:
    if not graph.directed_layers[number] or graph.intra_arcs is None:
        return 1.0
    ways = graph.intra_arcs[graph.node_layer[graph.intra[:, 0]] == number]
    return float((ways == BOTH_WAYS).mean())


def _overlaps(graph: MultiplexGraph) -> tuple[OverlapStats, ...]:
    units = graph.n_units
    present = sparse.csr_array(
        (np.ones(graph.n_nodes, dtype=np.int64), (graph.node_layer, graph.unit)),
        shape=(graph.n_layers, units),
    )
    shared_units = (present @ present.T).toarray()
    # A link between units, the same number in every layer: the smaller unit's number first.
    ends = np.sort(graph.unit[graph.intra].astype(np.int64), axis=1)
    key = ends[:, 0] * units + ends[:, 1]
    layer_of_link = graph.node_layer[graph.intra[:, 0]]
    # A unit has one node in a layer at most, so no two links of a layer have one key.
    links = [np.sort(key[layer_of_link == number]) for number in range(graph.n_layers)]
    members = [np.sort(graph.unit[graph.layer_nodes(number)]) for number in range(graph.n_layers)]
    rows = []
    for a in range(graph.n_layers):
        for b in range(a + 1, graph.n_layers):
            units_shared, links_shared, links_possible = int(shared_units[a, b]), 0, 0
            if units_shared:  # without shared units there can be no shared link, and layers may be thousands
                sparser, other = (a, b) if len(links[a]) <= len(links[b]) else (b, a)
                ends = np.stack(np.divmod(links[sparser], units))
                links_possible = int(np.isin(ends, members[other]).all(axis=0).sum())
                links_shared = len(np.intersect1d(links[a], links[b], assume_unique=True))
            share = units_shared / min(len(members[a]), len(members[b]))
            rows.append(
                OverlapStats(graph.layers[a], graph.layers[b], units_shared, share, links_shared, links_possible)
            )
    return tuple(rows)
