"""Embeddings in files, read back by other tools."""

import time
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mpxgat.build import EdgeTable, build
from mpxgat.errors import GraphError, OutputError
from mpxgat.io.embedding_files import write_embeddings

IDS = ["a b", "c:d", "é%", '"q",\n', "plain", "x"]


def odd_graph(ids=tuple(IDS)):
    """Every id in the layers 'tw itter' and 'y:t', with itself."""
    both = [*ids, *ids]
    layer = np.repeat([0, 1], len(ids))
    column = pa.array(both, pa.large_string())
    return build(["tw itter", "y:t"], EdgeTable(column, layer, column, layer, np.ones(len(both))))


def vectors(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * 10.0 ** rng.integers(-30, 30, size=(n, d))).astype(np.float32)


GRAPH = odd_graph()
H, V = vectors(GRAPH.n_nodes, 5), vectors(GRAPH.n_nodes, 3, seed=1)
NODES = [(node.id, node.layer) for node in GRAPH.nodes]


def test_parquet(tmp_path):
    path = tmp_path / "e.parquet"
    assert write_embeddings(GRAPH, H, V, path) == [path]
    table = pq.read_table(path)
    assert table.schema.field("horizontal").type == pa.list_(pa.float32(), 5)
    assert table.schema.field("vertical").type == pa.list_(pa.float32(), 3)
    frame = pd.read_parquet(path)
    assert list(zip(frame["id"], frame["layer"], strict=True)) == NODES
    assert np.array_equal(np.stack(frame["horizontal"]), H)
    assert np.array_equal(np.stack(frame["vertical"]), V)


def test_npz(tmp_path):
    path = tmp_path / "e.npz"
    assert write_embeddings(GRAPH, H, V, path) == [path]
    with np.load(path, allow_pickle=False) as file:
        assert sorted(file) == ["horizontal", "ids", "layers", "vertical"]
        assert list(zip(file["ids"].tolist(), file["layers"].tolist(), strict=True)) == NODES
        assert np.array_equal(file["horizontal"], H)
        assert np.array_equal(file["vertical"], V)


def test_csv(tmp_path):
    path = tmp_path / "e.CSV"
    assert write_embeddings(GRAPH, H, V, path) == [path]
    frame = pd.read_csv(path, dtype=str)
    assert list(frame) == ["id", "layer", "h0", "h1", "h2", "h3", "h4", "v0", "v1", "v2"]
    assert list(zip(frame["id"], frame["layer"], strict=True)) == NODES
    assert np.array_equal(frame.iloc[:, 2:7].to_numpy(str).astype(np.float32), H)
    assert np.array_equal(frame.iloc[:, 7:].to_numpy(str).astype(np.float32), V)


def test_word2vec(tmp_path):
    written = write_embeddings(GRAPH, H, V, tmp_path / "e.txt")
    assert [path.name for path in written] == ["e.horizontal.txt", "e.vertical.txt"]
    for path, expected in zip(written, (H, V), strict=True):
        first, *rows = path.read_text(encoding="ascii").splitlines()
        assert first.split() == [str(size) for size in expected.shape]
        names = [row.split(" ")[0].split(":") for row in rows]
        assert [(unquote(node), unquote(layer)) for layer, node in names] == NODES
        assert np.array_equal(np.array([row.split(" ")[1:] for row in rows], dtype=np.float32), expected)


@pytest.mark.parametrize("name", ["e.parquet", "e.npz", "e.csv", "e.txt"])
def test_the_same_embeddings_give_the_same_bytes(tmp_path, name):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write_embeddings(GRAPH, H, V, tmp_path / folder / name)
    one, two = (sorted((tmp_path / folder).iterdir()) for folder in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


@pytest.mark.parametrize("name", ["e.json", "e", "e.parquet.gz"])
def test_another_suffix_is_refused(tmp_path, name):
    with pytest.raises(OutputError, match=r"expected a name that ends in \.parquet, \.npz, \.csv, \.txt"):
        write_embeddings(GRAPH, H, V, tmp_path / name)


@pytest.mark.parametrize("name", ["e.npz", "e.csv"])
def test_an_id_that_the_format_cannot_hold_is_refused(tmp_path, name):
    graph = odd_graph(["a\0", "b"])
    with pytest.raises(OutputError, match="NUL"):
        write_embeddings(graph, vectors(4, 2), vectors(4, 2), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_vectors_of_another_graph_are_refused(tmp_path):
    with pytest.raises(GraphError, match="vertical vectors have the shape"):
        write_embeddings(GRAPH, H, V[:-1], tmp_path / "e.csv")


def test_a_place_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "e.vertical.txt").mkdir()
    with pytest.raises(OutputError, match="cannot write"):
        write_embeddings(GRAPH, H, V, tmp_path / "e.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["e.vertical.txt"]


def test_the_clock_is_not_in_the_file(tmp_path, monkeypatch):
    written = []
    for now in (0.0, 1.7e9):  # 1970 is before the first day that a zip file can name
        monkeypatch.setattr(time, "time", lambda now=now: now)
        written.append(write_embeddings(GRAPH, H, V, tmp_path / f"{now}.npz")[0].read_bytes())
    assert written[0] == written[1]
