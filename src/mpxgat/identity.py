"""Who is who: inter links, given as such or read from ids that copies of a unit share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.builder import RowError, check_uniqueness
from mpxgat.encoding import encode
from mpxgat.errors import GraphError
from mpxgat.graph import MultiplexGraph
from mpxgat.links import canonical_links, group_members
from mpxgat.nodes import NODE_DTYPE, describe

# Copies are linked pairwise, so their number enters in its square: more than a thousand of most units are too many.
_LINKS_FOR_A_NODE = 500
_LEAST_LINKS = 5_000_000


def link_by_id(graph: MultiplexGraph, keys: pa.Array | None = None) -> MultiplexGraph:
    """The graph with all copies that share an id linked pairwise, besides the inter links it has.

    ``keys`` (one for each node; null for none) takes the place of the ids. Uniqueness is checked.
    """
    keys = graph.ids if keys is None else keys
    present = np.flatnonzero(keys.is_valid()) if keys.null_count else np.arange(len(keys), dtype=NODE_DTYPE)
    distinct, code = encode([keys.drop_null()])
    groups = group_members(code, np.zeros(len(code), dtype=np.int8), len(distinct))
    copies = np.diff(groups.indptr).astype(np.int64)
    n_pairs = int((copies * (copies - 1) // 2).sum())
    most = min(max(_LEAST_LINKS, _LINKS_FOR_A_NODE * graph.n_nodes), np.iinfo(NODE_DTYPE).max)
    if n_pairs > most:  # a file of some kilobytes can ask for billions
        raise GraphError(f"shared ids mean {n_pairs} inter links, expected at most {most}")
    order = present[groups.indices].astype(NODE_DTYPE, copy=False)  # equal keys stand together, nodes ascending
    code = np.repeat(np.arange(len(distinct), dtype=NODE_DTYPE), copies)
    pairs = [np.empty((0, 2), dtype=NODE_DTYPE)]
    for distance in range(1, len(order)):
        # Members of one group stand side by side: pair each with the one `distance` places on.
        together = np.flatnonzero(code[distance:] == code[:-distance])
        if not len(together):
            break
        pairs.append(np.stack([order[together], order[together + distance]], axis=1))
    linked = np.concatenate(pairs)
    same_layer = graph.node_layer[linked[:, 0]] == graph.node_layer[linked[:, 1]]
    if same_layer.any():
        first, second = (graph.nodes[int(i)] for i in linked[np.flatnonzero(same_layer)[0]])
        raise GraphError(f"{describe(first)} and {describe(second)} are said to be one unit in one layer")
    weight = None
    if graph.inter_weight is not None:
        weight = np.concatenate([graph.inter_weight, np.ones(len(linked))])
    inter, inter_weight = canonical_links(np.concatenate([graph.inter, linked]), weight, graph.n_nodes)
    result = replace(graph, inter=inter, inter_weight=inter_weight)
    if graph.n_inter:  # otherwise the groups are the units, and no two of a group share a layer
        check_uniqueness(result, inter, None)
    return result


def links_of_shared_ids(graph: MultiplexGraph) -> NDArray[np.int32]:
    """(k, 2) the inter links that a reader would see in the ids alone, whatever links the graph has."""
    return link_by_id(replace(graph, inter=graph.inter[:0], inter_weight=None)).inter


def with_inter_links(graph: MultiplexGraph, pairs: NDArray[np.integer]) -> MultiplexGraph:
    """The graph with exactly the given inter links (node positions); `RowError` names a pair that breaks uniqueness."""
    inter, _ = canonical_links(pairs, None, graph.n_nodes)
    result = replace(graph, inter=inter, inter_weight=None)
    same_layer = graph.node_layer[pairs[:, 0]] == graph.node_layer[pairs[:, 1]]
    if same_layer.any():
        row = int(np.flatnonzero(same_layer)[0])
        first, second = (graph.nodes[int(i)] for i in pairs[row])
        raise RowError(
            f"{describe(first)} and {describe(second)} are in one layer; an inter link joins two layers",
            "edges",
            row,
        )
    check_uniqueness(result, pairs, np.arange(len(pairs)))
    return result
