"""`mpxgat datasets`."""

import json

import pytest
from typer.testing import CliRunner

from mpxgat import datasets
from mpxgat.cli.app import app


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch, tmp_path):
    monkeypatch.setenv("MPXGAT_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "_cache_folder", lambda: tmp_path / "cache")


def run(*arguments):
    result = CliRunner().invoke(app, ["datasets", *arguments])
    assert result.exit_code == 0
    return result


def test_table():
    result = run()
    for name in datasets.names():
        assert name in result.stdout
    assert " yes " not in result.stdout
    assert "MPXGAT_DATA" in result.stderr


def test_json_says_what_is_here(tmp_path):
    (tmp_path / "aucs.mpx").write_text("")
    rows = json.loads(run("--json").stdout)["datasets"]
    assert [row["name"] for row in rows] == list(datasets.names())
    assert [row["name"] for row in rows if row["here"]] == ["aucs"]
    aucs = rows[3]
    assert aucs["path"] == str(tmp_path / "aucs.mpx")
    assert aucs["citation"] == datasets.dataset("aucs").citation
