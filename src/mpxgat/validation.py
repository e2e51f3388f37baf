"""Whether a graph from an untrusted source keeps every promise of `MultiplexGraph`.

`mpxgat.builder` keeps them by construction; this is for graphs that come ready-made, as arrays in a file.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from mpxgat.builder import MAX_ID_BYTES, check_layer_names, check_uniqueness
from mpxgat.errors import GraphError
from mpxgat.graph import MultiplexGraph
from mpxgat.links import pair_keys
from mpxgat.nodes import NODE_DTYPE


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
            and (links >= 0).all()
            and (links < n).all()
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
    for links, same_layer in ((graph.intra, True), (graph.inter, False)):
        layer = graph.node_layer[links]
        keys = pair_keys(links, n)
        in_order = (np.diff(keys) > 0).all() and (links[:, 0] < links[:, 1]).all()
        if not in_order or ((layer[:, 0] == layer[:, 1]) != same_layer).any():
            raise GraphError("the graph is damaged: its links are out of order or join the wrong layers")
    _check_id_order(graph)
    check_uniqueness(graph, graph.inter, None)


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
