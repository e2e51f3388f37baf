"""Nodes as people know them: an id and the name of a layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from mpxgat.errors import quoted

if TYPE_CHECKING:  # `MultiplexGraph.nodes` makes a `NodeView`, so this room must not import that one when running
    from mpxgat.graph import MultiplexGraph

NODE_DTYPE = np.int32  # of a node's position in its graph


class Node(NamedTuple):
    """A node as people know it: its id and the name of its layer."""

    id: str
    layer: str


def describe(node: Node) -> str:
    """A node in an error message."""
    return f"{quoted(node.id)} (layer {quoted(node.layer)})"


class NodeView(Sequence[Node]):
    """The nodes of a graph in order, as (id, layer); made when asked for, never all at once."""

    def __init__(self, graph: MultiplexGraph):
        self._graph = graph

    def __len__(self) -> int:
        return self._graph.n_nodes

    @overload
    def __getitem__(self, position: int) -> Node: ...
    @overload
    def __getitem__(self, position: slice) -> list[Node]: ...
    def __getitem__(self, position: int | slice) -> Node | list[Node]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        if position < 0:
            position += len(self)
        if not 0 <= position < len(self):
            raise IndexError(f"node {position} of {len(self)}")
        graph = self._graph
        return Node(graph.ids[position].as_py(), graph.layers[graph.node_layer[position]])

    def __iter__(self) -> Iterator[Node]:
        graph = self._graph
        for name, start, stop in zip(graph.layers, graph.layer_start, graph.layer_start[1:], strict=False):
            for node_id in graph.ids.slice(start, stop - start).to_pylist():
                yield Node(node_id, name)
