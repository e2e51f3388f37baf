"""`mpxgat info`."""

import json
import os

import pytest
from typer.testing import CliRunner

from mpxgat import datasets
from mpxgat.build import with_apart
from mpxgat.cli.app import app
from mpxgat.io import write
from mpxgat.synthetic import social


def run(*arguments):
    return CliRunner().invoke(app, ["info", *arguments])


def test_json_of_a_file(tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("1 a b 1\n1 b c 1\n2 a b 2\n")
    result = run(str(path), "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    value = json.loads(result.stdout)
    keys = ["name", "layers", "units", "nodes", "intra_links", "inter_links", "weighted", "horizontal_features"]
    assert list(value) == [*keys, "vertical_features", "per_layer", "overlap", "units_by_layers", "apart"]
    assert value["name"] == str(path)
    assert [value[key] for key in keys[1:7]] == [2, 3, 5, 3, 2, True]
    assert value["per_layer"][0]["mean_degree"] == pytest.approx(4 / 3)
    assert value["overlap"][0]["links_shared"] == 1
    assert value["units_by_layers"] == {"1": pytest.approx(1 / 3), "2": pytest.approx(2 / 3)}


def test_table_of_a_file_shows_texts_as_they_are(tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("[red] a b 1\n[/x] a b 1\n")
    result = run(str(path))
    assert result.exit_code == 0
    assert "[red]" in result.stdout
    assert "[/x]" in result.stdout


def test_pairs_known_to_be_different_are_counted_if_there_are_any(tmp_path):
    graph = social(60, 2, 0, known=0.5)
    write(graph, tmp_path / "net.csv")
    assert "known to be different" not in run(str(tmp_path / "net.csv")).stdout
    strange = [[0, graph.n_nodes - 1], [1, graph.n_nodes - 2]]
    assert (graph.unit[strange][:, 0] != graph.unit[strange][:, 1]).all()
    write(with_apart(graph, strange), tmp_path / "net.csv")
    lines = [line.split() for line in run(str(tmp_path / "net.csv")).stdout.splitlines()]
    assert ["pairs", "known", "to", "be", "different", "2"] in lines
    assert json.loads(run(str(tmp_path / "net.csv"), "--json").stdout)["apart"] == 2


def test_many_pairs_of_layers_are_cut_with_a_note(tmp_path):
    path = tmp_path / "net.xedges"
    write(social(100, 8, 0), path)
    result = run(str(path))
    assert "8 more pairs of layers" in result.stderr


def test_a_data_set_shows_licence_and_citation(monkeypatch):
    monkeypatch.setattr(datasets, "load", lambda name, directed: social(20, 2, 0))
    monkeypatch.setenv("COLUMNS", "400")
    known = datasets.dataset("lazega")
    shown = run("lazega")
    value = json.loads(run("lazega", "--json").stdout)
    assert list(value)[:6] == ["name", "title", "prepared", "licence", "citation", "homepage"]
    assert value["citation"] == known.citation
    assert value["licence"] == known.licence
    for text in (known.title, known.licence, known.homepage, "Oxford University Press"):
        assert text in shown.stdout


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("fftwyt", (3, 11827, 74770, 6028)),
        ("arxiv", (13, 19310, 48657, 20738)),
        ("drosophila", (7, 11867, 39934, 5171)),
    ],
)
def test_the_sets_of_the_paper(name, sizes):
    if not os.environ.get("MPXGAT_DATA"):
        pytest.skip("the environment variable MPXGAT_DATA names no folder with the real data sets")
    value = json.loads(run(name, "--json").stdout)
    assert tuple(value[key] for key in ("layers", "nodes", "intra_links", "inter_links")) == sizes


def test_directed_layers_and_their_mutual_links(tmp_path):
    path = tmp_path / "net.csv"
    path.write_text("source,layer,target,directed\na,x,b,true\nb,x,c,false\na,y,b,false\n")
    shown = " ".join(run(str(path)).stdout.split())
    assert "directed layers 'x' (50.0% mutual)" in shown
    layers = json.loads(run(str(path), "--json").stdout)["per_layer"]
    assert [layer["mutual"] for layer in layers] == [0.5, 1.0]


def test_lists_are_directed_if_that_is_asked_for(tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("x a b\nx b c\n")
    assert "directed layers" not in run(str(path)).stdout
    shown = " ".join(run(str(path), "--directed").stdout.split())
    assert "net.edges --directed" in shown
    assert "directed layers 'x' (0.0% mutual)" in shown


def test_a_data_set_without_direction_says_which_have_one():
    assert "the ties of arxiv have no direction; those of drosophila, fftwyt" in str(
        run("arxiv", "--directed").exception
    )


def test_the_direction_of_ff_tw_yt_is_kept_if_asked_for():
    if not os.environ.get("MPXGAT_DATA"):
        pytest.skip("the environment variable MPXGAT_DATA names no folder with the real data sets")
    directed = datasets.load("fftwyt", directed=True)
    assert dict(zip(directed.layers, directed.directed_layers, strict=True)) == {"yt": False, "ff": True, "tw": True}
    plain = datasets.load("fftwyt")
    assert directed.undirected() == plain
    assert plain.fingerprint().startswith("744aa65cbd29aa3e")
