"""DataFrames in and out: of pandas, or of anything else that speaks Arrow (polars, tables of pyarrow).

A multiplex is two of them, with the columns of `mpxgat.io.tables`. Errors name the column and the row, of a DataFrame
of pandas as it is found again: ``edges.iloc[3]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.build import RowError
from mpxgat.errors import InputError, listed, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.columns import first_repeated, parse_numbers
from mpxgat.io.link_files import anchors_in, pairs_in
from mpxgat.io.registry import say_apart_left_out
from mpxgat.io.tables import edges_of, graph_from_tables, nodes_of
from mpxgat.tabular import frame_of, require_pandas

if TYPE_CHECKING:
    import pandas as pd

_WEIGHT = "weight"
_NODES = "nodes"


def from_pandas(edges: Any, nodes: Any = None, *, weight: str = "weight", directed: bool = False) -> MultiplexGraph:
    """A multiplex from a DataFrame of edges and, if need be, one of nodes. Problems are InputErrors that name the
    column and the row.

    edges       columns source, target, and either layer or source_layer and target_layer; perhaps weight, and directed
                (true for a link that goes from source to target only)
    nodes       columns id, layer; perhaps unit; h:NAME and v:NAME are features, all others attributes. All ends of
                edges must be in it. Without it nodes are the ends of edges
    weight      the column that holds the weights, if it is called otherwise: "confidence"
    directed    without a column that tells, links go from source to target

    Links between layers are the rows that join two layers; with a column ``unit``, nodes that share one are linked,
    too. If there are neither, nodes that share an id are linked. Of parallel links the largest weight stays. Ids may
    be numbers; they become text.
    """
    table = Frame.of(edges, "edges")
    if weight != _WEIGHT:
        table = table.renamed(weight, _WEIGHT)
    return graph_from_tables(table, None if nodes is None else Frame.of(nodes, _NODES), directed=directed)


def to_pandas(graph: MultiplexGraph) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The edges and the nodes, as `from_pandas` takes them: ``from_pandas(*to_pandas(graph))`` is the same network."""
    require_pandas("a DataFrame")
    say_apart_left_out(graph)
    return frame_of(edges_of(graph)), frame_of(nodes_of(graph, Path(_NODES)))


def is_frame(thing: object) -> bool:
    """Whether it is a DataFrame, or something else that speaks Arrow."""
    return _is_of_pandas(thing) or hasattr(thing, "__arrow_c_stream__")


def pairs_in_frame(pairs: Any, graph: MultiplexGraph) -> NDArray[np.int64]:
    """(k, 2) positions of pairs in a DataFrame: columns source, source_layer, target, target_layer, or two columns
    called by layers. InputError names the row of a node that is not in the graph.
    """
    table = Frame.of(pairs, "pairs")
    return pairs_in(table, graph) if "source" in table.names else anchors_in(table, graph)


