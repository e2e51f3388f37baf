"""Files as bytes: what may be read and replaced, and all or nothing when writing."""

import os
import threading
from pathlib import Path

import pytest

from mpxgat.errors import InputError, OutputError
from mpxgat.io import read
from mpxgat.io.files import read_bytes, read_utf8, write_files

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


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_wide_encoding_is_named(tmp_path, encoding):
    path = tmp_path / "net.edges"
    path.write_text("1 a b\n", encoding=encoding)
    with pytest.raises(InputError, match=f"the text is {encoding.upper()}, expected UTF-8"):
        read_utf8(path)
