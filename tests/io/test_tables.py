"""The two tables, as CSV and as Parquet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mpxgat.build import with_apart
from mpxgat.errors import DataWarning, InputError, OutputError
from mpxgat.graph import MultiplexGraph
from mpxgat.io import read, write
from mpxgat.io.link_files import read_different
from tests.examples import graph_of

NODES = "id,layer,unit,h:age,v:size,city\na,x,1,3,0.5,Oslo\nb,x,,4,1,\na,y,2,5,2,Rome\nc,y,1,6,4,Bonn\n"


def put(folder: Path, edges: str, nodes: str | None = None) -> Path:
    path = folder / "g.csv"
    path.write_bytes(edges.encode())
    if nodes is not None:
        (folder / "g.nodes.csv").write_bytes(nodes.encode())
    return path


def message(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


def inter(graph: MultiplexGraph) -> list[str]:
    return [" ".join(".".join(reversed(graph.nodes[int(end)])) for end in pair) for pair in graph.inter]


# ---- where inter links come from -----------------------------------------------------------------------


def test_ids_link_where_nothing_else_does(tmp_path: Path) -> None:
    graph = read(put(tmp_path, "source,target,layer\na,b,x\na,c,y\n"))
    assert inter(graph) == ["x.a y.a"]


def test_rows_that_join_layers_are_the_inter_links(tmp_path: Path) -> None:
    graph = read(put(tmp_path, "source,source_layer,target,target_layer\na,x,b,x\na,y,c,y\nb,x,c,y\n"))
    assert inter(graph) == ["x.b y.c"]


def test_units_link_and_rows_add_to_them(tmp_path: Path) -> None:
    edges = "source,source_layer,target,target_layer,weight\na,x,b,x,2\nb,x,a,y,3\n"
    graph = read(put(tmp_path, edges, NODES))
    assert inter(graph) == ["x.a y.c", "x.b y.a"]
    assert graph.horizontal_features is not None
    assert graph.horizontal_features.names == ("age",)
    assert graph.horizontal_features.values.ravel().tolist() == [3, 4, 5, 6]
    assert graph.attributes["city"].to_pylist() == ["Oslo", "", "Rome", "Bonn"]


def test_rows_of_nodes_may_stand_in_any_order(tmp_path: Path) -> None:
    header, *rows = NODES.splitlines()
    first = read(put(tmp_path, "source,target,layer\na,b,x\n", "\n".join([header, *rows])))
    rows[0], rows[1] = rows[1], rows[0]
    rows[2], rows[3] = rows[3], rows[2]
    assert read(put(tmp_path, "source,target,layer\na,b,x\n", "\n".join([header, *rows]))) == first


# ---- names of files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("g.csv", "g.nodes.csv"),
        ("g.edges.csv", "g.nodes.csv"),
        ("g.csv.gz", "g.nodes.csv.gz"),
        ("g.parquet", "g.nodes.parquet"),
        ("g.edges.parquet", "g.nodes.parquet"),
    ],
)
def test_names_of_the_two_files(tmp_path: Path, name: str, nodes: str) -> None:
    graph = graph_of("x.a x.b", "y.c y.c", "x.a y.c")
    assert [place.name for place in write(graph, tmp_path / name)] == [name, nodes]
    assert read(tmp_path / name) == graph


# ---- writing -------------------------------------------------------------------------------------------


def test_shared_ids_that_are_no_links_stay_apart(tmp_path: Path) -> None:
    graph = graph_of("x.a x.b", "y.a y.b")
    for name in ("g.csv", "g.parquet"):
        write(graph, tmp_path / name)
        assert read(tmp_path / name).n_inter == 0
    assert (tmp_path / "g.nodes.csv").read_text().splitlines()[0] == "id,layer,unit"


def test_csv_quotes_only_where_it_must(tmp_path: Path) -> None:
    write(graph_of("x.a x.b"), tmp_path / "g.csv")
    assert (tmp_path / "g.csv").read_text() == "source,source_layer,target,target_layer\na,x,b,x\n"
    write(graph_of("x.a,1 x.b"), tmp_path / "g.csv")
    assert read(tmp_path / "g.csv").nodes[0].id == "a,1"


def test_taken_column_names_are_refused(tmp_path: Path) -> None:
    graph = read(put(tmp_path, "source,target,layer\na,b,x\n", "id,layer,h:x\na,x,1\nb,x,1\n"))
    clash = MultiplexGraph(
        graph.layers, graph.layer_start, graph.ids, graph.intra, graph.inter, attributes={"unit": graph.ids}
    )
    with pytest.raises(OutputError, match="an attribute cannot be called 'unit'"):
        write(clash, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


# ---- bad CSV -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "line", "said"),
    [
        ("source,layer\na,x\n", 1, "no column 'target'; the columns are 'source', 'layer'"),
        ("source,target\na,b\n", 1, "no column 'source_layer'"),
        ("source,target,layer,weight\na,b,x,1\n\na,c,x,much\n", 4, "'weight' is 'much', expected a finite number"),
        ("source,target,layer,weight\na,b,x,NaN\n", 2, "'weight' is 'NaN'"),
        ("source,target,layer,weight\na,b,x,\n", 2, "'weight' is ''"),
        ("source,target,layer\na,b,x\na,b\n", 3, "2 columns, expected 3 as in the first row"),
        ("source,target,layer\na,,x\n", 2, "an empty node id"),
        ("source,source,layer\na,b,x\n", 1, "two columns are called 'source'"),
        ("source,source_layer,target,to_layer\na,x,b,y\n", 1, "no column 'target_layer'"),
        ("source,target,layer,target_layer\na,b,x,y\n", 1, "expected 'source_layer' and 'target_layer'"),
        ('source,target,layer,weight\n"a\nb",c,x,1\nd,e,x,?\n', 4, "'weight' is '?'"),
        (
            "source,source_layer,target,target_layer\na,x,b,y\na,x,c,y\n",
            3,
            "expected at most one counterpart in a layer",
        ),
    ],
)
def test_bad_edges_are_named(tmp_path: Path, edges: str, line: int, said: str) -> None:
    path = put(tmp_path, edges)
    assert message(path).startswith(f"{path}:{line}: ")
    assert said in message(path)


@pytest.mark.parametrize(
    ("nodes", "where", "said"),
    [
        ("id,layer\na,x\n", "g.csv:2", "node 'b' of layer 'x' is not in the list of nodes"),
        ("id,layer\na,y\nb,y\n", "g.csv:2", "unknown layer 'x', expected one of 'y'"),
        ("id,unit\na,y\nb,y\n", "g.nodes.csv:1", "no column 'layer'"),
        ("id,layer\na,x\nb,x\na,x\n", "g.nodes.csv:4", "is listed twice"),
        ("id,layer,unit\na,x,1\nb,x,1\n", "g.nodes.csv:3", "a second node of unit '1' in layer 'x'"),
        ("id,layer,h:age\na,x,old\nb,x,1\n", "g.nodes.csv:2", "'h:age' is 'old'"),
        ("id,layer,h:age\na,x,1\nb,x,1e300\n", "g.nodes.csv:3", "too large"),
    ],
)
def test_bad_nodes_are_named(tmp_path: Path, nodes: str, where: str, said: str) -> None:
    path = put(tmp_path, "source,target,layer\na,b,x\n", nodes)
    assert message(path).startswith(f"{tmp_path / where}: ")
    assert said in message(path)


def test_an_overlong_quoted_field_is_named_with_its_line(tmp_path: Path) -> None:
    path = put(tmp_path, 'source,target,layer\na,b,x\na,"' + "y" * 10_000_000 + '",x\n')
    assert message(path).startswith(f"{path}:3: ")


# ---- Parquet -------------------------------------------------------------------------------------------


def put_parquet(folder: Path, **columns: pa.Array) -> Path:
    path = folder / "g.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


def test_parquet_takes_whole_numbers_and_dictionaries(tmp_path: Path) -> None:
    path = put_parquet(
        tmp_path,
        source=pa.array([1, 2], pa.int32()),
        target=pa.array([2, 3]),
        layer=pa.array(["x", "y"]).dictionary_encode(),
        weight=pa.array([1, 7]),
    )
    assert read(path) == graph_of("x.1 x.2", "y.2 y.3 7", "x.2 y.2")


TEXT = pa.array(["a", "b"])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"source": TEXT, "target": TEXT}, "no column 'source_layer'"),
        ({"source": pa.array([0.5, 1]), "target": TEXT, "layer": TEXT}, "column 'source' has the type double"),
        ({"source": TEXT, "target": TEXT, "layer": TEXT, "weight": TEXT}, "expected numbers"),
        ({"source": TEXT, "target": pa.array(["a", None]), "layer": TEXT}, "row 2: 'target' is missing (null)"),
        (
            {"source": TEXT, "target": TEXT, "layer": TEXT, "weight": pa.array([1, np.nan])},
            "row 2: 'weight' is nan, expected a finite number",
        ),
        ({"source": pa.array([["a"], ["b"]]), "target": TEXT, "layer": TEXT}, "has the type list"),
    ],
)
def test_bad_parquet_columns_are_named(tmp_path: Path, columns: dict[str, pa.Array], said: str) -> None:
    path = put_parquet(tmp_path, **columns)
    assert message(path).startswith(f"{path}: ")
    assert said in message(path)


def test_damaged_parquet_files_are_named(tmp_path: Path) -> None:
    path = put_parquet(tmp_path, source=TEXT, target=TEXT, layer=TEXT)
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    assert "cut off" in message(path)
    path.write_bytes(b"source,target\n")
    assert "no Parquet file" in message(path)
    path.write_bytes(content[:40] + content[60:])
    assert "damaged" in message(path)


def test_texts_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    wrong = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff"))
    path = put_parquet(tmp_path, source=wrong, target=pa.array(["a"]), layer=pa.array(["x"]))
    assert "damaged" in message(path)


# ---- pairs that are known to be different ----------------------------------------------------------------

GRAPH = graph_of("x.a x.b", "y.a y.c", "x.a y.c")
DIFFERENT = with_apart(GRAPH, [[0, 2], [1, 3]])
LIST = "source,source_layer,target,target_layer\na,x,a,y\nb,x,c,y\n"


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".edges.csv", ".parquet"])
def test_they_have_a_file_of_their_own_where_there_are_any(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"g{suffix}"
    assert len(write(GRAPH, path)) == 2
    written = write(DIFFERENT, path)
    assert [place.name for place in written][2] == f"g.apart{suffix.removeprefix('.edges')}"
    assert read(path) == DIFFERENT


def test_it_is_a_list_as_commands_read_it(tmp_path: Path) -> None:
    write(DIFFERENT, tmp_path / "g.csv")
    assert (tmp_path / "g.apart.csv").read_text() == LIST
    assert read_different(tmp_path / "g.apart.csv", GRAPH) == DIFFERENT


@pytest.mark.parametrize(("before", "after"), [(".csv", ".csv.gz"), (".csv", ".csv"), (".parquet", ".parquet")])
def test_an_older_file_is_not_taken_for_part_of_a_new_one(tmp_path: Path, before: str, after: str) -> None:
    write(DIFFERENT, tmp_path / f"g{before}")
    written = write(GRAPH, tmp_path / f"g{after}")
    assert tmp_path / f"g.apart{after}" in written
    assert read(tmp_path / f"g{after}") == GRAPH


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            "a,x,a,y\na,x,c,y\n",
            "g.apart.csv:3: 'a' (layer 'x') and 'c' (layer 'y') are said to be different, but a known",
        ),
        ("a,x,b,x\n", "g.apart.csv:2: 'a' (layer 'x') and 'b' (layer 'x') are different anyway"),
        ("a,x,q,y\n", "g.apart.csv:2: unknown node 'q', expected one of layer 'y'"),
        ("a,x,a,z\n", "g.apart.csv:2: unknown layer 'z', expected one of 'x', 'y'"),
    ],
)
def test_what_cannot_be_is_named_with_its_line(tmp_path: Path, rows: str, said: str) -> None:
    write(GRAPH, tmp_path / "g.csv")
    (tmp_path / "g.apart.csv").write_text(LIST.splitlines()[0] + "\n" + rows)
    assert said in message(tmp_path / "g.csv")


def test_a_missing_column_is_named_and_a_further_one_passed_over(tmp_path: Path) -> None:
    write(GRAPH, tmp_path / "g.csv")
    (tmp_path / "g.apart.csv").write_text("source,target\na,a\n")
    assert "g.apart.csv:1: no column 'source_layer'" in message(tmp_path / "g.csv")
    (tmp_path / "g.apart.csv").write_text("source,source_layer,target,target_layer,who\na,x,a,y,me\n")
    with pytest.warns(DataWarning, match=r"g\.apart\.csv: columns passed over: 'who'"):
        assert read(tmp_path / "g.csv") == with_apart(GRAPH, [[0, 2]])
