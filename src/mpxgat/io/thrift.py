"""Whole numbers out of structs in Thrift's compact protocol, in which Parquet files describe themselves.

Nothing but numbers is kept, and only those asked for: what a stranger's file claims costs no memory here.
"""

from __future__ import annotations

from collections.abc import Callable

FieldPath = tuple[int, ...]
"""Where a number stands: numbers of the fields from outside in, and behind a list's field the place in the list."""
Numbers = dict[FieldPath, int]

_BOOLEANS, _BYTE, _WHOLES, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, (9, 10), 12
_MOST_DEPTH = 16
_LAST_FIELD = 2**15 - 1


def read_numbers(content: bytes, place: int, wanted: Callable[[FieldPath], bool]) -> tuple[Numbers, int]:
    """The ``wanted`` numbers of the struct that begins at a place, and the place behind it; ValueError if none does."""
    reader = _Reader(content, wanted)
    try:
        place = reader.struct(place, ())
    except IndexError:
        raise ValueError("a struct is cut off") from None
    return reader.numbers, place


class _Reader:
    def __init__(self, content: bytes, wanted: Callable[[FieldPath], bool]):
        self._content, self._wanted = content, wanted
        self.numbers: Numbers = {}

    def struct(self, place: int, path: FieldPath) -> int:
        """The place behind the struct at ``place``."""
        field, seen = 0, set[int]()
        while kind := self._content[place] & 15:
            step = self._content[place] >> 4
            place += 1
            if step:
                field += step
            else:
                field, place = self._whole(place)
            if field in seen:  # readers do not agree on which of the two counts
                raise ValueError("a struct says something twice")
            if not 0 < field <= _LAST_FIELD:
                raise ValueError(f"a struct has a field {field}")
            seen.add(field)
            # A field's kind says itself what a boolean is; in a list it takes a byte.
            place = place if kind in _BOOLEANS else self._value(place, kind, (*path, field))
        return place + 1

    def _value(self, place: int, kind: int, path: FieldPath) -> int:
        """The place behind a value."""
        if len(path) > _MOST_DEPTH:
            raise ValueError("a struct is nested too deeply")
        if kind in _WHOLES:
            number, place = self._whole(place)
            if self._wanted(path):
                self.numbers[path] = number
            return place
        if kind == _BYTE or kind in _BOOLEANS:
            return place + 1
        if kind == _DOUBLE:
            return place + 8
        if kind == _BINARY:
            size, place = self._varint(place)
            return place + size
        if kind in _LISTS:
            return self._list(place, path)
        if kind == _STRUCT:
            return self.struct(place, path)
        raise ValueError(f"a struct has a value of kind {kind}")

    def _list(self, place: int, path: FieldPath) -> int:
        head, place = self._content[place], place + 1
        size, kind = head >> 4, head & 15
        if size == 15:
            size, place = self._varint(place)
        if size > len(self._content):
            raise ValueError("a struct has a list without end")
        for number in range(size):
            place = self._value(place, kind, (*path, number))
            _ = self._content[place - 1]  # behind the end of the file there is nothing to skip
        return place

    def _whole(self, place: int) -> tuple[int, int]:
        """A whole number in zigzag form, and the place behind it."""
        number, place = self._varint(place)
        return (number >> 1) ^ -(number & 1), place

    def _varint(self, place: int) -> tuple[int, int]:
        number = shift = 0
        while True:
            octet = self._content[place]
            place += 1
            number |= (octet & 127) << shift
            shift += 7
            if octet < 128:
                return number, place
            if shift > 63:
                raise ValueError("a struct has a number without end")
