"""What is made sure of XML from strangers before any library reads it: no entities, no depth without end.

Entities let a file of a hundred bytes grow to gigabytes, or name other files. No format that we read needs them, so a
file that declares a document type, where entities would stand, is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from xml.parsers import expat

from mpxgat.errors import InputError, printable

_DEEPEST = 200

Element = Callable[[str, Mapping[str, str], int], None]
"""Called with an element's name (without namespace), its attributes and its line."""


def check_xml(content: bytes, path: Path, element: Element | None = None, part: str = "") -> None:
    """InputError, with the line, unless this is well-formed XML without document type, nested to a bounded depth.

    ``element`` is called at the beginning of each element. ``part`` is said of a file within the file.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = 0

    def error(message: str, line: int) -> InputError:
        return InputError(f"{part}, line {line}: {message}", path) if part else InputError(message, path, line)

    def refuse(*_: object) -> None:
        raise error(
            "a document type (<!DOCTYPE …>), which may declare entities; expected XML without one, remove it",
            parser.CurrentLineNumber,
        )

    def begin(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise error(f"elements nested more than {_DEEPEST} deep", parser.CurrentLineNumber)
        if element is not None:
            element(name.rpartition(" ")[2], attributes, parser.CurrentLineNumber)

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    try:
        parser.Parse(content, True)
    except expat.ExpatError as problem:
        raise error(f"not well-formed XML ({printable(expat.ErrorString(problem.code))})", problem.lineno) from None
    except (LookupError, ValueError) as problem:  # of an encoding that is none
        raise error(f"not readable XML ({printable(problem)})", 1) from None
