"""Lines of JSON that are added to a file: whole or not at all, damage named by line."""

import os

import pytest

from mpxgat.errors import InputError, OutputError
from mpxgat.io import files as json_lines
from mpxgat.io.files import append_json_line, read_json_lines


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

    monkeypatch.setattr(json_lines.os, "fsync", full)
    with pytest.raises(OutputError, match=r"a.jsonl: cannot write: No space left on device"):
        append_json_line(path, {"b": 2})
    assert path.read_bytes() == before
