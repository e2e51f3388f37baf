"""Embeddings of all nodes in a file that other tools read; the suffix tells the format.

.parquet    id, layer, horizontal and vertical (lists of 32-bit floats of one length)
.npz        arrays ids, layers (text, no pickle), horizontal (n, d), vertical (n, e)
.csv        id, layer, h0, h1, …, v0, v1, …; an apostrophe before an id that a spreadsheet would take for a formula
.txt        word2vec's text format in two files, X.horizontal.txt and X.vertical.txt: a line "n d", then for each node
            a line with its name and d numbers. The name is layer:id, both percent-encoded, so that it has no blanks.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.errors import GraphError, OutputError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.csv_tables import csv_bytes, without_formulas
from mpxgat.io.files import write_files
from mpxgat.io.parquet import parquet_bytes

Vectors = NDArray[np.float32]
Contents = dict[Path, bytes]


def write_embeddings(graph: MultiplexGraph, horizontal: Vectors, vertical: Vectors, path: Path) -> list[Path]:
    """Write (n, d) and (n, e) vectors of the graph's nodes; the files written.

    OutputError for a suffix that is no format of embeddings, or an id that the format cannot hold.
    """
    contents = check_embedding_suffix(path)
    for name, vectors in (("horizontal", horizontal), ("vertical", vertical)):
        if vectors.ndim != 2 or len(vectors) != graph.n_nodes:
            raise GraphError(f"{name} vectors have the shape {vectors.shape}, expected one row for each node")
    return write_files(contents(graph, horizontal, vertical, path))


def check_embedding_suffix(path: Path) -> Callable[[MultiplexGraph, Vectors, Vectors, Path], Contents]:
    """The writer for a file of this name; OutputError if there is none."""
    if path.suffix.lower() not in _WRITERS:
        raise OutputError(f"{quoted(path.name)}, expected a name that ends in {', '.join(_WRITERS)}")
    return _WRITERS[path.suffix.lower()]


def _parquet(graph: MultiplexGraph, horizontal: Vectors, vertical: Vectors, path: Path) -> Contents:
    lists = {"horizontal": _as_lists(horizontal), "vertical": _as_lists(vertical)}
    return {path: parquet_bytes(pa.table({"id": graph.ids, "layer": graph.layer_names, **lists}), arrow_schema=True)}


def _npz(graph: MultiplexGraph, horizontal: Vectors, vertical: Vectors, path: Path) -> Contents:
    columns = {"ids": graph.ids, "layers": graph.layer_names}
    for column in columns.values():
        if pc.any(pc.match_substring(column, "\0")).as_py():
            raise OutputError(f"{printable(path, 300)}: an id or layer holds a NUL character, which numpy cuts off")
    texts = {name: np.array(column.to_pylist(), dtype=np.str_) for name, column in columns.items()}
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:  # as np.savez does, but for the date: the same bytes at any time
        for name, array in {**texts, "horizontal": horizontal, "vertical": vertical}.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
    return {path: sink.getvalue()}


def _csv(graph: MultiplexGraph, horizontal: Vectors, vertical: Vectors, path: Path) -> Contents:
    columns = {"id": graph.ids, "layer": graph.layer_names}
    for letter, vectors in (("h", horizontal), ("v", vertical)):
        columns |= {f"{letter}{number}": pa.array(column) for number, column in enumerate(_columns(vectors))}
    return {path: csv_bytes(without_formulas(pa.table(columns)), path)}


def _word2vec(graph: MultiplexGraph, horizontal: Vectors, vertical: Vectors, path: Path) -> Contents:
    layers = [quote(name, safe="") for name in graph.layers]
    ids = [quote(node_id, safe="") for node_id in graph.ids.to_pylist()]
    names = [f"{layers[layer]}:{node_id}" for layer, node_id in zip(graph.node_layer.tolist(), ids, strict=True)]
    tokens = pa.array(names, pa.large_string())
    return {
        path.with_name(f"{path.stem}.{kind}{path.suffix}"): _word2vec_bytes(tokens, vectors)
        for kind, vectors in (("horizontal", horizontal), ("vertical", vertical))
    }


def _word2vec_bytes(tokens: pa.LargeStringArray, vectors: Vectors) -> bytes:
    numbers = [pa.array(column).cast(pa.large_string()) for column in _columns(vectors)]
    rows = pc.binary_join_element_wise(tokens, *numbers, pa.scalar(" ", pa.large_string()))
    lines = [f"{vectors.shape[0]} {vectors.shape[1]}", *rows.to_pylist()]
    return ("\n".join(lines) + "\n").encode()


def _as_lists(vectors: Vectors) -> pa.FixedSizeListArray:
    flat = pa.array(np.ascontiguousarray(vectors).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])


def _columns(vectors: Vectors) -> NDArray[np.float32]:
    return np.ascontiguousarray(vectors.T)


_WRITERS: dict[str, Callable[[MultiplexGraph, Vectors, Vectors, Path], Contents]] = {
    ".parquet": _parquet,
    ".npz": _npz,
    ".csv": _csv,
    ".txt": _word2vec,
}
