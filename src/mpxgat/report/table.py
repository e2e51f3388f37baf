"""A table: records shown as they are."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from mpxgat.report.records import Rows, Value

_SHOWN_CHARACTERS = 600
_LONG = 60  # characters of a text that should have room


@dataclass(frozen=True)
class Table:
    """Records under a caption; the columns of the records, in their order, are those of the table.

    name        of its files: lower-case letters, digits and hyphens
    """

    name: str
    caption: str
    rows: Rows

    def html(self) -> str:
        """The table, every text escaped; a region that can be moved by keyboard, as it may be wider than a phone."""
        columns = list(self.rows[0]) if self.rows else []
        numeric = {name for name in columns if all(_is_number(row[name]) for row in self.rows)}
        kinds = {name: "number" if name in numeric else _kind([row[name] for row in self.rows]) for name in columns}
        head = "".join(_cell("th", name, kinds[name]) for name in columns)
        body = "\n".join(
            f"<tr>{''.join(_cell('td', row[name], kinds[name]) for name in columns)}</tr>" for row in self.rows
        )
        label = escape(self.caption, quote=True)
        return (
            f'<div class="table" role="region" tabindex="0" aria-label="{label}">\n<table>\n'
            f"<caption>{escape(self.caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table>\n</div>"
        )


def _kind(values: list[Value]) -> str:
    return "long" if any(len(_text(value)) > _LONG for value in values) else "short"


def _cell(element: str, value: Value, kind: str) -> str:
    scope = ' scope="col"' if element == "th" else ""
    # Set apart, so that an id written from right to left does not turn its neighbours around.
    text = f"<bdi>{escape(_text(value))}</bdi>"
    shown = f"<div>{text}</div>" if kind == "long" else text
    return f'<{element}{scope} class="{kind}">{shown}</{element}>'


def _text(value: Value) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
    return value if len(value) <= _SHOWN_CHARACTERS else f"{value[:_SHOWN_CHARACTERS]}…"


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
