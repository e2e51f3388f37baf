"""What the pages of a Parquet column claim to unpack to: where they lie by the footer, how large by their own heads.

The footer says how large, too, but pages are unpacked by what their heads say. A few kilobytes can hold heads that
claim gigabytes each, so they are looked at before anything is unpacked.
"""

from __future__ import annotations

from dataclasses import dataclass

from mpxgat.io.thrift import FieldPath, read_numbers

# Where a head has what is asked for: numbers of the fields, from outside in.
_KIND, _UNPACKED, _PACKED = (1,), (2,), (3,)
_ENCODINGS = ((5, 2), (8, 4))  # in the two kinds of data pages
_DICTIONARY_PAGE = 2
_DICTIONARY_ENCODINGS = (2, 8)
_OF_HEAD = frozenset((_KIND, _UNPACKED, _PACKED, *_ENCODINGS))

# The footer: row groups (4), in each its columns (1), in each what is said of it (3), there these fields.
_GROUPS, _COLUMNS, _SAID = 4, 1, 3
_COMPRESSED, _DATA_PAGE, _DICTIONARY = 7, 9, 11
_OF_COLUMN = frozenset((_COMPRESSED, _DATA_PAGE, _DICTIONARY))
_COLUMN_DEPTH = 6
_TAIL = 8  # bytes: how long the footer is, and four letters
_MOST_FOOTER = 1 << 22  # bytes; read here in Python, which more of them would keep busy too long


@dataclass(frozen=True)
class Piece:
    """Where in the file one row group's part of a column lies."""

    start: int
    length: int


@dataclass(frozen=True)
class Claims:
    """Bytes that the pages of a column's piece unpack to, all of them and those of its dictionary."""

    unpacked: int
    dictionary: int


class Footer:
    """Where the pieces of columns lie, by a Parquet file's footer; ValueError if it does not say so.

    Arrow knows it too, but ends the whole process where a piece's statistics do not fit its schema.
    """

    def __init__(self, content: bytes):
        size = int.from_bytes(content[-_TAIL:-4], "little")
        if size > _MOST_FOOTER:
            raise ValueError(f"a footer of {size} bytes, expected at most {_MOST_FOOTER}")
        start = len(content) - _TAIL - size
        if start < 0:
            raise ValueError("the footer is longer than the file")
        self._numbers, _ = read_numbers(content, start, _is_of_column)

    def piece(self, group: int, column: int) -> Piece:
        """Of a column in a row group."""
        said = {field: self._numbers.get((_GROUPS, group, _COLUMNS, column, _SAID, field), 0) for field in _OF_COLUMN}
        starts = [start for start in (said[_DICTIONARY], said[_DATA_PAGE]) if start]
        if not starts:
            raise ValueError("a column without pages")
        return Piece(min(starts), said[_COMPRESSED])


def _is_of_column(path: FieldPath) -> bool:
    return len(path) == _COLUMN_DEPTH and path[::2] == (_GROUPS, _COLUMNS, _SAID) and path[-1] in _OF_COLUMN


def claims_of(content: bytes, piece: Piece) -> Claims:
    """What the pages of a piece claim; ValueError where there are no pages.

    Also for a dictionary that the first page of values does not use: nobody writes that, and it would go unseen.
    """
    place, end = piece.start, piece.start + piece.length
    if not 0 <= place <= end <= len(content):
        raise ValueError("a column lies outside of the file")
    total = dictionary = 0
    uses_dictionary: bool | None = None
    while place < end:
        head, place = read_numbers(content, place, _OF_HEAD.__contains__)
        packed, unpacked = head.get(_PACKED, -1), head.get(_UNPACKED, -1)
        if packed < 0 or unpacked < 0:
            raise ValueError("a page without its sizes")
        place += packed
        total += unpacked
        if head.get(_KIND) == _DICTIONARY_PAGE:
            dictionary += unpacked
        elif uses_dictionary is None:
            uses_dictionary = any(head.get(field) in _DICTIONARY_ENCODINGS for field in _ENCODINGS)
    if dictionary and uses_dictionary is False:
        raise ValueError("a dictionary that the first page does not use")
    return Claims(total, dictionary)
