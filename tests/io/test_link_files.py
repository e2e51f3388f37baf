"""Lists of pairs of nodes: what comes back, and what a spreadsheet must not calculate."""

import csv

import numpy as np
import pyarrow as pa
import pytest

from mpxgat.build import with_apart, with_inter_links
from mpxgat.errors import InputError
from mpxgat.io.csv_tables import with_formulas, without_formulas
from mpxgat.io.embedding_files import write_embeddings
from mpxgat.io.link_files import read_anchors, read_different, read_pairs, read_units, write_links, write_tables
from tests.examples import graph_of

FORMULAS = ['=HYPERLINK("x")', "+1+cmd", "-2+3", "@ann", "-", "+", "\t=1", "\r=1", "'=1", "''@ann", "-5e3", "=", "-1-1"]
PLAIN = ["-5", "+7", "-1.5", "ann", "'tis", "''", "'-5", "a=b", "7", "", "ann@home", "é", "'"]


def test_texts_come_back_and_none_is_a_formula():
    table = pa.table({"a": FORMULAS + PLAIN, "n": np.arange(len(FORMULAS + PLAIN)) - 3.0})
    safe = without_formulas(table)
    assert safe["a"].to_pylist() == [f"'{text}" for text in FORMULAS] + PLAIN
    assert safe["n"].equals(table["n"])
    assert with_formulas(safe["a"]).to_pylist() == FORMULAS + PLAIN
    again = without_formulas(safe)
    assert with_formulas(with_formulas(again["a"])).to_pylist() == FORMULAS + PLAIN


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_pairs_of_any_ids_come_back(tmp_path, suffix):
    graph = graph_of("=x.=1+1 =x.-5", "=x.@ann =x.'@ann", "y.a y.b")
    pairs = np.concatenate([graph.intra, [[0, 5]]])
    ends = {
        f"{end}{what}": [getattr(graph.nodes[int(node)], name) for node in pairs[:, side]]
        for side, end in enumerate(("source", "target"))
        for what, name in (("", "id"), ("_layer", "layer"))
    }
    path = tmp_path / f"links{suffix}"
    write_links(pa.table(ends), path)
    assert np.array_equal(read_pairs(path, graph), pairs)


def test_people_open_files_without_formulas(tmp_path):
    graph = graph_of("x.=1+1 x.-5", "x.@ann x.b")
    write_links(pa.table({"source": graph.ids, "score": [-0.5, 1.0, 2.0, 3.0]}), tmp_path / "a.csv")
    write_embeddings(graph, np.zeros((4, 1), np.float32), -np.ones((4, 1), np.float32), tmp_path / "b.csv")
    for name, number in (("a.csv", "-0.5"), ("b.csv", "-1")):
        with open(tmp_path / name, newline="") as stream:
            rows = list(csv.reader(stream))[1:]
        assert [row[0] for row in rows] == ["-5", "'=1+1", "'@ann", "b"]
        assert rows[0][-1] == number


def test_an_id_written_without_apostrophe_is_read_too(tmp_path):
    graph = graph_of("x.=1+1 x.@ann")
    path = tmp_path / "mine.csv"
    path.write_text("source,source_layer,target,target_layer\n=1+1,x,@ann,x\n")
    assert read_pairs(path, graph).tolist() == [[0, 1]]
    path.write_text("source,source_layer,target,target_layer\n=1+1,x,'ann,x\n")
    with pytest.raises(InputError, match=r"mine\.csv:2: target: unknown node ''ann', expected one of layer 'x'"):
        read_pairs(path, graph)


# ---- who is who: a list of known pairs and a list of hidden ones -------------------------------------


@pytest.fixture
def two_layers():
    return graph_of("home.ann home.bob", "home.bob home.cid", "work.x work.y", "work.y work.z")


def lists(tmp_path, known, hidden):
    paths = tmp_path / "known.csv", tmp_path / "hidden.csv"
    for path, content in zip(paths, (known, hidden), strict=True):
        path.write_text(content)
    return paths


@pytest.mark.parametrize(
    ("known", "hidden"),
    [
        ("home,work\nann,y\n", "home,work\nbob,x\ncid,z\n"),
        ("work,home\ny,ann\n", "a,b\nbob,x\ncid,z\n"),
        ("a,why,b\nann,told us,y\n", 'a,b\n\n"bob","x"\ncid,z\n'),
        (
            "source,source_layer,target,target_layer\nann,home,y,work\n",
            "source,source_layer,target,target_layer\nx,work,bob,home\ncid,home,z,work\n",
        ),
    ],
)
def test_lists_of_who_is_who(tmp_path, two_layers, known, hidden):
    found = read_anchors(*lists(tmp_path, known, hidden), two_layers)
    names = [{frozenset(two_layers.nodes[int(node)].id for node in pair) for pair in pairs} for pairs in found]
    assert names == [{frozenset(("ann", "y"))}, {frozenset(("bob", "x")), frozenset(("cid", "z"))}]


def test_nothing_may_be_known(tmp_path, two_layers):
    known, hidden = read_anchors(*lists(tmp_path, "a,b\n", "a,b\nbob,x\n"), two_layers)
    assert known.shape == (0, 2)
    assert hidden.shape == (1, 2)


