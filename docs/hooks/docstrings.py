"""Griffe extension: our docstrings as Markdown.

They are written for a terminal: arguments stand in two columns, a name and what it means, and examples begin with
``>>>``. Markdown would run the first together and take the second for quotations; here they become lists and blocks.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

# A name (or several: "intra, inter"), at least two blanks, then its meaning. A sentence never has two blanks.
_ROW = re.compile(r"^(?P<name>[\w*…][\w*…, ]*?) {2,}(?P<meaning>\S.*)$")


class Docstrings(griffe.Extension):
    """Rewrites every docstring when its object has been read."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called by Griffe for every module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Two columns become a list, examples a block of Python."""
    lines = text.splitlines()
    out: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        if line.startswith(">>>"):
            stop = _end(lines, position)
            out += ["", "```pycon", *lines[position:stop], "```", ""]
            position = stop
        elif match := _ROW.match(line):
            stop = position + 1
            while stop < len(lines) and lines[stop].startswith("  "):
                stop += 1
            meaning = " ".join([match["meaning"], *(more.strip() for more in lines[position + 1 : stop])])
            if out and out[-1] and not out[-1].startswith("- "):
                out.append("")
            out.append(f"- `{match['name']}`: {meaning}")
            position = stop
        else:
            out.append(line)
            position += 1
    return "\n".join(out)


def _end(lines: list[str], start: int) -> int:
    """Where an example ends: at the first empty line, or with the text."""
    return next((number for number in range(start, len(lines)) if not lines[number].strip()), len(lines))
