"""`mpxgat tune`."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from mpxgat.cli.tune import tune
from mpxgat.errors import MissingExtraError, MpxgatError
from mpxgat.io import read, write
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.splits import marked_nodes, save_split
from tests.cli.runs import SMALL, network, run

pytestmark = pytest.mark.usefixtures("one_thread")

app = typer.Typer()
app.command()(tune)

GRID = "lr = [0.02, 1e-6]\nvertical_heads = [1, 2]\n"


def run_tune(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def outcomes(folder):
    """The trials on record without what a clock says, in the order of the grid."""
    trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    return sorted(({**trial, "seconds": None} for trial in trials), key=lambda trial: trial["number"])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return network(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    path = tmp_path_factory.mktemp("grid") / "grid.toml"
    path.write_text(GRID)
    return path


@pytest.fixture(scope="module")
def tuned(data, grid, tmp_path_factory):
    """The folder of a search, and what the command printed."""
    folder = tmp_path_factory.mktemp("searches") / "out"
    return folder, run_tune(data, "--grid", grid, "-o", folder, *SMALL)


def test_a_grid_ends_with_a_table_and_settings_that_train_takes(tuned, data, tmp_path):
    folder, result = tuned
    assert result.exit_code == 0, result.output
    shown = " ".join(result.stdout.split())
    for text in (
        "mpxgat: best by overall AUC on validation links",
        "vertical_",  # a long name may be wrapped
        "intra",
        "0.02",
        "1e-06",
    ):
        assert text in shown
    assert result.stderr.count("\n") == 5
    assert "trial 4 of 4: overall AUC 0." in result.stderr
    assert f"4 finished, 0 pruned, 0 failed; the best settings are in {folder / 'best.toml'}\n" in result.stderr
    best = max(outcomes(folder), key=lambda trial: trial["auc"]["overall"])
    text = (folder / "best.toml").read_text()
    assert text.startswith(f"# The best of 4 trial(s): overall AUC {best['auc']['overall']:.4f} on validation links.\n")
    assert f"# data {data}, seed 100\n" in text
    assert 'model = "mpxgat"\n' in text
    result = run("train", data, "-o", tmp_path / "run", "--config", folder / "best.toml", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["settings"] == best["settings"]
    assert best["settings"]["out"] == 3  # as --set says


def test_a_search_that_is_finished_is_only_shown(tuned, data, grid, monkeypatch):
    folder, first = tuned
    monkeypatch.setattr(MPXGAT, "_learn", None)  # would fail if anything were trained
    result = run_tune(data, "--grid", grid, "-o", folder, *SMALL)
    assert result.stdout == first.stdout
    assert result.stderr.startswith("4 trial(s) are on record already\n4 finished")
    result = run_tune(data, "--grid", grid, "-o", folder, *SMALL, "--json")
    assert result.stderr == ""
    value = json.loads(result.stdout)
    assert value["trials"] == {"finished": 4, "pruned": 0, "failed": 0}
    assert value["config"] == str(folder / "best.toml")
    assert [trial["auc"]["overall"] for trial in value["best"]] == sorted(
        (trial["auc"]["overall"] for trial in outcomes(folder)), reverse=True
    )


def test_processes_make_no_difference(tuned, data, grid, tmp_path):
    result = run_tune(data, "--grid", grid, "-o", tmp_path / "out", *SMALL, "--jobs", 2)
    assert result.exit_code == 0, result.output
    assert outcomes(tmp_path / "out") == outcomes(tuned[0])
    assert (tmp_path / "out" / "best.toml").read_bytes() == (tuned[0] / "best.toml").read_bytes()
    assert sum(line.startswith("trial ") for line in result.stderr.splitlines()) == 4


def test_test_links_are_not_looked_at(data, grid, tmp_path):
    graph = read(data)
    split = marked_nodes(graph, 7)
    save_split(split, tmp_path / "a.split")
    pairs = next(split.intra.negatives.blocks()).pairs()[: len(split.intra.positives)]  # other links are tested
    other = replace(split, intra=replace(split.intra, positives=pairs), inter=replace(split.inter, positives=pairs[:0]))
    save_split(other, tmp_path / "b.split")
    write(split.train, tmp_path / "deleted.parquet")  # there never were any
    found = []
    for name in ("a.split", "b.split", "deleted.parquet"):
        result = run_tune(tmp_path / name, "--grid", grid, "-o", tmp_path / f"{name}.out", *SMALL)
        assert result.exit_code == 0, result.output
        found.append(outcomes(tmp_path / f"{name}.out"))
    assert found[0] == found[1] == found[2]
    result = run_tune(data, "--grid", grid, "-o", tmp_path / "whole", *SMALL)
    assert outcomes(tmp_path / "whole") != found[0]  # the test could fail: with the test links all is different


def test_a_format_beside_a_split_is_refused(data, grid, tmp_path):
    save_split(marked_nodes(read(data), 7), tmp_path / "a.split")
    result = run_tune(tmp_path / "a.split", "--grid", grid, "-o", tmp_path / "out", "--format", "mpx")
    assert "--format 'mpx' with a saved split" in str(result.exception)


def test_ctrl_c_says_how_to_go_on_and_leaves_the_best_so_far(tuned, data, grid, tmp_path, monkeypatch):
    learn = MPXGAT._learn
    folder = tmp_path / "out"

    def stopped(self, graph, session):
        if self.settings["lr"] == 1e-6:
            raise KeyboardInterrupt
        learn(self, graph, session)

    with monkeypatch.context() as patch:
        patch.setattr(MPXGAT, "_learn", stopped)
        result = run_tune(data, "--grid", grid, "-o", folder, *SMALL)
    assert result.exit_code == 130
    assert result.stderr.endswith("finished trials are on record; the same command continues with the rest\n")
    assert "lr = 0.02" in (folder / "best.toml").read_text()
    assert run_tune(data, "--grid", grid, "-o", folder, *SMALL).exit_code == 0
    assert outcomes(folder) == outcomes(tuned[0])
    assert (folder / "best.toml").read_bytes() == (tuned[0] / "best.toml").read_bytes()


def _any_line(path):
    """Whether a whole line is in the file; it is there for a moment before its first line is."""
    return path.exists() and b"\n" in path.read_bytes()


def test_killed_in_the_middle_it_goes_on_to_the_same_best(tuned, data, grid, tmp_path):
    folder = tmp_path / "out"
    code = "import typer; from mpxgat.cli.tune import tune; typer.run(tune)"
    command = [sys.executable, "-c", code, *map(str, [data, "--grid", grid, "-o", folder, *SMALL])]
    with subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not _any_line(folder / "trials.jsonl") and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        process.kill()
    assert 1 <= len(outcomes(folder)) < 4
    assert run_tune(data, "--grid", grid, "-o", folder, *SMALL).exit_code == 0
    assert outcomes(folder) == outcomes(tuned[0])
    assert (folder / "best.toml").read_bytes() == (tuned[0] / "best.toml").read_bytes()


def test_failing_trials_are_shown_and_if_all_fail_it_is_an_error(data, tmp_path, monkeypatch):
    (tmp_path / "grid.toml").write_text('device = ["cpu", "nowhere"]\n')
    result = run_tune(data, "--grid", tmp_path / "grid.toml", "-o", tmp_path / "out", *SMALL)
    assert result.exit_code == 0
    assert "trial 2 of 2: failed: device is 'nowhere'" in result.stderr
    assert "1 finished, 0 pruned, 1 failed" in result.stderr
    (tmp_path / "grid.toml").write_text('device = ["nowhere"]\n')
    result = run_tune(data, "--grid", tmp_path / "grid.toml", "-o", tmp_path / "none", *SMALL)
    assert isinstance(result.exception, MpxgatError)
    assert "no trial has finished, 1 failed: device is 'nowhere'" in str(result.exception)
    assert not (tmp_path / "none" / "best.toml").exists()


def test_optuna_prunes_goes_on_and_ends_with_settings_that_train_takes(data, tmp_path):
    pytest.importorskip("optuna")
    folder = tmp_path / "out"
    (tmp_path / "space.toml").write_text("lr = {low = 1e-6, high = 0.1, log = true}\nblocks = {choices = [1, 2]}\n")
    arguments = [data, "--space", tmp_path / "space.toml", "-o", folder, *SMALL, "--json"]
    value = json.loads(run_tune(*arguments, "--trials", 9).stdout)
    assert sum(value["trials"].values()) == 9
    assert value["trials"]["pruned"] >= 1
    assert value["trials"]["failed"] == 0
    value = json.loads(run_tune(*arguments, "--trials", 10).stdout)
    assert sum(value["trials"].values()) == 10
    result = run("train", data, "-o", tmp_path / "run", "--config", folder / "best.toml", "--json")
    assert json.loads(result.stdout)["settings"] == value["best"][0]["settings"]


def test_without_optuna_trials_say_how_to_install_it_and_a_grid_works(data, grid, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "mpxgat.tuning.optuna_search", raising=False)
    result = run_tune(data, "--trials", 2, "-o", tmp_path / "out")
    assert isinstance(result.exception, MissingExtraError)
    assert "pip install 'mpxgat[tune]'" in str(result.exception)
    (tmp_path / "grid.toml").write_text("lr = 0.01\n")
    assert run_tune(data, "--grid", tmp_path / "grid.toml", "-o", tmp_path / "out", *SMALL).exit_code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "neither of --grid and --trials given, expected one of them"),
        (("--grid", "grid.toml", "--trials", "3"), "both of --grid and --trials given, expected one of them"),
        (("--grid", "grid.toml", "--space", "grid.toml"), "--space given without --trials"),
        (("--grid", "grid.toml", "--model", "mpxgatt"), "did you mean mpxgat"),
        (("--grid", "grid.toml", "--model", "rules"), "the model 'rules' has no settings: there is nothing to tune"),
        (("--grid", "grid.toml", "--measure", "auc"), "no measure 'auc'; known are intra, inter, overall"),
        (("--grid", "grid.toml", "--set", "colour=red"), "no setting 'colour'"),
        (("--grid", "grid.toml", "--set", "seed=1"), "seed is no setting of a model, expected it as --seed"),
        (("--grid", "colour.toml"), "no setting 'colour'"),
        (("--grid", "seed.toml"), "seed is no setting of a model, expected it as --seed"),
        (("--grid", "empty.toml"), "no settings in the file"),
        (("--grid", "none.toml"), "no such file"),
    ],
)
def test_mistakes_are_named_before_data_is_read(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    texts = {"grid": GRID, "colour": 'colour = ["red"]\n', "seed": "seed = [1, 2]\n", "empty": "# nothing\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text)
    result = run_tune("none.edges", "-o", "out", *options)
    assert isinstance(result.exception, MpxgatError)
    assert said in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_search_is_refused(tuned, data, grid):
    for options, said in ((("--measure", "inter"), "measure was"), (("--seed", 101), "seed was 100, now 101")):
        result = run_tune(data, "--grid", grid, "-o", tuned[0], *SMALL, *options)
        assert isinstance(result.exception, MpxgatError)
        assert f"holds another search: {said}" in str(result.exception)


def test_ctrl_c_while_the_storage_is_opened_says_how_to_go_on(data, tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    opened = []

    def interrupted(path):
        opened.append(path)
        # As Python is left when a library was interrupted in the middle of its import.
        raise KeyboardInterrupt if len(opened) == 1 else AttributeError("module 'x' has no attribute 'y'")

    monkeypatch.setattr("mpxgat.tuning.optuna_search._open_study", interrupted)
    result = run_tune(data, "--trials", 1, "-o", tmp_path / "out", *SMALL)
    assert result.exit_code == 130
    assert result.stderr.endswith("the same command continues with the rest\n")


def test_ctrl_c_before_a_search_is_begun_says_nothing_of_it(data, grid, tmp_path, monkeypatch):
    def interrupted(self, graph):
        raise KeyboardInterrupt

    monkeypatch.setattr("mpxgat.tuning.search.Search.begin", interrupted)
    result = run_tune(data, "--grid", grid, "-o", tmp_path / "out", *SMALL)
    assert (result.exit_code, result.stderr) == (130, "")
    assert not (tmp_path / "out").exists()
