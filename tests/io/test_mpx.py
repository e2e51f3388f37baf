"""uunet's .mpx: the grammar, what becomes of each part, the errors by line, and the way back."""

import gzip
import os
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpxgat.errors import InputError, OutputError
from mpxgat.graph import Node
from mpxgat.io import mpx
from tests.examples import graph_of, random_graph
from tests.io.graph_strategies import assert_graph_or_input_error, damaged, graphs

pytestmark = pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")  # see test_data_warnings.py


@pytest.fixture
def read(tmp_path):
    def read_text(text: str | bytes):
        path = tmp_path / "g.mpx"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return mpx.read(path)

    return read_text


def intra(graph):
    return {(graph.layers[graph.node_layer[a]], graph.nodes[a].id, graph.nodes[b].id) for a, b in graph.intra.tolist()}


def inter(graph):
    return {(".".join(reversed(graph.nodes[a])), ".".join(reversed(graph.nodes[b]))) for a, b in graph.inter.tolist()}


# ---- what is read --------------------------------------------------------------------------------------


def test_rows_without_sections_are_edges_and_layers_come_in_order_of_appearance(read):
    graph = read("a,b,work\nb,c,home\na,a,home\n")
    assert graph.layers == ("work", "home")
    assert intra(graph) == {("work", "a", "b"), ("home", "b", "c")}
    assert inter(graph) == {("work.a", "home.a"), ("work.b", "home.b")}


def test_sections_in_any_order_case_and_spacing_with_comments(read):
    graph = read(
        "\n-- by hand\n  #edges\n a , b ,l\n\n-- a pause\nb,c,\tk\n#Layers\nk, Directed\nl,UNDIRECTED , LOOPS\n"
        "#type MULTIPLEX -- or multilayer\n#VERSION\n3.0\n#NODES\n\n"
    )
    assert graph.layers == ("k", "l")
    assert intra(graph) == {("l", "a", "b"), ("k", "b", "c")}


def test_type_on_the_next_line(read):
    assert inter(read("#TYPE\nmultilayer\n\n#EDGES\na,l,b,l\na,l,b,k\n")) == {("l.a", "k.b")}


def test_crlf_bom_and_gzip(read):
    text = "a,b,l\nb,c,l\n"
    assert read(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()) == read(text)
    assert read(gzip.compress(text.encode())) == read(text)


def test_directed_and_repeated_edges_merge_and_the_largest_weight_stays(read):
    graph = read("#LAYERS\nl,DIRECTED\n#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\na,b,l,2\nb,a,l,3.5\na,c,l,-1\n")
    assert graph.n_intra == 2
    assert graph.intra_weight.tolist() == [3.5, -1.0]
    assert graph.intra_arcs.tolist() == [3, 1]


def test_each_layer_has_the_direction_that_is_declared(read):
    text = "#LAYERS\nk,UNDIRECTED\nl,directed\nj,DIRECTED\n#EDGES\na,b,k\nb,a,l\na,b,j\nb,a,j\n"
    graph = read(text)
    assert graph.intra_arcs.tolist() == [3, 2, 3]
    assert graph.directed_layers.tolist() == [False, True, False]
    assert read(text.replace("directed", "UNDIRECTED")).intra_arcs is None


def test_a_layers_own_values_stand_before_those_of_all_edges(read):
    graph = read(
        "#EDGE ATTRIBUTES\nweight,NUMERIC\nl,note,STRING\nk,weight,STRING\n"
        "#EDGES\na,b,l,hello,2\na,b,j,5\na,b,k,word,7\n"
    )
    assert graph.intra_weight.tolist() == [2.0, 5.0, 7.0]


def test_vertices_hold_isolated_nodes_and_actors_alone_are_no_nodes(read):
    graph = read("#ACTORS\na\nz\n#VERTICES\nq,l\n#EDGES\na,b,l\nc,c,l\n")
    assert [node.id for node in graph.nodes] == ["a", "b", "c", "q"]
    assert graph.n_intra == 1


