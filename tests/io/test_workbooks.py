"""Excel workbooks: sheets as tables and lists, what cells become, files from strangers."""

from __future__ import annotations

import sys
import zipfile
from datetime import datetime
from pathlib import Path

import pytest

from mpxgat.errors import DataWarning, InputError, MissingExtraError
from mpxgat.io import read, read_layers
from tests.examples import graph_of
from tests.io.foreign import SHEETS, workbook

SHEET = "xl/worksheets/sheet1.xml"


def altered(path: Path, part: str, old: bytes, new: bytes) -> Path:
    """The workbook with another text in one of its parts."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old in parts[part]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content.replace(old, new, 1) if name == part else content)
    return path


def test_sheets_are_the_tables_of_a_network(tmp_path: Path) -> None:
    graph = read(workbook(tmp_path / "net.xlsx"))
    assert [tuple(node) for node in graph.nodes] == [("1", "work"), ("2", "work"), ("2", "lunch"), ("3", "lunch")]
    assert (graph.n_intra, graph.n_inter) == (2, 1)
    assert graph.intra_weight is not None
    assert graph.intra_weight.tolist() == [2, 1.5]
    assert graph.attributes["name"].to_pylist() == ["Ann", "Bea", "", ""]
    assert read(tmp_path / "net.xlsx", directed=True).intra_arcs is not None
    sheets = {"Start": [["hello"]], "LINKS": SHEETS["edges"], "nodes": SHEETS["nodes"], "other": [[]]}
    assert read(workbook(tmp_path / "named.xlsx", sheets)) == graph
    assert read(workbook(tmp_path / "first.xlsx", {"Tabelle1": SHEETS["edges"], "nodes": SHEETS["nodes"]})) == graph
    assert read(tmp_path / "named.xlsx:links") == graph


def test_pairs_known_to_be_different(tmp_path: Path) -> None:
    apart = [["source", "source_layer", "target", "target_layer"], [1, "work", 3, "lunch"]]
    assert len(read(workbook(tmp_path / "net.xlsx", {**SHEETS, "apart": apart})).apart) == 1


def test_sheets_are_lists_too_and_call_the_layers(tmp_path: Path) -> None:
    book = workbook(
        tmp_path / "book.xlsx",
        {
            "home": [["who", "whom", "n"], ["a", "b", 2], [], ["b", "c", 0.5]],
            "work": [["p", "q"], ["q", "r"]],
            "people": [["account", "joined"], ["a", None], ["b", None], ["c", None], ["d", datetime(2024, 5, 1)]],
            "known": [["home", "work"], ["a", "q"]],
        },
    )
    (tmp_path / "work.csv").write_text("id\np\nq\nr\n")
    graph = read_layers(
        [f"{book}:home", f"{book}:work"],
        anchors=f"{book}:known",
        nodes=[f"{book}:people", tmp_path / "work.csv"],
        columns={"source": "who", "target": "whom", "weight": "n", "id": "account"},
    )
    assert graph.layers == ("home", "work")
    assert [node.id for node in graph.nodes] == ["a", "b", "c", "d", "p", "q", "r"]
    assert graph.n_inter == 1
    assert graph.attributes["joined"].to_pylist()[3] == "2024-05-01"
    assert read_layers([book], columns={"source": "who", "target": "whom", "weight": "n"}).layers == ("book",)


def test_what_cells_become(tmp_path: Path) -> None:
    values = [7, 7.0, 7.5, True, "007", " x ", datetime(2024, 5, 1, 12, 30), "=1+1"]
    rows = [["source", "target", "layer"], *([f"n{place}", value, "x"] for place, value in enumerate(values[:-1]))]
    graph = read(workbook(tmp_path / "net.xlsx", {"a": rows}))
    assert {node.id for node in graph.nodes if not node.id.startswith("n")} == {
        "7", "7.5", "TRUE", "007", " x ", "2024-05-01 12:30:00",
    }  # fmt: skip
    with pytest.raises(InputError, match=r"sheet 'a', row 2: an empty node id"):  # no formula is ever calculated
        read(workbook(tmp_path / "net.xlsx", {"a": [["source", "target", "layer"], ["a", "=1+1", "x"]]}))


def test_numbers_that_a_spreadsheet_may_have_cut_are_said(tmp_path: Path) -> None:
    rows = [["source", "target", "layer"], ["1", "2", "x"], ["1", 1234567890123456789, "x"]]
    with pytest.warns(DataWarning, match=r"sheet 'a', row 3: '\d+' is kept as a number"):
        read(workbook(tmp_path / "net.xlsx", {"a": rows}))


@pytest.mark.parametrize(
    ("name", "sheets", "said"),
    [
        ("net.xlsx:Links", SHEETS, "no sheet 'Links'; the sheets are 'edges', 'nodes'"),
        ("net.xlsx", {"a": [[None, None]]}, "the sheet 'a' is empty"),
        ("net.xlsx", {"a": [["source", "target"], ["a", "b"]]}, "sheet 'a', row 1: no column 'source_layer'"),
        ("net.xlsx", {**SHEETS, "nodes": [["id", "layer"], [], ["1", "work"]]}, "row 3: layer: unknown layer 'lunch'"),
        (
            "net.xlsx",
            {**SHEETS, "nodes": [["id", "layer"], *[["1", "work"]] * 2]},
            "sheet 'edges', row 3: layer: unknown",
        ),
    ],
)
def test_errors_name_sheet_and_row(tmp_path: Path, name: str, sheets: dict, said: str) -> None:
    workbook(tmp_path / "net.xlsx", sheets)
    with pytest.raises(InputError) as caught:
        read(tmp_path / name)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'net.xlsx'}: ")


# ---- files from strangers ------------------------------------------------------------------------------


def test_entities_are_refused(tmp_path: Path) -> None:
    head = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    path = altered(workbook(tmp_path / "net.xlsx"), SHEET, b"<worksheet", head + b"<worksheet")
    with pytest.raises(InputError, match=rf"{SHEET}, line 1: a document type"):
        read(path)


def test_what_unpacks_to_far_more_is_refused(tmp_path: Path) -> None:
    size = 1 << 25
    path = altered(workbook(tmp_path / "net.xlsx"), SHEET, b"</sheetData>", b"</sheetData>" + b" " * size)
    assert path.stat().st_size < size / 100
    with pytest.raises(InputError, match=r"parts that unpack to \d+ bytes, expected at most"):
        read(path)


def test_a_row_far_down_is_refused(tmp_path: Path) -> None:
    path = altered(workbook(tmp_path / "net.xlsx"), SHEET, b'<row r="3"', b'<row r="99999999"')
    with pytest.raises(InputError, match=r"sheet 'edges', row 1048577: more than 1048576 rows"):
        read(path)


def test_a_cell_that_claims_a_row_far_down_stays_in_its_own(tmp_path: Path) -> None:
    assert read(altered(workbook(tmp_path / "net.xlsx"), SHEET, b'r="A3"', b'r="A99999999"')).n_intra == 2


def test_many_rows_with_a_cell_far_to_the_right_are_refused(tmp_path: Path) -> None:
    rows = b"".join(b'<row r="%d"><c r="ZZZ%d"><v>1</v></c></row>' % (k, k) for k in range(4, 400))
    path = altered(workbook(tmp_path / "net.xlsx"), SHEET, b"</sheetData>", rows + b"</sheetData>")
    with pytest.raises(InputError, match=r"sheet 'edges', row \d+: more than 1048576 rows, 2097152 cells"):
        read(path)


def test_other_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "net.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0" + b"x" * 1000)
    with pytest.raises(InputError, match=r"an old Excel file \(.xls\), or one with a password; save it as .xlsx"):
        read(path)
    path.write_text("source,target\n")
    with pytest.raises(InputError, match="this is no workbook, or it is damaged"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(InputError, match="the workbook cannot be read"):
        read(path)


def test_without_the_library_a_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "net.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"reading .xlsx files needs .* pip install 'mpxgat\[excel\]'"):
        read(path)


def test_graphs_of_one_layer_from_a_sheet(tmp_path: Path) -> None:
    book = workbook(tmp_path / "x.xlsx", {"x": [["a", "b"], ["b", "c"]]})
    assert read_layers([book]) == graph_of("x.a x.b", "x.b x.c")
