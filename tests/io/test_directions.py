"""Direction of links within layers: what every format states, and what is asked for where it states nothing."""

import json
import warnings

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mpxgat.errors import DataWarning, InputError
from mpxgat.io import (
    formats,
    from_networkx,
    from_pyg,
    read,
    read_layers,
    to_networkx,
    to_networkx_layers,
    to_pyg,
    write,
)
from mpxgat.io.networkx_graphs import anchors_of
from mpxgat.synthetic import social

WRITTEN = sorted(name for name, form in formats().items() if form.writes)
STATED = sorted(name for name, form in formats().items() if form.writes and "direction" not in form.leaves_out)
DIRECTED = social(60, 3, 0, directed=0.5)


def arcs(graph):
    """(source, target, layer) of all arcs."""
    ends = np.stack(graph.arcs.nonzero(), axis=1).tolist()
    return {(graph.nodes[one].id, graph.nodes[other].id, graph.nodes[one].layer) for one, other in ends}


def put(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("name", STATED)
def test_a_directed_graph_comes_back_without_a_word(tmp_path, name):
    path = tmp_path / f"net{formats()[name].suffixes[0]}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(DIRECTED, path)
        assert read(path) == DIRECTED
        assert read(path, directed=True) == DIRECTED


def test_formats_without_direction_say_so():
    assert {*WRITTEN} - {*STATED} == {"comunelab", "comunelab-extended"}


@pytest.mark.parametrize("name", WRITTEN)
def test_undirected_files_hold_nothing_new(tmp_path, name):
    path = tmp_path / f"net{formats()[name].suffixes[0]}"
    write(DIRECTED.undirected(), path)
    assert read(path).intra_arcs is None
    assert b"intra_arcs" not in path.read_bytes()
    if name == "csv":
        assert path.read_text().splitlines()[0] == "source,source_layer,target,target_layer"


def test_in_memory():
    assert from_networkx(to_networkx(DIRECTED)) == DIRECTED
    assert from_networkx(to_networkx_layers(DIRECTED), anchors=anchors_of(DIRECTED)) == DIRECTED
    pytest.importorskip("torch_geometric.data", reason="torch-geometric is not installed")
    assert from_pyg(to_pyg(DIRECTED)) == DIRECTED


def test_networkx_layers_are_directed_each_for_itself():
    one_way, both = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "b")]), nx.Graph([("a", "b")])
    graph = from_networkx({"x": one_way, "y": both})
    assert arcs(graph) == {("a", "b", "x"), ("b", "c", "x"), ("c", "b", "x"), ("a", "b", "y"), ("b", "a", "y")}
    assert [type(layer) for layer in to_networkx_layers(graph).values()] == [nx.DiGraph, nx.Graph]


# ---- tables ----------------------------------------------------------------------------------------------

EDGES = "source,layer,target"


def test_a_column_of_edges_tells(tmp_path):
    rows = "a,x,b,true\nc,x,b,TRUE\na,x,c,false\nd,x,a,True\na,x,d,true\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = read(put(tmp_path, "net.csv", f"{EDGES},directed\n{rows}"))
    expected = {("a", "b"), ("c", "b"), ("a", "c"), ("c", "a"), ("a", "d"), ("d", "a")}
    assert arcs(graph) == {(*each, "x") for each in expected}


@pytest.mark.parametrize("word", ["", "yes", "1"])
def test_a_word_that_is_neither_true_nor_false_is_named_with_its_line(tmp_path, word):
    path = put(tmp_path, "net.csv", f"{EDGES},directed\na,x,b,true\na,x,c,{word}\n")
    with pytest.raises(InputError, match=f"net.csv:3: directed is '{word}', expected true or false"):
        read(path)


def test_parquet_holds_truth_values(tmp_path):
    write(DIRECTED, tmp_path / "net.parquet")
    assert pa.types.is_boolean(parquet.read_schema(tmp_path / "net.parquet").field("directed").type)


# ---- lists that state nothing ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("net.edges", "x a b\nx c b\nx b c\n"),
        ("net.xedges", "a x b x 1\nc x b x 1\nb x c x 1\n"),
        ("net.csv", f"{EDGES}\na,x,b\nc,x,b\nb,x,c\n"),
    ],
)
def test_rows_are_arcs_if_that_is_asked_for(tmp_path, name, text):
    path = put(tmp_path, name, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of a table in which some links stand twice
        assert read(path).intra_arcs is None
    assert arcs(read(path, directed=True)) == {("a", "b", "x"), ("b", "c", "x"), ("c", "b", "x")}


def test_single_layer_lists_too(tmp_path):
    paths = [put(tmp_path, "x.txt", "a b\n"), put(tmp_path, "y.txt", "b a\na b\n")]
    assert read_layers(paths).intra_arcs is None
    assert arcs(read_layers(paths, directed=True)) == {("a", "b", "x"), ("a", "b", "y"), ("b", "a", "y")}


def test_asked_for_in_vain_it_is_said(tmp_path):
    path = put(tmp_path, "net.mpx", "#LAYERS\nx,UNDIRECTED\n#EDGES\na,b,x\n")
    with pytest.warns(DataWarning, match="no link goes one way only"):
        assert read(path, directed=True).intra_arcs is None


# ---- further words of single formats ---------------------------------------------------------------------


def test_node_link_json_says_it_once_for_all(tmp_path):
    nodes = [{"id": 0, "sheet": 0}, {"id": 1, "sheet": 0}, {"id": 2, "sheet": 1}]
    links = [{"source": 1, "target": 0}, {"source": 0, "target": 2}]
    text = {"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "links": links}
    graph = read(put(tmp_path, "net.json", json.dumps(text)))
    assert arcs(graph) == {("1", "0", "0")}
    assert graph.n_inter == 1
    assert read(put(tmp_path, "net.json", json.dumps({**text, "directed": False}))).intra_arcs is None


def test_mpx_files_list_each_arc_of_a_directed_layer(tmp_path):
    graph = from_networkx({"x": nx.DiGraph([("b", "a"), ("b", "c"), ("c", "b")]), "y": nx.Graph([("a", "b")])})
    write(graph, tmp_path / "net.mpx")
    lines = (tmp_path / "net.mpx").read_text().split("#EDGES\n")[1].splitlines()
    assert sorted(lines) == ["a,b,y", "b,a,x", "b,c,x", "c,b,x"]
