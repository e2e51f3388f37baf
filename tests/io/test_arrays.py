"""Named arrays in one file, and graphs as arrays: what comes back, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import load, save

import mpxgat
from mpxgat.build import with_apart
from mpxgat.errors import GraphError, InputError
from mpxgat.graph import Features
from mpxgat.io.arrays import (
    graph_from_arrays,
    graph_to_arrays,
    read_arrays,
    strings_from_arrays,
    strings_to_arrays,
    write_arrays,
)
from tests.examples import graph_of, random_graph

ARRAYS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.empty(0, dtype=np.int64), "c": np.array(True)}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.safetensors"
    write_arrays(path, "kind", {"x": 1}, ARRAYS)
    return path


def rewritten(path, header=None, **arrays):
    """The file with another header or other arrays, as if nothing had happened."""
    content = load(path.read_bytes())
    if header is not None:
        content["header"] = np.frombuffer(header, dtype=np.uint8)
    path.write_bytes(save(content | arrays))


def test_header_and_arrays_come_back(path):
    header, arrays = read_arrays(path, "kind")
    assert header == {"kind": "kind", "x": 1, "version": mpxgat.__version__}
    assert all(
        np.array_equal(arrays[name], array) and arrays[name].dtype == array.dtype for name, array in ARRAYS.items()
    )


@pytest.mark.parametrize(
    "changed", [np.zeros((2, 3), np.float32), ARRAYS["a"].reshape(3, 2), ARRAYS["a"].view(np.int32)]
)
def test_other_numbers_than_were_written_are_refused(path, changed):
    rewritten(path, a=np.ascontiguousarray(changed))
    with pytest.raises(InputError, match="damaged or was edited: its content does not fit its checksum"):
        read_arrays(path, "kind")


def test_an_edited_header_is_refused(path):
    rewritten(path, header=json.dumps({"kind": "kind", "x": 2, "version": mpxgat.__version__}).encode())
    with pytest.raises(InputError, match="damaged or was edited"):
        read_arrays(path, "kind")


def test_every_bit_counts(path):
    whole = path.read_bytes()
    assert len(whole) < 1000
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(InputError):
            read_arrays(path, "kind")


def test_any_tool_reads_the_file(path):
    assert np.array_equal(load(path.read_bytes())["a"], ARRAYS["a"])


def test_a_file_of_another_version_is_refused_in_a_line(path):
    with pytest.raises(InputError, match="of kind kind, expected model-3"):
        read_arrays(path, "model-3")
    write_arrays(path, "model-2", {}, ARRAYS)
    with pytest.raises(InputError, match=f"{path}: made by another version of mpxgat; make it again"):
        read_arrays(path, "model-3")
    header = np.frombuffer(b'{"kind": "model-3", "checksum": 7}', dtype=np.uint8)  # as the first layout was
    path.write_bytes(save(ARRAYS | {"header": header}))
    with pytest.raises(InputError, match="made by another version of mpxgat"):
        read_arrays(path, "model-3")


@pytest.mark.parametrize("header", [b"[" * 100_000, b"\xff", b"[]", b'{"kind": 1}', b"{}"])
def test_a_header_that_is_none_is_named(path, header):
    rewritten(path, header=header)
    with pytest.raises(InputError, match=r"not a file of kind kind|damaged or was edited"):
        read_arrays(path, "kind")


def full_graph():
    graph = random_graph(0)
    return replace(
        graph,
        intra_weight=np.random.default_rng(0).uniform(1, 2, graph.n_intra),
        horizontal_features=Features(("p", "q"), np.ones((graph.n_nodes, 2))),
        attributes={"label": pa.array([f"ü{i}" for i in range(graph.n_nodes)], pa.large_string())},
    )


@pytest.mark.parametrize("graph", [full_graph(), graph_of("x.a x.b"), random_graph(1).subgraph([])])
def test_a_graph_comes_back_through_arrays_and_through_a_file(graph, tmp_path):
    assert graph_from_arrays(graph_to_arrays(graph)) == graph
    write_arrays(tmp_path / "g", "graph", {}, graph_to_arrays(graph))
    assert graph_from_arrays(read_arrays(tmp_path / "g", "graph")[1]) == graph


def test_strings_of_every_kind_come_back():
    strings = ["", "a", "ü😀", "x" * 1000, "\n"]
    assert strings_from_arrays("s", strings_to_arrays("s", strings)) == strings
    assert strings_from_arrays("s", strings_to_arrays("s", [])) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.pop("intra"),
        lambda a: a.update(intra=a["intra"].astype(np.int64)),
        lambda a: a.update(intra=a["intra"][::-1].copy()),
        lambda a: a.update(inter=a["intra"]),
        lambda a: a.update(intra=a["intra"] + 10_000),
        lambda a: a.update(layer_start=a["layer_start"][:-1]),
        lambda a: a.update(intra_weight=a["intra_weight"][1:]),
        lambda a: a.update({"ids.offsets": a["ids.offsets"][::-1].copy()}),
        lambda a: a.update({"ids.bytes": np.full_like(a["ids.bytes"], 255)}),
        lambda a: a.update({"ids.bytes": np.full_like(a["ids.bytes"], 65)}),
    ],
)
def test_damaged_arrays_are_refused(change):
    arrays = graph_to_arrays(full_graph())
    change(arrays)
    with pytest.raises(GraphError):
        graph_from_arrays(arrays)


def test_pairs_known_to_be_different_are_an_array_where_there_are_any():
    graph = graph_of("x.a x.b", "y.a y.b", "x.a y.a")
    apart = with_apart(graph, [[0, 3]])
    assert {*graph_to_arrays(apart)} - {*graph_to_arrays(graph)} == {"apart"}
    assert graph_from_arrays(graph_to_arrays(apart)) == apart
    for wrong in ([[0, 2]], [[3, 0]], [[0, 1]]):
        with pytest.raises(GraphError, match=r"damaged|makes them one unit"):
            graph_from_arrays(graph_to_arrays(graph) | {"apart": np.array(wrong, dtype=np.int32)})
    with pytest.raises(GraphError, match="links are pairs of nodes"):
        graph_from_arrays(graph_to_arrays(graph) | {"apart": np.array([0, 3], dtype=np.int32)})
