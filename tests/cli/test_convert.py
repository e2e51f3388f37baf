"""`mpxgat convert`."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from mpxgat.build import with_apart
from mpxgat.cli.app import app
from mpxgat.errors import MpxgatError
from mpxgat.graph import Features
from mpxgat.io import read, write
from mpxgat.synthetic import social

EDGES = "1 a b 1\n1 b c 1\n2 a b 2\n"


def run(*arguments):
    return CliRunner().invoke(app, ["convert", *map(str, arguments)])


@pytest.fixture
def net(tmp_path):
    path = tmp_path / "net.edges"
    path.write_text(EDGES)
    return path


def test_to_another_format(net, tmp_path):
    out = tmp_path / "out.xedges"
    result = run(net, "-o", out)
    assert result.exit_code == 0, result.exception
    assert result.stdout == ""
    assert f"wrote {out}\n" in result.stderr
    assert read(out) == read(net)


def test_formats_by_name(net, tmp_path):
    plain = net.rename(tmp_path / "net.txt")
    result = run(plain, "-o", tmp_path / "out.dat", "--from", "comunelab", "--to", "comunelab-extended")
    assert result.exit_code == 0, result.exception
    assert read(tmp_path / "out.dat", "comunelab-extended") == read(plain, "comunelab")


def failure(*arguments):
    result = run(*arguments)
    assert result.exit_code != 0
    assert isinstance(result.exception, MpxgatError)
    return str(result.exception)


def test_an_input_is_never_overwritten(net, tmp_path):
    (tmp_path / "link.edges").symlink_to(net)
    for out in (net, tmp_path / "." / "net.edges", tmp_path / "link.edges"):
        assert "part of what is read" in failure(net, "-o", out)
    assert net.read_text() == EDGES


@pytest.mark.parametrize("beside", [True, False])
def test_a_file_that_would_be_taken_for_part_of_the_input_is_not_written(net, tmp_path, beside):
    net.write_text(EDGES.replace("1 a", "10 a"))
    if beside:
        (tmp_path / "net_layers.txt").write_text("layerID layerLabel\n1 one\n2 two\n10 ten\n")
    before = read(net)
    assert "net_layers.txt' is, or would be taken for, part" in failure(net, "-o", tmp_path / "net.xedges")
    assert "net_layers.txt' is, or would be taken for, part" in failure(net, "-o", tmp_path / "net_multiplex.edges")
    assert read(net) == before
    table = tmp_path / "table.edges.csv"
    write(before, table)
    assert "table.nodes.csv' is, or would be taken for, part" in failure(table, "-o", tmp_path / "table.csv")
    for harmless in ("table.parquet", "table.edges.csv.gz"):
        assert run(table, "-o", tmp_path / harmless).exit_code == 0


def test_an_unknown_target_is_told_before_anything_is_read(tmp_path):
    assert "cannot tell the format" in failure(tmp_path / "absent.edges", "-o", tmp_path / "out.nonsense")
    assert "no format 'nonsense'" in failure(tmp_path / "absent.edges", "-o", tmp_path / "x", "--to", "nonsense")


def test_a_name_too_long_for_the_system_is_one_error(tmp_path):
    assert "File name too long" in failure(tmp_path / ("x" * 5000 + ".edges"), "-o", tmp_path / "out.csv")
    (tmp_path / "net.edges").write_text(EDGES)
    assert "File name too long" in failure(tmp_path / "net.edges", "-o", tmp_path / ("x" * 5000 + ".csv"))


def test_bad_input_leaves_no_output(tmp_path):
    (tmp_path / "bad.edges").write_text("1 a\n")
    assert "bad.edges:1:" in failure(tmp_path / "bad.edges", "-o", tmp_path / "out.xedges")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.edges"]


def test_a_folder_that_is_not_there(net, tmp_path):
    assert "cannot write" in failure(net, "-o", tmp_path / "absent" / "out.xedges")


def test_what_the_target_leaves_out_is_said(tmp_path):
    graph = social(30, 2, 0)
    graph = replace(graph, horizontal_features=Features(("x",), np.ones((graph.n_nodes, 1))))
    write(graph, tmp_path / "planted.parquet")
    result = run(tmp_path / "planted.parquet", "-o", tmp_path / "out.xedges")
    assert result.exit_code == 0, result.exception
    assert "comunelab-extended does not hold features of this network: left out\n" in result.stderr


@pytest.fixture
def known(tmp_path):
    """A network with some known links, and a list of two pairs that are different."""
    path, graph = tmp_path / "known.csv", social(40, 2, 0, known=0.5)
    write(graph, path)
    rows = [[graph.ids[0].as_py(), graph.ids[-1].as_py()], [graph.ids[1].as_py(), graph.ids[-2].as_py()]]
    listed = tmp_path / "different.csv"
    listed.write_text("\n".join([",".join(graph.layers), *map(",".join, rows)]) + "\n")
    return path, listed


@pytest.mark.parametrize("suffix", [".mpxg", ".csv", ".parquet"])
def test_pairs_known_to_be_different_are_added(known, tmp_path, suffix):
    path, listed = known
    out = tmp_path / f"out{suffix}"
    result = run(path, "-o", out, "--different", listed)
    assert result.exit_code == 0, result.exception
    graph = read(path)
    last = graph.n_nodes - 1
    assert read(out) == with_apart(graph, [[0, last], [1, last - 1]])
    assert run(out, "-o", tmp_path / "again.csv").exit_code == 0
    assert read(tmp_path / "again.csv") == read(out)


@pytest.mark.parametrize("suffix", [".edges", ".xedges", ".mpx", ".json"])
def test_a_format_that_cannot_hold_them_says_so(tmp_path, suffix):
    graph = social(40, 2, 0, known=1)
    apart = with_apart(graph, [[0, graph.n_nodes - 1]])
    write(replace(apart, attributes={}), tmp_path / "net.mpxg")
    result = run(tmp_path / "net.mpxg", "-o", tmp_path / f"out{suffix}")
    assert result.exit_code == 0, result.exception
    assert "does not hold pairs known to be different of this network: left out\n" in result.stderr


def test_a_pair_that_links_join_is_named_with_its_line(known, tmp_path):
    path, listed = known
    graph = read(path)
    ids = [graph.ids[int(node)].as_py() for node in graph.inter[0]]
    with open(listed, "a") as stream:
        stream.write(",".join(ids) + "\n")
    said = failure(path, "-o", tmp_path / "out.csv", "--different", listed)
    assert f"{listed}:4: '{ids[0]}' (layer '{graph.layers[0]}') and '{ids[1]}'" in said
    assert "are said to be different, but a known link makes them one unit; drop one of the two" in said
    assert not (tmp_path / "out.csv").exists()


def test_a_file_of_different_pairs_that_would_be_taken_for_part_of_the_input_is_not_written(known, tmp_path):
    path, listed = known
    path = path.rename(tmp_path / "known.edges.csv")
    out = tmp_path / "known.edges.csv.gz"
    assert "known.apart.csv.gz' is, or would be taken for, part" in failure(path, "-o", out, "--different", listed)
    assert run(path, "-o", out).exit_code == 0
    assert "different.csv' is, or would be taken for, part" in failure(path, "-o", listed, "--different", listed)


def test_nothing_is_said_of_what_a_network_does_not_have(tmp_path):
    (tmp_path / "net.edges").write_text("1 a b 1\n2 a b 1\n")
    result = run(tmp_path / "net.edges", "-o", tmp_path / "out.xedges")
    assert result.exit_code == 0, result.exception
    assert "does not hold" not in result.stderr


@pytest.fixture
def two_lists(tmp_path):
    (tmp_path / "one.txt").write_text("ann bob\nbob cid\n")
    (tmp_path / "two.txt").write_text("X Y\nY Z\nann Z\n")
    (tmp_path / "anchors.txt").write_text("ann X\nbob Y\n")
    return tmp_path / "one.txt", tmp_path / "two.txt"


def links(graph):
    return [(graph.nodes[int(a)].id, graph.nodes[int(b)].id) for a, b in graph.inter]


def test_several_lists_and_anchors(two_lists, tmp_path):
    out = tmp_path / "out.xedges"
    result = run(*two_lists, "--anchors", tmp_path / "anchors.txt", "--layer-names", "home,work", "-o", out)
    assert result.exit_code == 0, result.exception
    graph = read(out)
    assert graph.layers == ("home", "work")
    assert links(graph) == [("ann", "X"), ("bob", "Y")]


def test_several_lists_without_anchors_are_joined_by_id(two_lists, tmp_path):
    assert run(*two_lists, "-o", tmp_path / "out.xedges").exit_code == 0
    graph = read(tmp_path / "out.xedges")
    assert graph.layers == ("one", "two")
    assert links(graph) == [("ann", "ann")]


def test_several_lists_with_wrong_options(two_lists, tmp_path):
    out = tmp_path / "out.xedges"
    assert "3 layer names for 2 files" in failure(*two_lists, "--layer-names", "a,b,c", "-o", out)
    assert "expected no --from" in failure(*two_lists, "--from", "comunelab", "-o", out)
    anchors = tmp_path / "anchors.xedges"
    anchors.write_text("ann X\n")
    assert "part of what is read" in failure(*two_lists, "--anchors", anchors, "-o", anchors)
    assert not out.exists()


def test_lists_of_nodes_keep_those_without_links(two_lists, tmp_path):
    lists = [tmp_path / "one.nodes.csv", tmp_path / "two.nodes.csv"]
    lists[0].write_text("id\nann\nbob\ncid\ndan\n")
    lists[1].write_text("id\nX\nY\nZ\nann\n")
    named = [part for path in lists for part in ("--nodes", path)]
    result = run(*two_lists, *named, "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.exception
    assert "dan" in [node.id for node in read(tmp_path / "out.csv").nodes]
    assert "part of what is read" in failure(*two_lists, *named, "-o", tmp_path / "one.csv")


def test_direction_that_a_format_cannot_hold_is_said_to_be_left_out(net, tmp_path):
    kept = tmp_path / "kept.mpx"
    result = run(net, "-o", kept, "--directed")
    assert result.exit_code == 0, result.exception
    assert "left out" not in result.stderr
    assert read(kept) == read(net, directed=True)
    assert read(kept).intra_arcs is not None
    result = run(kept, "-o", tmp_path / "lost.edges")
    assert "comunelab does not hold direction of this network: left out" in result.stderr
    assert read(tmp_path / "lost.edges") == read(net)


def test_single_layer_lists_are_directed_if_that_is_asked_for(tmp_path):
    (tmp_path / "x.txt").write_text("a b\n")
    (tmp_path / "y.txt").write_text("b a\n")
    run(tmp_path / "x.txt", tmp_path / "y.txt", "-o", tmp_path / "net.mpx", "--directed")
    assert read(tmp_path / "net.mpx").intra_arcs.tolist() == [1, 2]
