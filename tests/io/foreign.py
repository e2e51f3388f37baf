"""Files of formats that are only read, made by the libraries that write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse

Sheets = Mapping[str, Sequence[Sequence[object]]]
SHEETS: Sheets = {
    "edges": [["source", "target", "layer", "weight"], ["1", "2", "work", 2], ["2", "3", "lunch", 1.5]],
    "nodes": [
        ["id", "layer", "name"],
        ["1", "work", "Ann"],
        ["2", "work", "Bea"],
        ["2", "lunch", None],
        [3, "lunch", ""],
    ],
}


def workbook(path: Path, sheets: Sheets = SHEETS) -> Path:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def people() -> nx.DiGraph:
    """One layer: a link of weight, one both ways, one node alone; attributes of several types."""
    graph = nx.DiGraph()
    graph.add_node("ann", name="Ann", age=30, active=True)
    graph.add_node("bea", name="Bea")
    graph.add_node("dora")
    graph.add_edge("ann", "bea", weight=2.5)
    graph.add_edges_from([("bea", "cem"), ("cem", "bea")])
    return graph


def graphml(path: Path, graph: nx.Graph | None = None) -> Path:
    nx.write_graphml(people() if graph is None else graph, path)
    return path


def gexf(path: Path, graph: nx.Graph | None = None) -> Path:
    nx.write_gexf(people() if graph is None else graph, path)
    return path


def npz(path: Path, **other: np.ndarray) -> Path:
    arrays = {
        "edge_index1": np.array([[0, 1, 1, 2], [1, 0, 2, 1]]),
        "edge_index2": np.array([[0, 1], [1, 2]]),
        "pos_pairs": np.array([[0, 2], [3, 1]]),
    }
    np.savez_compressed(path, allow_pickle=True, **(arrays | other))
    return path


ADJACENCY = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]], dtype=float)


def mat(path: Path, *, compressed: bool = True, **other: object) -> Path:
    arrays = {"A1": sparse.csc_matrix(ADJACENCY), "A2": ADJACENCY[:2, :2], "gnd": np.array([[3, 1], [1, 2]])}
    scipy_io.savemat(path, arrays | other, do_compression=compressed)
    return path


FOREIGN: dict[str, Callable[[Path], Path]] = {
    "xlsx": workbook,
    "graphml": graphml,
    "gexf": gexf,
    "npz": npz,
    "mat": mat,
}
