"""Lists as people have them, of links, of nodes, of who is who: text or a sheet of a workbook, with headers or without.

What a column is for is told by ``columns``, a mapping of roles to names (``source=follower,target=followed``), else by
the words of the header, else by its place. A name may be a column's number, from 1; of several names for one role, the
first that a file has counts. Columns that have no role are said to be passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.build import RowError
from mpxgat.errors import InputError, SettingError, listed, quoted, warn_of_data
from mpxgat.graph import MultiplexGraph
from mpxgat.io.alignment_files import MAT_ROLES, NPZ_ROLES
from mpxgat.io.columns import (
    LAYER_WORD,
    ONE_END,
    WORD_OF_ENDS,
    Columns,
    find_nodes,
    first_repeated,
    number_layers,
    occurs_below,
    parse_numbers,
    separator_of,
    single_blanks,
    split_columns,
    without_header,
)
from mpxgat.io.csv_tables import ENCODING_ADVICE, CsvTable, read_csv_rows
from mpxgat.io.files import read_encoded
from mpxgat.io.registry import Names
from mpxgat.io.workbooks import SheetRows, is_workbook, read_sheet

LINK_ROLES = ("source", "target", "weight")
NODE_ROLES = ("id",)
ANCHOR_ROLES = ("a", "b", "layer_a", "layer_b")
_SOURCE, _TARGET, _WEIGHT = LINK_ROLES
_ID = "id"
# Further ones of a file that is a whole network, a table or GraphML; arrays of .npz and .mat are called by their names.
_TABLE_ROLES = ("layer", "source_layer", "target_layer", "directed", "unit")

_MOST_COLUMNS = 100_000
_COMMENT = re.compile(rb"(?m)^[ \t]*[#%].*$")
_IN_WORDS = {",": "separated by commas", ";": "separated by semicolons", "\t": "separated by tabs"}
_SOURCE_WORD = re.compile(rf"(source|src|from|follower|sender|citing)([ _.-]?({WORD_OF_ENDS}))?", re.IGNORECASE)
_TARGET_WORD = re.compile(
    rf"(target|tgt|dst|dest|destination|to|followed|followee|following|receiver|recipient|cited)"
    rf"([ _.-]?({WORD_OF_ENDS}))?",
    re.IGNORECASE,
)
_WEIGHT_WORD = re.compile(r"((edge|link|tie)[ _.-]?)?(weights?|w|strength|counts?|frequency|freq)", re.IGNORECASE)
# A name is no id unless it is asked for: two people may have the same.
_ENDS_IN_ID = re.compile(rf"({WORD_OF_ENDS})[ _.-]?id", re.IGNORECASE)
_ID_WORD = re.compile(
    r"account|user|user[ _.-]?name|handle|node|vertex|actor|member|gene|protein|entity", re.IGNORECASE
)
_DECIMAL_COMMA = r"^[+-]?[0-9]+,[0-9]+$"


@dataclass(frozen=True)
class Layout:
    """Which columns of a list are what.

    rows    without the header
    header  the columns' names, None if there are none
    places  the column of each role
    mapped  (role, name) of the names given for roles that this list has
    """

    rows: Columns
    header: tuple[str, ...] | None
    places: Mapping[str, int]
    mapped: frozenset[tuple[str, str]] = frozenset()

    def column(self, role: str) -> pa.ChunkedArray | None:
        """The texts of a role, None if no column has it."""
        return self.rows.fields[self.places[role]] if role in self.places else None

    def label(self, place: int) -> str:
        """What a column is called."""
        return f"column {place + 1}" if self.header is None else self.header[place]

    @property
    def passed_over(self) -> list[str]:
        """What the columns without a role are called."""
        return [self.label(place) for place in range(len(self.rows.fields)) if place not in self.places.values()]


def read_rows(path: Path, encoding: str | None = None) -> Columns:
    """The rows of a list, the header among them; comments are blanked, so lines keep their numbers."""
    if is_workbook(path):
        return read_sheet(path)
    content, used = read_encoded(path, encoding, ENCODING_ADVICE)
    content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    comments: list[bytes] = []
    if b"#" in content or b"%" in content:
        comments = _COMMENT.findall(content)
        content = _COMMENT.sub(b"", content)
    first = content.lstrip().split(b"\n", 1)[0]
    # A name like "Smith, Ann" is more common than an id with a semicolon or a tab in it.
    separator = separator_of(content, "\t;," if b"\t" in first.strip() else ";,")
    if separator is None:
        columns = _split(single_blanks(content), path, " ", quoting=False)
    else:
        quoting = separator != "\t" or path.name.lower().removesuffix(".gz").endswith(".tsv")
        columns = _split(content, path, separator, quoting=quoting)
        if separator != "\t":
            columns = replace(columns, fields=tuple(pc.ascii_trim(field, " \t") for field in columns.fields))  # "a, b"
        _say_what_comments_hold(comments, separator, path)
    return replace(columns, encoding=used)


def read_table_rows(path: Path, encoding: str | None = None) -> Columns:
    """The rows of a table, the one of its columns' names among them; no line of it is a comment."""
    return read_sheet(path) if is_workbook(path) else read_csv_rows(path, 1, encoding)


