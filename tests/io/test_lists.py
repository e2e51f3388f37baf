"""Lists as people have them: which column is what, separators, encodings; columns by name for whole networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mpxgat.errors import DataWarning, InputError, SettingError
from mpxgat.graph import MultiplexGraph
from mpxgat.io import read, read_layers, write
from mpxgat.io.lists import parse_columns
from tests.examples import graph_of

FOLLOWS = {"source": "follower", "target": "followed"}


def put(folder: Path, name: str, content: str, encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(content.encode(encoding))
    return path


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    return [put(tmp_path, "x.csv", "a,b\nb,c\n"), put(tmp_path, "y.csv", "p,q\nq,r\n")]


# ---- what is parsed ------------------------------------------------------------------------------------


def test_columns_are_parsed_and_names_may_hold_commas() -> None:
    assert parse_columns(["source=follower,target=followed", "source=from"]) == {
        "source": ("follower", "from"),
        "target": ("followed",),
    }
    assert parse_columns(["source=last, first,target = b"]) == {"source": ("last, first",), "target": ("b",)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("follower", "'follower', expected ROLE=NAME"),
        ("source=", "'source=', expected ROLE=NAME"),
        ("source=a,src=b", "no role 'src'; roles are source, target, weight of links, id of nodes"),
    ],
)
def test_columns_that_are_none(text: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        parse_columns([text])


# ---- links ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("when,follower,followed\n1,a,b\n2,b,c\n", FOLLOWS),
        ("when,Follower,Followed\n1,a,b\n2,b,c\n", FOLLOWS),
        ("when,follower,followed\n1,a,b\n2,b,c\n", {}),
        ("when,to,from\n1,b,a\n2,c,b\n", {}),
        ("1,a,b\n2,b,c\n", {"source": "2", "target": "3"}),
        ("when,x,y\n1,a,b\n2,b,c\n", {"source": ["ego", "x"], "target": "y"}),
        ("id,Source,Target,Source_Name\n1,a,b,A\n2,b,c,B\n", {}),
    ],
)
def test_columns_of_links_are_found_by_name_word_or_number(
    tmp_path: Path, content: str, columns: dict[str, str]
) -> None:
    path = put(tmp_path, "x.csv", content)
    other = put(tmp_path, "y.csv", "ego,y\na,b\n")  # where the other name of a role stands
    paths = [path, other] if isinstance(columns.get("source"), list) else [path]
    with pytest.warns(DataWarning, match="columns passed over: "):
        graph = read_layers(paths, columns=columns, directed=True)
    assert graph_of("x.a x.b", "x.b x.c").intra.tolist() == graph.intra[:2].tolist()
    assert graph.intra_arcs is not None
    assert graph.intra_arcs[:2].tolist() == [1, 1]
    assert graph.intra_weight is None


@pytest.mark.parametrize(
    ("content", "columns", "expected"),
    [
        ("source,target,weight\na,b,2\n", {}, [2]),
        ("weight,target,source\n2,a,b\n", {}, [2]),
        ("follower,followed,messages\na,b,2\n", {"weight": "messages"}, [2]),
        ("ego,alter,messages\na,b,2\n", {"weight": "messages"}, [2]),
        ("source;target;weight\na;b;1,5\nb;c;2\n", {}, [1.5, 2]),
    ],
)
def test_weights(tmp_path: Path, content: str, columns: dict[str, str], expected: list[float]) -> None:
    path = put(tmp_path, "x.csv", content)
    if "1,5" in content:
        with pytest.warns(DataWarning, match="weights with a decimal comma, such as '1,5'"):
            graph = read_layers([path], columns=columns)
    else:
        graph = read_layers([path], columns=columns)
    assert graph.intra_weight is not None
    assert graph.intra_weight.tolist() == expected


def test_a_third_column_that_is_no_weight_is_said_to_be_passed_over(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", "follower,followed,since\na,b,1999-01-01\n")
    with pytest.warns(DataWarning, match=r"x\.csv: columns passed over: 'since'; if one is the weight, --columns"):
        assert read_layers([path]).intra_weight is None


@pytest.mark.parametrize(
    ("content", "columns", "place", "said"),
    [
        ("u,v,w,x\na,b,1,2\n", {}, ":1", "4 columns, expected 'node node [weight]' separated by commas, or a header"),
        ("u,v,w,x\na,b,1,2\n", {}, ":1", "found 'u', 'v', 'w', 'x'. Say which they are: --columns source=NAME"),
        ("u,v,w,x\na,b,1,2\n", {"source": "v"}, ":1", "no column 'target'; the columns are 'u', 'v', 'w', 'x'; --col"),
        ("u,v,w,x\na,b,1,2\n", {"source": "ego", "target": "v"}, ":1", "no column 'ego' (source, of --columns); the"),
        ("source,source_layer,target,target_layer\na,x,b,x\n", {}, ":1", "a column of layers, 'source_layer'"),
        ("follower,followed\n", FOLLOWS, ":1", "a header and no links below it"),
        (
            "follower,followed,n\n\na,b,much\n",
            {**FOLLOWS, "weight": "n"},
            ":3",
            "the weight is 'much', expected",
        ),
        ("follower,followed\na,b\nc,\n", FOLLOWS, ":3", "an empty node id"),
        ("follower,followed\na,b,c\n", FOLLOWS, ":2", "3 columns, expected 2 as in the first row"),
    ],
)
def test_bad_lists_of_links_are_named(
    tmp_path: Path, content: str, columns: dict[str, str], place: str, said: str
) -> None:
    path = put(tmp_path, "x.csv", content)
    with pytest.raises(InputError) as caught:
        read_layers([path], columns=columns)
    assert str(caught.value).startswith(f"{path}{place}: ")
    assert said in str(caught.value)


def test_a_name_that_no_file_has_is_told(tmp_path: Path, two: list[Path]) -> None:
    path = put(tmp_path, "z.csv", "follower,followed\na,b\n")
    with pytest.raises(SettingError, match="no file that has a weight has a column 'strenght'; the columns are '"):
        read_layers([path], columns={"weight": "strenght"})
    with pytest.raises(SettingError, match="'follower' is both source and target"):
        read_layers([path], columns={"source": "follower", "target": "follower"})


def test_a_column_of_layers_is_passed_over_if_the_ends_are_named(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", "source,target,layer\na,b,z\n")
    with pytest.warns(DataWarning, match="columns passed over: 'layer'"):
        assert read_layers([path], columns={"source": "source"}) == graph_of("x.a x.b")


def test_each_file_may_have_its_own_names(tmp_path: Path) -> None:
    files = [put(tmp_path, "x.csv", "u,v\na,b\n"), put(tmp_path, "y.csv", "s,t\nb,c\n")]
    graph = read_layers(files, columns={"source": ["u", "s"], "target": ["v", "t"]})
    assert graph == graph_of("x.a x.b", "y.b y.c", "x.b y.b")


def test_words_of_a_header_that_occur_again_are_ids_also_in_wide_lists(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", "from,to,1,2\nto,go,1,2\n")
    with pytest.raises(InputError, match="4 columns, expected 'node node"):
        read_layers([path])


# ---- separators and encodings --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", ["a b;c\nc;a b\n", "a b\tc\nc\ta b\n", '"a b";"c"\n"c";"a b"\n', "a b ; c\nc; a b\n"]
)
def test_semicolons_and_tabs(tmp_path: Path, content: str) -> None:
    graph = read_layers([put(tmp_path, "x.txt", content)])
    assert [node.id for node in graph.nodes] == ["a b", "c"]
    assert graph.n_intra == 1


def test_names_with_commas_between_semicolons(tmp_path: Path) -> None:
    path = put(tmp_path, "x.txt", "Smith, Ann;Doe, Bea\nDoe, Bea;Roe, Cem\n")
    assert [node.id for node in read_layers([path]).nodes] == ["Doe, Bea", "Roe, Cem", "Smith, Ann"]


def test_quotes_are_quotes_in_tsv_and_letters_between_other_tabs(tmp_path: Path) -> None:
    assert read_layers([put(tmp_path, "x.tsv", '"a\tb"\tc\n')]).nodes[0].id == "a\tb"
    assert read_layers([put(tmp_path, "x.txt", '5" disk\tc\n')]).nodes[0].id == '5" disk'


def test_lines_that_may_be_rows_are_said_to_be_comments(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", "#nlp,#ai\nml,ai\n#ml,ai\n")
    with pytest.warns(DataWarning, match="2 line.s. that begin with # or % are taken for comments, such as '#nlp,#ai'"):
        assert read_layers([path]).n_intra == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_byte_order_mark_tells_the_encoding_whatever_is_asked_for(tmp_path: Path, encoding: str) -> None:
    files = [put(tmp_path, "x.csv", "source;target\nZoë;Łu\n", encoding), put(tmp_path, "y.csv", "José,b\n", "cp1252")]
    graph = read_layers(files, encoding="cp1252")
    assert [node.id for node in graph.nodes] == ["Zoë", "Łu", "José", "b"]


def test_another_encoding_is_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", "ann,b\nJosé,b\n", "cp1252")
    with pytest.raises(InputError, match=r"x\.csv:2: byte 0xe9 is not UTF-8 text; .* --encoding cp1252"):
        read_layers([path])
    with pytest.raises(InputError, match=r"x\.csv:2: byte 0xe9 is not ascii text$"):
        read_layers([path], encoding="ascii")
    for unknown in ("klingon", "rot13", "hex", "\0"):
        with pytest.raises(SettingError, match="no encoding "):
            read_layers([path], encoding=unknown)
    with pytest.warns(DataWarning, match="read as cp1252, as asked for, but it looks like UTF-8 text"):
        read_layers([put(tmp_path, "x.csv", "José,b\n")], encoding="cp1252")


# ---- nodes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("id,name\nc,C\nb,B\na,A\nalone,D\n", {}),
        ("name;account_id\nC;c\nB;b\nA;a\nD;alone\n", {}),
        ("name\taccount\nC\tc\nB\tb\nA\ta\nD\talone\n", {}),
        ("name,label\nC,c\nB,b\nA,a\nD,alone\n", {"id": "label"}),
        ("name,label\nC,c\nB,b\nA,a\nD,alone\n", {"id": "2"}),
    ],
)
def test_ids_of_nodes_are_found(tmp_path: Path, content: str, columns: dict[str, str]) -> None:
    links, nodes = put(tmp_path, "x.csv", "a,b\nb,c\n"), put(tmp_path, "n.csv", content)
    graph = read_layers([links], nodes=[nodes], columns=columns)
    assert [node.id for node in graph.nodes] == ["a", "alone", "b", "c"]
    assert graph.attributes["name"].to_pylist() == ["A", "D", "B", "C"]
    assert set(graph.attributes) == {"name"}


def test_a_column_called_id_gives_way_to_the_one_asked_for(tmp_path: Path) -> None:
    links, nodes = put(tmp_path, "x.csv", "a,b\n"), put(tmp_path, "n.csv", "id,account\n1,a\n2,b\n")
    with pytest.warns(DataWarning, match="columns passed over: 'id'; ids are those in 'account'"):
        assert dict(read_layers([links], nodes=[nodes], columns={"id": "account"}).attributes) == {}


def test_texts_of_nodes_are_no_comments_and_may_have_several_lines(tmp_path: Path) -> None:
    links = put(tmp_path, "x.csv", "a,b\n")
    nodes = put(tmp_path, "n.csv", 'id,bio\na,"one\n# two"\nb,\n#c,x\n')
    graph = read_layers([links], nodes=[nodes])
    assert graph.attributes["bio"].to_pylist() == ["x", "one\n# two", ""]


def test_nodes_without_a_column_of_ids_are_named(tmp_path: Path) -> None:
    links, nodes = put(tmp_path, "x.csv", "a,b\n"), put(tmp_path, "n.csv", "name,user_id,account_id\nA,a,a\n")
    with pytest.raises(InputError, match=r"n\.csv:1: no column 'id'; the columns are .*--columns id=NAME says which"):
        read_layers([links], nodes=[nodes])


# ---- who is who ----------------------------------------------------------------------------------------

EXPECTED = graph_of("x.a x.b", "x.b x.c", "y.p y.q", "y.q y.r", "x.a y.q", "x.c y.r")


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("a,b\na,q\nc,r\n", {}),
        ("x,y\na,q\nc,r\n", {}),
        ("y;x\nq;a\nr;c\n", {}),
        ("account_a,account_b\na,q\nc,r\n", {}),
        ("who\tmail\na\tq\nc\tr\n", {"a": "who", "b": "mail"}),
        ("mail,who\nq,a\nr,c\n", {"a": "who", "b": "mail"}),
        ("mail,l1,who,l2\nq,y,a,x\nr,y,c,x\n", {"a": "mail", "layer_a": "l1", "b": "who", "layer_b": "l2"}),
        ("id1,layer1,id2,layer2\na,x,q,y\nr,y,c,x\n", {}),
    ],
)
def test_anchors_with_headers(tmp_path: Path, two: list[Path], content: str, columns: dict[str, str]) -> None:
    assert read_layers(two, anchors=put(tmp_path, "known.csv", content), columns=columns) == EXPECTED


def test_a_first_row_of_words_that_are_no_nodes_is_said_to_be_a_header(tmp_path: Path, two: list[Path]) -> None:
    with pytest.warns(DataWarning, match="the first row, 'Home', 'Work', is taken for a header, as it names no nodes"):
        assert read_layers(two, anchors=put(tmp_path, "known.csv", "Home,Work\na,q\nc,r\n")) == EXPECTED
    for content in ("a,nobody\nc,r\n", "nobody,noone\n"):  # one of them is a node, or nothing is below
        with pytest.raises(InputError, match=r"known\.csv:1: unknown node 'no"):
            read_layers(two, anchors=put(tmp_path, "known.csv", content))


def test_a_first_row_that_names_no_layers_is_said_to_be_a_header(tmp_path: Path, two: list[Path]) -> None:
    anchors = put(tmp_path, "known.csv", "h,where,m,there\na,x,q,y\nr,y,c,x\n")
    with pytest.warns(DataWarning, match="is taken for a header, as it names no layers"):
        assert read_layers(two, anchors=anchors) == EXPECTED


def test_further_columns_of_anchors_are_said_to_be_passed_over(tmp_path: Path, two: list[Path]) -> None:
    for content, columns in (("x,y,sure\na,q,1\nc,r,0\n", {}), ("h,m,sure\na,q,1\nc,r,0\n", {"a": "h", "b": "m"})):
        with pytest.warns(DataWarning, match="columns passed over: 'sure'"):
            assert read_layers(two, anchors=put(tmp_path, "known.csv", content), columns=columns) == EXPECTED


def test_a_column_for_each_of_three_layers(tmp_path: Path, two: list[Path]) -> None:
    files = [*two, put(tmp_path, "z.csv", "s,t\n")]
    anchors = put(tmp_path, "known.csv", "x,y,z\na,q,s\nc,r,\n,p,t\nb,,\n")
    with pytest.warns(DataWarning, match="1 row.s. name a node of one layer at most, which links nobody"):
        graph = read_layers(files, anchors=anchors)
    pairs = [{(node.id, node.layer) for node in (graph.nodes[int(end)] for end in pair)} for pair in graph.inter]
    assert pairs == [
        {("a", "x"), ("q", "y")}, {("a", "x"), ("s", "z")}, {("c", "x"), ("r", "y")}, {("p", "y"), ("t", "z")},
        {("q", "y"), ("s", "z")},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "columns", "line", "said"),
    [
        (
            "h,m,sure\na,q,1\n",
            {},
            1,
            "3 columns, expected 'node node' or 'node layer node layer', columns called by",
        ),
        ("h,m,sure\na,q,1\n", {"a": "h"}, 1, "no column 'b'; the columns are 'h', 'm', 'sure'; --columns b=NAME"),
        ("x,y\na,q\nc,nobody\n", {}, 3, "unknown node 'nobody', expected one of layer 'y'"),
        ("x,y\na,q\nb,q\n", {}, 3, "expected at most one counterpart in a layer"),
        ("x,y\n", {}, 1, "a header and no pairs below it"),
        ("h,m,sure,when\na,q,1,2\n", {}, 1, "4 columns, expected 'node node' or 'node layer node layer'"),
    ],
)
def test_bad_anchors_are_named(
    tmp_path: Path, two: list[Path], content: str, columns: dict[str, str], line: int, said: str
) -> None:
    path = put(tmp_path, "known.csv", content)
    with pytest.raises(InputError) as caught:
        read_layers(two, anchors=path, columns=columns)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert said in str(caught.value)


# ---- whole networks in tables --------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_tables_of_all_layers_with_names_of_their_own(tmp_path: Path, separator: str, encoding: str) -> None:
    def table(name: str, text: str) -> Path:
        return put(tmp_path, name, text.replace(",", separator), encoding)

    path = table("net.csv", "follower,followed,platform,n\na,b,x,2\nb,c,y,1\n")
    table("net.nodes.csv", "account,platform,name\na,x,A\nb,x,B\nb,y,B\nc,y,C\n")
    columns = {
        "source": ("follower",),
        "target": ("followed",),
        "layer": ("platform",),
        "weight": ("n",),
        "id": ("account",),
    }
    graph = read(path, columns=columns)
    assert graph == read_like(tmp_path)
    with pytest.raises(InputError, match=r"net\.csv:1: no column 'ego' \(source, of --columns\); the columns"):
        read(path, columns=columns | {"source": ("ego",)})
    with pytest.raises(SettingError, match="--columns gnd=x: this file has source, target, layer"):
        read(path, columns=columns | {"gnd": ("x",)})


def read_like(folder: Path) -> MultiplexGraph:
    """The same network in the names that we write."""
    path = put(folder, "ours.csv", "source,target,layer,weight\na,b,x,2\nb,c,y,1\n")
    put(folder, "ours.nodes.csv", "id,layer,name\na,x,A\nb,x,B\nb,y,B\nc,y,C\n")
    return read(path)


def test_a_table_of_tabs_is_written_and_read(tmp_path: Path) -> None:
    graph = read_like(tmp_path)
    write(graph, tmp_path / "net.tsv")
    assert (tmp_path / "net.tsv").read_text().splitlines()[0].split("\t")[:2] == ["source", "source_layer"]
    assert (tmp_path / "net.nodes.tsv").exists()
    assert read(tmp_path / "net.tsv") == graph


def test_formats_that_state_their_columns_take_no_names(tmp_path: Path) -> None:
    path = put(tmp_path, "net.edges", "1 a b\n")
    with pytest.raises(SettingError, match="names of columns for a file of the format comunelab, expected one of csv"):
        read(path, columns={"source": ("a",)})
    with pytest.raises(SettingError, match="the encoding 'cp1252' for a file of the format comunelab"):
        read(path, encoding="cp1252")


def test_a_table_in_another_encoding(tmp_path: Path) -> None:
    path = put(tmp_path, "net.csv", "source,target,layer\nJosé,b,x\nb,c,y\n", "cp1252")
    assert "José" in read(path, encoding="cp1252").ids.to_pylist()
    assert np.array_equal(read(path, encoding="cp1252", directed=True).intra_arcs, [1, 1])
