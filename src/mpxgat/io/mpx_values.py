"""Rows of an ``.mpx`` file placed in their layers, and the values that follow in them as declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.builder import RowError
from mpxgat.errors import InputError, printable, quoted
from mpxgat.io.layer_names import number_layers
from mpxgat.io.mpx_schema import Columns, layer_name_problem
from mpxgat.io.mpx_sections import Rows
from mpxgat.io.text_numbers import parse_numbers


@dataclass(frozen=True)
class Places:
    """Rows of a section whose fields ``layer_fields`` name layers; the first fields are called ``named``."""

    rows: Rows
    named: tuple[str, ...]
    layer_fields: tuple[int, ...]


# ---- layers --------------------------------------------------------------------------------------------


def check_width(place: Places, path: Path) -> None:
    """Every row has at least the fields that say what it is about."""
    row = first_true(place.rows.count < len(place.named))
    if row is not None:
        raise InputError(_wrong_width(place.rows, row, place.named), path, int(place.rows.line[row]))


def _wrong_width(rows: Rows, row: int, expected: Sequence[str]) -> str:
    found = quoted(",".join(rows.row(row)))
    return f"{found} has {rows.count[row]} values, expected {len(expected)}: {printable(','.join(expected), 200)}"


def layers_in_order(places: Sequence[Places], path: Path) -> list[str]:
    """Layers as the rows name them, each when first seen."""
    names: dict[str, None] = {}
    for place in places:
        # Field by field within a row: two columns side by side, read along the rows.
        columns = [place.rows.column(field) for field in dict.fromkeys(place.layer_fields)]
        along = np.arange(len(place.rows) * len(columns)).reshape(len(columns), -1).T.ravel()
        found = pc.unique(pa.chunked_array(columns, pa.large_string()).take(pa.array(along))).to_pylist()
        for name in found:
            problem = layer_name_problem(name)
            if problem:
                hits = [pc.index(column, name).as_py() for column in columns]
                row = min(hit for hit in hits if hit >= 0)
                raise InputError(problem, path, int(place.rows.line[row]))
        names.update(dict.fromkeys(found))
    return list(names)


def layer_numbers(place: Places, layers: list[str], path: Path) -> list[NDArray[np.int64]]:
    """For every layer field its layers' numbers, one for each row."""

    def error(message: str, row: int) -> InputError:
        return InputError(message, path, int(place.rows.line[row]))

    return [number_layers(pa.chunked_array([place.rows.column(f)]), layers, error) for f in place.layer_fields]


# ---- values --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Values:
    """The declared values behind the key fields of rows: row r has the columns ``columns[kind[r]]``."""

    rows: Rows
    kind: NDArray[np.int64]
    columns: list[Columns]
    first: int

    def wanted(self, name: str, *, numbers: bool) -> NDArray[np.int64]:
        """(rows,) the field that holds attribute ``name``, or -1; ``numbers``: only if it is declared numeric."""
        position = np.full(max(len(self.columns), 1), -1, dtype=np.int64)
        for kind, place in self._places[numbers].get(name, ()):
            position[kind] = self.first + place
        return position[self.kind]

    @cached_property
    def _places(self) -> dict[bool, dict[str, list[tuple[int, int]]]]:
        """Of numeric attributes, and of all: by name the kinds that have it, each with its place (the last wins)."""
        places: dict[bool, dict[str, list[tuple[int, int]]]] = {True: {}, False: {}}
        for kind, columns in enumerate(self.columns):
            for place, attribute in enumerate(columns):
                for found in (places[False], *([places[True]] if attribute.is_number else [])):
                    found.setdefault(attribute.name, []).append((kind, place))
        return places

    def numbers(self, name: str, default: float, path: Path) -> NDArray[np.float64] | None:
        """(rows,) values of a numeric attribute; None where no row has it."""
        field = self.wanted(name, numbers=True)
        if (field < 0).all():
            return None
        having = np.flatnonzero(field >= 0)
        texts = self.rows.fields.take(pa.array(self.rows.start[having] + field[having]))
        values = np.full(len(field), default)
        try:
            values[having] = parse_numbers(pa.chunked_array([texts]), printable(name), "values")
        except RowError as problem:
            raise InputError(problem.message, path, int(self.rows.line[having[problem.row]])) from None
        return values


def values_of(place: Places, kind: NDArray[np.int64], columns_of: Callable[[int], Columns], path: Path) -> Values:
    """Rows with their columns, told by ``kind`` (a number); every row must have exactly the declared values."""
    kinds, kind_of_row = np.unique(kind, return_inverse=True)
    columns = [columns_of(number) for number in kinds.tolist()]
    width = np.array([len(place.named) + len(declared) for declared in columns] or [0])
    row = first_true(place.rows.count != width[kind_of_row])
    if row is not None:
        expected = [*place.named, *(attribute.name for attribute in columns[kind_of_row[row]])]
        raise InputError(_wrong_width(place.rows, row, expected), path, int(place.rows.line[row]))
    return Values(place.rows, kind_of_row, columns, len(place.named))


def first_true(mask: NDArray[np.bool_]) -> int | None:
    return int(mask.argmax()) if mask.any() else None
