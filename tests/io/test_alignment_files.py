"""Pairs of networks as .npz and .mat: what becomes of the arrays, and files from strangers."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from mpxgat.errors import DataWarning, InputError, SettingError
from mpxgat.graph import MultiplexGraph
from mpxgat.io import read
from mpxgat.io.alignment_files import read_pairs_of
from tests.io.foreign import ADJACENCY, mat, npz


def links(graph: MultiplexGraph, kind: str = "intra") -> list[str]:
    return [
        " ".join(f"{graph.nodes[int(end)].layer}{graph.nodes[int(end)].id}" for end in pair)
        for pair in getattr(graph, kind)
    ]


def test_npz(tmp_path: Path) -> None:
    graph = read(npz(tmp_path / "net.npz"))
    assert graph.layers == ("a", "b")
    assert links(graph) == ["a0 a1", "a1 a2", "b0 b1", "b1 b2"]
    assert links(graph, "inter") == ["a0 b2", "a3 b1"]
    assert graph.n_nodes == 7  # node 3 is in a pair only
    assert graph.intra_arcs is None
    assert read(tmp_path / "net.npz", directed=True).intra_arcs is not None
    standing = npz(tmp_path / "standing.npz", edge_index1=np.array([[0, 1], [1, 2], [2, 1]]))
    assert read(standing) == graph


def test_features_are_of_both_parts_and_say_how_many_nodes_there_are(tmp_path: Path) -> None:
    graph = read(npz(tmp_path / "net.npz", x1=np.eye(12, 3), x2=np.ones((3, 3))))
    assert graph.n_nodes == 15
    assert graph.horizontal_features == graph.vertical_features
    assert graph.horizontal_features is not None
    place = {node.id: number for number, node in enumerate(graph.nodes) if node.layer == "a"}
    assert graph.horizontal_features.values[place["2"]].tolist() == [0, 0, 1]
    assert graph.horizontal_features.values[place["10"]].tolist() == [0, 0, 0]
    with pytest.warns(DataWarning, match="features passed over: 3 and 2 of the two networks, expected as many of both"):
        read(npz(tmp_path / "net.npz", x1=np.eye(4, 3), x2=np.ones((3, 2))))


def test_pairs_to_be_found_are_no_part_of_the_network(tmp_path: Path) -> None:
    path = npz(tmp_path / "net.npz", test_pairs=np.array([[1, 0]]), extra=np.zeros(2))
    with pytest.warns(DataWarning) as said:
        graph = read(path)
    assert links(graph, "inter") == ["a0 b2", "a3 b1"]
    assert "test_pairs left out: 1 pair(s)" in str(said[1].message)
    assert "arrays passed over: 'extra'" in str(said[0].message)
    assert read_pairs_of(path).tolist() == [[1, 0]]


def test_mat(tmp_path: Path) -> None:
    expected = ["a1 a2", "a2 a3", "b1 b2"]
    for compressed in (True, False):
        graph = read(mat(tmp_path / "net.mat", compressed=compressed))
        assert links(graph) == expected
        assert links(graph, "inter") == ["a1 b2", "a3 b1"]
        assert graph.intra_weight is not None
        assert graph.intra_weight.tolist() == [2, 1, 2]
    with pytest.warns(DataWarning, match="H is passed over: a prior guess"):
        graph = read(mat(tmp_path / "net.mat", H=np.ones((2, 3)), N1=np.eye(3, 2), N2=sparse.eye(2).tocsc()))
    assert graph.vertical_features is not None
    assert graph.vertical_features.values.tolist() == [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]


def test_direction_in_a_matrix_is_said_and_kept_if_asked_for(tmp_path: Path) -> None:
    path = mat(tmp_path / "net.mat", A1=np.triu(ADJACENCY))
    with pytest.warns(DataWarning, match="A1 is not symmetric: read as undirected, the larger weight stays"):
        assert read(path).intra_arcs is None
    graph = read(path, directed=True)
    assert graph.intra_arcs is not None
    assert graph.intra_arcs.tolist() == [1, 1, 3]


def test_arrays_by_other_names(tmp_path: Path) -> None:
    path = mat(tmp_path / "net.mat", online=ADJACENCY, offline=ADJACENCY, truth=np.array([[1, 1]]))
    columns = {"A1": ("online",), "A2": ("offline",), "gnd": ("truth",)}
    with pytest.warns(DataWarning, match="arrays passed over: 'A1', 'A2', 'gnd'"):
        assert links(read(path, columns=columns), "inter") == ["a1 b1"]
    with pytest.raises(InputError, match=r"no array 'facts' \(gnd\); the arrays are 'A1'"):
        read(path, columns={"gnd": ("facts",)})
    with pytest.raises(SettingError, match="--columns source=x: this file has A1, A2, gnd, N1, N2, H"):
        read(path, columns={"source": ("x",)})


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"edge_index1": np.zeros((3, 3), dtype=int)}, "edge_index1 has the shape (3, 3), expected (2, links)"),
        ({"edge_index1": np.array([[0.5], [1]])}, "edge_index1 holds numbers that number no node"),
        ({"edge_index1": np.array([["a"], ["b"]])}, "edge_index1 is of type <U1, expected whole numbers"),
        ({"edge_index2": np.array([[-1], [1]])}, "edge_index2 names node -1, expected numbers from 0 to 2"),
        (
            {"edge_index2": np.array([[2**30], [1]])},
            "edge_index2 has nodes up to number 1073741825",
        ),
        ({"edge_index2": np.array([[2**40], [1]])}, "edge_index2 holds numbers that number no node"),
        ({"pos_pairs": np.array([[0, 1], [2, 1]])}, "pos_pairs, row 2: "),
        ({"pos_pairs": np.array([0, 1, 2])}, "pos_pairs has the shape (3,), expected (pairs, 2)"),
        ({"x1": np.eye(2)}, "edge_index1 names node 2, expected numbers from 0 to 1"),
        ({"x1": np.full((4, 1), np.nan), "x2": np.ones((3, 1))}, "x1 is nan in row 1, column 1, not finite"),
        ({"x1": np.ones(4)}, "x1 has the shape (4,)"),
        (
            {"pos_pairs": np.array([[0, 1]], dtype=object)},
            "cannot be read as an .npz file of plain arrays (Obj",
        ),
    ],
)
def test_bad_arrays_are_named(tmp_path: Path, arrays: dict[str, np.ndarray], said: str) -> None:
    path = npz(tmp_path / "net.npz", **arrays)
    with pytest.raises(InputError) as caught:
        read(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"A1": np.ones((2, 3))}, "A1 has the shape (2, 3) and the type float64, expected a square matrix"),
        ({"gnd": np.array([[0, 1]])}, "gnd names node 0, expected numbers from 1 to 3"),
        ({"gnd": np.array([[3, 3]])}, "gnd names node 3, expected numbers from 1 to 2"),
        ({"N1": np.ones((5, 1))}, "5 rows of features for the 3 nodes of A1"),
        ({"A1": {"field": 1}}, "'A1' is of the type ndarray, expected a matrix of numbers"),
        ({"A1": np.full((2, 2), np.nan)}, "A1 holds an entry that is not finite"),
    ],
)
def test_bad_matrices_are_named(tmp_path: Path, arrays: dict[str, object], said: str) -> None:
    path = mat(tmp_path / "net.mat", **arrays)
    with pytest.raises(InputError) as caught:
        read(path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


# ---- files from strangers ------------------------------------------------------------------------------


class Evil:
    """What a pickle could do when it is read: here, make a file."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_pickle_is_refused_and_not_executed(tmp_path: Path) -> None:
    path, mark = tmp_path / "net.npz", tmp_path / "executed"
    np.savez(path, edge_index1=np.array([[Evil(mark)]], dtype=object), edge_index2=np.zeros((2, 1), dtype=int))
    with pytest.raises(InputError, match="Object arrays cannot be loaded"):
        read(path)
    path.write_bytes(pickle.dumps(Evil(mark)))
    with pytest.raises(InputError, match=r"cannot be read as an \.npz file"):
        read(path)
    assert not mark.exists()


