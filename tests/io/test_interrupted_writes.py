"""A set of files that is being replaced when the process is killed, or an operation fails, at any step: old or new."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mpxgat.errors import InputError, OutputError
from mpxgat.io import read, write
from mpxgat.io.files import read_bytes, write_files
from tests.examples import graph_of

OLD = graph_of("x.a x.b", "y.a y.c 2", "x.a y.a")
NEW = graph_of("y.a y.b", "x.a x.c 3", "x.a y.a", layers="yx")
STEPS = ("replace", "fsync", "unlink", "chmod")
SUFFIXES = (".edges", ".csv", ".parquet")

KILLED_AT_EVERY_STEP = """
import os, sys
from pathlib import Path
from mpxgat.io import write
from tests.io.test_interrupted_writes import NEW, OLD, STEPS, at_step

folder, suffix = Path(sys.argv[1]), sys.argv[2]
step = 0
while True:
    step += 1
    place = folder / str(step)
    place.mkdir()
    if sys.argv[3] == "replaced":
        write(OLD, place / f"net{suffix}")
    child = os.fork()
    if child == 0:
        at_step(step, lambda: os._exit(9))
        write(NEW, place / f"net{suffix}")
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
"""


def at_step(number, act, patch=setattr):
    """Let the ``number``-th call of an operation on files call ``act`` first."""
    left = [number]

    def counted(operation):
        def call(*arguments, **options):
            left[0] -= 1
            if left[0] == 0:
                act()
            return operation(*arguments, **options)

        return call

    for name in STEPS:
        patch(os, name, counted(getattr(os, name)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system starts no copies of a process")
@pytest.mark.parametrize("before", ["replaced", "first"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_killed_at_any_step_it_is_the_old_set_or_the_new_one(tmp_path, suffix, before):
    subprocess.run([sys.executable, "-c", KILLED_AT_EVERY_STEP, tmp_path, suffix, before], check=True, timeout=120)
    places = sorted(tmp_path.iterdir(), key=lambda place: int(place.name))
    found = [_state(place / f"net{suffix}") for place in places]
    assert len(found) > 10
    assert found == sorted(found, key=("nothing", "old", "new").index)  # one moment from which on it is new
    assert set(found) == {"old" if before == "replaced" else "nothing", "new"}
    assert not [name for place in places[found.index("new") :] for name in _hidden(place)]


def _state(path: Path) -> str:
    try:
        graph = read(path)
    except InputError:
        assert not [name for name in os.listdir(path.parent) if not name.startswith(".")]
        return "nothing"
    assert graph in (OLD, NEW)
    return "old" if graph == OLD else "new"


def _hidden(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_operation_that_fails_leaves_the_old_set_or_the_new_one(tmp_path, suffix, monkeypatch):
    def fail():
        raise OSError(28, "No space left on device")

    ends = []
    for step in range(1, 100):
        place = tmp_path / str(step)
        place.mkdir()
        write(OLD, place / f"net{suffix}")
        with monkeypatch.context() as patched:
            at_step(step, fail, patched.setattr)
            try:
                write(NEW, place / f"net{suffix}")
            except OutputError as problem:
                ends.append("\n" not in str(problem))
            else:
                break
        assert _state(place / f"net{suffix}") in ("old", "new")
        assert _hidden(place) == []
    assert len(ends) > 10
    assert all(ends)


def test_a_stop_between_journal_and_renames_keeps_what_the_journal_needs(tmp_path, monkeypatch):
    path = tmp_path / "net.csv"
    write(OLD, path)
    replaced = []

    def stop_after_the_journal(old, new, replace=os.replace):
        replace(old, new)
        replaced.append(new)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", stop_after_the_journal)
        with pytest.raises(KeyboardInterrupt):
            write(NEW, path)
    assert [place.name for place in replaced] == [".mpxgat-journal"]
    assert read(path) == NEW
    assert _hidden(tmp_path) == []


def test_an_older_nodes_file_of_an_interrupted_write_is_replaced_too(tmp_path, monkeypatch):
    path = tmp_path / "net.edges"
    test_a_stop_between_journal_and_renames_keeps_what_the_journal_needs(tmp_path, monkeypatch)
    (tmp_path / ".net_nodes.txt.x.new").write_text("nodeID nodeLabel\nzoe Zoe\n")
    (tmp_path / ".mpxgat-journal").write_text(json.dumps([[".net_nodes.txt.x.new", "net_nodes.txt"]]))
    write(NEW, path)
    assert read(path) == NEW


@pytest.mark.parametrize(
    "journal",
    [
        b"[",
        b"7",
        b'[["a"]]',
        b'[[".b.x.new", "../b"]]',
        b'[["../.b.x.new", "../b"]]',
        b'[["/tmp/.b.x.new", "/tmp/b"]]',
        b'[["a", "b"]]',
        b'[[".b.x.new", "c"]]',
    ],
)
def test_a_journal_that_is_none_of_ours_moves_nothing(tmp_path, journal):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a", ".b.x.new", "../.b.x.new"):
        (folder / name).write_bytes(b"evil")
    (folder / ".mpxgat-journal").write_bytes(journal)
    with pytest.raises(InputError, match=r"\.mpxgat-journal beside it is (damaged|none of ours); delete it"):
        read_bytes(folder / "a")
    with pytest.raises(OutputError, match="delete it"):
        write_files({folder / "new": b"new"})
    assert sorted(os.listdir(folder)) == [".b.x.new", ".mpxgat-journal", "a"]
    assert sorted(os.listdir(tmp_path)) == [".b.x.new", "in"]


def test_files_in_folders_below_are_of_the_set(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    files = {tmp_path / "data" / "a.json": b"1", tmp_path / "page.html": b"2"}
    assert write_files(files) == list(files)
    monkeypatch.chdir(tmp_path)
    write_files({Path("data/a.json"): b"3", Path("page.html"): b"4"})
    assert [path.read_bytes() for path in files] == [b"3", b"4"]
    assert _hidden(tmp_path) == _hidden(tmp_path / "data") == []


def test_temporary_files_of_a_kill_long_ago_are_removed_and_fresh_ones_left(tmp_path):
    old, fresh = tmp_path / ".a.csv.1.new", tmp_path / ".a.csv.2.new"
    for place in (old, fresh):
        place.write_bytes(b"half")
    os.utime(old, (time.time() - 4000,) * 2)
    write_files({tmp_path / "a.csv": b"whole"})
    assert _hidden(tmp_path) == [fresh.name]


def test_what_a_journal_needs_is_no_leftover_however_old(tmp_path):
    (tmp_path / "data").mkdir()
    needed = tmp_path / "data" / ".a.json.1.new"
    needed.write_bytes(b"new")
    os.utime(needed, (time.time() - 4000,) * 2)
    (tmp_path / ".mpxgat-journal").write_text(json.dumps([["data/.a.json.1.new", "data/a.json"]]))
    (tmp_path / "page.html").mkdir()  # the next set cannot be written
    with pytest.raises(OutputError, match="in the way"):
        write_files({tmp_path / "data" / "a.json": b"newer", tmp_path / "page.html": b"page"})
    assert (tmp_path / "data" / "a.json").read_bytes() == b"new"
