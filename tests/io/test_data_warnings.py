"""What is read though it may not be as it was meant, or not all of it is used: understood, refused, or said."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import networkx as nx
import pytest

from mpxgat.build import with_apart
from mpxgat.errors import DataWarning, InputError
from mpxgat.io import formats, from_networkx, read, read_layers, to_networkx, to_networkx_layers, to_pyg, write
from tests.examples import graph_of, random_graph

EDGES = "source,source_layer,target,target_layer"


def put(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


# ---- headers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        "from,to", "follower,followed", "id1,id2", "source,target,weight", '"Source","Target"', "node_1,node_2",
        "src,dst", "userA,userB", "From Node,To Node", "id_a,id_b", "Sender,Receiver",
    ],
)  # fmt: skip
def test_a_header_of_a_list_is_understood(tmp_path, header):
    weight = ",1" * (header.count(",") - 1)
    path = put(tmp_path, "x.csv", f"{header}\nann,bea{weight}\nbea,cid{weight}\n")
    assert read_layers([path]) == graph_of("x.ann x.bea", "x.bea x.cid")
    path = put(tmp_path, "x.csv", f"# comment\n\n{header}\nann,bea{weight}\nbea{weight}\n")
    with pytest.raises(InputError, match=r"x\.csv:5: "):
        read_layers([path])


def test_words_that_occur_again_are_ids(tmp_path):
    path = put(tmp_path, "words.txt", "from to\nto go\nfrom here\n")
    assert {node.id for node in read_layers([path]).nodes} == {"from", "to", "go", "here"}


def test_words_above_numbers_are_a_header_and_said_to_be(tmp_path):
    path = put(tmp_path, "x.txt", "ego alter\n1 2\n2 3\n3 1\n")
    with pytest.warns(DataWarning, match="the first row, 'ego', 'alter', is taken for a header"):
        assert read_layers([path]) == graph_of("x.1 x.2", "x.2 x.3", "x.1 x.3")


def test_a_first_row_that_may_be_a_header_is_said_to_be_read_as_a_link(tmp_path):
    path = put(tmp_path, "x.txt", "ego alter\nann bea\nbea cid\ncid ann\n")
    with pytest.warns(DataWarning, match=r"x\.txt: the first row is read as a link of 'ego', 'alter'"):
        assert read_layers([path]).n_intra == 4


@pytest.mark.parametrize("header", ["layer node node weight", "layerID nodeID nodeID weight", "layer from to w"])
def test_a_header_of_edges_is_understood(tmp_path, header):
    path = put(tmp_path, "net.edges", f"{header}\nx ann bea 1\nx bea cid 1\n")
    assert read(path) == graph_of("x.ann x.bea", "x.bea x.cid")
    put(tmp_path, "net.edges", f"{header}\nx ann bea 1\nx bea cid much\n")
    with pytest.raises(InputError, match=r"net\.edges:3: the weight is 'much'"):
        read(path)


def test_a_header_of_anchors_is_understood(tmp_path):
    files = [put(tmp_path, "x.txt", "a b\n"), put(tmp_path, "y.txt", "p q\n")]
    expected = graph_of("x.a x.b", "y.p y.q", "x.a y.q")
    for anchors in ("id1 id2\na q\n", "node1,layer1,node2,layer2\na,x,q,y\n"):
        assert read_layers(files, anchors=put(tmp_path, "anchors.txt", anchors)) == expected


@pytest.mark.parametrize(
    ("name", "content"), [("x.csv", f"{EDGES}\n"), ("x.csv", "source,target,layer\n"), ("x.edges", "layer node node\n")]
)
def test_a_header_alone_is_no_network(tmp_path, name, content):
    with pytest.raises(InputError, match=r"a header and no (rows|links) below it"):
        read(put(tmp_path, name, content))
    with pytest.raises(InputError, match="a header and no links below it"):
        read_layers([put(tmp_path, "list.csv", "from,to\n")])


# ---- a column too few ----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["ann bea 0.5\nbea cid 1\n", "1 2 0.5\n2 3 1\n", "a b 1e-3\n"])
def test_weights_are_not_taken_for_nodes(tmp_path, content):
    with pytest.raises(InputError, match=r"in the place of a node, expected 'layer node node \[weight\]'"):
        read(put(tmp_path, "net.edges", content))


def test_whole_numbers_in_the_place_of_nodes_are_said(tmp_path):
    with pytest.warns(DataWarning, match="the third column holds only numbers such as '2', read as nodes"):
        read(put(tmp_path, "net.edges", "ann bea 2\nbea cid 1\n"))


@pytest.mark.parametrize("content", ["1 1 2\n1 2 3\n", "x 1.5 2.5\n", "x ann 2\nx ann bea\n"])
def test_numbers_may_be_ids(tmp_path, content):
    assert read(put(tmp_path, "net.edges", content)).n_intra > 0


# ---- units and spellings -------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["NA", "N/A", "nan", "None", "null", "#N/A"])
def test_a_unit_that_is_none_links_nobody_and_is_said(tmp_path, unit):
    path = put(tmp_path, "net.csv", f"{EDGES}\na,x,b,x\nc,y,d,y\n")
    put(tmp_path, "net.nodes.csv", f"id,layer,unit\na,x,{unit}\nb,x,7\nc,y,{unit}\nd,y,7\n")
    with pytest.warns(DataWarning, match=rf"net\.nodes\.csv: units '{unit}' are taken for none"):
        assert read(path) == graph_of("x.a x.b", "y.c y.d", "x.b y.d")


def test_a_blank_unit_links_nobody(tmp_path):
    path = put(tmp_path, "net.csv", f"{EDGES}\na,x,b,x\nc,y,d,y\n")
    put(tmp_path, "net.nodes.csv", "id,layer,unit\na,x, \nb,x,Nanna\nc,y, \nd,y,Nanna\n")
    assert read(path) == graph_of("x.a x.b", "y.c y.d", "x.b y.d")


@pytest.mark.parametrize(("one", "other"), [("caf\u00e9", "cafe\u0301"), ("ann", "ann "), ("ann", "\ufeffann")])
def test_ids_that_look_alike_are_said_to_be_different(tmp_path, one, other):
    path = put(tmp_path, "net.csv", f"{EDGES}\n{one},x,b,x\n{other},x,c,x\n")
    with pytest.warns(DataWarning, match=r"1 of the ids are spelled as another but for blanks"):
        graph = read(path)
    assert {node.id for node in graph.nodes} == {one, other, "b", "c"}


def test_ids_of_lists_lose_blanks_and_other_spellings_are_said(tmp_path):
    assert read_layers([put(tmp_path, "x.csv", "ann , b\nann,c\n")]) == graph_of("x.ann x.b", "x.ann x.c")
    lists = [put(tmp_path, "x.csv", "caf\u00e9,b\n"), put(tmp_path, "y.csv", "cafe\u0301,b\n")]
    with pytest.warns(DataWarning, match=r"1 of the ids are spelled as another"):
        read_layers(lists)


def test_layers_that_look_alike_are_said_to_be_different(tmp_path):
    with pytest.warns(DataWarning, match=r"1 of the layers are spelled as another .* 'work' and 'work '"):
        read(put(tmp_path, "net.csv", f"{EDGES}\na,work,b,work\na,work ,b,work \n"))


# ---- what is passed over -------------------------------------------------------------------------------


def test_columns_of_edges_that_are_not_read_are_said(tmp_path):
    with pytest.warns(DataWarning, match=r"net\.csv: columns passed over: 'since', 'Type'"):
        read(put(tmp_path, "net.csv", f"{EDGES},since,Type\na,x,b,x,1999,Directed\n"))


def test_rows_that_are_merged_are_said(tmp_path):
    rows = ["a,x,b,x,1", "b,x,a,x,3", "b,x,c,x,1", "c,x,c,x,1"]
    with pytest.warns(DataWarning, match="1 rows say a link again, in the same or the other direction"):
        read(put(tmp_path, "net.csv", f"{EDGES},weight\n" + "\n".join(rows)))
    rows[2:] = ["c,x,c,x,1"]  # every link in both directions: nothing to say
    assert read(put(tmp_path, "net.csv", f"{EDGES},weight\n" + "\n".join(rows))).intra_weight.tolist() == [3]


def test_directions_between_layers_and_numbers_of_mpx_files_are_said(tmp_path):
    text = (
        "#TYPE multilayer\n#LAYERS\nx,x,DIRECTED\ny,y,UNDIRECTED\nx,y,DIRECTED\n"
        "#VERTEX ATTRIBUTES\nx,age,NUMERIC\nx,h:size,NUMERIC\n"
        "#EDGE ATTRIBUTES\nweight,NUMERIC\nsince,NUMERIC\n#VERTICES\na,x,30,1\nb,x,40,2\n#EDGES\na,x,b,x,2,1999\n"
    )
    with pytest.warns(DataWarning) as said:
        graph = read(put(tmp_path, "net.mpx", text))
    assert graph.horizontal_features.names == ("size",)
    texts = [str(one.message).removeprefix(f"{tmp_path / 'net.mpx'}: ") for one in said]
    assert [text.partition(";")[0] for text in texts] == [
        "edges between layers 'x-y' are directed: read as undirected",
        "attributes of edges passed over: 'since'",
        "numeric attributes kept as text: 'age'",
    ]


def test_directions_between_layers_and_attributes_of_networkx_are_said():
    graph = nx.DiGraph([(("a", "x"), ("a", "y"))])
    graph.add_node(("a", "x"), age=30, name="Ann", **{"h:size": 2.0})
    graph.add_edge(("a", "x"), ("b", "x"), weight=2, since=1999)
    with pytest.warns(DataWarning) as said:
        from_networkx(graph)
    assert [str(one.message).partition(";")[0] for one in said] == [
        "directed edges between layers are read as undirected links",
        "attributes of edges passed over: 'since'",
        "attributes of nodes passed over: 'age'",
    ]


def test_features_of_pyg_are_said_to_be_passed_over():
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data", reason="torch-geometric is not installed").HeteroData()
    from mpxgat.io import from_pyg

    data["a"].x = torch.ones(2, 3)
    data["a", "to", "a"].edge_index = torch.tensor([[0], [1]])
    with pytest.warns(DataWarning, match="passed over: 'x'"):
        from_pyg(data)


@pytest.mark.parametrize("name", sorted(name for name, form in formats().items() if form.writes))
def test_nothing_is_said_of_what_we_write(tmp_path, name):
    graph = random_graph(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(graph, tmp_path / f"net{formats()[name].suffixes[0]}", name)
        read(tmp_path / f"net{formats()[name].suffixes[0]}", name)
        from_networkx(to_networkx(graph))
        from_networkx(to_networkx_layers(graph), anchors=[])


@pytest.mark.parametrize("convert", [to_networkx, to_networkx_layers, to_pyg])
def test_pairs_known_to_be_different_are_said_to_be_left_out(convert):
    graph = with_apart(graph_of("x.a x.b", "y.a y.b", "x.a y.a"), [[0, 3]])
    if convert is to_pyg:
        pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")
    with pytest.warns(DataWarning, match="1 pair\\(s\\) known to be different are left out"):
        convert(graph)


def test_the_command_prints_a_note_once(tmp_path):
    put(tmp_path, "net.mpx", "#LAYERS\nx,UNDIRECTED\n#EDGE ATTRIBUTES\nsince,NUMERIC\n#EDGES\na,b,x,1999\n")
    command = [sys.executable, "-m", "mpxgat", "convert", "net.mpx", "-o", "net.csv"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stderr.splitlines()[0].startswith("note: net.mpx: attributes of edges passed over: 'since'")
    assert ended.stderr.count("note: ") == 1