def _split(content: bytes, path: Path, separator: str, *, quoting: bool) -> Columns:
    return split_columns(content, path, separator, range(1, _MOST_COLUMNS), "columns", quoting=quoting)


def _say_what_comments_hold(comments: Sequence[bytes], separator: str, path: Path) -> None:
    """A note if lines that begin as comments do may be rows: there are hashtags."""
    rows = [line for line in comments if separator.encode() in line]
    if rows:
        example = quoted(rows[0].decode().strip())
        warn_of_data(f"{len(rows)} line(s) that begin with # or % are taken for comments, such as {example}", path)


def how_read(rows: Columns) -> str:
    """What a list was read as, in words."""
    if isinstance(rows, SheetRows):
        return f"the sheet {quoted(rows.sheet)} of a workbook"
    return f"{rows.encoding} text, {_IN_WORDS.get(rows.delimiter, 'separated by blanks')}"


# ---- links ---------------------------------------------------------------------------------------------


def links_layout(rows: Columns, names: Names) -> Layout:
    """Source, target and perhaps weight of a list of links."""
    first, places, mapped, header = _mapped(rows, names, LINK_ROLES)
    missing = [role for role in (_SOURCE, _TARGET) if role not in places]
    free = [place for place in range(len(first)) if place not in places.values()]
    words = _ends_by_words(first) if missing else None
    if words is not None and (header or not _occur_below(rows, first, list(words.values()))):
        header = True
        places = words | places
    elif missing and (len(free) == len(missing) or (not mapped and len(first) in (2, 3))):
        places = dict(zip(missing, free, strict=False)) | places
    elif missing:
        raise _missing(rows, names, missing[0]) if mapped else _unknown_links(rows, first)
    if not header:
        rows = without_header(rows, (places[_SOURCE], places[_TARGET]))
        header = rows.header_rows > 0
    layer = next((name for name in first if LAYER_WORD.fullmatch(name)), None)
    if header and layer is not None and not mapped:
        raise rows.error(
            f"a column of layers, {quoted(layer)}: several files, or one with anchors or nodes, are a layer each; "
            "expected such a table alone, as DATA, or --columns source=NAME,target=NAME to pass over the column",
            -rows.header_rows,
        )
    if header and rows.header_rows == 0:
        if len(rows) == 1:
            raise rows.error("a header and no links below it", 0)
        rows = rows.below_header()
    layout = Layout(rows, tuple(first) if header else None, _with_weight(first, places, header=header), mapped)
    if layout.passed_over:
        weight = "" if _WEIGHT in layout.places else "; if one is the weight, --columns weight=NAME says which"
        warn_of_data(f"columns passed over: {listed(layout.passed_over)}{weight}", rows.path)
    return layout


def _occur_below(rows: Columns, first: Sequence[str], ends: Sequence[int]) -> bool:
    """Whether a word of the first row is an id further down."""
    return any(occurs_below(rows, ends, first[place]) for place in ends)


def _with_weight(first: Sequence[str], places: Mapping[str, int], *, header: bool) -> dict[str, int]:
    """The places, with that of the weight: the one that is called so; without a header, the third of three."""
    if not header and len(first) == 3 and places == {_SOURCE: 0, _TARGET: 1}:
        return {**places, _WEIGHT: 2}
    free = [place for place in range(len(first)) if place not in places.values()]
    called = [place for place in free if header and _WEIGHT_WORD.fullmatch(first[place])]
    return {_WEIGHT: called[0], **places} if len(called) == 1 else dict(places)


def _ends_by_words(first: Sequence[str]) -> dict[str, int] | None:
    """The columns of both ends, by the words of a header; None if it has not one for each."""
    lower = [name.lower() for name in first]
    if lower.count(_SOURCE) == lower.count(_TARGET) == 1:
        return {_SOURCE: lower.index(_SOURCE), _TARGET: lower.index(_TARGET)}
    ends = [place for place, name in enumerate(first) if ONE_END.fullmatch(name)]
    if len(ends) != 2 or lower[ends[0]] == lower[ends[1]]:
        return None
    if _TARGET_WORD.fullmatch(first[ends[0]]) and _SOURCE_WORD.fullmatch(first[ends[1]]):
        ends.reverse()
    return dict(zip((_SOURCE, _TARGET), ends, strict=True))


