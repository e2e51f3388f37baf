import pytest

from mpxgat.errors import InputError, SettingError
from mpxgat.experiments.records import CellKey, CellRecord
from mpxgat.experiments.tables import results_table, write_section


def cell(dataset, model, seed, intra, inter, settings=None, training=None, protocol="marked"):
    measures = {
        "intra": {"auc": intra, "ap": 0.1},
        "inter": {"auc": inter, "auc_hard": 0.6, "mrr": 0.2, "hits@1": 0.1},
        "overall": {"auc": (intra + inter) / 2},
    }
    return CellRecord(CellKey(dataset, protocol, model, settings or {}, seed), measures, training or {}, {}, 1.0, {})


TRAINING = {"parts": {"layer 1 of 1: x": {"epochs": 40}, "between layers": {"epochs": 120}}}
CELLS = [
    cell("drosophila", "mpxgat", 0, 0.7, 0.5, {"preset": "paper"}, TRAINING),
    cell("drosophila", "mpxgat", 1, 0.8, 0.6, {"preset": "paper"}, TRAINING),
    cell("drosophila", "mpxgat", 0, 0.75, 0.55, {"preset": "reference"}, TRAINING),
    cell("fftwyt", "rules", 0, 0.93, 0.99),
    cell("drosophila", "rules", 0, 0.86, 0.94),
    cell("drosophila", "rules", 0, 0.86, 0.61, protocol="units"),
]


def rows_of(table):
    return [[value.strip() for value in line.strip("|\n").split("|")] for line in table.splitlines()[2:]]


def test_rows_stand_by_data_set_rules_first_with_the_published_figures_beside():
    rows = rows_of(results_table(CELLS, "marked"))
    assert [row[:3] for row in rows] == [
        ["fftwyt", "rules", "1 (0)"],
        ["drosophila", "rules", "1 (0)"],
        ["drosophila", "mpxgat, preset paper", "2 (0, 1)"],
        ["drosophila", "mpxgat, preset reference", "1 (0)"],
    ]
    assert rows[2][3:8] == ["40, 120", "0.750 ± 0.071", "0.76 ± 0.05", "0.550 ± 0.071", "0.86 ± 0.02"]
    assert rows[2][-2:] == ["0.650 ± 0.071", "0.80"]
    assert rows[1][4:6] == ["0.860", ""]


def test_batches_are_told_where_they_were_chosen():
    cells = [cell("fftwyt", "mpxgat", 0, 0.7, 0.5, {"preset": "paper", "batch": batch}) for batch in ("full", 64)]
    cells.append(cell("fftwyt", "anchored", 0, 0.7, 0.5, {"batch": 256}))
    assert {row[1] for row in rows_of(results_table(cells, "marked"))} == {
        "mpxgat, preset paper, batch full",
        "mpxgat, preset paper, batch 64",
        "anchored",
    }


def test_protocols_do_not_mix():
    (row,) = rows_of(results_table(CELLS, "units"))
    assert row[6] == "0.610"


def test_the_same_cell_twice_is_refused():
    with pytest.raises(SettingError, match="two results on record"):
        results_table([CELLS[3], CELLS[3]], "marked")


def test_a_section_is_replaced_and_the_rest_stays(tmp_path):
    page = tmp_path / "results.md"
    page.write_text("# Title\n<!-- results a: begin -->\nold\n<!-- results a: end -->\nafter\n")
    write_section(page, "a", "new\n")
    assert page.read_text() == "# Title\n<!-- results a: begin -->\n\nnew\n\n<!-- results a: end -->\nafter\n"
    with pytest.raises(InputError, match="results b: begin"):
        write_section(page, "b", "new\n")


def test_a_page_that_is_no_text_is_named(tmp_path):
    page = tmp_path / "page.md"
    page.write_bytes(b"one\n\xff\n")
    with pytest.raises(InputError, match=r"page.md:2: byte 0xff is not UTF-8 text"):
        write_section(page, "a", "new\n")
    with pytest.raises(InputError, match="cannot read"):
        write_section(tmp_path, "a", "new\n")
    assert page.read_bytes() == b"one\n\xff\n"
