"""Searches over a model whose quality is a setting: the outcome is known, a trial takes milliseconds."""

import sqlite3
import subprocess
import sys
from contextlib import ExitStack, closing, nullcontext

import pytest

from mpxgat.errors import InputError, MpxgatError, OutputError, ResumeError, SettingError, TrainingError
from mpxgat.splits import marked_nodes
from mpxgat.synthetic import social
from mpxgat.tuning import optuna_search
from mpxgat.tuning.grid import grid_method
from mpxgat.tuning.optuna_search import _concerns, optuna_method
from mpxgat.tuning.search import Objective, Search, SearchFolder
from mpxgat.tuning.trials import ranked
from tests.tuning import toy

SPACE = {"quality": {"low": 0.0, "high": 1.0}, "epochs": 2, "pause": 0.02}
TOTAL = 12  # optuna draws the first ten at random


@pytest.fixture(scope="module")
def graph():
    return social(people=100, layers=3, seed=0)


class Searches:
    """Makes searches in a folder."""

    def __init__(self, graph, folder):
        self.graph, self.folder = graph, folder

    def begin(self, method, name="out", *, model="toy", measure="overall", seed=100, data=None):
        data = data or self.graph
        objective = Objective(model, measure, seed, marked_nodes(data, seed))
        made = Search(SearchFolder(self.folder / name), objective, method, "net")
        made.begin(data)
        return made

    def __call__(self, method, name="out", *, done=lambda trial: None, hear=lambda part, report: None, **more):
        """Begin a search and run it to its end."""
        made = self.begin(method, name, **more)
        made.run(lambda: nullcontext(hear), done)
        return made


@pytest.fixture
def search(graph, tmp_path):
    return Searches(graph, tmp_path)


@pytest.fixture(scope="module")
def undisturbed(graph, tmp_path_factory):
    """A search with optuna that ran from beginning to end."""
    return Searches(graph, tmp_path_factory.mktemp("searches"))(optuna_method("toy", SPACE, TOTAL))


def best(search):
    return search.folder.best_path.read_text()


def grid(**values):
    return grid_method("toy", values)


# ---- grids ----------------------------------------------------------------------------------------------


def test_the_grid_picks_the_best_on_validation_links(search):
    made = search(grid(quality=[0.0, 1.0, 0.5], width=[1, 2]))
    first, second, *rest = ranked(made.trials())
    assert [first.settings["quality"], second.settings["quality"]] == [1.0, 1.0]
    assert (first.number, second.number) == (3, 4)  # equally good: in the order of the grid
    assert first.value > rest[0].value > rest[-1].value
    assert first.epochs == 4
    head, _, settings = best(made).partition("quality = 1.0\nwidth = 1\n")
    assert head == (
        f"# The best of 6 trial(s): overall AUC {first.value:.4f} on validation links.\n"
        "# data net, seed 100\n"
        "# mpxgat train DATA --config best.toml -o RUN\n"
        'model = "toy"\n\n'
    )
    assert 'word = "plain"\n' in settings
    assert "vertical_lr" not in settings


def test_finished_and_failed_trials_are_not_run_again_and_a_grid_may_grow(search, learned):
    made = search(grid(quality=[0.5, 3.0]))
    assert len(learned) == 2
    assert [trial.state for trial in made.trials()] == ["finished", "failed"]
    assert made.trials()[1].problem == "the loss became nan"
    before = best(made)
    search(grid(quality=[0.5, 3.0]))
    assert len(learned) == 2
    assert best(made) == before
    search(grid(quality=[0.5, 1.0, 3.0]))
    assert [settings["quality"] for settings in learned] == [0.5, 3.0, 1.0]
    assert "quality = 1.0" in best(made)


def test_a_search_interrupted_goes_on_where_it_was(search, learned):
    expected = best(search(grid(quality=[0.2, 0.9, 0.4]), "undisturbed"))
    learned.clear()

    def stop(trial):
        if trial.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(grid(quality=[0.2, 0.9, 0.4]), done=stop)
    made = search(grid(quality=[0.2, 0.9, 0.4]))
    assert len(learned) == 3
    assert best(made) == expected
    assert not list((made.folder.path / ".running").iterdir())


def test_the_best_is_written_even_if_nothing_is_left_to_run(search):
    made = search(grid(quality=[0.5]))
    content = best(made)
    made.folder.best_path.unlink()
    (made.folder.path / ".best.toml.x1").touch()  # of a process that was killed while it wrote
    assert best(search(grid(quality=[0.5]))) == content
    assert not list(made.folder.path.glob(".best*"))


def test_trials_in_work_elsewhere_are_left_alone(search, learned):
    method = grid(quality=[0.2, 0.9])
    made = search.begin(method)
    storage = method.storage(made.folder, made.objective)
    with made.folder.locked():
        running = storage.next()
    search(method)
    assert [settings["quality"] for settings in learned] == [0.9]
    running.reservation.lock.release()  # as the end of a process does
    search(method)
    assert [settings["quality"] for settings in learned] == [0.9, 0.2]


