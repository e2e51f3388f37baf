"""GraphML and GEXF: layers, direction, weights, attributes; files from strangers."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import pytest

from mpxgat.errors import DataWarning, InputError, SettingError
from mpxgat.io import read, read_layers
from tests.examples import graph_of
from tests.io.foreign import FOREIGN, people

KINDS = ("graphml", "gexf")
every_kind = pytest.mark.parametrize("kind", KINDS)
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


def written(folder: Path, kind: str, graph: nx.Graph, name: str = "net") -> Path:
    (nx.write_graphml if kind == "graphml" else nx.write_gexf)(graph, folder / f"{name}.{kind}")
    return folder / f"{name}.{kind}"


def arcs(graph) -> set[tuple[str, str]]:
    return {(graph.ids[int(a)].as_py(), graph.ids[int(b)].as_py()) for a, b in zip(*graph.arcs.nonzero(), strict=True)}


@every_kind
def test_one_layer_keeps_direction_weights_and_attributes(tmp_path: Path, kind: str) -> None:
    graph = read(written(tmp_path, kind, people()))
    assert graph.layers == ("net",)
    assert [node.id for node in graph.nodes] == ["ann", "bea", "cem", "dora"]
    assert arcs(graph) == {("ann", "bea"), ("bea", "cem"), ("cem", "bea")}
    assert graph.intra_weight is not None
    assert graph.intra_weight.tolist() == [2.5, 1]
    assert {name: column.to_pylist() for name, column in graph.attributes.items()} == {
        "name": ["Ann", "Bea", "", ""],
        "age": ["30", "", "", ""],
        "active": ["true", "", "", ""],
    }
    assert read(written(tmp_path, kind, nx.Graph([("a", "b")]))).intra_arcs is None


@every_kind
def test_layers_of_nodes(tmp_path: Path, kind: str) -> None:
    graph = nx.Graph()
    for unit, layer in (("a", "x"), ("b", "x"), ("a", "y"), ("b", "y")):
        graph.add_node(f"{unit}{layer}", layer=layer, unit=unit)
    graph.add_edges_from([("ax", "bx"), ("ay", "by"), ("ax", "ay")])
    assert read(written(tmp_path, kind, graph)) == graph_of("x.a x.b", "y.a y.b", "x.a y.a")
    nx.set_node_attributes(graph, {node: node[-1] for node in graph}, "net")
    for _, data in graph.nodes(data=True):
        del data["layer"]
    path = written(tmp_path, kind, graph)
    assert read(path, columns={"layer": ("net",)}) == graph_of("x.a x.b", "y.a y.b", "x.a y.a")


@every_kind
def test_layers_of_edges(tmp_path: Path, kind: str) -> None:
    graph = nx.MultiGraph()
    graph.add_edge("a", "b", layer="x", weight=2.0)
    graph.add_edge("a", "b", layer="y")
    graph.add_edge("b", "c", layer="y")
    path = written(tmp_path, kind, graph)
    assert read(path) == graph_of("x.a x.b 2", "y.a y.b", "y.b y.c", "x.a y.a", "x.b y.b")
    graph.add_node("alone")
    with pytest.warns(DataWarning, match=r"1 node.s. without edges, such as 'alone', are left out"):
        read(written(tmp_path, kind, graph))
    graph.add_edge("c", "d")
    with pytest.raises(InputError, match="the edge between 'c' and 'd' has no layer, though others have"):
        read(written(tmp_path, kind, graph))


@every_kind
def test_attributes_by_other_names(tmp_path: Path, kind: str) -> None:
    graph = nx.Graph()
    graph.add_node("0", screen="ann")
    graph.add_node("1", screen="bea")
    graph.add_edge("0", "1", strength=3)
    path = written(tmp_path, kind, graph)
    assert read(path, columns={"weight": ("strength",), "id": ("screen",)}) == graph_of("net.ann net.bea 3")
    with pytest.raises(InputError, match=r"no attribute 'force' \(weight, of --columns\); those of nodes"):
        read(path, columns={"weight": ("force",)})
    with pytest.raises(SettingError, match="--columns source=a: this file has layer, unit, weight, id"):
        read(path, columns={"source": ("a",)})
    with pytest.raises(SettingError, match="which states its own; expected none"):
        read(path, encoding="cp1252")
    nx.set_node_attributes(graph, "ann", "screen")
    with pytest.raises(InputError, match="nodes '0' and '1' have the same 'screen', 'ann'"):
        read(written(tmp_path, kind, graph), columns={"id": ("screen",)})
    del graph.nodes["1"]["screen"]
    with pytest.raises(InputError, match="node '1' has no 'screen', expected an id there"):
        read(written(tmp_path, kind, graph), columns={"id": ("screen",)})


@every_kind
def test_what_is_passed_over_is_said_with_the_file(tmp_path: Path, kind: str) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", since="1999", id="e7")
    path = written(tmp_path, kind, graph)
    with pytest.warns(DataWarning) as said:
        read(path)
    assert [str(each.message).partition(";")[0] for each in said] == [
        f"{path}: attributes of edges passed over: 'since'"
    ]


def test_defaults_of_graphml_count(tmp_path: Path) -> None:
    path = tmp_path / "net.graphml"
    path.write_text(
        f'{GRAPHML}<key id="w" for="edge" attr.name="weight" attr.type="double"><default>4</default></key>'
        '<key id="c" for="node" attr.name="city" attr.type="string"><default>Rome</default></key>'
        '<graph edgedefault="undirected"><node id="a"><data key="c">Ulm</data></node><node id="b"/>'
        '<edge source="a" target="b"/></graph></graphml>'
    )
    graph = read(path)
    assert graph.intra_weight is not None
    assert graph.intra_weight.tolist() == [4]
    assert graph.attributes["city"].to_pylist() == ["Ulm", "Rome"]


@every_kind
def test_beside_lists_with_anchors(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, kind, people(), "home")
    (tmp_path / "work.csv").write_text("p,q\nq,r\n")
    (tmp_path / "work.nodes.csv").write_text("id\np\nq\nr\nalone\n")
    (tmp_path / "known.csv").write_text("home,work\nann,q\n")
    graph = read_layers(
        [path, tmp_path / "work.csv"], anchors=tmp_path / "known.csv", nodes=[tmp_path / "work.nodes.csv"]
    )
    assert graph.layers == ("home", "work")
    assert (graph.n_nodes, graph.n_intra, graph.n_inter) == (8, 4, 1)
    assert list(graph.directed_layers) == [True, False]
    assert graph.attributes["name"].to_pylist()[0] == "Ann"
    with pytest.raises(SettingError, match=r"2 lists of nodes for 1 files, .*GraphML and GEXF files list their nodes"):
        read_layers([path, tmp_path / "work.csv"], nodes=[tmp_path / "work.nodes.csv"] * 2)
    two = nx.Graph()
    two.add_node("a", layer="x")
    two.add_node("b", layer="y")
    with pytest.raises(InputError, match=r"2 layers \('x', 'y'\), expected one in each of several files"):
        read_layers([written(tmp_path, kind, two), tmp_path / "work.csv"])


@every_kind
def test_several_files_with_attributes_by_other_names(tmp_path: Path, kind: str) -> None:
    paths = [written(tmp_path, kind, nx.Graph([("a", "b", {"strength": 2})]), name) for name in "xy"]
    assert read_layers(paths, columns={"weight": "strength"}) == graph_of(
        "x.a x.b 2", "y.a y.b 2", "x.a y.a", "x.b y.b"
    )
    with pytest.raises(InputError, match="no attribute 'force'"):
        read_layers(paths, columns={"weight": "force"})
    with pytest.raises(SettingError, match="--columns source=a: no file that has a source has a column 'a'"):
        read_layers(paths, columns={"source": "a", "weight": "strength"})


# ---- files from strangers ------------------------------------------------------------------------------


@every_kind
def test_entities_are_refused_wherever_they_would_be_declared(tmp_path: Path, kind: str) -> None:
    path = FOREIGN[kind](tmp_path / f"net.{kind}")
    text = path.read_text()
    head = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b SYSTEM "file:///etc/hostname">]>'
    body = text.partition("?>")[2]
    for content in (
        f"<?xml version='1.0'?>\n{head}{body}".encode(),
        f"<?xml version='1.0' encoding='utf-16'?>\n{head}{body}".encode("utf-16"),
        f"<!-- {'x' * 100_000} -->\n{head}{body}".encode(),
        f"\n<!DOCTYPE graphml>{body}".encode(),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=rf"net\.{kind}:2: a document type"):
            read(path)
    path.write_bytes(f"<?xml version='1.0' encoding='utf-16'?>{body}".encode("utf-16"))
    assert read(path).n_nodes == 4


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ('<node id="a"/>\n<node/>', 2, "a node without an id"),
        ('<node id="a"/>\n<node id="a"/>', 2, "a second node 'a', expected different ids"),
        ('<node id="a"/>\n<edge source="a"/>', 2, "an edge without a target"),
        ('<node id="a"/>\n\n<edge source="a" target="b"/>', 3, "an edge of 'b', expected one of the nodes in the file"),
        ('<node id="a"><graph><node id="b"/></graph></node>', 1, "a second graph, or one within a node"),
        ('<node id="a">', 1, "not well-formed XML (mismatched tag)"),
        ("<x>" * 300 + "</x>" * 300, 1, "elements nested more than 200 deep"),
        (
            '<node id="a"/><node id="b"/><edge source="a" target="b" directed="true"/>',
            None,
            "cannot be read as GraphML",
        ),
        (
            '<node id="a"><data key="nothing">1</data></node>',
            None,
            "read as GraphML (Bad GraphML data: no key",
        ),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path: Path, body: str, line: int | None, said: str) -> None:
    path = tmp_path / "net.graphml"
    path.write_text(f'{GRAPHML}<graph edgedefault="undirected">{body}</graph></graphml>')
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert said in str(caught.value)


def test_an_attribute_without_a_title_is_named(tmp_path: Path) -> None:
    path = FOREIGN["gexf"](tmp_path / "net.gexf")
    text = path.read_text()
    assert 'title="name"' in text
    path.write_text(text.replace('title="name"', ""))
    with pytest.raises(InputError, match=r"net\.gexf:\d+: an attribute without a title"):
        read(path)


def test_attributes_may_be_called_as_the_librarys_own_arguments(tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_nodes_from([("a", {"graph": "x", "label": "A"}), ("b", {})])
    graph.add_edges_from([("a", "b", {"key": "1", "weight": 2})])
    read_back = read(written(tmp_path, "graphml", graph))
    assert read_back.attributes["graph"].to_pylist() == ["x", ""]
    assert read_back.n_intra == 1


def test_other_xml_is_named(tmp_path: Path) -> None:
    for kind, said in (("graphml", "cannot be read as GraphML"), ("gexf", "cannot be read as GEXF")):
        path = tmp_path / f"net.{kind}"
        path.write_text("<html><body/></html>")
        with pytest.raises(InputError, match=said):
            read(path)


def test_a_default_for_all_nodes_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "net.graphml"
    nodes = "".join(f'<node id="{number}"/>' for number in range(2000))
    path.write_text(
        f'{GRAPHML}<key id="c" for="node" attr.name="c" attr.type="string"><default>{"x" * 500_000}</default></key>'
        f'<graph edgedefault="undirected">{nodes}</graph></graphml>'
    )
    with pytest.raises(InputError, match="defaults given to every node would take 1000000000 bytes"):
        read(path)
