"""What a graph's columns might be compared as, judged by their values; never ids, nor what is called one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from mpxgat.compare.columns import ALL, HORIZONTAL, VERTICAL, Coded, coded, says_none
from mpxgat.compare.declared import Comparison
from mpxgat.compare.reading import read_date, read_list, read_number
from mpxgat.graph import MultiplexGraph

_IDS = re.compile(r"(.*[\W_])?(id|ids|uid|uuid|guid|key|unit)", re.IGNORECASE)
_FEW = 10  # different integers, each of several nodes, that rather name something than count it
_SEVERAL = 3  # nodes
_REPEATED = 0.3  # different ones among a layer's values, up to which they are categories
_NAMES = 0.7  # of the values that look like names of people
_NAME = re.compile(r"(?:[^\W\d_a-z]\w*[.'’-]*,?\s*){2,4}")  # words that begin with a capital
_LOOKED_AT = 100  # characters of a value
_NARROWEST = 3  # lists of numbers: two may be a telephone number


def guess(graph: MultiplexGraph) -> tuple[Comparison, ...]:
    """A comparison for every column that could tell nodes apart: attributes in their order, then tables of features."""
    found = []
    for name in graph.attributes:
        kind = None if _IDS.fullmatch(name) else kind_of(graph, Comparison(name, "text"))
        if kind is not None:
            found.append(Comparison(name, kind))
    horizontal, vertical = graph.horizontal_features, graph.vertical_features
    same = horizontal is not None and vertical is not None and np.array_equal(horizontal.values, vertical.values)
    for prefix, table in ((HORIZONTAL, horizontal), (VERTICAL, None if same else vertical)):
        if table is not None and (table.values != table.values[:1]).any():
            found.append(Comparison(prefix + ALL, "vector"))
    return tuple(found)


def kind_of(graph: MultiplexGraph, attribute: Comparison) -> str | None:
    """What an attribute's values look like, whatever kind is declared; None if there are no two different ones."""
    column = coded(graph, attribute)
    values = [value.strip() for value in column.values if not says_none(value)]
    if len(values) < 2:
        return None
    if _all(read_number, values):
        few = len(values) <= _FEW and all(read_number(value).is_integer() for value in values)
        return "category" if few and column.there.sum() >= _SEVERAL * len(values) else "number"
    if _all(read_date, values):
        return "date"
    if _all(_width, values) and {_width(value) for value in values}.issubset({_width(values[0])}):
        return "vector"
    if _different(graph, column) <= _REPEATED:
        return "category"
    named = sum(_NAME.fullmatch(value[:_LOOKED_AT]) is not None for value in values)
    return "name" if named >= _NAMES * len(values) else "text"


def _all(read: Callable[[str], object], values: Iterable[str]) -> bool:
    try:
        for value in values:
            read(value)
    except ValueError:
        return False
    return True


def _width(value: str) -> int:
    """Of a list of numbers; ValueError if a text is none, or one of few."""
    width = len(read_list(value))
    if width < _NARROWEST:
        raise ValueError
    return width


def _different(graph: MultiplexGraph, column: Coded) -> float:
    """The share of different ones among a layer's values, in the layer where it is largest."""
    shares = [0.0]
    for start, stop in zip(graph.layer_start, graph.layer_start[1:], strict=False):
        code = column.code[start:stop]
        there = code[code >= 0]
        if len(there):
            shares.append(len(np.unique(there)) / len(there))
    return max(shares)
