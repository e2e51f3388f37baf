"""Writing the `.edges` files that `mpxgat.io.comunelab` reads."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mpxgat.encoding import encode
from mpxgat.errors import OutputError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.identity import links_of_shared_ids
from mpxgat.io.files import write_files

LABEL, LABEL_HEADER = "label", "nodeLabel"
_INSTEAD = "write it as .parquet instead"
_BOM = "\ufeff"


def companions(path: Path) -> tuple[list[Path], list[Path]]:
    """Where the file of layers and the file of nodes beside an edges file may be, the preferred places first."""
    name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    stem = Path(name).stem
    bases = [base for base in dict.fromkeys((stem.removesuffix("_multiplex"), stem)) if base]
    layers, nodes = ([path.with_name(f"{base}_{kind}.txt") for base in bases] for kind in ("layers", "nodes"))
    return layers, nodes


def write_shortest(graph: MultiplexGraph, path: Path) -> list[Path]:
    """Write the plain form if it holds the inter links, otherwise the extended one."""
    plain = graph.inter_weight is None and np.array_equal(links_of_shared_ids(graph), graph.inter)
    return _write(graph, path, _plain_lines(graph) if plain else _extended_lines(graph, path))


def write_extended(graph: MultiplexGraph, path: Path) -> list[Path]:
    """Write the extended form."""
    return _write(graph, path, _extended_lines(graph, path))


def _write(graph: MultiplexGraph, path: Path, lines: pa.LargeStringArray) -> list[Path]:
    if graph.n_nodes == 0:
        raise OutputError(f"{printable(path, 300)}: this format cannot hold a graph without nodes; {_INSTEAD}")
    _check_ids(graph, path)
    text = "\n".join(lines.to_pylist()) + "\n"
    if text.startswith(_BOM):  # a reader takes a first one for a byte-order mark, so give it one to take
        text = _BOM + text
    layers_path, nodes_path = (places[0] for places in companions(path))
    numbers = [str(number) for number in range(1, graph.n_layers + 1)]
    files = {
        path: text.encode(),
        layers_path: _table(["layerID", "layerLabel"], [numbers, list(graph.layers)], path),
    }
    # An older nodes file that stayed beside the new edges would be taken for theirs.
    if graph.attributes or os.path.exists(nodes_path):
        files[nodes_path] = _nodes_table(graph, path)
    return write_files(files)


# ---- the edges -----------------------------------------------------------------------------------------


def _plain_lines(graph: MultiplexGraph) -> pa.LargeStringArray:
    ends = _with_isolated(graph, graph.intra)
    layer, node, weight = _texts(graph, _weights(graph.intra_weight, graph.n_intra, len(ends)))
    first, second = pa.array(ends[:, 0]), pa.array(ends[:, 1])
    return pc.binary_join_element_wise(layer.take(first), node.take(first), node.take(second), weight, _blank())


def _extended_lines(graph: MultiplexGraph, path: Path) -> pa.LargeStringArray:
    if not graph.n_inter and len(implied := links_of_shared_ids(graph)):
        shared = graph.nodes[int(implied[0, 0])].id
        raise OutputError(
            f"{printable(path, 300)}: this format would link the nodes {quoted(shared)} of different layers, "
            f"which the graph does not; {_INSTEAD}"
        )
    intra = _with_isolated(graph, graph.intra)
    ends = np.concatenate([intra, graph.inter])
    weights = np.concatenate(
        [
            _weights(graph.intra_weight, graph.n_intra, len(intra)),
            _weights(graph.inter_weight, graph.n_inter, graph.n_inter),
        ]
    )
    layer, node, weight = _texts(graph, weights)
    first, second = pa.array(ends[:, 0]), pa.array(ends[:, 1])
    return pc.binary_join_element_wise(
        node.take(first), layer.take(first), node.take(second), layer.take(second), weight, _blank()
    )


def _with_isolated(graph: MultiplexGraph, links: np.ndarray) -> np.ndarray:
    """The links, and for every node without any a self-loop: readers drop it and keep the node."""
    alone = np.flatnonzero(graph.degree == 0).astype(links.dtype)
    return np.concatenate([links, np.stack([alone, alone], axis=1)])


def _weights(weight: np.ndarray | None, n_links: int, n_rows: int) -> np.ndarray:
    return np.concatenate([np.ones(n_links) if weight is None else weight, np.ones(n_rows - n_links)])


def _texts(graph: MultiplexGraph, weights: np.ndarray) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Layer number and id of every node, and every weight, as text."""
    text = pa.large_string()
    return pa.array(graph.node_layer + 1).cast(text), graph.ids, pa.array(weights).cast(text)


def _blank() -> pa.Scalar:
    return pa.scalar(" ", pa.large_string())


# ---- the files beside them -----------------------------------------------------------------------------


def _nodes_table(graph: MultiplexGraph, path: Path) -> bytes:
    """Every id once with its attributes; refuses copies of a unit whose attributes differ."""
    if LABEL_HEADER in graph.attributes:
        raise OutputError(
            f"{printable(path, 300)}: the attribute {LABEL_HEADER} would come back as {LABEL}; {_INSTEAD}"
        )
    if any(not name.strip(" ") for name in graph.attributes):
        raise OutputError(f"{printable(path, 300)}: this format cannot hold an attribute without a name; {_INSTEAD}")
    ids, code = encode([graph.ids])
    first = np.unique(code, return_index=True)[1]
    columns = [ids.to_pylist()]
    for name, values in graph.attributes.items():
        kept = values.take(pa.array(first))
        differs = np.flatnonzero(~pc.equal(kept.take(pa.array(code)), values).to_numpy(zero_copy_only=False))
        if len(differs):
            raise OutputError(
                f"{printable(path, 300)}: the attribute {quoted(name)} of {quoted(graph.ids[int(differs[0])].as_py())} "
                f"differs between layers, this format holds one value; {_INSTEAD}"
            )
        columns.append(kept.to_pylist())
    names = [LABEL_HEADER if name == LABEL else name for name in graph.attributes]
    return _table(["nodeID", *names], columns, path)


def _table(header: list[str], columns: list[list[str]], path: Path) -> bytes:
    """Header and rows parted by blanks, or by tabs where a field is empty or has blanks in it."""
    fields = [*header, *(value for column in columns for value in column)]
    for field in fields:
        if any(mark in field for mark in "\t\n\r\0"):
            raise OutputError(f"{printable(path, 300)}: this format cannot hold the text {quoted(field)}; {_INSTEAD}")
    delimiter = "\t" if any(not field or " " in field for field in fields) else " "
    lines = [header, *zip(*columns, strict=True)]
    return "".join(delimiter.join(line) + "\n" for line in lines).encode()


def _check_ids(graph: MultiplexGraph, path: Path) -> None:
    wrong = pc.match_substring_regex(graph.ids, r"[ \t\n\r\x00]").to_numpy(zero_copy_only=False)
    if wrong.any():
        node = graph.ids[int(wrong.argmax())].as_py()
        raise OutputError(f"{printable(path, 300)}: this format cannot hold the id {quoted(node)}; {_INSTEAD}")
