"""Small files that would grow to gigabytes are refused before they do; what is only much is read."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest

from mpxgat.build import link_by_id
from mpxgat.errors import GraphError, InputError
from mpxgat.io import read
from mpxgat.io.files import read_bytes, taken, write_files
from tests.examples import graph_of

MANY = 3000


def lines(form, n=MANY):
    return "".join(form.format(k=k) for k in range(n))


def test_a_gzip_file_that_unpacks_to_much_more_is_refused(tmp_path):
    path = tmp_path / "net.edges.gz"
    path.write_bytes(gzip.compress(b"1 a b\n" * 100_000) * 50)
    with pytest.raises(InputError, match=r"the gzip file of \d+ bytes unpacks to more than \d+; .* unpack it first"):
        read(path)


def test_our_own_gzip_file_is_read_whatever_it_holds(tmp_path):
    content = b"1 a b\n" * 4_000_000
    write_files({tmp_path / "a.gz": content})
    assert read_bytes(tmp_path / "a.gz") == content


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "net.mpx",
            "#LAYERS\nk,UNDIRECTED\nl,UNDIRECTED\n#VERTEX ATTRIBUTES\n"
            + lines("k,a{k},STRING\n")
            + "#VERTICES\n"
            + lines("v{k},l\n"),
        ),
        ("net.mpx", "#ACTOR ATTRIBUTES\n" + lines("a{k},STRING\n") + "#EDGES\n" + lines("v{k},w{k},l\n")),
        (
            "net.json",
            json.dumps(
                {"nodes": [{"id": k, "sheet": 0, "attributes": {f"a{k}": ""}} for k in range(MANY)], "links": []}
            ),
        ),
        (
            "net.json",
            json.dumps(
                {
                    "graph": {"vertical_features": [f"f{k}" for k in range(MANY)]},
                    "nodes": [{"id": k, "sheet": 0} for k in range(MANY)],
                    "links": [],
                }
            ),
        ),
    ],
    ids=["mpx vertices", "mpx actors", "multiplexsage attributes", "multiplexsage features"],
)
def test_columns_that_hardly_a_node_has_are_not_filled_up_for_all(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=r"3000 columns about \d+ nodes, most of them left out"):
        read(tmp_path / name)


def test_the_columns_of_a_unit_in_many_layers_are_not_filled_up_for_all(tmp_path):
    (tmp_path / "net.xedges").write_text(lines("a {k} b{k} {k} 1\n") + "b0 0 b1 1 1\n")
    (tmp_path / "net_nodes.txt").write_text(f"nodeID {lines('c{k} ')}\n" + "".join(f"{i} {'x ' * MANY}\n" for i in "a"))
    with pytest.raises(InputError, match=r"net_nodes.txt: 3000 columns about 6000 nodes"):
        read(tmp_path / "net.xedges")


def test_a_text_is_not_repeated_without_end():
    column = pa.array(["x" * 1_000_000, None, "y"], pa.large_string())
    assert taken(column, pa.array([2, None, 1]), "t", 10, "f").to_pylist() == ["y", None, None]
    with pytest.raises(
        InputError, match=r"'t' given to every node would take 100000000 bytes, expected at most 67108864"
    ):
        taken(column, pa.array(np.zeros(100, dtype=np.int64)), "t", 10, "f")


def test_a_unit_in_thousands_of_layers_is_refused():
    graph = graph_of(*(f"l{k}.a l{k}.b" for k in range(4000)))
    with pytest.raises(GraphError, match="shared ids mean 15996000 inter links, expected at most 5000000"):
        link_by_id(graph)
