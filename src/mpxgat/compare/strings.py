"""Texts and names of people.

Values are compared once each: nodes have codes of values, and pairs of nodes that have the same two values one answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from mpxgat.compare.columns import Coded, Shown, coded, rarity
from mpxgat.compare.compared import Compared, check_form, equal_and_rare, raveled
from mpxgat.compare.declared import Comparison
from mpxgat.compare.similar import most_alike, nodes_of_values
from mpxgat.compare.words import gram_rows, one_spelling, without_accents, words_of
from mpxgat.graph import MultiplexGraph
from mpxgat.kernels import agreeing_words
from mpxgat.pairs import IntArray, PairGrid, PairList, Pairs, Values
from mpxgat.system import threads

FORM = "weighted"
EDIT, SORTED, WORDS, GRAMS = "edit similarity", "edit similarity in any order", "word similarity", "n-gram similarity"
INITIALS, LAST, EQUAL = "words or initials agree", "last word equal and rare", "equal and rare"
_COMPARED = 256  # characters: edit distance takes time in their square
_WIDER, _MOST_FOUND = 4, 40  # times as many texts are looked at as are proposed, up to so many
_MOST_WORDS = 16  # of a name


def prepare_text(comparison: Comparison, graph: MultiplexGraph, form: str | None) -> Compared:
    """There is one form."""
    check_form(comparison.column, form, (FORM,))
    column = coded(graph, comparison)
    return Texts(comparison.column, column.merged(one_spelling), Shown.of(column))


def prepare_name(comparison: Comparison, graph: MultiplexGraph, form: str | None) -> Compared:
    """There is one form."""
    check_form(comparison.column, form, (FORM,))
    column = coded(graph, comparison)
    return Names(comparison.column, column.merged(without_accents), Shown.of(column))


class Texts(Compared):
    """Texts by edit distance, words and n-grams."""

    whats: tuple[str, ...] = (EDIT, WORDS, GRAMS, EQUAL)
    rivals: tuple[str, ...] = (EDIT, GRAMS)
    most_threads = 1  # rapidfuzz has its own

    def __init__(self, label: str, column: Coded, shown: Shown):
        super().__init__(label, FORM, column.there)
        self._code, self._shown = column.code, shown
        words = [words_of(text) for text in column.values]
        self._texts = _cut(column.values)
        self._spaced = _cut([" ".join(of_text) for of_text in words])
        self._grams = gram_rows(words)
        self._rarity = rarity(column.code, len(column.values))

    def _numbers(self, pairs: Pairs) -> tuple[Values, ...]:
        values, back = _values_of(pairs, self._code)
        return tuple(number.ravel()[back] for number in self._of_values(values))

    def _of_values(self, values: Pairs) -> tuple[Values, ...]:
        """Of pairs of values in place of nodes."""
        return (
            _scored(Levenshtein.normalized_similarity, self._texts, values),
            _scored(fuzz.token_set_ratio, self._spaced, values) / 100,
            values.overlap(self._grams, self._grams),
            equal_and_rare(values, np.arange(len(self._rarity)), self._rarity),
        )

    def _proposals(self, ours: IntArray, theirs: IntArray, k: int) -> NDArray[np.int64]:
        left, our_value = np.unique(self._code[ours], return_inverse=True)
        right, their_value = np.unique(self._code[theirs], return_inverse=True)
        # Common n-grams may be passed over: more are found than wanted, and those most alike by all n-grams taken.
        found = max(k, min(_WIDER * k, _MOST_FOUND))
        key = np.unique(most_alike(self._grams[left], self._grams[right], found))
        row, col = key // len(right), key % len(right)
        similar = PairList(np.stack([left[row], right[col]], axis=1)).overlap(self._grams, self._grams)
        return nodes_of_values(row, col, similar, our_value, their_value, k)

    def _describe(self, first: int, second: int) -> str:
        sign = "=" if self._code[first] == self._code[second] else "~"
        return f"'{self._shown[first]}' {sign} '{self._shown[second]}'"


class Names(Texts):
    """Names of people: also by words in any order, by initials, and by the last word."""

    whats = (EDIT, SORTED, WORDS, GRAMS, INITIALS, LAST, EQUAL)

    def __init__(self, label: str, column: Coded, shown: Shown):
        super().__init__(label, column, shown)
        words = [_words_of_name(text) for text in column.values]
        self._sorted = _cut([" ".join(sorted(of_name)) for of_name in words])
        known: dict[str, int] = {}
        code = [known.setdefault(word, len(known)) for of_name in words for word in of_name]
        self._word = np.array(code, dtype=np.int64)
        self._start = np.concatenate([[0], np.cumsum([len(of_name) for of_name in words])]).astype(np.int64)
        self._initial = np.array([ord(word[0]) for word in known], dtype=np.int64)[self._word]
        self._single = np.array([len(word) == 1 for word in known], dtype=bool)[self._word]
        self._last = self._word[self._start[1:] - 1]
        self._last_rarity = rarity(np.append(self._last, -1)[column.code], len(known))

    def _of_values(self, values: Pairs) -> tuple[Values, ...]:
        edit, words, grams, equal = super()._of_values(values)
        first, second = raveled(values)
        agree = agreeing_words(first, second, self._start, self._word, self._initial, self._single)
        return (
            edit,
            _scored(Levenshtein.normalized_similarity, self._sorted, values),
            words,
            grams,
            agree.reshape(values.shape),
            equal_and_rare(values, self._last, self._last_rarity),
            equal,
        )


def _scored(scorer: Any, texts: NDArray[np.object_], values: Pairs) -> Values:
    """What a scorer of rapidfuzz gives for pairs of texts."""
    if isinstance(values, PairGrid):
        rows, cols = texts[values.first[:, 0]].tolist(), texts[values.second[0]].tolist()
        return np.asarray(process.cdist(rows, cols, scorer=scorer, workers=threads(), dtype=np.float64))
    one, other = texts[values.first].tolist(), texts[values.second].tolist()
    return np.asarray(process.cpdist(one, other, scorer=scorer, workers=threads(), dtype=np.float64))


def _words_of_name(text: str) -> list[str]:
    """An apostrophe separates nothing, O'Brien is one word."""
    return words_of(text.replace("'", "").replace("’", "") or text)[:_MOST_WORDS]


def _cut(texts: list[str]) -> NDArray[np.object_]:
    cut = np.empty(len(texts), dtype=object)
    cut[:] = [text[:_COMPARED] for text in texts]
    return cut


def _values_of(pairs: Pairs, code: NDArray[np.int64]) -> tuple[Pairs, NDArray[np.int64]]:
    """Pairs of values, each once, and where in these (raveled) the pairs of nodes find theirs."""
    first, second = code[pairs.first], code[pairs.second]
    if isinstance(pairs, PairGrid):
        rows, row = np.unique(first[:, 0], return_inverse=True)
        cols, col = np.unique(second[0], return_inverse=True)
        return PairGrid(rows, cols), row[:, None] * len(cols) + col
    width = int(code.max(initial=0)) + 1
    key, back = np.unique(np.minimum(first, second) * width + np.maximum(first, second), return_inverse=True)
    return PairList(np.stack([key // width, key % width], axis=1)), back
