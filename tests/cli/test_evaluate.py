"""`mpxgat evaluate` and `mpxgat split`."""

import json

import pytest
from typer.testing import CliRunner

from mpxgat.cli.app import app
from mpxgat.errors import MpxgatError
from mpxgat.io import write
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.synthetic import social


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def failure(*arguments):
    result = run(*arguments)
    assert isinstance(result.exception, MpxgatError), result.output
    return str(result.exception)


@pytest.fixture
def net(tmp_path):
    write(social(60, 2, 0), tmp_path / "net.parquet")
    return tmp_path / "net.parquet"


@pytest.fixture
def saved(net, tmp_path):
    assert run("split", net, "-o", tmp_path / "net.split", "--protocol", "units", "--seed", 7).exit_code == 0
    return tmp_path / "net.split"


def test_json_says_what_was_evaluated(net):
    result = run("evaluate", net, "--seeds", 2, "--first-seed", 100, "--json")
    assert result.exit_code == 0, result.exception
    record = json.loads(result.stdout)
    assert (record["dataset"], record["model"], record["protocol"]) == (str(net), "rules", "marked")
    assert record["seeds"] == [100, 101]
    assert result.stderr == ""


def test_layers_are_trained_side_by_side_in_networks_worth_it_to_the_same_figures(net, monkeypatch):
    small = ("--model", "mpxgat", "--set", "hidden=4", "--set", "out=4", "--set", "heads=1", "--epochs", 2, "--json")
    asked = []

    def noted(self, graph, session):
        asked.append(session.engine.jobs)
        learn(self, graph, session)

    learn = MPXGAT._learn
    monkeypatch.setattr(MPXGAT, "_learn", noted)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    alone = json.loads(run("evaluate", net, *small).stdout)
    monkeypatch.setattr("mpxgat.cli.evaluate._WORTH_PROCESSES", 50)
    together = json.loads(run("evaluate", net, *small).stdout)
    json.loads(run("evaluate", net, *small, "--jobs", 1).stdout)
    assert asked == [1, 2, 1]
    for part in ("intra", "inter", "overall"):
        assert together[part] == alone[part]


def test_a_saved_split_gives_the_same_figures_as_its_seed(net, saved):
    from_file, from_seed = (
        json.loads(run("evaluate", *arguments, "--json").stdout)
        for arguments in ((saved,), (net, "--protocol", "units", "--first-seed", 7))
    )
    for part in ("protocol", "seeds", "intra", "inter", "overall"):
        assert from_file[part] == from_seed[part]


@pytest.mark.parametrize("option", [("--protocol", "marked"), ("--first-seed", "7"), ("--format", "parquet")])
def test_a_saved_split_takes_no_option_that_would_make_another(saved, option):
    said = failure("evaluate", saved, *option)
    assert f"{option[0]} '{option[1]}' with a saved split" in said


def test_wrong_names_are_told_before_anything_is_read(tmp_path):
    absent = tmp_path / "absent.csv"
    assert "no protocol 'leaky'" in failure("evaluate", absent, "--protocol", "leaky")
    assert "no protocol 'leaky'" in failure("split", absent, "-o", tmp_path / "x.split", "--protocol", "leaky")
    assert "no model 'rule'; did you mean rules?" in failure("evaluate", absent, "--model", "rule")


def test_what_cannot_be_measured_is_a_dash(tmp_path):
    path = tmp_path / "one.edges"
    path.write_text("".join(f"1 {number} {number + 1}\n" for number in range(50)))
    result = run("evaluate", path)
    assert result.exit_code == 0, result.exception
    assert "nan" not in result.stdout
    assert any(line.split() == ["inter", "auc", "-"] for line in result.stdout.splitlines())