def test_the_measure_decides(search):
    method = grid(quality=[0.5])
    overall, inter = search(method, "overall"), search(method, "inter", measure="inter")
    assert overall.trials()[0].auc == inter.trials()[0].auc
    assert inter.trials()[0].value == inter.trials()[0].auc["inter"] != overall.trials()[0].value


def test_a_validation_part_without_links_of_the_kind_is_refused(graph):
    alone = graph.without(intra=graph.intra[:0], inter=graph.inter)
    Objective("toy", "overall", 100, marked_nodes(alone, 100))
    for measure, data in (("inter", alone), ("overall", alone.without(intra=alone.intra, inter=alone.inter))):
        with pytest.raises(SettingError, match=f"no links for the measure {measure}"):
            Objective("toy", measure, 100, marked_nodes(data, 100))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"measure": "inter"}, 'measure was "overall", now "inter"'),
        ({"seed": 101}, "seed was 100, now 101"),
        ({"model": "mpxgat"}, 'model was "toy", now "mpxgat"'),
        ({"data": social(people=50, layers=2, seed=0)}, r'data was "\d+ nodes'),
    ],
)
def test_a_folder_of_another_search_is_refused(search, other, said):
    search(grid(quality=[0.5]))
    with pytest.raises(SettingError, match=f"holds another search: {said}"):
        search.begin(grid(quality=[0.5]), **other)


def test_folders_of_something_else_are_refused(search, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter.txt").touch()
    with pytest.raises(TrainingError, match=r"holds 'letter.txt' and no search"):
        search(grid(quality=[0.5]))
    (tmp_path / "file").touch()
    with pytest.raises(MpxgatError, match="cannot make a folder"):
        search(grid(quality=[0.5]), "file")
    for content in ("{", '{"kind": "other"}'):
        (tmp_path / "out" / "search.json").write_text(content)
        with pytest.raises(InputError, match=r"search.json"):
            search(grid(quality=[0.5]))


# ---- optuna ---------------------------------------------------------------------------------------------


def drawn(search):
    return [trial.settings["quality"] for trial in search.trials()]


def test_optuna_finds_good_settings_and_the_seed_decides_what_is_drawn(search, undisturbed):
    assert [trial.number for trial in undisturbed.trials()] == list(range(1, TOTAL + 1))
    assert ranked(undisturbed.trials())[0].settings["quality"] > 0.8
    assert len(set(drawn(undisturbed))) == TOTAL
    assert drawn(search(optuna_method("toy", SPACE, 2), seed=101)) != drawn(undisturbed)[:2]


def test_optuna_goes_on_up_to_the_number_in_total(search, learned, undisturbed):
    search(optuna_method("toy", SPACE, 4))
    made = search(optuna_method("toy", SPACE, TOTAL))
    assert len(learned) == TOTAL
    assert drawn(made) == drawn(undisturbed)
    assert best(made) == best(undisturbed)


def test_poor_trials_are_pruned_and_good_ones_are_not(search, undisturbed):
    trials = undisturbed.trials()
    pruned = [trial.settings["quality"] for trial in trials if trial.state == "pruned"]
    finished = [trial.settings["quality"] for trial in trials if trial.state == "finished"]
    assert pruned
    assert max(pruned) < max(finished)
    assert all(trial.state == "finished" for trial in trials[:5])  # nothing to compare with yet
    first = next(trial.number for trial in trials if trial.state == "pruned")
    everything = search(optuna_method("toy", SPACE, first, prune=False))
    assert {trial.state for trial in everything.trials()} == {"finished"}


def test_a_failing_trial_of_optuna_is_on_record(search):
    made = search(optuna_method("toy", {"quality": {"choices": [0.5, 3.0]}, "epochs": 1}, 4))
    assert {trial.state for trial in made.trials()} == {"finished", "failed"}
    assert {trial.problem for trial in made.trials()} == {"", "the loss became nan"}


def test_a_trial_interrupted_is_taken_up_with_the_same_settings(search, learned, undisturbed):
    reports = iter(range(1000))

    def stop(part, report):
        if next(reports) == 11:  # in the middle of a trial
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(optuna_method("toy", SPACE, TOTAL), hear=stop)
    made = search(optuna_method("toy", SPACE, TOTAL))
    assert len(learned) == TOTAL + 1
    assert drawn(made) == drawn(undisturbed)
    assert best(made) == best(undisturbed)


def test_another_space_or_method_is_refused_and_a_damaged_storage_named(search):
    made = search(optuna_method("toy", SPACE, 1))
    with pytest.raises(SettingError, match="another search: space was"):
        search(optuna_method("toy", {**SPACE, "epochs": 5}, 1))
    with pytest.raises(SettingError, match='another search: method was "optuna", now "grid"'):
        search(grid(quality=[0.5]))
    (made.folder.path / "study.db").write_bytes(b"nothing like a database" * 100)
    with pytest.raises(InputError, match=r"study.db: this is no storage of optuna's"):
        search(optuna_method("toy", SPACE, 1))


def test_a_folder_may_have_any_name(search):
    made = search(optuna_method("toy", SPACE, 1), "what? 100% #1")
    assert {"study.db", "best.toml"} <= {path.name for path in made.folder.path.iterdir()}


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("layer 1 of 2: friends", {"intra", "overall"}),
        ("between layers", {"inter", "overall"}),
        ("all links", {"intra", "inter", "overall"}),
    ],
)
def test_a_trial_is_compared_by_the_parts_that_tell_of_the_measure(part, told):
    assert {measure for measure in ("intra", "inter", "overall") if _concerns(part, measure)} == told


