"""Files made to do harm: bombs, lies, texts without end, nesting without end, more of everything than anyone has.

Each is a few megabytes at most, and goes to a reader like any other input of the fuzzing: a valid value or a named
error, in 10 seconds, in twice the file and 500 MB. No reader unpacks an archive, so no path in one can lead elsewhere.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pyarrow as pa
from pyarrow import parquet

Files = dict[str, bytes]
Case = tuple[str, Callable[[], Files]]
"""The subject that reads it, and the files."""

_MANY = 50_000
_LONG = "x" * (1 << 20)
_DEEP = 100_000
_EDGES = ("source", "source_layer", "target", "target_layer")


@cache
def cases() -> dict[str, Case]:
    """All of them by name."""
    return {
        **_bombs(),
        **_parquet_bombs(),
        **_long_texts(),
        **_many_of_a_kind(),
        **_dense_out_of_sparse(),
        **_json(),
        **_toml(),
        **_safetensors(),
        **_encodings(),
    }


# ---- packed ----------------------------------------------------------------------------------------------


def _packed(text: bytes, megabytes: int) -> bytes:
    """As gzip, many members one behind the other, which is cheap to make."""
    member = gzip.compress(text * ((1 << 20) // len(text)))
    return member * megabytes


def _bomb(name: str, text: bytes) -> Files:
    return {name: _packed(text, 1000)}


def _file(name: str, content: bytes) -> Files:
    return {name: content}


def _bombs() -> dict[str, Case]:
    texts = {
        "comunelab": ("net.edges", b"1 a b\n"),
        "comunelab-extended": ("net.xedges", b"a 1 b 2 1\n"),
        "csv": ("net.csv", b"a,1,b,1\n"),
        "mpx": ("net.mpx", b"a,b,1\n"),
        "multiplexsage": ("net.json", b"[],"),
        "parquet": ("net.parquet", b"PAR1"),
        "edge lists": ("one.txt", b"a b\n"),
        "trials": ("trials.jsonl", b"{}\n"),
        "settings": ("a.toml", b"#\n"),
        "model rules": ("model.safetensors", b"\0" * 8),
        "split": ("a.split", b"\0" * 8),
        "run": ("config.json", b"[],"),
    }
    return {
        f"gzip bomb for {subject}": (subject, partial(_bomb, name, text)) for subject, (name, text) in texts.items()
    }


def _same(n: int, text: str) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), pa.array([text]))


def _parquet(columns: dict[str, pa.Array], *, schema: bool = False, dictionary: bool = True) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink, compression="zstd", use_dictionary=dictionary, store_schema=schema)
    return sink.getvalue()


def _parquet_bombs() -> dict[str, Case]:
    def edges(n: int, text: str, *, schema: bool = False) -> Files:
        return {"net.parquet": _parquet(dict.fromkeys(_EDGES, _same(n, text)), schema=schema)}

    def wide_pages() -> Files:
        text = pa.array(["x" * (4 << 20)])
        attributes = {f"a{number}": text for number in range(100)}
        nodes = _parquet({"id": pa.array(["a"]), "layer": pa.array(["1"]), **attributes}, dictionary=False)
        return {**edges(1, "a"), "net.nodes.parquet": nodes}

    def repeated() -> Files:
        attributes = {f"a{number}": _same(1000, "x" * 60_000) for number in range(50)}
        ids = pa.array([str(number) for number in range(1000)])
        nodes = _parquet({"id": ids, "layer": _same(1000, "1"), **attributes})
        return {**edges(1, "1"), "net.nodes.parquet": nodes}

    def lists() -> Files:
        numbers = pa.ListArray.from_arrays(pa.array([0, 30_000_000], pa.int32()), pa.array(np.zeros(30_000_000, "i1")))
        return {"net.parquet": _parquet({**dict.fromkeys(_EDGES, pa.array(["a"])), "source.x": numbers})}

    return {
        "Parquet: millions of equal rows": ("parquet", lambda: edges(6_000_000, "a")),
        "Parquet: a long text in every row": ("parquet", lambda: edges(20_000, "x" * 60_000)),
        "Parquet: the same as a dictionary of Arrow's": ("parquet", lambda: edges(20_000, "x" * 60_000, schema=True)),
        "Parquet: pages that unpack to a thousand times their size": ("parquet", wide_pages),
        "Parquet: long texts in many columns": ("parquet", repeated),
        "Parquet: a list without end beside a column": ("parquet", lists),
        "Parquet: pairs, millions of equal rows": (
            "pairs.parquet",
            lambda: {"pairs.parquet": _parquet(dict.fromkeys(_EDGES, _same(6_000_000, "a")))},
        ),
    }


# ---- long, and many --------------------------------------------------------------------------------------


def _long_texts() -> dict[str, Case]:
    row = dict.fromkeys(_EDGES, pa.array([_LONG]))
    node = {"id": _LONG, "sheet": _LONG}
    texts: dict[str, tuple[str, bytes]] = {
        "comunelab": ("net.edges", f"1 {_LONG} b\n{_LONG} a b\n".encode()),
        "comunelab-extended": ("net.xedges", f"a {_LONG} b 1 1\n".encode()),
        "csv": ("net.csv", f'source,layer,target\n"{_LONG}",1,b\n'.encode()),
        "mpx": ("net.mpx", f"{_LONG},b,{_LONG}\n".encode()),
        "multiplexsage": ("net.json", json.dumps({"nodes": [node], "links": []}).encode()),
        "parquet": ("net.parquet", _parquet(row)),
        "edge lists": ("one.txt", f"{_LONG} b\n".encode()),
        "pairs.csv": ("pairs.csv", f"{','.join(_EDGES)}\n{_LONG},{_LONG},b,b\n".encode()),
        "settings": ("a.toml", f"{_LONG} = 1\n".encode()),
        "experiment": ("a.toml", f'title = "{_LONG[:900_000]}"\n'.encode()),
        "trials": ("trials.jsonl", json.dumps({_LONG: _LONG}).encode() + b"\n"),
        "run": ("config.json", json.dumps({"kind": _LONG}).encode()),
    }
    return {
        f"a text of a megabyte for {subject}": (subject, partial(_file, name, content))
        for subject, (name, content) in texts.items()
    }


def _lines(form: str, n: int = _MANY) -> bytes:
    return "".join(form.format(k=k) for k in range(n)).encode()


def _many_of_a_kind() -> dict[str, Case]:
    columns = " ".join(f"c{k}" for k in range(_MANY))
    edge = b"1 a b 1\n"
    return {
        "comunelab: 50,000 layers": ("comunelab", lambda: {"net.edges": _lines("{k} a{k} b{k}\n")}),
        "comunelab: 50,000 named layers": (
            "comunelab",
            lambda: {"net.edges": edge, "net_layers.txt": b"layerID layerLabel\n" + _lines("{k} l{k}\n")},
        ),
        "comunelab: 50,000 columns of nodes": (
            "comunelab",
            lambda: {
                "net.edges": edge,
                "net_nodes.txt": b"\n".join(
                    [f"nodeID {columns}".encode(), *(id + b" x" * _MANY for id in (b"a", b"b"))]
                ),
            },
        ),
        "csv: 50,000 layers": ("csv", lambda: {"net.csv": b"source,layer,target\n" + _lines("a{k},{k},b{k}\n")}),
        "csv: 50,000 columns": (
            "csv",
            lambda: {
                "net.csv": b"source,layer,target\na,1,b\n",
                "net.nodes.csv": ",".join(["id", "layer", *columns.split()]).encode() + b"\n1,a" + b",x" * _MANY,
            },
        ),
        "mpx: 50,000 layers": ("mpx", lambda: {"net.mpx": b"#LAYERS\n" + _lines("l{k},UNDIRECTED\n")}),
        "mpx: 50,000 vertex attributes": (
            "mpx",
            lambda: {"net.mpx": b"#LAYERS\nl,UNDIRECTED\n#VERTEX ATTRIBUTES\n" + _lines("l,a{k},STRING\n")},
        ),
        "mpx: 50,000 attributes in as many layers": (
            "mpx",
            lambda: {
                "net.mpx": b"#LAYERS\n"
                + _lines("l{k},UNDIRECTED\n")
                + b"#VERTEX ATTRIBUTES\n"
                + _lines("l{k},a{k},STRING\n")
            },
        ),
        "mpx: 50,000 edge attributes": (
            "mpx",
            lambda: {"net.mpx": b"#EDGE ATTRIBUTES\n" + _lines("a{k},NUMERIC\n") + b"#EDGES\n"},
        ),
        "multiplexsage: 50,000 sheets with names": (
            "multiplexsage",
            lambda: {
                "net.json": json.dumps(
                    {
                        "graph": {"layers": [f"l{k}" for k in range(_MANY)]},
                        "nodes": [{"id": k, "sheet": f"l{k}"} for k in range(_MANY)],
                        "links": [],
                    }
                ).encode()
            },
        ),
        "edge lists: 200,000 comments": ("edge lists", lambda: {"one.txt": b"#\n" * 200_000 + b"a b\n"}),
        "csv: a quote that is not closed": (
            "csv",
            lambda: {"net.csv": b'source,layer,target\n"' + b"a,1,b\n" * 500_000},
        ),
    }


def _dense_out_of_sparse() -> dict[str, Case]:
    """Little is said of few, and the rest would be filled up: every node with every column, every copy with every."""
    n = 20_000
    edges = _lines("{k} a a\n", n)
    return {
        "one unit in 20,000 layers": ("comunelab", lambda: {"net.edges": edges}),
        "one unit in 20,000 sheets": (
            "mpx",
            lambda: {"net.mpx": b"#TYPE multiplex\n#EDGES\n" + _lines("a,b,{k}\n", n)},
        ),
        "a megabyte about a unit in 1000 layers": (
            "comunelab",
            lambda: {
                "net.edges": _lines("{k} a a\n", 1000),
                "net_nodes.txt": f"nodeID nodeLabel\na {_LONG}\n".encode(),
            },
        ),
        "a megabyte about an actor in 1000 layers": (
            "mpx",
            lambda: {
                "net.mpx": b"#ACTOR ATTRIBUTES\nt,STRING\n#ACTORS\na,"
                + _LONG.encode()
                + b"\n#EDGES\n"
                + _lines("a,a,{k}\n", 1000)
            },
        ),
        "an attribute for every node": (
            "multiplexsage",
            lambda: {
                "net.json": json.dumps(
                    {
                        "nodes": [{"id": k, "sheet": 0, "attributes": {f"a{k}": "x"}} for k in range(n)],
                        "links": [],
                    }
                ).encode()
            },
        ),
        "names of features that no node has": (
            "multiplexsage",
            lambda: {
                "net.json": json.dumps(
                    {
                        "graph": {"horizontal_features": [f"f{k}" for k in range(n)]},
                        "nodes": [{"id": k, "sheet": 0} for k in range(n)],
                        "links": [],
                    }
                ).encode()
            },
        ),
        "attributes of a layer without vertices": (
            "mpx",
            lambda: {
                "net.mpx": b"#LAYERS\nk,UNDIRECTED\nl,UNDIRECTED\n#VERTEX ATTRIBUTES\n"
                + _lines("k,a{k},STRING\n", n)
                + b"#VERTICES\n"
                + _lines("v{k},l\n", n)
            },
        ),
        "features of a layer without vertices": (
            "mpx",
            lambda: {
                "net.mpx": b"#LAYERS\nk,UNDIRECTED\nl,UNDIRECTED\n#VERTEX ATTRIBUTES\n"
                + _lines("k,h:a{k},NUMERIC\n", n)
                + b"#VERTICES\n"
                + _lines("v{k},l\n", n)
            },
        ),
        "attributes of actors that there are not": (
            "mpx",
            lambda: {
                "net.mpx": b"#ACTOR ATTRIBUTES\n"
                + _lines("a{k},STRING\n", n)
                + b"#EDGES\n"
                + _lines("v{k},w{k},l\n", n)
            },
        ),
    }


# ---- JSON, TOML, safetensors -----------------------------------------------------------------------------


def _json() -> dict[str, Case]:
    digits = b"9" * 1_000_000
    bodies = {
        "lists nested 100,000 deep": b"[" * _DEEP + b"]" * _DEEP,
        "objects nested 100,000 deep": b'{"kind":' * _DEEP + b"1" + b"}" * _DEEP,
        "a number of a million digits": b'{"kind": ' + digits + b"}",
        "a huge exponent": b'{"kind": 1e999999999, "nodes": [{"id": 1e999, "sheet": -1e999}], "links": []}',
        "numbers that are none": b'{"kind": NaN, "nodes": [{"id": Infinity, "sheet": NaN}], "links": []}',
        "a million keys": b"{" + _lines('"k{k}":1,', 200_000) + b'"k":1}',
        "half a surrogate pair": b'{"kind": "\\ud800", "nodes": [{"id": "\\ud800", "sheet": 0}], "links": []}',
        "a weight without end": b'{"nodes": [{"id": 0, "sheet": 0}, {"id": 1, "sheet": 0}], "links": [{"source": 0, '
        b'"target": 1, "weight": 1e400}]}',
    }
    readers = {
        "multiplexsage": "net.json",
        "run": "config.json",
        "search": "search.json",
        "trials": "trials.jsonl",
        "results": "results.jsonl",
    }
    return {
        f"JSON: {what}, for {subject}": (subject, partial(_file, name, body + b"\n"))
        for what, body in bodies.items()
        for subject, name in readers.items()
    }


def _toml() -> dict[str, Case]:
    bodies = {
        "a million keys": _lines("k{k} = 1\n", 1_000_000),
        "a key of 100,000 parts": b"a." * _DEEP + b"b = 1\n",
        "a table of 100,000 parts": b"[" + b"a." * _DEEP + b"b]\n",
        "a key of quoted parts": b'"a".' * _DEEP + b"b = 1\n",
        "a key of numbers": b"1.2 ." * _DEEP + b"3 = 1\n",
        "keys of 150 parts": b"\n".join(b"a." * 150 + b"b%d = 1" % number for number in range(3000)),
        "lists nested 100,000 deep": b"a = " + b"[" * _DEEP + b"]" * _DEEP,
        "a number of a million digits": b"seeds = " + b"9" * 900_000,
        "a hexadecimal number of a million digits": b"seeds = 0x" + b"f" * 900_000,
        "a binary number for a rate": b"lr = 0b" + b"1" * 900_000,
        "numbers that are none": b"lr = nan\nhidden = inf\nepochs = -inf\nseeds = nan\ntitle = nan\n",
        "10,000 tables": _lines("[[cell]]\nmodel = 'rules'\nsocial = {{people = 50}}\nlabel = '{k}'\n", 10_000),
        "a date": b"lr = 1979-05-27T07:32:00Z\ntitle = 07:32:00\n",
    }
    return {
        f"TOML: {what}, for {subject}": (subject, partial(_file, "a.toml", body))
        for what, body in bodies.items()
        for subject in ("settings", "grid", "space", "experiment", "table of data sets")
    }


def _tensors(header: object, data: bytes = b"", *, size: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def _safetensors() -> dict[str, Case]:
    def tensor(shape: list[int], end: int, dtype: str = "U8") -> dict[str, object]:
        return {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}

    deep = b'{"kind": ' + b"[" * _DEEP
    bodies = {
        "a header of 2⁶³ bytes": _tensors({}, size=2**63),
        "a header of 90 MB": _tensors({}, size=90_000_000),
        "a header of blanks": _tensors(b"{" + b" " * 5_000_000 + b"}"),
        "a tensor of 2⁶⁰ numbers": _tensors({"header": tensor([2**30, 2**30], 8)}, b"\0" * 8),
        "a tensor of no numbers and 2⁶² rows": _tensors({"header": tensor([2**62, 0], 0), "a": tensor([0, 2**62], 0)}),
        "a tensor outside of the file": _tensors({"header": tensor([2**20], 2**20)}, b"\0" * 8),
        "a million tensors": _tensors(
            {"header": tensor([0], 0)} | {f"t{number}": tensor([0], 0) for number in range(100_000)}
        ),
        "nesting without end": _tensors({"header": tensor([len(deep)], len(deep))}, deep),
        "nesting of the header": _tensors(b"[" * _DEEP),
    }
    readers = {"model rules": "model.safetensors", "split": "a.split", "checkpoint": "part.safetensors"}
    return {
        f"safetensors: {what}, for {subject}": (subject, partial(_file, name, body))
        for what, body in bodies.items()
        for subject, name in readers.items()
    }


# ---- bytes -----------------------------------------------------------------------------------------------


def _encodings() -> dict[str, Case]:
    prefixes = {
        "invalid UTF-8": b"\xff\xc3(",
        "a byte-order mark twice": b"\xef\xbb\xbf\xef\xbb\xbf",
        "UTF-16": b"\xff\xfe1\0",
        "UTF-32": b"\xff\xfe\0\0",
        "NUL": b"\0",
        "control characters": bytes(range(1, 32)),
        "line ends of all kinds": "\r\n\u2028\u2029\x85\x0b\x0c\x1c".encode(),
    }
    texts = {
        "comunelab": ("net.edges", b"1 a b\n"),
        "comunelab-extended": ("net.xedges", b"a 1 b 2 1\n"),
        "csv": ("net.csv", b"source,layer,target\na,1,b\n"),
        "mpx": ("net.mpx", b"a,b,1\n"),
        "multiplexsage": ("net.json", b'{"nodes": [], "links": []}'),
        "edge lists": ("one.txt", b"a b\n"),
        "pairs.csv": ("pairs.csv", b"source,source_layer,target,target_layer\na,1,b,1\n"),
        "settings": ("a.toml", b"lr = 0.1\n"),
        "trials": ("trials.jsonl", b"{}\n"),
        "results": ("results.jsonl", b"{}\n"),
        "run": ("config.json", b"{}"),
        "section": ("page.md", b"<!-- results a: begin -->"),
    }
    return {
        f"{what} before, in and behind the text, for {subject}": (
            subject,
            partial(_file, name, prefix + text[:3] + prefix + text[3:] + prefix),
        )
        for what, prefix in prefixes.items()
        for subject, (name, text) in texts.items()
    }
