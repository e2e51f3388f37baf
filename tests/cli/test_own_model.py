"""A model of the user's own: `--model package.module:Class`, and `mpxgat check-model`."""

import json
import subprocess
import sys

import pytest

from mpxgat.errors import SettingError
from mpxgat.runs import RunFolder
from tests.cli.runs import network, run

SOURCE = """
from mpxgat.models.rules import Rules


class Mine(Rules):
    pass


class Leaky(Rules):
    def _score_intra(self, pairs):
        return super()._score_intra(pairs) + len(self.graph.ids[0].as_py())


class Stranger:
    pass
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a data file and a module, in which the user stands."""
    network(tmp_path)
    (tmp_path / "own_model.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("own_model", None)


def test_it_is_trained_loaded_and_keeps_its_name(here):
    assert run("train", "net.parquet", "-o", "run", "--model", "own_model:Mine").exit_code == 0
    assert RunFolder(here / "run").config().model == "own_model:Mine"
    assert RunFolder(here / "run").model().name == "own_model:Mine"
    assert run("predict", "run", "--top", 3).exit_code == 0
    assert "own_model:Mine" in run("info", "run").stdout


def test_a_run_does_not_decide_what_is_imported(here):
    assert run("train", "net.parquet", "-o", "run", "--model", "own_model:Mine").exit_code == 0
    command = [sys.executable, "-m", "mpxgat", "predict", "run", "--top", "3"]
    refused = subprocess.run(command, check=False, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "import own_model first if you trust it" in refused.stderr
    command[3:3] = ["--import", "own_model"]
    subprocess.run(command, check=True, capture_output=True)


def test_it_is_found_by_a_process_of_its_own(here):
    command = [sys.executable, "-m", "mpxgat", "evaluate", "net.parquet", "--model", "own_model:Mine", "--json"]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(found.stdout)["model"] == "own_model:Mine"


def test_it_is_evaluated_and_recorded_and_part_of_an_experiment(here):
    assert "own_model:Mine" in run("evaluate", "net.parquet", "--model", "own_model:Mine").stdout
    assert run("record", "net.parquet", "-o", "results.jsonl", "--model", "own_model:Mine").exit_code == 0
    assert json.loads((here / "results.jsonl").read_text())["key"]["model"] == "own_model:Mine"
    (here / "mine.toml").write_text(
        'title = "T"\nseeds = 1\n[[cell]]\nmodel = "own_model:Mine"\nsocial = {people = 40, layers = 2}\n'
    )
    result = run("benchmark", "run", "mine.toml")
    assert result.exit_code == 0, result.output
    assert "own_model:Mine" in result.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere:Mine", "cannot import 'nowhere:Mine' (No module named 'nowhere')"),
        ("own_model:Yours", "has no attribute 'Yours'"),
        ("own_model:Stranger", "'own_model:Stranger' is no model, expected a subclass of"),
    ],
)
def test_what_is_no_model_is_told(here, name, said):
    for command in (("train", "net.parquet", "-o", "run", "--model"), ("check-model",)):
        result = run(*command, name)
        assert isinstance(result.exception, SettingError)
        assert said in str(result.exception)


def test_a_model_is_checked(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    good = run("check-model", "own_model:Mine")
    assert good.exit_code == 0, good.output
    assert good.stderr == "11 of 11 checks passed\n"
    bad = run("check-model", "own_model:Leaky")
    assert bad.exit_code == 1
    assert "ids and attributes carry no information" in bad.stdout
    assert "other scores where nodes have other ids" in bad.stdout
    assert bad.stderr == "8 of 10 checks passed\n"