# ---- processes ------------------------------------------------------------------------------------------

PROGRAM = """
import os, signal, sys
from pathlib import Path
from mpxgat.synthetic import social
from mpxgat.tuning.optuna_search import optuna_method
from tests.tuning import toy
from tests.tuning.test_search import SPACE, TOTAL, Searches

toy.register()
searches = Searches(social(people=100, layers=3, seed=0), Path(sys.argv[1]))
reports = int(sys.argv[2])

def hear(part, report):
    global reports
    reports -= 1
    if not reports:
        os.kill(os.getpid(), signal.SIGKILL)

print("ready", flush=True)
sys.stdin.readline()
searches(optuna_method("toy", SPACE, TOTAL), done=lambda trial: print(trial.number, flush=True), hear=hear)
"""


def run_side_by_side(folder, count, *, reports=1000):
    """The numbers of the trials that each of so many processes ran; each is killed after so many reports."""
    command = [sys.executable, "-c", PROGRAM, folder, str(reports)]
    with ExitStack() as stack:
        started = [
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for _ in range(count)
        ]
        assert [process.stdout.readline() for process in started] == ["ready\n"] * count
        for process in started:
            process.stdin.write("go\n")
            process.stdin.flush()
        return [[int(line) for line in process.communicate(timeout=120)[0].split()] for process in started]


def test_killed_in_the_middle_it_ends_with_the_same_best(search, undisturbed, tmp_path):
    assert run_side_by_side(tmp_path, 1, reports=6) == [[1, 2]]
    made = search(optuna_method("toy", SPACE, TOTAL))
    assert drawn(made) == drawn(undisturbed)
    assert best(made) == best(undisturbed)


def test_two_processes_share_the_trials(search, tmp_path):
    ran = run_side_by_side(tmp_path, 2)
    assert all(ran)
    assert sorted(ran[0] + ran[1]) == list(range(1, TOTAL + 1))
    made = search.begin(optuna_method("toy", SPACE, TOTAL))
    assert [trial.number for trial in made.trials()] == list(range(1, TOTAL + 1))
    assert not list((made.folder.path / ".running").iterdir())


def test_a_storage_of_another_version_of_optuna_is_named(search):
    made = search(optuna_method("toy", SPACE, 1))
    with closing(sqlite3.connect(made.folder.path / "study.db")) as storage, storage:
        storage.execute("UPDATE alembic_version SET version_num = 'v99.0.0'")
    with pytest.raises(InputError, match=r"study.db: optuna cannot use this storage \(The runtime optuna version"):
        made.trials()


def test_a_trial_that_is_damaged_in_the_storage_is_named(search):
    made = search(optuna_method("toy", SPACE, 1))
    path = made.folder.path / "study.db"
    content = path.read_bytes()
    assert b'"number": 1' in content
    path.write_bytes(content.replace(b'"number": 1', b'"number": []'[:11]))
    with pytest.raises(InputError, match=r"study.db: optuna's storage is damaged \("):
        made.trials()


def test_a_storage_that_cannot_be_written_is_named(search, monkeypatch):
    made = search(optuna_method("toy", SPACE, 1))
    connect = sqlite3.connect

    def read_only(path, **options):
        return connect(f"file:{path}?mode=ro", uri=True, **options)

    monkeypatch.setattr(sqlite3, "connect", read_only)
    with pytest.raises(OutputError, match=r"study.db: cannot write: attempt to write a readonly database"):
        search(optuna_method("toy", SPACE, 2))
    monkeypatch.undo()
    assert len(made.trials()) == 1


def test_a_storage_that_was_not_made_to_its_end_is_not_there(search, monkeypatch):
    def killed(path):
        path.write_bytes(b"half a database")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(optuna_search, "_open_study", killed)
        with pytest.raises(KeyboardInterrupt):
            search(optuna_method("toy", SPACE, 1))
    folder = search.folder / "out"
    assert not list(folder.glob("*study*"))
    (folder / ".study.db.new").write_bytes(b"of a process that was killed at once")
    assert len(search(optuna_method("toy", SPACE, 1)).trials()) == 1
    assert not (folder / ".study.db.new").exists()


def test_a_damaged_checkpoint_is_told_and_makes_no_failed_trial(search, monkeypatch):
    method = grid(quality=[0.5])

    def damaged(*_):
        raise ResumeError("cannot resume: the file is damaged")

    with monkeypatch.context() as patch:
        patch.setattr(toy.Toy, "_learn", damaged)
        with pytest.raises(ResumeError, match="cannot resume"):
            search(method)
    assert [trial.state for trial in search(method).trials()] == ["finished"]
