"""A model of the user's own: `--model package.module:Class`, and `mpxgat check-model`."""

import json
import subprocess
import sys

import pytest

from mpxgat.errors import InputError, SettingError
from mpxgat.models.contract import CHECKS
from mpxgat.runs import RunFolder
from tests.cli.runs import network, run

SOURCE = """
import mpxgat as mx
from mpxgat.models.rules import Rules


class Mine(Rules):
    pass


class Leaky(Rules):
    def _score_intra(self, pairs):
        return super()._score_intra(pairs) + len(self.graph.ids[0].as_py())


class Stranger:
    pass


class Half(mx.models.Model):
    name, description = "half", "lacks what scores pairs"

    def _learn(self, graph, session):
        pass


class Demanding(Mine):
    def __init__(self, power, *, seed=0):
        super().__init__(seed=seed)


class Seedless(Mine):
    def __init__(self):
        super().__init__()


def busy(graph, power=1.0):
    'Degrees as vectors.'
    return (1.0 + graph.degree[:, None]) ** power


Busy = mx.adapt(embed=busy)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a data file and a module, in which the user stands."""
    network(tmp_path)
    (tmp_path / "own_model.py").write_text(SOURCE)
    (tmp_path / "broken.py").write_text("\n1 / 0\n")
    (tmp_path / "no_python.py").write_text("this is no python\n")
    (tmp_path / "refuses.py").write_text("raise ValueError('not today')\n")
    (tmp_path / "needs_more.py").write_text("import not_there\n")
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
        ("nowhere:Mine", "cannot import 'nowhere:Mine' (No module named 'nowhere'), expected package.module:Name"),
        (":Mine", "cannot import ':Mine', expected package.module:Name"),
        ("refuses:Mine", "refuses.py:1: ValueError: not today"),
        ("broken:Mine", "broken.py:2: ZeroDivisionError: division by zero"),
        ("no_python:Mine", "no_python.py:1: SyntaxError: "),
        ("needs_more:Mine", "cannot import 'needs_more:Mine' (No module named 'not_there')"),
        ("own_model:Half", "'own_model:Half' lacks _score_inter, _score_intra, score_block, expected all methods"),
        ("own_model:Demanding", "'own_model:Demanding' needs 'power', expected a default for every setting"),
        ("own_model:Seedless", "takes no seed, expected the argument seed: int = 0"),
        ("own_model:busy", "a function becomes one by mpxgat.adapt(embed=...)"),
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
    assert good.stderr == f"{len(CHECKS)} of {len(CHECKS)} checks passed\n"
    bad = run("check-model", "own_model:Leaky")
    assert bad.exit_code == 1
    assert "ids and attributes carry no information" in bad.stdout
    assert "other scores where nodes have other ids" in bad.stdout
    assert bad.stderr == f"{len(CHECKS) - 2} of {len(CHECKS)} checks passed\n"


def test_a_function_is_a_model_like_others(here):
    assert "own_model:Busy" in run("evaluate", "net.parquet", "--model", "own_model:Busy", "--set", "power=0.5").stdout
    assert run("train", "net.parquet", "-o", "run", "--model", "own_model:Busy").exit_code == 0
    assert RunFolder(here / "run").model().settings == {"power": 1.0}
    assert run("embed", "run", "-o", "vectors.csv").exit_code == 0
    done = run("record", "net.parquet", "-o", "results.jsonl", "--model", "own_model:Busy", "--seeds", "2")
    assert done.exit_code == 0, done.output
    wrong = run("evaluate", "net.parquet", "--model", "own_model:Busy", "--set", "power=x")
    assert str(wrong.exception) == "power is 'x', expected a number"


def test_files_name_models_that_the_command_line_has_to_name_again(here):
    (here / "settings.toml").write_text('model = "own_model:Mine"\n')
    (here / "mine.toml").write_text('title = "T"\n[[cell]]\nmodel = "own_model:Mine"\nsocial = {people = 40}\n')
    for command in (
        ("train", "net.parquet", "-o", "run", "--config", "settings.toml"),
        ("evaluate", "net.parquet", "--config", "settings.toml"),
        ("benchmark", "run", "mine.toml"),
    ):
        refused = run(*command)
        assert isinstance(refused.exception, SettingError | InputError)
        assert "import own_model first if you trust it (mpxgat --import own_model" in str(refused.exception)
        assert "own_model" not in sys.modules
    assert run("--import", "own_model", "evaluate", "net.parquet", "--config", "settings.toml").exit_code == 0


def test_a_report_takes_the_runs_model_named_again(here):
    assert run("train", "net.parquet", "-o", "run", "--model", "own_model:Busy").exit_code == 0
    sys.modules.pop("own_model")
    report = ("report", "run", "-o", "page.html", "--no-refit")
    assert "import own_model first" in str(run(*report).exception)
    other = run(*report, "--model", "own_model:Mine")
    assert "trained with 'own_model:Busy', expected this model" in str(other.exception)
    assert not (here / "page.html").exists()
    done = run(*report, "--model", "own_model:Busy")
    assert done.exit_code == 0, done.output
    assert "own_model:Busy" in (here / "page.html").read_text()


def test_cut_short_it_says_how_to_go_on_with_the_model(here, monkeypatch):
    def interrupted(self, graph, session):
        raise KeyboardInterrupt

    run("models", "own_model:Mine")
    monkeypatch.setattr(sys.modules["own_model"].Mine, "fit", interrupted)
    stopped = run("train", "net.parquet", "-o", "run", "--model", "own_model:Mine")
    assert "continue with: mpxgat train net.parquet -o run --model own_model:Mine --resume\n" in stopped.stderr
