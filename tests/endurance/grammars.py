"""Texts made from the words of a format in any order: what damage to a valid file seldom reaches."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.endurance.mutations import NASTY, NUMBERS, Random, chosen

_IDS = (b"1", b"2", b"3", b"a", b"b", b"\xc3\xa9", b"x_1", b"-", b'"a,b"', b'"', b"<b>")
_MPX = (
    b"#TYPE", b"#TYPE multiplex", b"#TYPE multilayer", b"multiplex", b"multilayer", b"#VERSION", b"#VERSION 3.0",
    b"3.0", b"#LAYERS", b"#ACTORS", b"#NODES", b"#VERTICES", b"#EDGES", b"#INTRALAYER EDGES", b"#INTERLAYER EDGES",
    b"#ACTOR ATTRIBUTES", b"#VERTEX ATTRIBUTES", b"#NODE ATTRIBUTES", b"#EDGE ATTRIBUTES",
    b"#INTRALAYER EDGE ATTRIBUTES", b"#INTERLAYER EDGE ATTRIBUTES", b"-- remark", b"#", b"",
)  # fmt: skip
_MPX_FIELDS = (b"L1", b"L2", b"UNDIRECTED", b"DIRECTED", b"weight", b"NUMERIC", b"STRING", b"h:x", b"v:x", b"h:", b"")
_CSV = (
    b"source", b"target", b"source_layer", b"target_layer", b"layer", b"weight", b"id", b"unit", b"h:x", b"v:x", b"",
)  # fmt: skip
_KEYS = (
    "nodes", "links", "edges", "graph", "id", "sheet", "name", "source", "target", "inter_layer", "train_removed",
    "weight", "h", "v", "attributes", "layers", "horizontal_features", "vertical_features", "kind", "settings", "seed",
)  # fmt: skip
_ATOMS: tuple[Any, ...] = (0, 1, 2, "0", "1", "a", "", True, False, None, 0.5, -1, 1e300, 2**70, "\ud800", [], {})
_TOML_KEYS = (
    b"title", b"protocol", b"seeds", b"measures", b"model", b"dataset", b"label", b"lr", b"hidden", b"heads", b"seed",
    b"epochs", b"low", b"high", b"log", b"choices", b"argument", b"values", b"settings.lr", b"figures.intra", b"social",
    b"top_layers", b"published", b"against", b'"a b"', b"''", b"name", b"nodes", b"inter_links",
    b"average_degree", b"settings", b"scale",
)  # fmt: skip
_TOML_TABLES = (
    b"[settings]", b"[[cell]]", b"[[graph]]", b"[sweep]", b"[quick]", b"[quick.settings]", b"[cell]", b"[[dataset]]",
    b"[social]", b"[quick.social]", b"[]", b"[[a.b]]", b"# remark",
)  # fmt: skip
_TOML_VALUES = (
    b'"rules"', b'"mpxgat"', b'"marked"', b'"units"', b'"aucs"', b'["intra"]', b"1", b"3", b"0", b"-1", b"0.5", b"nan",
    b"inf", b"true", b"[]", b"[1, 2]", b"[0.1, 0.01]", b"{}", b"{low = 1e-5, high = 1e-2, log = true}",
    b"{choices = [32, 64]}", b"1979-05-27", b'"""x"""', b"'x'", b"[[1]]", b'[["a"], 1]', b"{people = 50}", b'"log"',
)  # fmt: skip


def edge_lines(rng: Random) -> bytes:
    """Lines of words parted by blanks, tabs or commas, mostly of one width."""
    width, gap = int(rng.integers(1, 7)), chosen((b" ", b"\t", b",", b", ", b"  "), rng)
    heads = (b"layerID layerLabel", b"nodeID nodeLabel", b"source,target", b"# remark", b"% remark", b"")
    lines = [chosen(heads, rng)] if rng.random() < 0.2 else []
    for _ in range(int(rng.integers(1, 30))):
        fields = width if rng.random() < 0.97 else int(rng.integers(8))
        lines.append(gap.join(_word(_IDS, rng) for _ in range(fields)))
    return chosen((b"\n", b"\n", b"\n", b"\r\n", b"\r"), rng).join(lines)


def mpx_sections(rng: Random) -> bytes:
    """Sections of uunet in any order, with rows of any width."""
    lines = []
    for _ in range(int(rng.integers(1, 40))):
        if rng.random() < 0.4:
            lines.append(chosen(_MPX, rng))
        else:
            lines.append(b",".join(_word(_IDS + _MPX_FIELDS, rng) for _ in range(int(rng.integers(1, 6)))))
    return b"\n".join(lines)


def csv_table(rng: Random) -> bytes:
    """A header of known names and rows of words."""
    names = [chosen(_CSV, rng) for _ in range(int(rng.integers(2, 7)))]
    rows = [b",".join(_word(_IDS, rng) for _ in names) for _ in range(int(rng.integers(20)))]
    return b"\n".join([b",".join(names), *rows])


def json_text(rng: Random) -> bytes:
    """Objects and lists of known keys, a few levels deep; at times hundreds of levels."""
    if rng.random() < 0.02:
        depth = int(rng.choice([100, 1000, 5000, 100_000]))
        return chosen((b"[", b'{"nodes":'), rng) * depth
    return json.dumps(_json_value(rng, 4)).encode()


def json_lines(rng: Random) -> bytes:
    """Lines of `json_text`."""
    return b"".join(json_text(rng) + b"\n" for _ in range(int(rng.integers(1, 4))))


def toml_text(rng: Random) -> bytes:
    """Tables, keys and values of known names in any order."""
    if rng.random() < 0.02:
        return b"a = " + chosen((b"[", b"{a=", b'["x",'), rng) * int(rng.choice([50, 1000, 20_000]))
    lines = []
    for _ in range(int(rng.integers(1, 15))):
        if rng.random() < 0.25:
            lines.append(chosen(_TOML_TABLES, rng))
        else:
            lines.append(chosen(_TOML_KEYS, rng) + b" = " + _word(_TOML_VALUES, rng))
    return b"\n".join(lines)


def _word(words: Sequence[bytes], rng: Random) -> bytes:
    luck = rng.random()
    if luck < 0.9:
        return chosen(words, rng)
    return chosen(NUMBERS, rng) if luck < 0.97 else chosen(NASTY, rng)


def _json_value(rng: Random, depth: int) -> Any:
    luck = rng.random()
    if depth == 0 or luck < 0.2:
        return _ATOMS[int(rng.integers(len(_ATOMS)))]
    if luck < 0.4:
        return [_json_value(rng, depth - 1) for _ in range(int(rng.integers(5)))]
    keys = [_KEYS[int(place)] for place in rng.integers(len(_KEYS), size=rng.integers(1, 6))]
    return {key: _json_value(rng, depth - 1) for key in keys}


Grammar = Callable[[np.random.Generator], bytes]
