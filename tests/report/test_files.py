"""The files of a report, and the command that writes them."""

import csv
import io
import json

import pytest

from mpxgat.errors import InputError, MissingExtraError, OutputError, SettingError
from mpxgat.io import write
from mpxgat.report import charts
from mpxgat.report.comparison import results_sections
from mpxgat.report.network import network_section
from mpxgat.report.page import Figure, Page, Section
from mpxgat.report.reports import csv_file, json_file, read_results, records_folder, write_figures, write_report
from tests.cli.runs import SMALL, run
from tests.report.networks import HOSTILE

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def no_bundle(monkeypatch):
    """A page without the script that draws, which takes seconds to make."""
    monkeypatch.setattr(charts, "chart_script", lambda: "window.vegaEmbed = null;")


@pytest.fixture(scope="module")
def net(tmp_path_factory, society):
    path = tmp_path_factory.mktemp("net") / "net.parquet"
    write(society, path)
    return path


@pytest.fixture(scope="module")
def trained(net):
    folder = net.parent / "run"
    assert run("train", net, "-o", folder, "--model", "mpxgat", "--seed", 100, *SMALL).exit_code == 0
    return folder


@pytest.fixture(scope="module")
def recorded(net):
    path = net.parent / "results.jsonl"
    assert run("record", net, "-o", path, "--first-seed", 100, "--seeds", 2).exit_code == 0
    return path


def test_records_come_back_from_both_files():
    rows = [{"node": text, "share": 0.25, "count": 3, "none": None} for text in HOSTILE]
    assert json.loads(json_file(rows)) == rows
    read = list(csv.DictReader(io.StringIO(csv_file(rows).decode(), newline="")))
    assert [row["node"] for row in read] == list(HOSTILE)
    assert read[0]["none"] == ""
    assert json.loads(json_file([])) == []
    assert csv_file([]) == b"\n"


def test_the_same_report_gives_the_same_bytes(tmp_path, society, no_bundle):
    made = []
    for name in ("one", "two"):
        path = write_report(tmp_path / f"{name}.html", Page("t", [network_section(society)]))
        folder = records_folder(path)
        made.append([path.read_bytes(), *(file.read_bytes() for file in sorted(folder.iterdir()))])
    assert made[0] == made[1]
    assert len(made[0]) == 1 + 2 * 5


def test_figures_are_pictures(tmp_path, society):
    section = network_section(society.layer("work"))
    written = write_figures(tmp_path / "deep" / "pictures", [section])
    assert {path.name for path in written} == {f"{n}.{s}" for n in ("layer-sizes", "degrees") for s in ("svg", "png")}
    again = write_figures(tmp_path / "again", [section])
    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in again]


def test_a_run_is_reported(trained, tmp_path, no_bundle):
    page = tmp_path / "report.html"
    done = run("report", trained, "-o", page)
    assert done.exit_code == 0, done.output
    assert str(page) in done.stderr
    text = page.read_text()
    assert "second fit" in text
    assert 'id="explorer"' in text
    names = {file.stem for file in records_folder(page).iterdir()}
    assert {"roc", "loss", "beta", "overlap", "pca-vertical-by-layer", "comparison-inter-auc"} <= names


def test_without_a_second_fit_nothing_is_evaluated(trained, tmp_path, no_bundle):
    page = tmp_path / "report.html"
    assert run("report", trained, "-o", page, "--no-refit").exit_code == 0
    assert "Not evaluated" in page.read_text()
    assert not (records_folder(page) / "roc.json").exists()


def test_results_are_reported(recorded, tmp_path, no_bundle):
    page = tmp_path / "results.html"
    assert run("report", recorded, recorded.parent, "-o", page).exit_code == 0
    (row,) = json.loads((records_folder(page) / "results-1-inter-auc.json").read_text())
    records = read_results([recorded])
    values = [record.measures["inter"]["auc"] for record in records]
    assert row["model"] == "rules, 2 seeds"
    assert row["mean"] == pytest.approx(sum(values) / 2)
    assert row["seeds"] == 2


def test_published_figures_stand_beside(recorded):
    from dataclasses import replace

    records = [replace(r, key=replace(r.key, dataset="arxiv", model="mpxgat")) for r in read_results([recorded])]
    (section,) = results_sections(records)
    rows = section.records()["results-1-inter-auc"]
    assert [row["source"] for row in rows] == ["measured here", "published"]


def test_what_cannot_be_reported_is_named(trained, recorded, tmp_path, no_bundle):
    empty = tmp_path / "empty"
    empty.mkdir()
    page = tmp_path / "r.html"
    assert isinstance(run("report", empty, "-o", page).exception, InputError)
    assert isinstance(run("report", tmp_path / "none.jsonl", "-o", page).exception, InputError)
    assert isinstance(run("report", trained, recorded, "-o", page).exception, InputError)
    assert isinstance(run("report", recorded, "-o", tmp_path / "r.pdf").exception, SettingError)
    assert not page.exists()
    (tmp_path / "taken_data").write_text("a file")
    problem = run("report", recorded, "-o", tmp_path / "taken.html").exception
    assert isinstance(problem, OutputError)
    assert not (tmp_path / "taken.html").exists()


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(charts, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mpxgat\[report\]'"):
        charts.require_charts()


def test_the_script_that_draws_fits_into_a_page():
    script = charts.chart_script()
    assert "window.vegaEmbed" in script
    drawn = Section("one", "One", figures=[Figure("f", "t", "c", [], {"height": 10, "mark": "bar"})])
    text = Page("t", [drawn]).html()
    assert script in text
    assert len(text) < 1_500_000
