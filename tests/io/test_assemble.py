"""Several single-layer files and a file of anchors."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpxgat.errors import DataWarning, InputError, SettingError
from mpxgat.io import read_layers
from tests.examples import graph_of


def put(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_bytes(content.encode())
    return path


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    return [put(tmp_path, "x.txt", "a b\nb c\n"), put(tmp_path, "y.txt", "p q\nq r\n")]


def test_layers_are_called_by_their_files_and_linked_by_id(tmp_path: Path) -> None:
    files = [put(tmp_path, "x.txt", "a b\n"), put(tmp_path, "y.edgelist", "b c 2\n")]
    assert read_layers(files) == graph_of("x.a x.b", "y.b y.c 2", "x.b y.b")
    assert read_layers(files, names=["one", "two"]).layers == ("one", "two")


@pytest.mark.parametrize(
    "content",
    [
        "a b 2\nb c 1\n",
        "# comment\n% another\n\na  b  2 \n b\tc 1\n",
        "a\tb\t2\r\nb\tc\t1\r\n",
        'a, b, 2\n"b","c",1\n',
        "source,target,weight\na,b,2\nb,c,1\n",
        "\ufeff#c\nSource\tTarget\tWeight\na\tb\t2\nb\tc\t1",
    ],
)
def test_separators_comments_and_headers_are_told_by_content(tmp_path: Path, content: str) -> None:
    assert read_layers([put(tmp_path, "x.txt", content)]) == graph_of("x.a x.b 2", "x.b x.c")


def test_ids_with_blanks_between_tabs_or_commas(tmp_path: Path) -> None:
    for content in ("a b\tc\n", "a b,c\n"):
        assert [node.id for node in read_layers([put(tmp_path, "x.txt", content)]).nodes] == ["a b", "c"]


@pytest.mark.parametrize("anchors", ["# who is who\na q\nc r\n", "q,y,a,x\nc,x,r,y\n"])
def test_anchors_link_two_layers(tmp_path: Path, two: list[Path], anchors: str) -> None:
    graph = read_layers(two, anchors=put(tmp_path, "anchors.txt", anchors))
    assert graph == graph_of("x.a x.b", "x.b x.c", "y.p y.q", "y.q y.r", "x.a y.q", "x.c y.r")


def test_anchors_link_three_layers(tmp_path: Path, two: list[Path]) -> None:
    files = [*two, put(tmp_path, "z.txt", "a z\n")]
    graph = read_layers(files, anchors=put(tmp_path, "anchors.txt", "a x p y\np y z z\n"))
    assert [[graph.nodes[int(end)].layer for end in pair] for pair in graph.inter] == [["x", "y"], ["y", "z"]]


@pytest.mark.parametrize(
    ("anchors", "line", "said"),
    [
        ("a p\n#\na missing\n", 3, "unknown node 'missing', expected one of layer 'y'"),
        ("a x p w\n", 1, "unknown layer 'w', expected one of 'x', 'y'"),
        ("a p\nb q\na q\n", 3, "expected at most one counterpart in a layer"),
        ("a x b x\n", 1, "an inter link joins two layers"),
        ("a p 1\n", 1, "3 columns, expected 'node node' or 'node layer node layer'"),
        ("a p\nb\n", 2, "1 column, expected 2 as in the first row"),
        ("# nothing\n", None, "the file is empty"),
    ],
)
def test_bad_anchors_are_named(tmp_path: Path, two: list[Path], anchors: str, line: int | None, said: str) -> None:
    path = put(tmp_path, "anchors.txt", anchors)
    with pytest.raises(InputError) as caught:
        read_layers(two, anchors=path)
    assert str(caught.value).startswith(f"{path}: " if line is None else f"{path}:{line}: ")
    assert said in str(caught.value)


def test_three_layers_need_four_columns(tmp_path: Path, two: list[Path]) -> None:
    files = [*two, put(tmp_path, "z.txt", "a z\n")]
    with pytest.raises(InputError, match="2 columns, expected 'node layer node layer'"):
        read_layers(files, anchors=put(tmp_path, "anchors.txt", "a p\n"))


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        ("# c\np q 1\np r much\n", 3, "the weight is 'much'"),
        ("p\n", 1, "1 column, expected 'node node [weight]'"),
        ("p,q\n\np,\n", 3, "an empty node id"),
    ],
)
def test_a_bad_line_names_its_own_file(tmp_path: Path, content: str, line: int, said: str) -> None:
    good, bad = put(tmp_path, "x.txt", "a b\nb c\n"), put(tmp_path, "y.txt", content)
    with pytest.raises(InputError) as caught:
        read_layers([good, bad])
    assert str(caught.value).startswith(f"{bad}:{line}: ")
    assert said in str(caught.value)


def test_layer_names_must_fit(tmp_path: Path, two: list[Path]) -> None:
    (tmp_path / "sub").mkdir()
    with pytest.raises(InputError, match="a second layer would be called 'x'"):
        read_layers([two[0], put(tmp_path / "sub", "x.csv", "a b\n")])
    with pytest.raises(SettingError, match="1 layer names for 2 files"):
        read_layers(two, names=["x"])
    with pytest.raises(SettingError, match="no files"):
        read_layers([])


def test_lists_of_nodes_add_those_without_links(tmp_path: Path, two: list[Path]) -> None:
    nodes = [put(tmp_path, "x.nodes.csv", "id\nc\nb\nd\na\n"), put(tmp_path, "y.nodes.csv", 'id\np\nq\n"r"\n')]
    graph = read_layers(two, nodes=nodes)
    assert [(node.id, node.layer) for node in graph.nodes][:5] == [
        ("a", "x"),
        ("b", "x"),
        ("c", "x"),
        ("d", "x"),
        ("p", "y"),
    ]
    assert graph.degree.tolist() == [1, 2, 1, 0, 1, 2, 1]
    assert (graph.n_intra, graph.n_inter) == (4, 0)


@pytest.mark.parametrize(
    ("first", "second", "place", "said"),
    [
        ("id\na\nb\n", "id\np\nq\nr\n", "x.txt:2", "node 'c' of layer 'x' is not in the list of nodes"),
        ("id\na\nb\nc\n", "id\np\nq\nr\np\n", "y.nodes.csv:5", "node 'p' of layer 'y' is listed twice"),
        ("id\na\nb\nc\n", "name\np\n", "y.nodes.csv:1", "no column 'id'; the columns are 'name'"),
    ],
)
def test_bad_lists_of_nodes_are_named(
    tmp_path: Path, two: list[Path], first: str, second: str, place: str, said: str
) -> None:
    nodes = [put(tmp_path, "x.nodes.csv", first), put(tmp_path, "y.nodes.csv", second)]
    with pytest.raises(InputError) as caught:
        read_layers(two, nodes=nodes)
    assert str(caught.value).startswith(f"{tmp_path / place}: ")
    assert said in str(caught.value)


def test_lists_of_nodes_are_for_every_layer_and_hold_ids(tmp_path: Path, two: list[Path]) -> None:
    nodes = [put(tmp_path, "x.nodes.csv", "id,layer\na,x\nb,x\nc,x\n")]
    with pytest.raises(SettingError, match="1 lists of nodes for 2 files, expected one for each, or none"):
        read_layers(two, nodes=nodes)
    with pytest.warns(DataWarning, match=r"x\.nodes\.csv: columns passed over: 'layer'; the file is the layer"):
        read_layers(two[:1], nodes=nodes)


def test_lists_of_nodes_bring_attributes_and_features(tmp_path: Path) -> None:
    layers = [put(tmp_path, "x.txt", "a b\n"), put(tmp_path, "y.txt", "p q\n")]
    first = put(tmp_path, "x.nodes.csv", "id,name,h:size\nb,Bea,2\na,Ann,1\n")
    second = put(tmp_path, "y.nodes.csv", "id,city,name,h:size\np,Paris,Ann B,4\nq,,,5\n")
    graph = read_layers(layers, nodes=[first, second])
    assert {name: column.to_pylist() for name, column in graph.attributes.items()} == {
        "name": ["Ann", "Bea", "Ann B", ""],
        "city": ["", "", "Paris", ""],
    }
    assert graph.horizontal_features is not None
    assert graph.horizontal_features.values.ravel().tolist() == [1, 2, 4, 5]
    third = put(tmp_path, "z.nodes.csv", "id,name\np,Ann B\nq,\n")
    with pytest.raises(InputError, match=r"z\.nodes\.csv:1: the features none, expected 'size' as before"):
        read_layers(layers, nodes=[first, third])


def test_the_first_pair_of_anchors_is_not_taken_for_a_header(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    names = [f"n{number}" for number in range(12)]
    layers = [
        put(
            tmp_path,
            f"{layer}.txt",
            "".join(f"{layer}{a} {layer}{b}\n" for a, b in zip(names, names[1:] + names[:1], strict=True)),
        )
        for layer in "xy"
    ]
    anchors = put(tmp_path, "same.txt", "".join(f"x{name} y{name}\n" for name in names))
    assert read_layers(layers, anchors=anchors).n_inter == 12
    assert not recwarn.list
