"""Results as tables: DataFrames for those who work with pandas, short and escaped HTML for notebooks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyarrow as pa

from mpxgat.errors import MissingExtraError, printable

if TYPE_CHECKING:
    import pandas as pd

_SHOWN_ROWS = 10
_SHOWN_COLUMNS = 12
_SMALLEST_DECIMAL = 0.001


class Tabular(ABC):
    """Something that is a table: `to_table` is for pyarrow, the rest follows from it."""

    @abstractmethod
    def to_table(self) -> pa.Table:
        """As a table of pyarrow."""

    def to_pandas(self) -> pd.DataFrame:
        """As a DataFrame; MissingExtraError without pandas."""
        return frame_of(self.to_table())

    def _repr_html_(self) -> str:
        return html_of(self.to_table(), repr(self))


def frame_of(table: pa.Table) -> pd.DataFrame:
    """A table as a DataFrame; MissingExtraError without pandas."""
    require_pandas("a DataFrame")
    return table.to_pandas()


def require_pandas(purpose: str) -> None:
    """MissingExtraError unless pandas is installed."""
    if find_spec("pandas") is None:
        raise MissingExtraError("pandas", "pandas", purpose)


def html_of(table: pa.Table, head: str) -> str:
    """The first rows of a table below a line of text, for a notebook."""
    names = table.column_names[:_SHOWN_COLUMNS]
    rows = [[row[name] for name in names] for row in table.select(names).slice(0, _SHOWN_ROWS).to_pylist()]
    return html_table(head, names, rows, table.num_rows)


def html_table(head: str, names: Sequence[str], rows: Iterable[Sequence[object]], total: int) -> str:
    """Rows below a line of text; of ``total``, the number that there are, the last line says what is not shown."""
    shown = list(rows)
    cells = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown)
    more = f"<p>… {total - len(shown):,} more</p>" if total > len(shown) else ""
    columns = "".join(f"<th>{_text(name)}</th>" for name in names)
    return f"<p>{_text(head, 400)}</p><table><thead><tr>{columns}</tr></thead><tbody>{cells}</tbody></table>{more}"


def html_fields(head: str, fields: Mapping[str, object]) -> str:
    """Names and values below a line of text."""
    rows = "".join(f"<tr><th>{_text(name)}</th>{_cell(value)}</tr>" for name, value in fields.items())
    return f"<p>{_text(head, 400)}</p><table><tbody>{rows}</tbody></table>"


def shown(value: object) -> str:
    """A value in a short text: counts with separators, other numbers with three decimals, nothing as a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}" if value == 0 or abs(value) >= _SMALLEST_DECIMAL else f"{value:.1e}"
    return printable(value)


def _cell(value: object) -> str:
    return f"<td>{_text(shown(value))}</td>"


def _text(text: str, limit: int = 80) -> str:
    """Whatever stands in a network, it is text and never markup."""
    return escape(printable(text, limit))
