"""What the pages of a Parquet column claim to unpack to, read from the pages' own heads.

The footer says it too, but pages are unpacked by what their heads say. A few kilobytes can hold heads that claim
gigabytes each, so they are looked at before anything is unpacked. Heads are structs in Thrift's compact protocol.
"""

from __future__ import annotations

from dataclasses import dataclass

_BOOLEANS, _BYTE, _WHOLES, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
# Where a head has what is asked for: numbers of the fields, from outside in.
_KIND, _UNPACKED, _PACKED = (1,), (2,), (3,)
_ENCODINGS = ((5, 2), (8, 4))  # in the two kinds of data pages
_DICTIONARY_PAGE = 2
_DICTIONARY_ENCODINGS = (2, 8)
_MOST_DEPTH = 8

_Numbers = dict[tuple[int, ...], int]


@dataclass(frozen=True)
class Claims:
    """Bytes that the pages of a column's piece unpack to, all of them and those of its dictionary."""

    unpacked: int
    dictionary: int


def claims_of(content: bytes, start: int, length: int) -> Claims:
    """What the pages in ``content[start : start + length]`` claim; ValueError where there are no pages.

    Also for a dictionary that the first page of values does not use: nobody writes that, and it would go unseen.
    """
    place, end = start, start + length
    if not 0 <= place <= end <= len(content):
        raise ValueError("a column lies outside of the file")
    total = dictionary = 0
    uses_dictionary: bool | None = None
    while place < end:
        head: _Numbers = {}
        try:
            place = _read_struct(content, place, (), head)
        except IndexError:
            raise ValueError("the head of a page is cut off") from None
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


def _read_struct(content: bytes, place: int, path: tuple[int, ...], numbers: _Numbers) -> int:
    """The place behind a struct; whole numbers in it are put in ``numbers`` by their path of fields."""
    if len(path) > _MOST_DEPTH:
        raise ValueError("the head of a page is nested too deeply")
    field = 0
    while kind := content[place] & 15:
        step = content[place] >> 4
        place += 1
        if step:
            field += step
        else:
            field, place = _whole(content, place)
        if kind in _WHOLES:
            numbers[(*path, field)], place = _whole(content, place)
        elif kind == _STRUCT:
            place = _read_struct(content, place, (*path, field), numbers)
        else:
            place = _skip(content, place, kind, len(path))
    return place + 1


def _skip(content: bytes, place: int, kind: int, depth: int) -> int:
    """The place behind a value that is no whole number; ``depth`` counts the structs and lists around it."""
    if depth > _MOST_DEPTH:
        raise ValueError("the head of a page is nested too deeply")
    if kind in _BOOLEANS:  # said by the kind itself
        return place
    if kind == _BYTE:
        return place + 1
    if kind == _DOUBLE:
        return place + 8
    if kind == _BINARY:
        size, place = _varint(content, place)
        return place + size
    if kind in _LISTS:
        head, place = content[place], place + 1
        size, inner = head >> 4, head & 15
        if size == 15:
            size, place = _varint(content, place)
        if size > len(content):
            raise ValueError("the head of a page has a list without end")
        for _ in range(size):
            place = _whole(content, place)[1] if inner in _WHOLES else _skip(content, place, inner, depth + 1)
            _ = content[place - 1]  # behind the end of the file there is nothing to skip
        return place
    if kind == _STRUCT:
        return _read_struct(content, place, (0,) * (depth + 1), {})
    raise ValueError(f"the head of a page has a value of kind {kind}")


def _whole(content: bytes, place: int) -> tuple[int, int]:
    """A whole number in zigzag form, and the place behind it."""
    number, place = _varint(content, place)
    return (number >> 1) ^ -(number & 1), place


def _varint(content: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        octet = content[place]
        place += 1
        number |= (octet & 127) << shift
        shift += 7
        if octet < 128:
            return number, place
        if shift > 63:
            raise ValueError("the head of a page has a number without end")
