"""Records: what a figure or a table is made of, and the files they are kept in."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence

Value = str | int | float | bool | None
Row = Mapping[str, Value]
Rows = Sequence[Row]
"""Plain rows with the same columns; what is not known or not finite is None."""


def json_file(rows: Rows) -> bytes:
    """A list of objects, one a line."""
    lines = ",\n".join(json.dumps(dict(row), allow_nan=False) for row in rows)
    return f"[\n{lines}\n]\n".encode()


def csv_file(rows: Rows) -> bytes:
    """A header and a line for each row, None as nothing; only the header's line end if there are no rows."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows([dict(row) for row in rows])
    return text.getvalue().encode(errors="backslashreplace")