def _unknown_links(rows: Columns, first: Sequence[str]) -> InputError:
    count = "1 column" if len(first) == 1 else f"{len(first)} columns"
    how = f" {_IN_WORDS[rows.delimiter]}" if rows.delimiter in _IN_WORDS and len(first) > 1 else ""
    more = ""
    if len(first) > 1:
        more = (
            f", or a header that names the ends, such as source and target; found {listed(first)}. "
            "Say which they are: --columns source=NAME,target=NAME (or their numbers, from 1)"
        )
    return rows.error(f"{count}, expected 'node node [weight]'{how}{more}", 0)


def weights_of(layout: Layout) -> NDArray[np.float64]:
    """(rows,) the weights, 1 where a list has none. Between semicolons and tabs "0,5" is 0.5, which is said."""
    texts = layout.column(_WEIGHT)
    if texts is None:
        return np.ones(len(layout.rows))
    if layout.rows.delimiter in (";", "\t"):
        texts = _with_points(texts, layout.rows.path)
    what = "the weight" if layout.header is None else f"the weight ({layout.label(layout.places[_WEIGHT])})"
    try:
        return parse_numbers(texts, what if len(layout.rows.fields) > 3 else "the weight", "edges")
    except RowError as problem:
        raise layout.rows.error(problem.message, problem.row) from None


def _with_points(texts: pa.ChunkedArray, path: Path) -> pa.ChunkedArray:
    comma = pc.match_substring_regex(texts, _DECIMAL_COMMA)
    if not pc.any(comma).as_py():
        return texts
    warn_of_data(f"weights with a decimal comma, such as {quoted(texts.filter(comma)[0].as_py())}, are read so", path)
    return pc.if_else(comma, pc.replace_substring(texts, ",", "."), texts)


# ---- nodes ---------------------------------------------------------------------------------------------


def nodes_layout(rows: Columns, names: Names) -> Layout:
    """The ids of a list of nodes, which has a header; its other columns are attributes and features."""
    first, places, mapped, _ = _mapped(rows, names, NODE_ROLES)
    if _ID not in places:
        exact = [place for place, name in enumerate(first) if name == _ID]
        likely = [
            [place for place, name in enumerate(first) if word.fullmatch(name)] for word in (_ENDS_IN_ID, _ID_WORD)
        ]
        place = next((found[0] for found in (exact, *likely) if len(found) == 1), None)
        if place is None:
            raise _missing(rows, names, _ID)
        places = {_ID: place}
    return Layout(rows.below_header(), tuple(first), places, mapped)


def node_table(layout: Layout) -> CsvTable:
    """A list of nodes as a table whose ids are in the column ``id``."""
    assert layout.header is not None
    place = layout.places[_ID]
    kept = [k for k, name in enumerate(layout.header) if k == place or name != _ID]
    if len(kept) < len(layout.header):
        warn_of_data(f"columns passed over: '{_ID}'; ids are those in {quoted(layout.label(place))}", layout.rows.path)
    names = tuple(_ID if k == place else layout.header[k] for k in kept)
    if (twice := first_repeated(names)) is not None:
        raise layout.rows.error(f"two columns are called {quoted(twice)}, expected different names", -1)
    return CsvTable(names, replace(layout.rows, fields=tuple(layout.rows.fields[k] for k in kept)))


# ---- who is who ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Anchors:
    """(k, 2) positions of the nodes that a list says are one unit, and the row of the list for each pair."""

    layout: Layout
    pairs: NDArray[np.int64]
    row: NDArray[np.int64]


def read_anchors(rows: Columns, names: Names, graph: MultiplexGraph) -> Anchors:
    """The pairs in a list of who is who; InputError names the line of a node that is not in the graph."""
    first, places, mapped, header = _mapped(rows, names, ANCHOR_ROLES)
    columns = [place for place, name in enumerate(first) if name in graph.layers]
    by_layer = not places and _are_names_of_layers(first, columns, graph)
    if by_layer:
        layout = Layout(rows.below_header(), tuple(first), {first[place]: place for place in columns})
    elif places:
        missing = next((role for role in ANCHOR_ROLES[:2] if role not in places), None)
        if missing is not None:
            raise _missing(rows, names, missing)
        ends = places["a"], places["b"]
        below = rows.below_header() if header else without_header(rows, ends, recurring=False)
        layout = Layout(below, tuple(first) if below.header_rows else None, places, mapped)
    else:
        layout = _anchors_by_place(rows, first, graph)
    if layout.header is not None and not len(layout.rows):
        raise layout.rows.error("a header and no pairs below it", -1)
    if layout.passed_over:
        warn_of_data(f"columns passed over: {listed(layout.passed_over)}", rows.path)
    return _pairs_by_layer(layout, graph) if by_layer else _pairs_of_ends(layout, graph)