def test_attributes_become_text_and_only_numeric_vertex_attributes_with_a_prefix_features(read):
    graph = read(
        "#ACTOR ATTRIBUTES\nrole,STRING\nh:age,NUMERIC\n#VERTEX ATTRIBUTES\nl,h:x,NUMERIC\nl,role,STRING\n"
        "k,v:y,DOUBLE\nk,v:z,STRING\n#ACTORS\na,boss,40\nb,NA,7\n"
        "#VERTICES\na,l,1.5,chief\nb,l,2,\na,k,-3,up\n#EDGES\na,b,l\na,c,k\n"
    )
    assert graph.horizontal_features.names == ("x",)
    assert graph.vertical_features.names == ("y",)
    at = {node: i for i, node in enumerate(graph.nodes)}
    assert graph.horizontal_features.values[at[Node("a", "l")], 0] == 1.5
    assert graph.horizontal_features.values[at[Node("a", "k")], 0] == 0
    assert graph.vertical_features.values[at[Node("a", "k")], 0] == -3
    texts = {name: dict(zip(graph.nodes, column.to_pylist(), strict=True)) for name, column in graph.attributes.items()}
    assert set(texts) == {"role", "h:age", "v:z"}
    assert texts["role"] == {("a", "l"): "chief", ("b", "l"): "NA", ("a", "k"): "boss", ("c", "k"): ""}
    assert texts["h:age"][Node("a", "k")] == "40"
    assert texts["v:z"][Node("a", "k")] == "up"


MULTILAYER = "#TYPE multilayer\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#LAYERS\nl,l,UNDIRECTED\nk,k,UNDIRECTED\n#EDGES\na,l,b,l\na,k,b,k\n", {("l.a", "k.a"), ("l.b", "k.b")}),
        ("#LAYERS\nl,l,UNDIRECTED\nk,k,UNDIRECTED\nl,k,DIRECTED\n#EDGES\na,l,b,l\na,k,b,k\n", set()),
        ("#EDGES\na,l,b,l\na,k,b,k\nb,k,a,l\n", {("l.a", "k.b")}),
        ("#INTRALAYER EDGES\na,b,l\na,b,k\n#INTERLAYER EDGES\na,l,a,k\n", {("l.a", "k.a")}),
        ("#INTRALAYER EDGES\na,b,l\na,b,k\n#INTERLAYER EDGES\n", set()),
    ],
    ids=["no pair declared", "pair declared", "cross-layer row", "section", "empty section"],
)
def test_inter_links_of_multilayer_files(read, text, expected):
    assert inter(read(MULTILAYER + text)) == expected


def test_weights_of_pairs_of_layers(read):
    graph = read(
        MULTILAYER + "#EDGE ATTRIBUTES\nk,l,weight,NUMERIC\n#INTRALAYER EDGE ATTRIBUTES\nnote,STRING\n"
        "#EDGES\na,l,b,l,x\nc,k,d,k,y\nb,l,c,k,4\n"
    )
    assert graph.inter_weight.tolist() == [4.0]
    assert graph.intra_weight is None


# ---- errors --------------------------------------------------------------------------------------------

