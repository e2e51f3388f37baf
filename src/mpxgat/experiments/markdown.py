"""Tables in Markdown, and sections of a Markdown file that are made by a program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mpxgat.errors import InputError, printable, quoted
from mpxgat.io.files import write_files

BEGIN, END = "<!-- results {name}: begin -->", "<!-- results {name}: end -->"


def markdown_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, one line a row."""
    lines = [_line(header), _line(["---"] * len(header)), *(_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def write_section(path: Path, name: str, content: str) -> None:
    """Put ``content`` between the markers of section ``name`` in a Markdown file, in place of what is there."""
    before, after = find_section(path, name)
    write_files({path: f"{before}\n\n{content}\n{after}".encode()})


def find_section(path: Path, name: str) -> tuple[str, str]:
    """A file's text up to and with the marker at which a section begins, and from the one on at which it ends."""
    begin, end = BEGIN.format(name=name), END.format(name=name)
    try:
        text = path.read_bytes().decode("utf-8") if path.exists() else ""
    except OSError as problem:
        raise InputError(f"cannot read: {printable(problem.strerror)}", path) from None
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise InputError(f"byte 0x{problem.object[problem.start]:02x} is not UTF-8 text", path, line) from None
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise InputError(f"no lines {quoted(begin)} and {quoted(end)}, between which the table would go", path)
    return before + begin, end + after


def _line(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"
