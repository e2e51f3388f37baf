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
from tests.io.foreign import FOREIGN, npz

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


# ---- files as people have them -------------------------------------------------------------------------


@pytest.fixture
def follows(tmp_path):
    """Follows, accounts and known pairs of two platforms, each file in another dialect of CSV."""
    texts = {
        "follows_a.csv": "follower,followed,since\nann,bea,2001\nbea,cem,2002\nbea,bea,1\nann,bea,2003\n",
        "follows_b.tsv": "followed\tfollower\nq\tp\nr\tq\n",
        "accounts_a.csv": "account;name\nann;Ann\nbea;Bea\ncem;Cem\ndora;Dora\n",
        "accounts_b.csv": "id,name\np,Jos\xe9\nq,Q\nr,R\nalone,A\n",
        "known.csv": "account_a,account_b\nann,p\nbea,q\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode("utf-16" if name == "accounts_b.csv" else "utf-8"))
    return {name.partition(".")[0]: tmp_path / name for name in texts}


COLUMNS = ("--columns", "source=follower,target=followed,id=account")


def parts_of(files):
    return (files["follows_a"], files["follows_b"], "--anchors", files["known"], *COLUMNS)


def test_the_files_of_two_platforms_become_one_network(follows, tmp_path):
    out = tmp_path / "net.parquet"
    nodes = ("--nodes", follows["accounts_a"], follows["accounts_b"])
    result = run(*parts_of(follows), *nodes, "--directed", "-o", out)
    assert result.exit_code == 0, result.exception
    graph = read(out)
    assert graph.layers == ("follows_a", "follows_b")
    assert [node.id for node in graph.nodes] == ["ann", "bea", "cem", "dora", "alone", "p", "q", "r"]
    assert links(graph) == [("ann", "p"), ("bea", "q")]
    assert graph.intra_arcs.tolist() == [1, 1, 1, 1]
    assert graph.attributes["name"].to_pylist()[5] == "Jos\xe9"


@pytest.mark.parametrize("form", ["{f} --nodes {a} {b}", "{f} --nodes {a} --nodes {b}", "--nodes {a} --nodes {b} {f}"])
def test_several_nodes_after_one_option_or_one_after_each(follows, tmp_path, form):
    out = tmp_path / "net.csv"
    words = {
        "f": [follows["follows_a"], follows["follows_b"]],
        "a": [follows["accounts_a"]],
        "b": [follows["accounts_b"]],
    }
    arguments = [part for word in form.split() for part in (words[word[1]] if word[0] == "{" else [word])]
    assert run(*arguments, *COLUMNS, "-o", out).exit_code == 0
    assert read(out).n_nodes == 8


def test_nodes_in_the_wrong_place_are_explained(follows, tmp_path):
    nodes = ("--nodes", follows["accounts_a"], follows["accounts_b"])
    said = failure(*nodes, follows["follows_a"], follows["follows_b"], "-o", tmp_path / "net.csv")
    assert "1 lists of nodes for 3 files" in said
    assert "write mpxgat convert A.csv B.csv --nodes NODES_A.csv NODES_B.csv: the files of links first" in said
    assert not (tmp_path / "net.csv").exists()


@pytest.mark.parametrize("output", [True, False])
def test_a_dry_run_shows_what_is_read_as_what_and_writes_nothing(follows, tmp_path, output):
    before = sorted(tmp_path.iterdir())
    where = ("-o", tmp_path / "net.edges") if output else ()
    nodes = ("--nodes", follows["accounts_a"], follows["accounts_b"])
    result = run(*parts_of(follows), *nodes, "--dry-run", *where)
    assert result.exit_code == 0, result.exception
    shown = " ".join(result.stdout.split())
    for words in (
        "follows_a.csv: links of layer 'follows_a'",
        "read as UTF-8 text, separated by commas, with a header",
        "columns source = follower, target = followed",
        "1 link(s) of a node with itself (the node stays); 1 row(s) that say a link again (the largest weight stays); "
        "the column(s) 'since', which have no role",
        "follower followed since",
        "read as UTF-8 text, separated by tabs, with a header columns target = followed, source = follower",
        "read as UTF-8 text, separated by semicolons, with a header columns id = account",
        "read as UTF-16 text, separated by commas",
        "attributes 'name' without links 1 (kept)",
        "known.csv: who is who",
        "columns a = account_a, b = account_b",
        "inter links 2",
    ):
        assert words in shown
    assert "nothing was written (--dry-run)" in result.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_dry_run_shows_ten_rows(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("".join(f"n{number},n{number + 1}\n" for number in range(30)))
    result = run(path, path, "--layer-names", "x,y", "--dry-run")
    assert result.exit_code == 0, result.exception
    assert result.stdout.count("n10") == 2  # as the other end of the tenth row
    assert "n11" not in result.stdout
    assert "without a header" in result.stdout


def test_a_dry_run_of_a_whole_network(net, tmp_path):
    result = run(net, "--dry-run", "-o", tmp_path / "out.xedges", "--directed")
    assert result.exit_code == 0, result.exception
    assert "net.edges: a network, read as comunelab" in result.stdout
    assert "comunelab-extended does not hold direction of this network: left out" in result.stderr
    assert not (tmp_path / "out.xedges").exists()


def test_without_output_and_dry_run_it_is_said_what_to_give(net):
    result = run(net)
    assert result.exit_code == 2
    assert "missing; expected -o FILE, or --dry-run to see" in " ".join(result.stderr.replace("│", " ").split())


def test_an_encoding_and_names_of_columns_of_one_table(tmp_path):
    path = tmp_path / "net.csv"
    path.write_bytes("who,whom,where\nJos\xe9,b,x\nb,c,y\n".encode("cp1252"))
    columns = ("--columns", "source=who,target=whom", "--columns", "layer=where")
    assert "is not UTF-8 text; if it is of another encoding" in failure(path, *columns, "-o", tmp_path / "out.csv")
    assert run(path, *columns, "--encoding", "cp1252", "-o", tmp_path / "out.csv").exit_code == 0
    assert read(tmp_path / "out.csv").layers == ("x", "y")
    assert "which is no file; expected a file" in failure("aucs", *columns, "-o", tmp_path / "out.csv")


def test_a_format_that_is_only_read_is_no_target(net, tmp_path):
    assert "graphml is only read; those that are written are .edges" in failure(net, "-o", tmp_path / "out.graphml")


def test_layers_of_a_whole_network_get_other_names(tmp_path):
    path = npz(tmp_path / "net.npz")
    assert run(path, "--layer-names", "online,offline", "-o", tmp_path / "out.csv").exit_code == 0
    assert read(tmp_path / "out.csv").layers == ("online", "offline")
    assert "1 layer names for the layers 'a', 'b'" in failure(path, "--layer-names", "x", "-o", tmp_path / "out.csv")
    one = tmp_path / "one.csv"
    one.write_text("a,b\n")
    assert run(one, "--layer-names", "x", "-o", tmp_path / "out.csv").exit_code == 0
    assert read(tmp_path / "out.csv").layers == ("x",)


def test_info_of_other_programs_files(tmp_path):
    for name, make in FOREIGN.items():
        result = CliRunner().invoke(app, ["info", str(make(tmp_path / f"net.{name}")), "--json"])
        assert result.exit_code == 0, (name, result.exception)
        assert '"nodes"' in result.stdout
