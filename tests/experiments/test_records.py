import json

import pytest

from mpxgat.errors import InputError, OutputError
from mpxgat.experiments.records import ResultsFile, cell_key
from mpxgat.experiments.runner import run_cell
from tests.examples import graph_of, random_graph


@pytest.fixture(scope="module")
def cells():
    graph = random_graph(1, people=120)
    return [run_cell(cell_key("small", "marked", "rules", {}, seed), graph) for seed in (0, 1)]


def test_records_come_back_as_they_were_written(cells, tmp_path):
    file = ResultsFile(tmp_path / "new" / "results.jsonl")
    assert file.read() == []
    for cell in cells:
        file.append(cell)
    assert file.read() == cells
    assert cells[0].measures["inter"]["auc"] > 0.5
    assert {"fit", "score"} <= cells[0].seconds.keys()
    assert "torch" in cells[0].made_with


def test_a_line_cut_off_by_a_crash_is_dropped_and_written_over(cells, tmp_path):
    file = ResultsFile(tmp_path / "results.jsonl")
    for cell in cells:
        file.append(cell)
    whole = file.path.read_bytes()
    file.path.write_bytes(whole[:-30])
    assert file.read() == cells[:1]
    file.append(cells[1])
    assert file.path.read_bytes() == whole


def test_a_line_that_is_no_result_is_named(cells, tmp_path):
    file = ResultsFile(tmp_path / "results.jsonl")
    file.append(cells[0])
    with open(file.path, "a") as stream:
        stream.write('{"key": 1}\n')
    with pytest.raises(InputError, match=r"results.jsonl:2: not a result"):
        file.read()


def test_a_folder_that_cannot_be_written_is_named(cells, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        ResultsFile(tmp_path / "file" / "results.jsonl").append(cells[0])


def test_keys_hold_all_settings_and_tell_cells_apart():
    one = cell_key("small", "marked", "mpxgat", {"heads": 2}, 0)
    same = cell_key("small", "marked", "mpxgat", {"heads": 2, "blocks": 3}, 0)
    other = cell_key("small", "marked", "mpxgat", {"heads": 3}, 0)
    assert one.text() == same.text() != other.text()
    assert one.settings["dropout"] == 0.3


def test_undefined_measures_are_none():
    graph = graph_of("x.a x.b", "y.a y.b")
    cell = run_cell(cell_key("tiny", "marked", "rules", {}, 0), graph)
    assert cell.measures["inter"]["auc"] is None


@pytest.mark.parametrize(
    "change",
    [
        {"key": {"dataset": 1, "protocol": "marked", "model": "rules", "settings": {}, "seed": 0}},
        {"key": {"dataset": "a", "protocol": "marked", "model": "rules", "settings": {}, "seed": "0"}},
        {"measures": {"intra": 0.5}},
        {"measures": {"intra": {"auc": "0.5"}}},
        {"measures": {"intra": {"auc": 10**400}}},
        {"training": {"parts": {"a": {"epochs": None}}}},
        {"seconds": []},
        {"peak_rss_mb": "much"},
        {"made_with": None},
    ],
)
def test_a_result_with_parts_of_another_kind_is_named(cells, tmp_path, change):
    file = ResultsFile(tmp_path / "results.jsonl")
    file.append(cells[0])
    row = {**json.loads(file.path.read_text()), **change}
    file.path.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=rf"results.jsonl:1: not a result \({next(iter(change))} has the wrong type"):
        file.read()


def test_bytes_that_are_no_text_are_named(cells, tmp_path):
    file = ResultsFile(tmp_path / "results.jsonl")
    file.append(cells[0])
    file.path.write_bytes(file.path.read_bytes() + b"\xff\n")
    with pytest.raises(InputError, match=r"results.jsonl:2: not a result"):
        file.read()
