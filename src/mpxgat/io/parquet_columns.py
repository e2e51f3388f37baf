"""Columns of a Parquet file, read one by one, none before it is known what it unpacks to.

Parquet packs by encoding and by compression: some hundred bytes can say a billion times the same. So the heads of a
column's pages and the lengths of the texts in its dictionary are looked at first, and columns that together would
unpack to a hundred times the file and more are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from mpxgat.errors import InputError, printable, quoted
from mpxgat.io.limits import most_unpacked
from mpxgat.io.parquet_pages import Footer, claims_of

_LEAST_UNPACKED = 1 << 28
_FEW_BYTES, _MANY_BYTES = 1 << 20, 1 << 24
_LIKELY = 10  # times the file: what it may unpack to without raising suspicion
_ROW_BYTES = 16  # at least what a value takes as text: where it begins, and a few characters
# A small file needs no threads; ones just started when a short process ends can abort it.
_BYTES_WORTH_THREADS = 1 << 20


def most_parquet(packed: int) -> int:
    """Bytes that the columns of a Parquet file of so many bytes may unpack to."""
    return most_unpacked(packed, _LEAST_UNPACKED)


class ParquetColumns:
    """The columns in the bytes of a Parquet file; InputError names ``path`` and what is wrong with them."""

    def __init__(self, content: bytes, path: Path):
        self._content, self._path = content, path
        self._read: dict[str, pa.ChunkedArray] = {}
        self._unpacked = 0  # bytes of what was read
        with self._damage_named():
            self._source = self._open()
            self.schema: pa.Schema = self._source.schema_arrow
            self._names: list[str] = self.schema.names  # ValueError if they are not UTF-8
            metadata = self._source.metadata
            self._group_rows = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
            self._rows = sum(max(0, rows) for rows in self._group_rows)
            self._footer = Footer(content)
            self._places = _places(self._names, metadata.schema)

    @property
    def names(self) -> list[str]:
        """The columns' names; not checked to be different."""
        return list(self._names)

    def read(self, name: str) -> pa.ChunkedArray:
        """A column of plain values, its texts valid UTF-8."""
        if name in self._read:
            return self._read[name]
        with self._damage_named():
            for place in self._places[name]:
                self._check_leaf(place)
            column = self._column(self._source, name)
            column.validate(full=True)
            if len(column) != self._rows:
                raise ValueError(f"{len(column)} values in a table of {self._rows} rows")
            self._read[name] = column
            return column

    def _open(self, dictionary: list[str] | None = None) -> parquet.ParquetFile:
        source = pa.BufferReader(self._content)
        return parquet.ParquetFile(source, page_checksum_verification=True, read_dictionary=dictionary)

    def _column(self, source: parquet.ParquetFile, name: str) -> pa.ChunkedArray:
        return source.read(columns=[name], use_threads=len(self._content) > _BYTES_WORTH_THREADS).column(name)

    # ---- what it would unpack to -----------------------------------------------------------------------

    def _check_leaf(self, place: int) -> None:
        """Neither rows nor pages nor texts of a column claim too much."""
        leaf = self._source.metadata.schema.column(place)
        if leaf.max_repetition_level:  # lists; who asks for one gets no further than its type
            raise ValueError(f"lists in a column called like another one: {printable(leaf.path)}")
        claimed, texts = self._rows * _ROW_BYTES, 0
        for number, rows in enumerate(self._group_rows):
            claims = claims_of(self._content, self._footer.piece(number, place))
            claimed += claims.unpacked
            texts += claims.dictionary * rows  # if every row held all of the dictionary
        self._add(leaf.path, claimed)
        if leaf.physical_type == "BYTE_ARRAY":
            self._add(leaf.path, texts if texts <= _FEW_BYTES else self._text_bytes(leaf.path))

    def _text_bytes(self, name: str) -> int:
        """About what texts take that stand in a dictionary once and in the column many times."""
        source = self._open([name])
        total = 0
        for number in range(source.metadata.num_row_groups):
            rows = source.metadata.row_group(number).num_rows
            first = next(source.iter_batches(1, row_groups=[number], columns=[name], use_threads=False), None)
            total += rows * (0 if first is None else int(_lengths(first.column(name)).max(initial=0)))
        if total <= max(_MANY_BYTES, _LIKELY * len(self._content)):  # if every row held the longest text
            return total
        total = 0
        for chunk in self._column(source, name).chunks:
            lengths = _lengths(chunk)
            total += int(lengths @ np.bincount(chunk.indices.drop_null(), minlength=len(lengths)))
        return total

    def _add(self, name: str, unpacked: int) -> None:
        self._unpacked += unpacked
        most = most_parquet(len(self._content))
        if self._unpacked > most:
            raise InputError(
                f"with column {quoted(name)} this file of {len(self._content)} bytes unpacks to {self._unpacked}, "
                f"expected at most {most}; if that is meant, write it without compression and dictionary",
                self._path,
            )

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        try:
            yield
        except MemoryError:  # Arrow's is an ArrowException too
            raise
        except (pa.ArrowException, OSError, ValueError) as problem:
            reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise InputError(f"the Parquet file is damaged ({printable(reason, 200)})", self._path) from None


def _places(names: Sequence[str], schema: parquet.ParquetSchema) -> dict[str, list[int]]:
    """For each column the places in the schema that pyarrow reads for it: "a" stands for "a", "a.b", "a.b.c" too."""
    found: dict[str, list[int]] = {name: [] for name in names}
    for place in range(len(schema)):
        path = schema.column(place).path
        while path:
            if path in found:
                found[path].append(place)
            path = path.rpartition(".")[0]
    return found


def _lengths(column: pa.Array) -> NDArray[np.int64]:
    """Bytes of each text in the dictionary of a column; none if it has no dictionary."""
    if not pa.types.is_dictionary(column.type):
        return np.empty(0, dtype=np.int64)
    lengths = pc.binary_length(column.dictionary).to_numpy(zero_copy_only=False)
    return np.asarray(lengths, dtype=np.int64)