def _anchors_by_place(rows: Columns, first: Sequence[str], graph: MultiplexGraph) -> Layout:
    """Two columns of nodes, or four with their layers; else those that a header names."""
    if len(first) == 4 and _holds_layers(rows, (1, 3), graph):
        places = {"a": 0, "layer_a": 1, "b": 2, "layer_b": 3}
        below = without_header(rows, (0, 2), (1, 3), recurring=False)
        no_pair = not {first[1], first[3]} & {*graph.layers}
    elif len(first) == 2 and graph.n_layers == 2:
        places = {"a": 0, "b": 1}
        below = without_header(rows, (0, 1), recurring=False)
        known = [_is_node(text, layer, graph) for layer, text in enumerate(first)]
        # A header 'a,b' is one even if a node is called so.
        no_pair = not (all(known) if tuple(first) == ANCHOR_ROLES[:2] else any(known))
    else:
        return _anchors_by_words(rows, first, graph)
    if below.header_rows == 0 and len(rows) > 1 and no_pair:
        if tuple(first) != ANCHOR_ROLES[:2]:
            what = "nodes" if len(first) == 2 else "layers"
            warn_of_data(f"the first row, {listed(first)}, is taken for a header, as it names no {what}", rows.path)
        below = rows.below_header()
    return Layout(below, tuple(first) if below.header_rows else None, places)


def _anchors_by_words(rows: Columns, first: Sequence[str], graph: MultiplexGraph) -> Layout:
    """The columns of nodes, and of their layers, that the words of a header name; InputError if they do not."""
    two = graph.n_layers == 2
    words = _ends_by_words(first)
    layers = [place for place, name in enumerate(first) if LAYER_WORD.fullmatch(name)]
    if words is None or len(layers) not in ((0, 2) if two else (2,)):
        count = "1 column" if len(first) == 1 else f"{len(first)} columns"
        expected = "'node node' or 'node layer node layer'" if two else "'node layer node layer'"
        roles = "a=NAME,b=NAME" if two else "a=NAME,layer_a=NAME,b=NAME,layer_b=NAME"
        raise rows.error(
            f"{count}, expected {expected}, columns called by the layers ({listed(graph.layers)}), or --columns "
            f"{roles}, which says what they are; found {listed(first)}",
            0,
        )
    places = dict(zip(ANCHOR_ROLES, (*sorted(words.values()), *layers), strict=False))
    return Layout(rows.below_header(), tuple(first), places)


def _holds_layers(rows: Columns, places: Sequence[int], graph: MultiplexGraph) -> bool:
    """Whether a name of a layer stands in one of the columns."""
    names = pa.array(graph.layers, pa.string())
    return any(bool(pc.any(pc.is_in(rows.fields[place], value_set=names)).as_py()) for place in places)


def _are_names_of_layers(first: Sequence[str], columns: Sequence[int], graph: MultiplexGraph) -> bool:
    """Whether a first row calls two columns or more by layers, rather than being a row 'node layer node layer'."""
    names = {first[place] for place in columns}
    if len(columns) < 2 or len(names) < len(columns) or (len(first) == 4 and list(columns) == [1, 3]):
        return False
    return not all(any(_is_node(text, layer, graph) for layer in range(graph.n_layers)) for text in names)


def _is_node(text: str, layer: int, graph: MultiplexGraph) -> bool:
    start, stop = int(graph.layer_start[layer]), int(graph.layer_start[layer + 1])
    return bool(pc.index(graph.ids.slice(start, stop - start), text).as_py() >= 0)


def _pairs_of_ends(layout: Layout, graph: MultiplexGraph) -> Anchors:
    rows, ends = layout.rows, []
    for side, (role, layer_role) in enumerate(zip(ANCHOR_ROLES[:2], ANCHOR_ROLES[2:], strict=True)):
        layers = layout.column(layer_role)
        if layers is not None:
            number = number_layers(layers, graph.layers, rows.error)
        elif graph.n_layers == 2:
            number = np.full(len(rows), side)
        else:
            raise rows.error(
                f"no column of layers for {quoted(layout.label(layout.places[role]))}, expected one for each end, as "
                f"there are {graph.n_layers} layers: --columns layer_a=NAME,layer_b=NAME",
                -rows.header_rows,
            )
        ends.append(find_nodes(rows.fields[layout.places[role]], number, graph, rows.error))
    return Anchors(layout, np.stack(ends, axis=1), np.arange(len(rows)))