BAD = {
    "unknown layer": ("#LAYERS\nl,UNDIRECTED\n#EDGES\na,b,l\na,b,k\n", 5, "unknown layer 'k', expected one of 'l'"),
    "unknown layer of an attribute": (
        "#LAYERS\nl,UNDIRECTED\n#VERTEX ATTRIBUTES\nk,x,STRING\n",
        4,
        "unknown layer 'k'",
    ),
    "missing column": ("a,b,l\na,b\n", 2, "'a,b' has 2 values, expected 3: actor,actor,layer"),
    "undeclared value": ("a,b,l\na,b,l,3\n", 2, "has 4 values, expected 3: actor,actor,layer"),
    "missing value": (
        "#EDGE ATTRIBUTES\nl,weight,NUMERIC\n#EDGES\na,b,k\na,b,l\n",
        5,
        "expected 4: actor,actor,layer,w",
    ),
    "weight": (
        "#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\na,b,l,1\na,c,l,heavy\n",
        5,
        "weight is 'heavy', expected a fin",
    ),
    "NaN": ("#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\na,b,l,1\na,c,l,nan\n", 5, "weight is 'nan'"),
    "infinite": ("#EDGE ATTRIBUTES\nweight,NUMERIC\n#EDGES\na,b,l,1e999\n", 4, "weight is '1e999'"),
    "feature": ("#VERTEX ATTRIBUTES\nl,h:x,NUMERIC\n#VERTICES\na,l,NA\n", 4, "h:x is 'NA'"),
    "feature too large": ("#VERTEX ATTRIBUTES\nl,h:x,NUMERIC\n#VERTICES\na,l,1e300\n", 4, "h:x is too large"),
    "empty id": ("a,b,l\n ,b,l\n", 2, "an empty node id"),
    "empty layer": ("a,b,l\na,b,\n", 2, "an empty layer name"),
    "unknown section": ("#EDGES\na,b,l\n#EGDES\n", 3, "unknown section '#EGDES'"),
    "type": ("#TYPE\nduplex\n#EDGES\na,b,l\n", 2, "type 'duplex', expected multiplex or multilayer"),
    "version": ("#VERSION 9\n", 1, "version '9', expected 3.0"),
    "layer without direction": ("#LAYERS\nl\n#EDGES\na,b,l\n", 2, "'l', expected layer,DIRECTED"),
    "layer twice": ("#LAYERS\nl,DIRECTED\nl,DIRECTED\n", 3, "layer 'l' is declared twice"),
    "attribute type": ("#ACTOR ATTRIBUTES\nx,FLOAT\n", 2, "attribute type 'FLOAT', expected STRING or NUMERIC"),
    "attribute form": ("#VERTEX ATTRIBUTES\nx,STRING\n", 2, "'x,STRING', expected layer,name,TYPE"),
    "attribute twice": ("#EDGE ATTRIBUTES\nl,x,STRING\nl,x,NUMERIC\n", 3, "attribute 'x' is declared twice"),
    "vertex twice": ("#VERTICES\na,l\nb,l\na,l\n", 4, "node 'a' of layer 'l' is listed twice"),
    "actor twice": ("#ACTORS\na\na\n#EDGES\na,b,l\n", 3, "actor 'a' is listed twice"),
    "actor's values": (
        "#ACTOR ATTRIBUTES\nx,STRING\n#ACTORS\na\n#EDGES\na,b,l\n",
        4,
        "has 1 values, expected 2: actor,x",
    ),
    "interlayer in multiplex": ("#INTERLAYER EDGES\na,l,a,k\n", 2, "expected #TYPE multilayer"),
    "second counterpart": (MULTILAYER + "#EDGES\na,l,b,k\na,l,c,k\n", 4, "at most one counterpart in a layer"),
    "nothing": ("-- only a comment\n", None, "no edges and no sections"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_file_line_and_what_was_expected(read, case):
    text, line, message = BAD[case]
    with pytest.raises(InputError) as caught:
        read(text)
    assert message in str(caught.value)
    assert caught.value.line == line
    assert caught.value.path.endswith("g.mpx")
    assert "\n" not in str(caught.value)


def test_a_line_of_ten_million_characters(read):
    with pytest.raises(InputError, match="longer than") as caught:
        read(b"a,b,l\n" + b"x" * 10_000_000 + b",b,l\n")
    assert caught.value.line == 2
    assert len(str(caught.value)) < 500


def test_wrong_encoding_truncated_gzip_and_directory(read, tmp_path):
    with pytest.raises(InputError, match="not UTF-8") as caught:
        read(b"a,b,l\n\xff,b,l\n")
    assert caught.value.line == 2
    with pytest.raises(InputError, match="damaged or cut off"):
        read(gzip.compress(b"a,b,l\n" * 1000)[:-20])
    with pytest.raises(InputError, match="directory"):
        mpx.read(tmp_path)


# ---- writing -------------------------------------------------------------------------------------------

WRITABLE = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=",\n\r\0"), min_size=1, max_size=5
).filter(lambda text: text == text.strip(" \t") and not text.startswith(("#", "--")))


