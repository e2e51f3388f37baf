"""Whether a graph from an untrusted source keeps every promise of `MultiplexGraph`.

`mpxgat.builder` keeps them by construction; this is for graphs that come ready-made, as arrays in a file.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.builder import MAX_ID_BYTES, check_layer_names, check_uniqueness
from mpxgat.errors import GraphError
from mpxgat.graph import MultiplexGraph
from mpxgat.nodes import NODE_DTYPE

Links = NDArray[np.int32]
_ROWS_AT_ONCE = 1 << 16


def validate(graph: MultiplexGraph) -> None:
    """GraphError unless a graph from an untrusted source keeps every promise of `MultiplexGraph`."""
    n = len(graph.ids)
    check_layer_names(graph.layers)
    starts = graph.layer_start
    promises = {
        "layer starts rise from 0 to the number of nodes": starts.dtype == np.int64
        and starts.shape == (graph.n_layers + 1,)
        and (n == 0 or (np.diff(starts) > 0).all())
        and starts[0] == 0
        and starts[-1] == n,
        "links are pairs of nodes": all(
            links.dtype == NODE_DTYPE
            and links.ndim == 2
            and links.shape[1] == 2
            and links.min(initial=0) >= 0
            and links.max(initial=-1) < n
            for links in (graph.intra, graph.inter)
        ),
        "weights are finite, one for each link": all(
            weight is None
            or (weight.dtype == np.float64 and weight.shape == (len(links),) and bool(np.isfinite(weight).all()))
            for weight, links in ((graph.intra_weight, graph.intra), (graph.inter_weight, graph.inter))
        ),
        "features have a row for each node": all(
            features is None or len(features.values) == n
            for features in (graph.horizontal_features, graph.vertical_features)
        ),
        "attributes have a value for each node": all(len(column) == n for column in graph.attributes.values()),
    }
    for promise, kept in promises.items():
        if not kept:
            raise GraphError(f"the graph is damaged: it does not hold that {promise}")
    for links, within in ((graph.intra, _within_layers), (graph.inter, _between_layers)):
        if not _in_order(links) or not within(links, starts):
            raise GraphError("the graph is damaged: its links are out of order or join the wrong layers")
    _check_id_order(graph)
    check_uniqueness(graph, graph.inter, None)


def _in_order(links: Links) -> bool:
    """Whether (m, 2) links are in canonical form; some rows at a time, so that memory stays bounded."""
    for start in range(0, len(links), _ROWS_AT_ONCE):
        first, second = links[start : start + _ROWS_AT_ONCE + 1].T  # the next part's first row as well
        tied = first[1:] == first[:-1]
        if not ((first[1:] > first[:-1]) | (tied & (second[1:] > second[:-1]))).all() or (first >= second).any():
            return False
    return True


def _within_layers(links: Links, layer_start: NDArray[np.int64]) -> bool:
    """Whether links in canonical form join nodes of one layer each: the highest second end tells of all in a layer."""
    begins, stop = _by_layer(links, layer_start)
    return bool((np.maximum.reduceat(links[:, 1], begins) < stop).all()) if len(links) else True


def _between_layers(links: Links, layer_start: NDArray[np.int64]) -> bool:
    """Whether links in canonical form join nodes of different layers."""
    begins, stop = _by_layer(links, layer_start)
    return bool((np.minimum.reduceat(links[:, 1], begins) >= stop).all()) if len(links) else True


def _by_layer(links: Links, layer_start: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For the layers that first ends are in: the row where each begins, and the node where its layer ends."""
    rows = np.searchsorted(links[:, 0], layer_start.astype(links.dtype))  # of one type: no copy as another
    some = rows[1:] > rows[:-1]
    return rows[:-1][some], layer_start[1:][some]


def _check_id_order(graph: MultiplexGraph) -> None:
    n = graph.n_nodes
    if n == 0:
        return
    lengths = pc.binary_length(graph.ids).to_numpy()
    if (lengths == 0).any() or (lengths > MAX_ID_BYTES).any():
        raise GraphError("the graph is damaged: an id is empty or too long")
    rising = pc.less(graph.ids.slice(0, n - 1), graph.ids.slice(1)).to_numpy(zero_copy_only=False)
    if not (rising | (np.diff(graph.node_layer) > 0)).all():
        raise GraphError("the graph is damaged: ids are not sorted within their layer, or occur twice")