def _pairs_by_layer(layout: Layout, graph: MultiplexGraph) -> Anchors:
    """A column for each of some layers: the ids in a row are one unit; where a layer has none, the cell is empty."""
    rows = layout.rows
    some = {
        name: pc.not_equal(pc.utf8_trim_whitespace(rows.fields[k]), "").to_numpy() for name, k in layout.places.items()
    }
    alone = np.flatnonzero(np.sum(list(some.values()), axis=0) < 2)
    if len(alone):
        warn_of_data(f"{len(alone)} row(s) name a node of one layer at most, which links nobody", rows.path)
    found = {}
    for name, place in layout.places.items():
        here = np.flatnonzero(some[name])

        def error(message: str, row: int, here: NDArray[np.intp] = here) -> InputError:
            return rows.error(message, int(here[row]))

        layer = np.full(len(here), graph.layer_index(name))
        found[name] = np.full(len(rows), -1, dtype=np.int64)
        found[name][here] = find_nodes(rows.fields[place].take(pa.array(here)), layer, graph, error)
    pairs, numbers = [np.empty((0, 2), dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for one, other in combinations(found, 2):
        both = np.flatnonzero(some[one] & some[other])
        pairs.append(np.stack([found[one][both], found[other][both]], axis=1))
        numbers.append(both)
    return Anchors(layout, np.concatenate(pairs), np.concatenate(numbers))


# ---- roles ---------------------------------------------------------------------------------------------


def parse_columns(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """What ``--columns source=follower,target=followed`` says; a name may hold commas, a role may come again."""
    roles = {*LINK_ROLES, *NODE_ROLES, *ANCHOR_ROLES, *_TABLE_ROLES, *NPZ_ROLES, *MAT_ROLES}
    names: dict[str, tuple[str, ...]] = {}
    for text in texts:
        for piece in re.split(r",(?=\s*\w+\s*=)", text):
            role, equals, name = (part.strip() for part in piece.partition("="))
            if not equals or not name:
                raise SettingError(f"--columns {quoted(piece)}, expected ROLE=NAME, such as source=follower")
            if role not in roles:
                raise SettingError(
                    f"--columns {quoted(piece)}: no role {quoted(role)}; roles are {', '.join(LINK_ROLES)} of links, "
                    f"id of nodes, {', '.join(ANCHOR_ROLES)} of anchors, {', '.join(_TABLE_ROLES)} of whole networks"
                )
            names[role] = (*names.get(role, ()), name)
    return names


def _mapped(
    rows: Columns, names: Names, roles: Sequence[str]
) -> tuple[list[str], dict[str, int], frozenset[tuple[str, str]], bool]:
    """The first row; the columns that ``names`` give to roles; what was found of them; whether it is a header."""
    first = [field[0].as_py().strip() for field in rows.fields]
    places: dict[str, int] = {}
    found: set[tuple[str, str]] = set()
    header = False
    for role in roles:
        for name in names.get(role, ()):
            place = place_of(name, first)
            header |= place is not None
            if place is None and name.isdecimal() and 1 <= int(name) <= len(first):
                place = int(name) - 1
            if place is None:
                continue
            if place in places.values():
                other = next(known for known, where in places.items() if where == place)
                raise SettingError(f"--columns: {quoted(name)} is both {other} and {role} of {quoted(rows.path, 300)}")
            places[role] = place
            found.add((role, name))
            break
    return first, places, frozenset(found), header


def place_of(name: str, header: Sequence[str]) -> int | None:
    """Where a column stands that is called so, in capitals or not if that is clear; None if there is none."""
    for alike in (str, str.casefold):
        places = [place for place, text in enumerate(header) if alike(text) == alike(name)]
        if len(places) == 1:
            return places[0]
    return None


def _missing(rows: Columns, names: Names, role: str) -> InputError:
    """The error for a role that no column has; the header is the first of ``rows``."""
    first = [field[0].as_py().strip() for field in rows.fields]
    wanted = f"{listed(names[role])} ({role}, of --columns)" if role in names else quoted(role)
    hint = "" if role in names else f"; --columns {role}=NAME says which it is"
    return rows.error(f"no column {wanted}; the columns are {listed(first, 10)}{hint}", 0)