def test_what_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    path = npz(tmp_path / "net.npz", x1=np.zeros((1 << 20, 8), dtype=np.float32))
    with pytest.raises(InputError, match=r"unpack to 4 arrays of \d+ bytes, expected at most"):
        read(path)
    path = mat(tmp_path / "net.mat", N1=np.zeros((1 << 20, 4)))
    with pytest.raises(InputError, match=r"bytes unpacks to more than 16777216"):
        read(path)


def test_indices_of_a_sparse_matrix_are_checked(tmp_path: Path) -> None:
    path = mat(tmp_path / "net.mat", compressed=False, A1=sparse.csc_matrix(ADJACENCY))
    content = path.read_bytes()
    indices = np.array([1, 0, 2, 1], dtype=np.int32).tobytes()
    assert indices in content
    path.write_bytes(content.replace(indices, np.array([1, 0, 2_000_000_000, 1], dtype=np.int32).tobytes()))
    with pytest.raises(InputError, match="'A1' is a damaged sparse matrix"):
        read(path)


def test_a_file_that_ends_the_reader_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mat_reader.py"
    program.write_text("import os\nos.abort()\n")
    monkeypatch.setattr("mpxgat.io.alignment_files._READER", program)
    with pytest.raises(InputError, match=r"cannot be read as a \.mat file \(it ends the process that reads it\)"):
        read(mat(tmp_path / "net.mat"))


def test_other_kinds_of_mat_are_named(tmp_path: Path) -> None:
    path = tmp_path / "net.mat"
    path.write_bytes(b"MATLAB 7.3 MAT-file" + b" " * 600)
    with pytest.raises(InputError, match=r"a \.mat file of MATLAB 7\.3 \(HDF5\); save it with save\(…, '-v7'\)"):
        read(path)
    path.write_bytes(b"x" * 600)
    with pytest.raises(InputError, match="no MAT-file of level 5"):
        read(path)
