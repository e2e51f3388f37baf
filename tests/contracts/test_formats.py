"""The contract of file formats, checked on every registered one."""

from __future__ import annotations

import gzip
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mpxgat.build import EdgeTable, build, link_by_id
from mpxgat.errors import InputError, OutputError
from mpxgat.graph import MultiplexGraph
from mpxgat.io import formats, write
from tests.examples import graph_of
from tests.io.foreign import FOREIGN

from .format_contract import check_reads_or_explains, check_round_trip
from .strategies import graphs, simple_graphs

FORMATS = sorted(formats())
WRITTEN = [name for name in FORMATS if formats()[name].writes]
TEXT_FORMATS = [name for name in WRITTEN if name not in ("mpxg", "parquet")]
CONTRACT = settings(
    max_examples=80,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # examples are small and come in the same order: shrinking would take minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

every_format = pytest.mark.parametrize("name", FORMATS)
every_written_format = pytest.mark.parametrize("name", WRITTEN)


@every_written_format
@CONTRACT
@given(graph=graphs())
def test_any_graph_comes_back_or_is_refused(name: str, graph: MultiplexGraph) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_round_trip(formats()[name], graph, Path(folder))


@every_written_format
def test_simple_graphs_come_back(name: str) -> None:
    written = []

    @CONTRACT
    @given(graph=simple_graphs())
    def check(graph: MultiplexGraph) -> None:
        with tempfile.TemporaryDirectory() as folder:
            written.append(check_round_trip(formats()[name], graph, Path(folder)))

    check()
    assert any(written), "the format refused every graph"


def test_no_two_formats_have_a_name_or_a_suffix_in_common() -> None:
    suffixes = [suffix for form in formats().values() for suffix in form.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert len(formats()) == 12  # one of two with the same name would be gone


def test_formats_that_are_only_read_have_an_example_here_and_refuse_to_write(tmp_path: Path) -> None:
    assert sorted({*FORMATS} - {*WRITTEN}) == sorted(FOREIGN)
    for name in FOREIGN:
        path = tmp_path / f"graph{formats()[name].suffixes[0]}"
        with pytest.raises(OutputError, match=r"this format is only read; those that are written are \.edges"):
            write(graph_of("x.a x.b"), path)
    assert list(tmp_path.iterdir()) == []


@st.composite
def mutations(draw: st.DrawFn, content: bytes) -> bytes:
    """Up to three bytes or stretches flipped, deleted, doubled, put in, or all after them cut off."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        stop = min(len(content), start + draw(st.integers(1, 12)))
        kind = draw(st.sampled_from(["flip", "delete", "double", "cut", "insert"]))
        piece = content[start:stop]
        if kind == "flip":
            piece = bytes(byte ^ (1 << draw(st.integers(0, 7))) for byte in piece[:1]) + piece[1:]
        elif kind == "delete":
            piece = b""
        elif kind == "double":
            piece *= 2
        elif kind == "insert":
            piece = draw(st.sampled_from([b"\n", b" ", b"\t", b",", b'"', b"\r", b"\0", b"\xff", b"9", b"nan"])) + piece
        content = content[:start] + piece + (b"" if kind == "cut" else content[stop:])
    return content


@cache
def foreign_bytes(name: str) -> bytes:
    """An example; made once, as a workbook holds the time when it was made."""
    with tempfile.TemporaryDirectory() as folder:
        return FOREIGN[name](Path(folder) / f"graph{formats()[name].suffixes[0]}").read_bytes()


@pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")
@pytest.mark.parametrize("name", sorted({*FOREIGN} - {"mat"}))
@CONTRACT
@given(data=st.data())
def test_damaged_files_of_others_give_a_graph_or_one_line(name: str, data: st.DataObject) -> None:
    check_damaged_example(name, data)


@pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")
@settings(CONTRACT, max_examples=8)  # each is read in a process of its own
@given(data=st.data())
def test_damaged_mat_files_give_a_graph_or_one_line(data: st.DataObject) -> None:
    check_damaged_example("mat", data)


def check_damaged_example(name: str, data: st.DataObject) -> None:
    form = formats()[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"graph{form.suffixes[0]}"
        path.write_bytes(data.draw(mutations(foreign_bytes(name))))
        check_reads_or_explains(form, path)


@pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")
@every_written_format
@CONTRACT
@given(data=st.data(), graph=simple_graphs())
def test_damaged_files_give_a_graph_or_one_line(name: str, data: st.DataObject, graph: MultiplexGraph) -> None:
    form = formats()[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"graph{form.suffixes[0]}"
        if not check_round_trip(form, graph, Path(folder)):
            return
        victim = data.draw(st.sampled_from(sorted(Path(folder).iterdir())))
        victim.write_bytes(data.draw(mutations(victim.read_bytes())))
        check_reads_or_explains(form, path)


# ---- bad files that every format meets -----------------------------------------------------------------


def written_example(name: str, folder: Path) -> Path:
    """A small graph, the same for all formats that are written: two layers, three shared ids, weights."""
    if name in FOREIGN:
        return FOREIGN[name](folder / f"graph{formats()[name].suffixes[0]}")
    layer = np.array([0, 0, 1, 1])
    edges = EdgeTable(pa.array(["1", "2", "1", "2"]), layer, pa.array(["2", "3", "3", "4"]), layer, np.arange(1.0, 5))
    path = folder / f"graph{formats()[name].suffixes[0]}"
    write(link_by_id(build(["work", "lunch"], edges)), path, name)
    return path


def error_of(name: str, path: Path) -> InputError:
    problem = check_reads_or_explains(formats()[name], path)
    assert problem is not None
    assert str(path) in str(problem)
    return problem


@every_format
def test_an_empty_file_is_named(name: str, tmp_path: Path) -> None:
    path = written_example(name, tmp_path)
    path.write_bytes(b"")
    assert "empty" in str(error_of(name, path))


@every_format
def test_a_directory_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"folder{formats()[name].suffixes[0]}"
    path.mkdir()
    assert "directory" in str(error_of(name, path))


@every_format
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"nowhere{formats()[name].suffixes[0]}"
    with pytest.raises(InputError, match="no such file") as caught:
        formats()[name].read(path)
    assert str(path) in str(caught.value)


@every_format
def test_a_gzip_file_is_read_and_a_truncated_one_named(name: str, tmp_path: Path) -> None:
    form = formats()[name]
    plain = written_example(name, tmp_path)
    packed = tmp_path / f"{plain.name}.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert form.read(packed) == form.read(plain)
    packed.write_bytes(packed.read_bytes()[:-12])
    assert "gzip" in str(error_of(name, packed))


@pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")
@every_format
def test_a_truncated_file_never_passes_for_another_kind_of_error(name: str, tmp_path: Path) -> None:
    path = written_example(name, tmp_path)
    content = path.read_bytes()
    problems = 0
    for length in range(1, len(content), max(1, len(content) // 60)):
        path.write_bytes(content[:length])
        problems += check_reads_or_explains(formats()[name], path) is not None
    assert problems > 0


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_a_wrong_encoding_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    path = written_example(name, tmp_path)
    content = path.read_bytes()
    path.write_bytes(content + b"\xe9\xff")
    problem = error_of(name, path)
    assert "UTF-8" in str(problem)
    assert problem.line == content.count(b"\n") + 1
    path.write_bytes(content.decode().encode("utf-32"))
    assert "UTF-32" in str(error_of(name, path))


@pytest.mark.parametrize("name", TEXT_FORMATS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_tells_utf_16(name: str, encoding: str, tmp_path: Path) -> None:
    form = formats()[name]
    path = written_example(name, tmp_path)
    graph, text = form.read(path), path.read_text()
    path.write_bytes(("" if encoding == "utf-16" else "\ufeff").encode(encoding) + text.encode(encoding))
    assert form.read(path) == graph
    path.write_bytes(path.read_bytes()[:-1])
    assert "is not UTF-16 text" in str(error_of(name, path))


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_byte_order_mark_and_windows_line_ends_are_read(name: str, tmp_path: Path) -> None:
    form = formats()[name]
    path = written_example(name, tmp_path)
    graph = form.read(path)
    for place in tmp_path.iterdir():
        place.write_bytes(b"\xef\xbb\xbf" + place.read_bytes().replace(b"\n", b"\r\n"))
    assert form.read(path) == graph


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_a_line_of_ten_million_characters_is_named(name: str, tmp_path: Path) -> None:
    path = written_example(name, tmp_path)
    path.write_bytes(path.read_bytes() + b"x" * 10_000_000)
    error_of(name, path)