@dataclass(frozen=True, eq=False)
class Frame:
    """A DataFrame as `mpxgat.io.tables.Table`; a column is converted, and its type checked, when it is asked for."""

    what: str
    columns: dict[str, Any]
    of_pandas: bool

    @classmethod
    def of(cls, frame: Any, what: str) -> Frame:
        """InputError if it is no DataFrame, or two columns have one name."""
        if not is_frame(frame):
            raise InputError(f"{what}: a {type(frame).__name__}, expected a DataFrame")
        of_pandas = _is_of_pandas(frame)
        table = frame if of_pandas else pa.table(frame)
        names = [str(name) for name in (table.columns if of_pandas else table.column_names)]
        if (twice := first_repeated(names)) is not None:
            raise InputError(f"{what}: two columns are called {quoted(twice)}, expected different names")
        columns = [table.iloc[:, place] if of_pandas else table.column(place) for place in range(len(names))]
        return cls(what, dict(zip(names, columns, strict=True)), of_pandas)

    def renamed(self, name: str, to: str) -> Frame:
        """A column under another name, in place of the one that has it; InputError if it is not there."""
        if name not in self.columns:
            raise self.header_error(f"no column {quoted(name)}; the columns are {listed(self.columns, 10)}")
        return Frame(self.what, {**self.columns, to: self.columns[name]}, self.of_pandas).without(name)

    def without(self, name: str) -> Frame:
        """The other columns."""
        return Frame(self.what, {key: column for key, column in self.columns.items() if key != name}, self.of_pandas)

    @property
    def path(self) -> Path:
        return Path(self.what)

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def text(self, name: str) -> pa.ChunkedArray:
        """Texts and whole numbers."""
        column = self._complete(name)
        if not (_is_text(column.type) or pa.types.is_integer(column.type) or not len(column)):
            raise self.header_error(f"column {quoted(name)} has the type {column.type}, expected text or whole numbers")
        texts = column.cast(pa.large_string())
        empty = np.flatnonzero(pc.equal(texts, "").to_numpy())
        if len(empty):
            raise self.error(f"{quoted(name)} is empty, expected at least one character", int(empty[0]))
        return texts

    def optional_text(self, name: str) -> pa.ChunkedArray:
        """Texts, numbers, truths and dates."""
        column = self._plain(name)
        if pa.types.is_timestamp(column.type):
            column = _dates(column)
        try:
            return column.cast(pa.large_string()).fill_null("")
        except pa.ArrowException:
            found = printable(column.type)
            raise self.header_error(f"column {quoted(name)} has the type {found}, expected text or numbers") from None

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Finite numbers, also those written as text."""
        column = self._complete(name)
        if _is_text(column.type):
            try:
                return parse_numbers(column, quoted(name), self.what)
            except RowError as problem:
                raise self.error(problem.message, problem.row) from None
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or not len(column)):
            raise self.header_error(f"column {quoted(name)} has the type {column.type}, expected numbers")
        numbers: NDArray[np.float64] = column.to_numpy().astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if len(wrong):
            row = int(wrong[0])
            raise self.error(f"{quoted(name)} is {numbers[row]}, expected a finite number", row)
        return numbers

    def error(self, message: str, row: int) -> InputError:
        place = f"{self.what}.iloc[{row}]" if self.of_pandas else f"{self.what}, row {row + 1}"
        return InputError(f"{place}: {message}")

    def header_error(self, message: str) -> InputError:
        return InputError(f"{self.what}: {message}")

    def _plain(self, name: str) -> pa.ChunkedArray:
        """A column as Arrow has it, categories as their texts; what pandas has for nothing is null."""
        column = self.columns[name]
        if self.of_pandas:
            try:
                column = pa.chunked_array([pa.array(column, from_pandas=True)])
            except (pa.ArrowException, UnicodeEncodeError) as problem:
                raise self._mixed(name) or self.header_error(f"column {quoted(name)}: {printable(problem)}") from None
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return column

    def _mixed(self, name: str) -> InputError | None:
        """The error for a column of values of several types; None if that is not what is wrong."""
        first: object = None
        for row, value in enumerate(self.columns[name]):
            if _is_missing(value):
                continue
            first = value if first is None else first
            if type(value) is not type(first):
                found = f"{quoted(value)} ({type(value).__name__})"
                return self.error(f"{quoted(name)} is {found}, expected {type(first).__name__} as above it", row)
        return None

    def _complete(self, name: str) -> pa.ChunkedArray:
        column = self._plain(name)
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy())[0])
            raise self.error(f"{quoted(name)} is missing, expected a value", row)
        return column


def _is_missing(value: object) -> bool:
    """Whether a value of a column is none; pandas has several for that, of which some cannot be compared."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _is_of_pandas(thing: object) -> bool:
    return type(thing).__module__.partition(".")[0] == "pandas" and hasattr(thing, "iloc") and hasattr(thing, "columns")


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _dates(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Points in time as days, if all of them are midnights; else in seconds."""
    days = column.cast(pa.date32(), safe=False)
    whole = pc.all(pc.equal(days.cast(column.type), column)).as_py()
    return days if whole is not False else column.cast(pa.timestamp("s"), safe=False)
