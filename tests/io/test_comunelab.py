"""The `.edges` files of muxViz and the CoMuNe lab."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mpxgat.errors import InputError, OutputError
from mpxgat.graph import MultiplexGraph
from mpxgat.io import read, write
from tests.examples import graph_of

EDGES = "1 a b 1\n1 b c 2.5\n2 a c 1\n"


def put(folder: Path, **contents: str) -> Path:
    """Write files named by keyword: ``x_edges`` is x.edges, ``x_layers`` is x_layers.txt; returns the edges."""
    for name, content in contents.items():
        stem, kind = name.rsplit("_", 1)
        place = folder / (f"{stem}.{kind}" if kind.endswith("edges") else f"{name}.txt")
        place.write_bytes(content.encode())
    return next(folder.glob("*edges"))


def links(graph: MultiplexGraph) -> set[str]:
    nodes = graph.nodes
    return {
        " ".join(f"{nodes[int(end)].layer}.{nodes[int(end)].id}" for end in pair)
        for pair in (*graph.intra, *graph.inter)
    }


def message(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


def test_plain_form_links_copies_by_id(tmp_path: Path) -> None:
    graph = read(put(tmp_path, x_edges=EDGES))
    assert graph.layers == ("1", "2")
    assert links(graph) == {"1.a 1.b", "1.b 1.c", "2.a 2.c", "1.a 2.a", "1.c 2.c"}
    assert graph.intra_weight is not None
    assert graph.intra_weight.tolist() == [1, 2.5, 1]


def test_weights_may_be_absent(tmp_path: Path) -> None:
    graph = read(put(tmp_path, x_edges="1 a b\n2 a b\n"))
    assert graph.n_intra == 2
    assert graph.intra_weight is None


def test_layers_and_nodes_beside(tmp_path: Path) -> None:
    graph = read(
        put(
            tmp_path,
            x_multiplex_edges=EDGES,
            x_layers="layerID layerLabel\n2 at work\n1 lunch\n3 unused",
            x_nodes="nodeID nodeLabel nodeAge \na Ann 31\r\nb Bob 32 \nc Cy 33\nd Dee 34\n",
        )
    )
    assert graph.layers == ("at work", "lunch")
    assert graph.n_nodes == 5  # d is in no edge
    assert graph.attributes["label"].to_pylist() == ["Ann", "Cy", "Ann", "Bob", "Cy"]
    assert graph.attributes["nodeAge"].to_pylist() == ["31", "33", "31", "32", "33"]


def test_a_single_label_may_hold_blanks(tmp_path: Path) -> None:
    graph = read(put(tmp_path, x_edges="1 a b\n", x_nodes="nodeID nodeLabel\na Ann Lee\nb\n"))
    assert graph.attributes["label"].to_pylist() == ["Ann Lee", ""]


def test_untidy_blanks_are_read(tmp_path: Path) -> None:
    tidy = read(put(tmp_path, x_edges=EDGES))
    untidy = "\n  1\ta  b   1 \n\n1 b c\t\t2.5\n \n2 a c 1   \n\n"
    assert read(put(tmp_path, x_edges=untidy)) == tidy


def test_a_node_seen_only_in_a_self_loop_stays(tmp_path: Path) -> None:
    graph = read(put(tmp_path, x_edges="1 a b 1\n1 z z 1\n"))
    assert graph.n_nodes == 3
    assert graph.n_intra == 1


def test_extended_form_takes_its_own_inter_links(tmp_path: Path) -> None:
    graph = read(put(tmp_path, x_edges="a 1 b 1 1\na 2 b 2 1\na 1 b 2 3\n"))
    assert links(graph) == {"1.a 1.b", "2.a 2.b", "1.a 2.b"}
    assert graph.inter_weight is not None
    assert graph.inter_weight.tolist() == [3]


def test_extended_form_without_inter_links_links_by_id(tmp_path: Path) -> None:
    graph = read(put(tmp_path, x_xedges="a 1 b 1 1\na 2 c 2 1\n"))
    assert links(graph) == {"1.a 1.b", "2.a 2.c", "1.a 2.a"}


@pytest.mark.parametrize(
    ("edges", "line", "said"),
    [
        ("1 a b 1\n\n1 a c x\n", 3, "the weight is 'x', expected a finite number"),
        ("1 a b nan\n", 1, "the weight is 'nan'"),
        ("1 a b 1\n1 a c inf\n1 a d x\n", 2, "the weight is 'inf'"),
        ("1 a b 0x10\n", 1, "the weight is '0x10'"),
        ("1 a b 1_0\n", 1, "the weight is '1_0'"),
        ("1 a b 1e999\n", 1, "the weight is '1e999'"),
        ("1 a b 1\n1 a  c\n", 2, "3 columns, expected 4 as in the first row"),
        ("1 a\n", 1, "2 columns, expected 'layer node node [weight]' or 'node layer node layer weight'"),
        ("1 a b 1\n2 c d 1\n1 a " + "b" * 70_000 + " 1\n", 3, "is longer than 65536 bytes"),
        ("a 1 b 1 1\na 1 b 2 1\na 1 c 2 1\n", 3, "expected at most one counterpart in a layer"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, edges: str, line: int, said: str) -> None:
    path = put(tmp_path, x_edges=edges)
    assert message(path).startswith(f"{path}:{line}: ")
    assert said in message(path)


def test_an_unknown_layer_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, x_edges="1 a b\n3 a b\n", x_layers="layerID layerLabel\n1 lunch\n2 work\n")
    assert message(path) == f"{path}:2: unknown layer '3', expected one of '1', '2'"


def test_a_dangling_id_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, x_edges="1 a b\n1 a c\n1 d c\n", x_nodes="nodeID nodeLabel\na A\nb B\n")
    assert message(path) == f"{path}:2: dangling id 'c', expected one listed in x_nodes.txt"


@pytest.mark.parametrize(
    ("kind", "content", "line", "said"),
    [
        ("layers", "1 lunch\n", 1, "expected the header 'layerID layerLabel'"),
        ("layers", "layerID\n1\n", 1, "1 column"),
        ("layers", "layerID layerLabel\n1 a\n2 b\n1 c\n", 4, "layerID '1' is listed twice"),
        ("layers", "layerID layerLabel\n1 a\n2 a\n", 3, "a second layer is called 'a'"),
        ("layers", "layerID layerLabel\n1\n", 2, "has no name"),
        ("nodes", "a b\n", 1, "expected the header 'nodeID nodeLabel'"),
        ("nodes", "nodeID nodeLabel nodeAge\na A 1\nb B\n", 3, "2 columns, expected 3"),
        ("nodes", "nodeID nodeAge nodeAge\na 1 1\nb 1 1\n", 1, "a second column is called 'nodeAge'"),
        ("nodes", "nodeID nodeLabel\na A\nb B\na A\n", 4, "nodeID 'a' is listed twice"),
    ],
)
def test_bad_companions_are_named(tmp_path: Path, kind: str, content: str, line: int, said: str) -> None:
    path = put(tmp_path, **{"x_edges": "1 a b\n", f"x_{kind}": content})
    assert message(path).startswith(f"{tmp_path / f'x_{kind}.txt'}:{line}: ")
    assert said in message(path)


# ---- writing -------------------------------------------------------------------------------------------


def test_the_plain_form_is_written_where_ids_tell_the_inter_links(tmp_path: Path) -> None:
    graph = graph_of("y.a y.b 0.1", "y.c y.c", "x.a x.d", "y.a x.a")
    written = write(graph, tmp_path / "g_multiplex.edges")
    assert [place.name for place in written] == ["g_multiplex.edges", "g_layers.txt"]
    assert written[0].read_text() == "1 a b 0.1\n2 a d 1\n1 c c 1\n"
    assert written[1].read_text() == "layerID layerLabel\n1 y\n2 x\n"
    assert read(written[0]) == graph


def test_the_extended_form_is_written_where_ids_do_not_tell(tmp_path: Path) -> None:
    graph = graph_of("x.a x.b", "y.a y.b", "x.a y.b 2")
    path = tmp_path / "g.edges"
    write(graph, path)
    assert path.read_text().splitlines()[0] == "a 1 b 1 1"
    assert read(path) == graph


def test_what_no_form_holds_is_refused(tmp_path: Path) -> None:
    shared = graph_of("x.a x.b", "y.a y.b")
    with pytest.raises(OutputError, match=r"would link the nodes 'a'.*parquet"):
        write(shared, tmp_path / "g.edges")
    blank = read(_csv(tmp_path, "source,target,layer\nt w,b,x\n"))
    with pytest.raises(OutputError, match=r"the id 't w'.*parquet"):
        write(blank, tmp_path / "g.edges")
    assert not list(tmp_path.glob("g*"))


def test_an_older_nodes_file_does_not_stay(tmp_path: Path) -> None:
    path = put(tmp_path, g_edges="1 a b\n", g_nodes="nodeID nodeLabel\na A\nb B\n")
    graph = graph_of("x.c x.d")
    write(graph, path)
    assert read(path) == graph


def _csv(folder: Path, content: str) -> Path:
    path = folder / "in.csv"
    path.write_text(content)
    return path


# ---- real data -----------------------------------------------------------------------------------------

DATA = os.environ.get("MPXGAT_DATA")


@pytest.mark.skipif(DATA is None, reason="MPXGAT_DATA is not set: no folder of data sets to read")
@pytest.mark.parametrize(
    ("file", "sizes"),
    [
        ("arxiv_netscience/arxiv_netscience_multiplex.edges", (13, 19_310, 48_657, 20_738)),
        ("drosophila_genetic/drosophila_genetic_multiplex.edges", (7, 11_867, 39_934, 5_171)),
    ],
)
def test_the_largest_component_has_the_published_sizes(file: str, sizes: tuple[int, ...]) -> None:
    graph = read(Path(str(DATA)) / file).largest_component()
    assert (graph.n_layers, graph.n_nodes, graph.n_intra, graph.n_inter) == sizes


@pytest.mark.skipif(DATA is None, reason="MPXGAT_DATA is not set: no folder of data sets to read")
def test_every_provided_file_is_read_and_comes_back(tmp_path: Path) -> None:
    files = sorted(Path(str(DATA)).glob("*/*_multiplex.edges"))
    assert len(files) >= 6
    for file in files:
        graph = read(file)
        write(graph, tmp_path / file.name)
        assert read(tmp_path / file.name) == graph