@pytest.mark.parametrize(
    ("known", "hidden", "place", "said"),
    [
        ("a,b\nann,q\n", "a,b\nbob,x\n", "known.csv:2", "unknown node 'q', expected one of layer 'work'"),
        ("a,b\nann,y\n", "a,b\nbob,x\n\nbob2,z\n", "hidden.csv:4", "unknown node 'bob2', expected one of layer 'home'"),
        ("work,home\nann,y\n", "a,b\nbob,x\n", "known.csv:2", "unknown node 'ann', expected one of layer 'work'"),
        ("a,b\nann,y\nann,x\n", "a,b\nbob,z\n", "known.csv:3", "expected at most one counterpart in a layer"),
        ("a,b\nann,y\n", "a,b\nbob,x\ncid,x\n", "hidden.csv:3", "expected at most one counterpart in a layer"),
        ("a,b\nann,y\n", "a,b\nbob,x\nann,z\n", "hidden.csv:3", "expected at most one counterpart in a layer"),
        ("a,b\nann,y\n", "a,b\nann,y\n", "hidden.csv:2", "are among the known pairs already, expected every pair once"),
        ("a,b\nann,y\n", "a,b\nbob,x\nbob,x\n", "hidden.csv:3", "are in this list already, expected every pair once"),
        ("a,b\nann,y\nann,y\n", "a,b\nbob,x\n", "known.csv:3", "are among the known pairs already"),
        ("a,b\nann,y\n", "a,b\n", "hidden.csv:1", "no pairs below the header"),
        ("a,c\nann,y\n", "a,b\nbob,x\n", "known.csv:1", "the columns 'a', 'c', expected two that are called by layers"),
        ("a,b\nann\n", "a,b\nbob,x\n", "known.csv:2", "1 column, expected 2"),
    ],
)
def test_what_is_wrong_with_a_list_is_named_with_its_line(tmp_path, two_layers, known, hidden, place, said):
    with pytest.raises(InputError) as caught:
        read_anchors(*lists(tmp_path, known, hidden), two_layers)
    assert str(caught.value).startswith(f"{tmp_path / place}: ")
    assert said in str(caught.value)


def test_a_unit_of_three_layers_is_known_or_hidden_as_a_whole(tmp_path):
    graph = graph_of("x.a x.b", "y.p y.q", "z.s z.t")
    head = "source,source_layer,target,target_layer\n"
    with pytest.raises(InputError, match=r"hidden\.csv:3: .*but known pairs say who one of them is"):
        read_anchors(*lists(tmp_path, f"{head}a,x,p,y\n", f"{head}b,x,q,y\np,y,s,z\n"), graph)
    with pytest.raises(InputError, match=r"known\.csv:1: the columns 'a', 'b', .*'z'\); or source"):
        read_anchors(*lists(tmp_path, "a,b\na,p\n", "x,z\na,s\n"), graph)
    assert len(read_anchors(*lists(tmp_path, "x,y\na,p\n", "z,x\ns,b\n"), graph)[1]) == 1


# ---- who is not who ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "home,work\nann,y\ncid,x\n",
        "a,b\nann,y\ncid,x\n",
        "work,home,note\ny,ann,\nx,cid,sure\n",
        "source,source_layer,target,target_layer\ny,work,ann,home\ncid,home,x,work\n",
    ],
)
def test_pairs_known_to_be_different_are_added(tmp_path, two_layers, content):
    path = tmp_path / "different.csv"
    path.write_text(content)
    graph = read_different(path, two_layers)
    expected = two_layers.positions([("ann", "home"), ("y", "work"), ("cid", "home"), ("x", "work")]).reshape(2, 2)
    assert graph == with_apart(two_layers, expected)
    path.write_text("home,work\nbob,x\n")
    assert len(read_different(path, graph).apart) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("home,work\nann,y\nbob,q\n", r"different\.csv:3: unknown node 'q', expected one of layer 'work'"),
        ("home,work\nbob,y\nann,x\n", r"different\.csv:3: 'ann' .* and 'x' .* but a known link makes them one unit"),
        (
            "source,source_layer,target,target_layer\nann,home,bob,home\n",
            r"different\.csv:2: 'ann' .* and 'bob' .* are different anyway, in one layer; expected nodes of two layers",
        ),
        ("source,source_layer,target,target_layer\nann,home,ann,home\n", r"different\.csv:2: a node with itself"),
        ("from,to\nann,y\n", r"different\.csv:1: the columns 'from', 'to', expected two that are called by layers"),
    ],
)
def test_what_cannot_be_different_is_named_with_its_line(tmp_path, two_layers, content, message):
    graph = with_inter_links(two_layers, two_layers.positions([("ann", "home"), ("x", "work")])[None])
    path = tmp_path / "different.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_different(path, graph)


UNITS = "unit,status,node,node_layer,node_status,previous_unit\n"


def test_units_are_read_without_nodes_that_had_gone(tmp_path):
    path = tmp_path / "units.csv"
    path.write_text(f"{UNITS}u,changed,'@ann,x,same,u\nu,changed,bea,y,gone,u\nv,new,bea,x,new,\n")
    assert read_units(path) == {("@ann", "x"): "u", ("bea", "x"): "v"}
    path.write_text("node,node_layer,unit\nann,x,7\n")  # such a list may come from elsewhere
    assert read_units(path) == {("ann", "x"): "7"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("unit,node\nu,ann\n", "no column 'node_layer'"),
        ("unit,node,node_layer\nu,ann,x\nv,ann,x\n", ":3: 'ann' (layer 'x') is listed twice"),
        ("unit,node,node_layer\n,ann,x\n", ":2: 'ann' (layer 'x') has no unit"),
    ],
)
def test_units_that_cannot_be_read_are_named(tmp_path, text, said):
    path = tmp_path / "units.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_units(path)
    assert said in str(refused.value)


def test_several_tables_in_several_folders(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    paths = [tmp_path / "a" / "1.csv", tmp_path / "b" / "2.csv", tmp_path / "a" / "3.parquet"]
    table = pa.table({"a": ["1"]})
    assert sorted(write_tables(dict.fromkeys(paths, table))) == sorted(paths)
    assert all(path.stat().st_size for path in paths)
    assert write_tables({}) == []
