"""Files: what may be read and replaced, all or nothing when writing, how much may be unpacked; JSON Lines and TOML."""

import gzip
import json
import os
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mpxgat.build import link_by_id
from mpxgat.errors import GraphError, InputError, OutputError
from mpxgat.io import files, read
from mpxgat.io.files import append_json_line, read_bytes, read_json_lines, read_toml, read_utf8, taken, write_files
from tests.examples import graph_of

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


def test_a_directory_in_the_way_of_one_file_keeps_all_from_being_written(tmp_path):
    (tmp_path / "second").mkdir()
    (tmp_path / "first").write_bytes(b"old")
    with pytest.raises(OutputError, match=r"second: cannot write: a directory of this name is in the way"):
        write_files({tmp_path / "first": b"new", tmp_path / "second": b"new"})
    assert (tmp_path / "first").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second"]


@needs_pipes
def test_a_pipe_or_device_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="a device or pipe of this name is in the way"):
        write_files({tmp_path / "pipe": b"new"})
    assert (tmp_path / "pipe").is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@needs_pipes
def test_a_pipe_is_read(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"1 a b\n2 a b\n",))
    writer.start()
    graph = read(pipe, "comunelab")
    writer.join()
    assert (graph.n_intra, graph.n_inter) == (2, 2)


@pytest.mark.skipif(os.name == "nt", reason="this system has no device files")
def test_a_device_is_no_file():
    with pytest.raises(InputError, match="this is a device, expected a file"):
        read_bytes(Path(os.devnull))


def test_a_byte_order_mark_tells_utf_16_and_utf_32_is_named(tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("1 \u017c b\n", encoding="utf-16")
    assert read_utf8(path) == "1 \u017c b\n".encode()
    path.write_text("1 a b\n", encoding="utf-32")
    with pytest.raises(InputError, match="the text is UTF-32, expected UTF-8"):
        read_utf8(path)


def test_lines_come_back_with_their_numbers_and_a_line_cut_off_is_none(tmp_path):
    path = tmp_path / "a.jsonl"
    assert read_json_lines(path, "a row") == []
    append_json_line(path, {"a": "\u2028"})
    path.write_bytes(path.read_bytes() + b'\n{"b": 1')
    assert read_json_lines(path, "a row") == [(1, {"a": "\u2028"})]
    append_json_line(path, {"c": 2})
    assert read_json_lines(path, "a row") == [(1, {"a": "\u2028"}), (3, {"c": 2})]


@pytest.mark.parametrize("line", [b"[]", b"1", b"\xff", b"{", b"[" * 100_000, b"9" * 5000])
def test_a_line_that_is_no_object_is_named(tmp_path, line):
    (tmp_path / "a.jsonl").write_bytes(b"{}\n" + line + b"\n{}\n")
    with pytest.raises(InputError, match=r"a.jsonl:2: not a row \(") as caught:
        read_json_lines(tmp_path / "a.jsonl", "a row")
    assert str(caught.value).isprintable()


def test_a_folder_in_place_of_the_file_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        read_json_lines(tmp_path, "a row")


def test_what_cannot_be_written_whole_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    append_json_line(path, {"a": 1})
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OutputError, match=r"a.jsonl: cannot write: No space left on device"):
        append_json_line(path, {"b": 2})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\na." + "b." * 300 + "c = 1\n", ":2: more than 200 dots in a line"),
        ("[" + '"a".' * 300 + "b]", ":1: more than 200 dots in a line"),
        ("1.2 ." * 300 + "3 = 1", "more than 200 dots in a line"),
        ("a = 1\n" * 200_000, "1200000 bytes, expected a TOML file of at most 1048576"),
        ("a = " + "[" * 50_000, "not TOML"),
        ("a = " + "9" * 5000, "not TOML"),
        ("a = 1\nb =\n", ":2: not TOML"),
    ],
)
def test_what_is_no_file_of_settings_is_named(text, said, tmp_path):
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        read_toml(tmp_path / "a.toml")
    assert said in str(caught.value)


def test_long_lists_of_numbers_are_read(tmp_path):
    numbers = [number / 8 + 0.25 for number in range(1000)]
    (tmp_path / "a.toml").write_text(f"a = {numbers}\nb.c.d = 1\n")
    assert read_toml(tmp_path / "a.toml") == {"a": numbers, "b": {"c": {"d": 1}}}


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
