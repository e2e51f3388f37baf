"""What a graph's columns might be compared as."""

from __future__ import annotations

from mpxgat.compare.columns import ALL, HORIZONTAL, VERTICAL
from mpxgat.compare.declared import Comparison
from mpxgat.graph import MultiplexGraph


def guess(graph: MultiplexGraph) -> tuple[Comparison, ...]:
    """A comparison for every column whose kind can be told by its values."""
    tables = ((HORIZONTAL, graph.horizontal_features), (VERTICAL, graph.vertical_features))
    return tuple(Comparison(prefix + ALL, "vector") for prefix, table in tables if table is not None)
