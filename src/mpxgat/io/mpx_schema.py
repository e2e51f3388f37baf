"""What the head of an ``.mpx`` file declares: its type, its layers and the attributes of their rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from mpxgat.builder import MAX_ID_BYTES
from mpxgat.errors import InputError, quoted
from mpxgat.io.mpx_sections import Rows, Sections

_NUMBER_TYPES = frozenset({"NUMERIC", "DOUBLE", "INTEGER", "INT"})
_TEXT_TYPES = frozenset({"STRING", "TEXT", "TIME", "STRINGSET", "TIMESET", "INTEGERSET", "DOUBLESET"})
_VERSIONS = frozenset({"1", "1.0", "2", "2.0", "3", "3.0"})
_DIRECTIONS = frozenset({"DIRECTED", "UNDIRECTED"})


class Attribute(NamedTuple):
    """A declared column of values."""

    name: str
    is_number: bool


Columns = list[Attribute]


@dataclass
class Schema:
    """Declarations of a file. ``layers`` is None where the file does not declare its layers.

    Values of an edge follow in the order: those of its layer (or pair of layers), then those of all edges.
    """

    is_multiplex: bool
    layers: list[str] | None
    declares_pairs: bool
    actor: Columns = field(default_factory=list)
    vertex: dict[str, Columns] = field(default_factory=dict)
    edge: dict[tuple[str, str], Columns] = field(default_factory=dict)
    every_intra_edge: Columns = field(default_factory=list)
    every_inter_edge: Columns = field(default_factory=list)

    def edge_columns(self, one: str, other: str) -> Columns:
        """Columns of the values of an edge between two layers, or within one."""
        general = self.every_intra_edge if one == other else self.every_inter_edge
        return [*self.edge.get(_pair(one, other), []), *general]


def read_schema(sections: Sections, path: Path) -> Schema:
    """The declarations of a file; the first wrong line is an InputError."""
    is_multiplex = _is_multiplex(sections, path)
    layers, declares_pairs = _layers(sections.get("LAYERS"), is_multiplex, path)
    schema = Schema(is_multiplex, layers, declares_pairs)
    known = None if layers is None else set(layers)
    seen: set[tuple[int, str]] = set()
    for _, attribute, line in _declarations(sections, "ACTOR ATTRIBUTES", (0,), path):
        _add(schema.actor, attribute, seen, path, line)
    for keys, attribute, line in _declarations(sections, "VERTEX ATTRIBUTES", (1,), path):
        _check_known(keys, known, path, line)
        _add(schema.vertex.setdefault(keys[0], []), attribute, seen, path, line)
    for section, allowed, general in (
        ("EDGE ATTRIBUTES", (0, 1, 2), (schema.every_intra_edge, schema.every_inter_edge)),
        ("INTRALAYER EDGE ATTRIBUTES", (0, 1), (schema.every_intra_edge,)),
        ("INTERLAYER EDGE ATTRIBUTES", (0, 2), (schema.every_inter_edge,)),
    ):
        for keys, attribute, line in _declarations(sections, section, allowed, path):
            _check_known(keys, known, path, line)
            columns = (schema.edge.setdefault(_pair(keys[0], keys[-1]), []),) if keys else general
            for column in columns:
                _add(column, attribute, seen, path, line)
    return schema


def layer_name_problem(name: str) -> str | None:
    """What is wrong with a layer's name, or None."""
    if not name:
        return "an empty layer name, expected at least one character"
    if len(name.encode()) > MAX_ID_BYTES:
        return f"layer {quoted(name)} has a name of more than {MAX_ID_BYTES} bytes"
    return None


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


def _is_multiplex(sections: Sections, path: Path) -> bool:
    version, kind = sections.value("VERSION"), sections.value("TYPE")
    if version and version[0] not in _VERSIONS:
        raise InputError(f"version {quoted(version[0])}, expected 3.0", path, version[1])
    if kind and kind[0].lower() not in ("multiplex", "multilayer"):
        raise InputError(f"type {quoted(kind[0])}, expected multiplex or multilayer", path, kind[1])
    is_multiplex = kind is None or kind[0].lower() == "multiplex"
    for name in ("INTERLAYER EDGES", "INTERLAYER EDGE ATTRIBUTES"):
        if is_multiplex and len(sections.get(name)):
            line = int(sections.get(name).line[0])
            raise InputError(f"#{name} in a file of type multiplex, expected #TYPE multilayer", path, line)
    return is_multiplex


def _layers(rows: Rows, is_multiplex: bool, path: Path) -> tuple[list[str] | None, bool]:
    """Declared layers in order, or None, and whether a pair of different layers is among the declarations."""
    names: dict[str, bool] = {}  # is the layer itself declared, or only a pair with it?
    pairs = False
    width = 1 if is_multiplex else 2
    expected = "layer," * width + "DIRECTED or " + "layer," * width + "UNDIRECTED"
    for number in range(len(rows)):
        fields, line = rows.row(number), int(rows.line[number])
        keys, flags = fields[:width], fields[width:]
        if not _DIRECTIONS & {flag.upper() for flag in flags}:
            raise InputError(f"{quoted(','.join(fields))}, expected {expected}", path, line)
        for name in keys:
            problem = layer_name_problem(name)
            if problem:
                raise InputError(problem, path, line)
        if keys[0] != keys[-1]:
            pairs = True
            for name in keys:
                names.setdefault(name, False)
        elif names.get(keys[0]):
            raise InputError(f"layer {quoted(keys[0])} is declared twice, expected once", path, line)
        else:
            names[keys[0]] = True
    return list(names) or None, pairs


def _declarations(
    sections: Sections, section: str, allowed: tuple[int, ...], path: Path
) -> list[tuple[list[str], Attribute, int]]:
    """Rows ``[layer,[layer,]]name,TYPE`` as (layers, attribute, line); ``allowed`` numbers of layers."""
    rows = sections.get(section)
    found = []
    for number in range(len(rows)):
        fields, line = rows.row(number), int(rows.line[number])
        if len(fields) - 2 not in allowed:
            forms = " or ".join("layer," * count + "name,TYPE" for count in allowed)
            raise InputError(f"{quoted(','.join(fields))}, expected {forms}", path, line)
        *keys, name, kind = fields
        if kind.upper() not in _NUMBER_TYPES | _TEXT_TYPES:
            raise InputError(f"attribute type {quoted(kind)}, expected STRING or NUMERIC", path, line)
        if not name:
            raise InputError("an attribute with an empty name, expected at least one character", path, line)
        found.append((keys, Attribute(name, kind.upper() in _NUMBER_TYPES), line))
    return found


def _check_known(keys: list[str], layers: set[str] | None, path: Path, line: int) -> None:
    for name in keys:
        if layers is not None and name not in layers:
            raise InputError(f"unknown layer {quoted(name)}, expected one of those under #LAYERS", path, line)


def _add(columns: Columns, attribute: Attribute, seen: set[tuple[int, str]], path: Path, line: int) -> None:
    """Add an attribute; ``seen`` holds the names that lists of columns, known by their identity, have already."""
    key = (id(columns), attribute.name)
    if key in seen:
        raise InputError(f"attribute {quoted(attribute.name)} is declared twice, expected once", path, line)
    seen.add(key)
    columns.append(attribute)
