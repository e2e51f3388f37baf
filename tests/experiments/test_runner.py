"""Cells are computed once, put on record whole, and fail alone."""

import os

import pytest

from mpxgat.errors import InputError, TrainingError
from mpxgat.experiments.graphs import load_graph
from mpxgat.experiments.records import CellKey, ResultsFolder, cell_key
from mpxgat.experiments.runner import Failed, Finished, Started, missing_keys, run_cell, run_cells
from mpxgat.training.parallel import Processes

GRAPH = "social(people=60,layers=2)"
TINY = {"hidden": 4, "out": 4, "heads": 1, "epochs": 4}


def key(model="rules", seed=0, graph=GRAPH, **settings):
    return cell_key(graph, "marked", model, settings, seed)


class Deadly(dict):
    """Settings that end the process to which they are sent."""

    def __reduce__(self):
        return os._exit, (1,)

    def __deepcopy__(self, memo):
        return {}


@pytest.fixture
def folder(tmp_path):
    return ResultsFolder(tmp_path / "results", "new.jsonl")


def same(one, other):
    """The same result, whenever it was computed."""
    return one.key == other.key and one.measures == other.measures and one.training == other.training


def test_each_key_is_computed_once_and_only_if_it_is_not_on_record(folder):
    one, two, three = (key(seed=seed) for seed in range(3))
    folder.add(run_cell(two, load_graph(GRAPH, 1)))
    missing = missing_keys([one, two, one, three], folder.read())
    assert missing == [one, three]
    events = list(run_cells(missing, folder))
    assert [type(event) for event in events] == [Started, Finished] * 2
    assert [line.count('"seed"') for line in (folder.path / "new.jsonl").read_text().splitlines()] == [1, 1, 1]
    assert missing_keys([one, two, three], folder.read()) == []


def test_processes_side_by_side_give_the_same_results_and_one_that_dies_takes_no_other_with_it(folder, tmp_path):
    deadly = CellKey(GRAPH, "marked", "rules", Deadly(), 7)
    good = [key(), key("degree"), key(seed=1)]
    events = list(run_cells([*good[:2], key(graph="none.parquet"), good[2], deadly], folder, Processes(2)))
    failed = {event.key.dataset: event for event in events if type(event) is Failed}
    assert failed.keys() == {GRAPH, "none.parquet"}
    assert failed[GRAPH].key is deadly
    assert failed[GRAPH].problem == "its process died (was it out of memory?)"
    assert "no such file" in failed["none.parquet"].problem
    on_record = folder.read()
    assert on_record.keys() == {one.text() for one in good}
    alone = ResultsFolder(tmp_path / "alone", "new.jsonl")
    list(run_cells(good, alone))
    assert all(same(on_record[text], record) for text, record in alone.read().items())


def test_a_cell_that_fails_is_told_and_the_others_go_on(folder):
    events = list(run_cells([key(graph="none.parquet"), key()], folder))
    assert [type(event) for event in events] == [Started, Failed, Started, Finished]
    assert "none.parquet: no such file" in events[1].problem
    assert list(folder.read()) == [key().text()]


def test_a_mistake_in_a_model_is_its_cells_own(folder, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("mpxgat.experiments.runner.run_cell", broken)
    _, event = run_cells([key()], folder)
    assert event == Failed(key(), "ZeroDivisionError: division by zero")


def test_a_stopped_cell_goes_on_from_its_checkpoints(folder, monkeypatch):
    wanted = key("mpxgat", **TINY)
    undisturbed = run_cell(wanted, load_graph(GRAPH, 0))
    learned = []

    def stopped(key, graph, session):
        def report(part, epoch):
            learned.append(part)
            if part == "between layers":
                raise KeyboardInterrupt

        return run_cell(key, graph, type(session)(session.checkpoints, session.identity, report, save_every=0.0))

    with monkeypatch.context() as patch:
        patch.setattr("mpxgat.experiments.runner.run_cell", stopped)
        with pytest.raises(KeyboardInterrupt):
            list(run_cells([wanted], folder))
    assert len(learned) == 2 * TINY["epochs"] + 1
    learned.clear()

    def watched(key, graph, session):
        return run_cell(
            key, graph, type(session)(session.checkpoints, session.identity, lambda part, _: learned.append(part))
        )

    monkeypatch.setattr("mpxgat.experiments.runner.run_cell", watched)
    _, event = run_cells([wanted], folder)
    assert set(learned) == {"between layers"}
    assert same(event.record, undisturbed)
    assert os.listdir(folder.path / ".checkpoints") == []


def test_one_key_twice_on_record_is_refused(folder):
    record = run_cell(key(), load_graph(GRAPH, 0))
    folder.add(record)
    ResultsFolder(folder.path, "other.jsonl").add(record)
    with pytest.raises(InputError, match=r"other.jsonl: a second result for .*rules"):
        folder.read()


def test_a_line_cut_off_by_a_kill_is_computed_again(folder):
    list(run_cells([key(), key(seed=1)], folder))
    file = folder.path / "new.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    missing = missing_keys([key(), key(seed=1)], folder.read())
    assert missing == [key(seed=1)]
    list(run_cells(missing, folder))
    assert len(file.read_text().splitlines()) == len(folder.read()) == 2


def test_a_folder_in_use_is_refused(folder):
    with folder.locked():
        other = ResultsFolder(folder.path, "other.jsonl")
        with pytest.raises(TrainingError, match="another process adds results"), other.locked():
            pass
