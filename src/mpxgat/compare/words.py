"""Texts made comparable: one spelling, words, and short sequences of characters (n-grams) as sparse rows."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.compare.similar import scaled_rows

LOOKED_AT = 1 << 12  # characters of a value: of a longer one its first
_CHARACTERS_AT_ONCE = 1 << 22
_SPACE = 0x20
_BITS = 21  # of a character
_NO_THIRD = (1 << _BITS) - 1  # in place of the third character of two: it is none


class _Separators(dict[int, int]):
    """For `str.translate`: punctuation and spaces become spaces, everything else stays."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        separates = character.isspace() or unicodedata.category(character).startswith("P")
        self[code] = _SPACE if separates else code
        return self[code]


_SEPARATORS = _Separators()


def one_spelling(value: str) -> tuple[str, str]:
    """A text in lower case, its characters in one form (NFKC), single spaces; and what tells it from others.

    That is a checksum where only the beginning of a value is looked at, else empty.
    """
    text = unicodedata.normalize("NFKC", value[:LOOKED_AT]).casefold()
    rest = hashlib.sha256(value.encode()).hexdigest() if len(value) > LOOKED_AT else ""
    return " ".join(text[:LOOKED_AT].split()), rest


def without_accents(value: str) -> tuple[str, str]:
    """As `one_spelling`, without accents, and with what stands before a single comma behind it: Smith, John."""
    text, rest = one_spelling(value)
    apart = unicodedata.normalize("NFKD", text)
    plain = "".join(character for character in apart if not unicodedata.combining(character))
    last, comma, first = plain.partition(",")
    if comma and "," not in first and first.strip():
        plain = f"{first} {last}"
    return " ".join(plain[:LOOKED_AT].split()) or text, rest


def words_of(text: str) -> list[str]:
    """What stands between punctuation and spaces; a text of punctuation alone is one word."""
    return text.translate(_SEPARATORS).split() or text.split()


def gram_rows(texts: Sequence[list[str]]) -> sparse.csr_array:
    """(t, g) a row of length 1 for each text's words: sequences of two and three characters of a word and its borders.

    Rare ones weigh more: by the logarithm of the number of texts over the number of those that have it. One that stands
    often in a text counts by the logarithm of how often.
    """
    text, gram, often = (np.concatenate(each) for each in zip(_NOTHING, *_counted(texts), strict=True))
    _, column, spread = np.unique(gram, return_inverse=True, return_counts=True)
    weight = np.log1p(len(texts) / np.maximum(spread, 1))
    starts = np.concatenate([[0], np.cumsum(np.bincount(text, minlength=len(texts)))])
    rows = sparse.csr_array((often, column.astype(np.int32), starts), shape=(len(texts), len(spread)))
    return scaled_rows(rows, (1 + np.log(often)) * weight[column])


_NOTHING = tuple(np.empty(0, dtype=np.int64) for _ in range(3))


def _counted(texts: Sequence[list[str]]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """By parts of the texts, in their order: text, n-gram, and how often it stands there."""
    padded = [f" {' '.join(words)} " for words in texts]
    lengths = np.array([len(text) for text in padded], dtype=np.int64)
    part = np.cumsum(lengths) // _CHARACTERS_AT_ONCE
    for number in np.unique(part):
        places = np.flatnonzero(part == number)
        joined = "".join(padded[place] for place in places)
        character = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32).astype(np.int64)
        yield _grams(character, np.repeat(places, lengths[places]))


def _grams(
    character: NDArray[np.int64], text: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Of characters and the text that each stands in, which begins and ends with a space and has no two in a row."""
    twos = np.flatnonzero(text[:-1] == text[1:])
    threes = np.flatnonzero((text[:-2] == text[2:]) & (character[1:-1] != _SPACE))
    first, second = character[twos] << 2 * _BITS, character[twos + 1] << _BITS
    third = character[threes] << 2 * _BITS | character[threes + 1] << _BITS | character[threes + 2]
    gram = np.concatenate([first | second | _NO_THIRD, third])
    owner = np.concatenate([text[twos], text[threes]])
    order = np.lexsort((gram, owner))
    gram, owner = gram[order], owner[order]
    new = np.ones(len(gram), dtype=bool)
    new[1:] = (gram[1:] != gram[:-1]) | (owner[1:] != owner[:-1])
    begin = np.flatnonzero(new)
    return owner[begin], gram[begin], np.diff(np.append(begin, len(gram)))
