"""Categories: equal or not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mpxgat.compare.columns import Coded, Shown, coded, rarity
from mpxgat.compare.compared import Compared, check_form, equal_and_rare
from mpxgat.compare.declared import Comparison
from mpxgat.compare.similar import equal_nodes
from mpxgat.compare.words import one_spelling
from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import IntArray, Pairs, Values

FORM = "weighted"
EQUAL, RARE = "equal", "equal and rare"


def prepare_category(comparison: Comparison, graph: MultiplexGraph, form: str | None) -> Compared:
    """There is one form."""
    check_form(comparison.column, form, (FORM,))
    column = coded(graph, comparison)
    return Categories(comparison.column, column.merged(one_spelling), Shown.of(column))


class Categories(Compared):
    """Whether values are equal, and how rare the value is then: −log of the share of nodes that have it."""

    whats = (EQUAL, RARE)
    rivals = (RARE,)

    def __init__(self, label: str, column: Coded, shown: Shown):
        super().__init__(label, FORM, column.there)
        self._code, self._shown = column.code, shown
        self._rarity = rarity(column.code, len(column.values))

    def _numbers(self, pairs: Pairs) -> tuple[Values, ...]:
        equal = (self._code[pairs.first] == self._code[pairs.second]).astype(np.float64)
        return equal, equal_and_rare(pairs, self._code, self._rarity)

    def _proposals(self, ours: IntArray, theirs: IntArray, k: int) -> NDArray[np.int64]:
        return equal_nodes(self._code[ours], self._code[theirs], k)

    def _describe(self, first: int, second: int) -> str:
        if self._code[first] == self._code[second]:
            return f"{self._shown[first]} = {self._shown[second]}"
        return f"{self._shown[first]} and {self._shown[second]}"
