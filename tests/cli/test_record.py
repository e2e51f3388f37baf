"""`mpxgat record`, `mpxgat results` and `mpxgat demo`."""

import json

import pytest

from mpxgat.errors import InputError
from mpxgat.io import write
from mpxgat.synthetic import social
from tests.cli.runs import run

pytestmark = pytest.mark.usefixtures("one_thread")
TINY = ["--set", "hidden=4", "--set", "out=4", "--set", "heads=1", "--epochs", "4"]


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.parquet"
    write(social(80, 2, 0), path)
    return path


def test_cells_on_record_are_not_computed_again(net, tmp_path):
    results = tmp_path / "results.jsonl"
    assert run("record", net, "--model", "mpxgat", "--seeds", 1, *TINY, "-o", results).exit_code == 0
    first = results.read_text()
    assert run("record", net, "--model", "mpxgat", "--seeds", 2, *TINY, "-o", results).exit_code == 0
    lines = results.read_text().splitlines()
    assert lines[0] + "\n" == first
    records = [json.loads(line) for line in lines]
    assert [record["key"]["seed"] for record in records] == [0, 1]
    assert records[0]["training"]["parts"]["between layers"]["epochs"] == 4
    assert not any((tmp_path / ".checkpoints").iterdir())


def test_the_table_goes_to_the_terminal_or_into_a_page(net, tmp_path):
    results, page = tmp_path / "results.jsonl", tmp_path / "page.md"
    assert run("record", net, "--seeds", 2, "-o", results).exit_code == 0
    shown = run("results", results)
    assert "| rules | 2 (0, 1) |" in shown.stdout
    page.write_text("<!-- results marked: begin --><!-- results marked: end -->\n")
    assert run("results", results, "-o", page).exit_code == 0
    assert "| rules | 2 (0, 1) |" in page.read_text()
    page.write_text("nothing\n")
    assert isinstance(run("results", results, "-o", page).exception, InputError)


def test_the_demo_shows_rules_and_mpxgat(monkeypatch):
    shown = json.loads(run("demo", "--people", 60, "--layers", 2, "--seeds", 1, "--json").stdout)
    assert {"rules", "mpxgat"} <= shown["models"].keys()
    assert shown["models"]["rules"]["seeds"] == [0]
    assert "mpxgat" in run("demo", "--people", 60, "--layers", 2, "--seeds", 1).stdout


def test_anchors_are_on_record_by_their_share(net, tmp_path):
    results = tmp_path / "results.jsonl"
    for share in (0.2, 0.5, 0.5):
        done = run("record", net, "--protocol", "anchors", "--known", share, "-o", results)
        assert done.exit_code == 0, done.exception
    records = [json.loads(line) for line in results.read_text().splitlines()]
    assert [record["key"]["protocol"] for record in records] == ["anchors 0.2", "anchors 0.5"]
    measures = records[0]["measures"]
    assert measures["intra"]["auc"] is None
    assert measures["inter"]["mrr"] == pytest.approx((measures["forward"]["mrr"] + measures["backward"]["mrr"]) / 2)
    first, second = (run("results", results, "--protocol", "anchors", "--known", share).stdout for share in (0.2, 0.5))
    assert first.splitlines()[2].startswith(f"| {net} | rules | 1 (0) |  | – |")
    assert first != second
    assert len(second.splitlines()) == 3


def test_directed_data_have_a_name_of_their_own_on_record(tmp_path):
    write(social(80, 2, 0, directed=0.5), tmp_path / "net.csv")
    results = tmp_path / "results.jsonl"
    for options in ([], ["--directed"]):
        done = run("record", tmp_path / "net.csv", *options, "-o", results)
        assert done.exit_code == 0, done.exception
    plain, directed = (json.loads(line)["key"]["dataset"] for line in results.read_text().splitlines())
    assert (plain, directed) == (str(tmp_path / "net.csv"), f"{tmp_path / 'net.csv'} --directed")
    assert run("results", results).exit_code == 0