@settings(derandomize=True, deadline=None, max_examples=150)
@given(graph=graphs(WRITABLE, WRITABLE))
def test_round_trip(graph, tmp_path_factory):
    path = tmp_path_factory.mktemp("mpx") / "g.mpx"
    mpx.write(graph, path)
    assert mpx.read(path) == graph


@settings(derandomize=True, deadline=None, max_examples=300)
@given(data=st.data())
def test_a_damaged_file_is_a_graph_or_an_input_error(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("mpx") / "g.mpx"
    mpx.write(data.draw(graphs(WRITABLE, WRITABLE)), path)
    pieces = [b",", b"\n", b"#", b"\n#LAYERS\n", b"\n#TYPE multilayer\n", b"nan", b"--", b"\xff", b" ", "é".encode()]
    path.write_bytes(data.draw(damaged(path.read_bytes(), pieces)))
    assert_graph_or_input_error(lambda: mpx.read(path))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(graph=graphs())
def test_any_graph_is_written_whole_or_refused(graph, tmp_path_factory):
    path = tmp_path_factory.mktemp("mpx") / "g.mpx"
    try:
        mpx.write(graph, path)
    except OutputError:
        assert not path.exists()
    else:
        assert mpx.read(path) == graph


@pytest.mark.parametrize("node", ["a,b", "a\nb", "a\rb", " a", "a\t", "#a", "--a", "a\0b"])
def test_ids_that_the_format_cannot_hold(node, tmp_path):
    graph = graph_of("l.x l.y")
    odd = replace(graph, ids=pa.array([node, "zz"], pa.large_string()))
    with pytest.raises(OutputError, match=r"node id .* parquet"):
        mpx.write(odd, tmp_path / "g.mpx")
    assert list(tmp_path.iterdir()) == []


def test_the_type_says_whether_ids_imply_the_inter_links(tmp_path):
    whole = random_graph(3, known=1.0)
    for graph, kind in ((whole, "multiplex"), (whole.without(inter=whole.inter[:1]), "multilayer")):
        mpx.write(graph, tmp_path / "g.mpx")
        assert f"#TYPE\n{kind}\n" in (tmp_path / "g.mpx").read_text()
        assert mpx.read(tmp_path / "g.mpx") == graph


# ---- real files ----------------------------------------------------------------------------------------


@pytest.fixture
def data_folder() -> Path:
    folder = os.environ.get("MPXGAT_DATA")
    if not folder:
        pytest.skip("MPXGAT_DATA is not set: it names the folder that holds the data sets")
    return Path(folder)


def test_fftwyt_has_the_published_size_and_is_read_fast(data_folder):
    path = data_folder / "fftwyt" / "fftwyt.mpx"
    mpx.read(path)
    start = time.perf_counter()
    graph = mpx.read(path)
    assert time.perf_counter() - start < 0.5
    largest = graph.largest_component()
    assert (largest.n_layers, largest.n_nodes, largest.n_inter, largest.n_intra) == (3, 11_827, 6_028, 74_770)


SMALL = {
    "aucs": (5, 224, 620),
    "bankwiring": (6, 62, 108),
    "florentine": (2, 26, 35),
    "monastery": (10, 175, 407),
    "tailorshop": (4, 150, 552),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_files_in_the_old_and_the_new_spelling(data_folder, name):
    graph = mpx.read(data_folder / "uu_small_mpx" / f"{name}.mpx")
    assert (graph.n_layers, graph.n_nodes, graph.n_intra) == SMALL[name]
    spec = find_spec("uunet")
    if spec is None:
        pytest.skip("uunet is not installed, so there is no new spelling to compare with")
    newer = mpx.read(Path(spec.submodule_search_locations[0]) / "data" / f"{name}.mpx")
    assert sorted(newer.layers) == sorted(graph.layers)
    assert intra(newer) == intra(graph)
    assert np.array_equal(np.sort(np.diff(newer.layer_start)), np.sort(np.diff(graph.layer_start)))
