import json

import pytest

from mpxgat.errors import InputError, OutputError
from mpxgat.tuning.trials import Trial, TrialsFile, ranked


def trial(number, value, state="finished"):
    auc = {"intra": None, "inter": value, "overall": value} if state == "finished" else {}
    return Trial(number, {"lr": value}, state, "inter", auc, 3, 0.5)


def test_the_best_come_first_and_of_equals_the_earlier():
    trials = [trial(4, 0.7), trial(3, 0.9), trial(2, 0.9), trial(1, 1.0, "pruned"), trial(5, 1.0, "failed")]
    assert [t.number for t in ranked(trials)] == [2, 3, 4]


def test_trials_come_back_and_a_line_cut_off_is_dropped(tmp_path):
    file = TrialsFile(tmp_path / "trials.jsonl")
    assert file.read() == []
    file.append(trial(1, 0.5))
    with open(file.path, "ab") as stream:
        stream.write(b'{"number": 2, "set')
    assert file.read() == [trial(1, 0.5)]
    file.append(trial(3, 0.25))
    assert file.read() == [trial(1, 0.5), trial(3, 0.25)]


@pytest.mark.parametrize("line", ["[]", "{}", "nothing", '{"number": 1}', "\xff"])
def test_a_line_that_is_no_trial_is_named(tmp_path, line):
    file = TrialsFile(tmp_path / "trials.jsonl")
    file.append(trial(1, 0.5))
    with open(file.path, "ab") as stream:
        stream.write(line.encode("latin-1") + b"\n")
    with pytest.raises(InputError, match=r"trials.jsonl:2: not a trial"):
        file.read()


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(OutputError, match="cannot write"):
        TrialsFile(tmp_path / "none" / "trials.jsonl").append(trial(1, 0.5))


@pytest.mark.parametrize(
    "change",
    [
        {"number": "1"},
        {"settings": []},
        {"state": ["finished"]},
        {"measure": {}},
        {"auc": []},
        {"auc": {"inter": 0.5}},
        {"auc": {"intra": None, "inter": None, "overall": 0.5}},
        {"auc": {"intra": None, "inter": 2.5, "overall": 0.5}},
        {"epochs": "many"},
        {"seconds": 10**400},
        {"problem": None},
    ],
)
def test_a_trial_with_parts_of_another_kind_is_named(tmp_path, change):
    file = TrialsFile(tmp_path / "trials.jsonl")
    file.append(trial(1, 0.5))
    file.path.write_text(json.dumps({**json.loads(file.path.read_text()), **change}) + "\n")
    with pytest.raises(InputError, match=rf"trials.jsonl:1: not a trial \({next(iter(change))} is "):
        file.read()
