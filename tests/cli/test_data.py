"""DATA is a name or a path; which of the two it is must be plain."""

import pytest

from mpxgat import datasets
from mpxgat.cli.options import load_data
from mpxgat.errors import DatasetError, InputError, SettingError
from mpxgat.synthetic import social


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def loaded(monkeypatch):
    """Data sets are not read here: a small graph stands for each."""
    graph = social(20, 2, 0)
    monkeypatch.setattr(datasets, "load", lambda name, directed: graph)
    return graph


def test_a_name(loaded):
    assert load_data("aucs") == (loaded, "aucs")


@pytest.mark.usefixtures("loaded")
def test_a_file_comes_before_a_data_set(tmp_path):
    (tmp_path / "aucs").write_text("1 a b 1\n")
    with pytest.raises(InputError, match="cannot tell the format"):
        load_data("aucs")
    graph, label = load_data("aucs", "comunelab")
    assert (graph.n_nodes, label) == (2, "aucs")


def test_a_folder_does_not_hide_a_data_set(tmp_path, loaded):
    (tmp_path / "aucs").mkdir()
    assert load_data("aucs") == (loaded, "aucs")


@pytest.mark.parametrize("text", ["absent.edges", "folder/aucs", "./aucs"])
@pytest.mark.usefixtures("loaded")
def test_a_separator_or_suffix_makes_a_path(text):
    with pytest.raises(InputError):
        load_data(text)


def test_a_path(tmp_path):
    (tmp_path / "mine.edges").write_text("1 a b 1\n")
    graph, label = load_data("mine.edges")
    assert (graph.n_nodes, label) == (2, "mine.edges")


@pytest.mark.parametrize("text", ["arxv", "x" * 5000, "nul\0", ""], ids=["near", "long", "NUL", "nothing"])
def test_neither_mentions_both(text):
    with pytest.raises(DatasetError) as problem:
        load_data(text)
    assert str(problem.value).startswith("no file '")
    assert "no data set '" in str(problem.value)
    assert len(str(problem.value)) < 400


@pytest.mark.usefixtures("loaded")
def test_a_format_is_for_files():
    with pytest.raises(SettingError, match="'aucs' is a data set"):
        load_data("aucs", "comunelab")
