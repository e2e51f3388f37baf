"""`mpxgat explore`."""

import pytest

from mpxgat.errors import InputError, SettingError
from tests.cli.runs import network, run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explore")
    assert run("train", network(folder), "-o", folder / "run", "--model", "rules").exit_code == 0
    return folder / "run"


@pytest.fixture
def opened(monkeypatch):
    addresses = []
    monkeypatch.setattr("webbrowser.open", lambda address: addresses.append(address) or True)
    return addresses


def test_writes_a_page_and_opens_it(trained, tmp_path, opened, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("explore", trained)
    assert result.exit_code == 0, result.output
    assert result.stderr == "wrote explorer.html\n"
    assert opened == [(tmp_path / "explorer.html").as_uri()]
    text = (tmp_path / "explorer.html").read_text()
    assert "net.parquet: who is connected, who is who</title>" in text
    assert 'id="explorer-data"' in text


def test_only_writes_and_replaces(trained, tmp_path, opened):
    path = tmp_path / "page.html"
    path.write_text("old")
    assert run("explore", trained, "-o", path, "--no-open").exit_code == 0
    assert opened == []
    assert path.read_text().startswith("<!doctype html>")
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


def test_without_a_browser_it_says_so(trained, tmp_path, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    result = run("explore", trained, "-o", tmp_path / "page.html")
    assert result.exit_code == 0
    assert "no browser could be opened; open the page yourself" in result.stderr


def test_other_suffixes_are_refused_before_anything_is_read(tmp_path):
    result = run("explore", tmp_path / "nothing", "-o", tmp_path / "page.csv")
    assert isinstance(result.exception, SettingError)
    assert str(result.exception) == "'page.csv', expected a name that ends in .html"


def test_no_run_is_named(tmp_path):
    assert isinstance(run("explore", tmp_path, "-o", tmp_path / "page.html").exception, InputError)
