"""`mpxgat benchmark`."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from mpxgat import datasets
from mpxgat.cli.benchmark import TimeLeft
from mpxgat.errors import MissingExtraError, MpxgatError
from mpxgat.experiments import sweep_chart
from mpxgat.experiments.records import CellKey, ResultsFolder
from mpxgat.experiments.runner import run_cell
from tests.cli.runs import run

pytestmark = pytest.mark.usefixtures("one_thread")
CONFIG = """
title = "A table"
seeds = 2
[quick]
seeds = 1
settings = { mpxgat = { epochs = 3 } }
[[cell]]
model = "rules"
social = { people = 150, layers = 2 }
[[cell]]
model = "degree"
social = { people = 150, layers = 2 }
against = "rules"
[[cell]]
model = "mpxgat"
social = { people = 150, layers = 2 }
settings = { hidden = 4, out = 4, heads = 1, epochs = 60 }
figures = { inter = [0.83, 0.01] }
"""
SWEEP = """
title = "A sweep"
seeds = 1
[sweep]
argument = "overlap"
label = "shared ties"
[[graph]]
social = { people = 100, layers = 2 }
values = [0, 1]
[[cell]]
model = "rules"
"""
FAILING = """
title = "A table"
seeds = 1
[[cell]]
model = "rules"
dataset = "damaged.parquet"
[[cell]]
model = "rules"
social = { people = 60, layers = 2 }
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="mine.toml"):
        Path(name).write_text(text)
        return name

    return write


@pytest.fixture
def computed(monkeypatch):
    """The keys of the cells computed in this process, in order."""
    keys = []

    def counted(key, graph, session):
        keys.append(key)
        return run_cell(key, graph, session)

    monkeypatch.setattr("mpxgat.experiments.runner.run_cell", counted)
    return keys


def lines(file="mpxgat-results/run.jsonl"):
    return Path(file).read_text().splitlines()


def test_killed_in_the_middle_and_started_again_it_makes_the_same_table(config, computed):
    config(CONFIG)
    assert run("benchmark", "run", "mine.toml", "--results", "undisturbed", "-o", "expected.md").exit_code == 0
    computed.clear()
    command = [sys.executable, "-c", "from mpxgat.cli.app import main; main()", "benchmark", "run", "mine.toml"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        deadline = time.monotonic() + 120
        while not (os.path.exists("mpxgat-results/run.jsonl") and len(lines()) >= 2) and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    before = [line for line in lines() if line.endswith("}")]
    assert 2 <= len(before) < 6, "killed too early or too late"
    with open("mpxgat-results/run.jsonl", "a") as stream:
        stream.write(lines("undisturbed/run.jsonl")[-1][:50])  # as if killed while it wrote
    result = run("benchmark", "run", "mine.toml", "-o", "tables.md")
    assert result.exit_code == 0
    assert result.stderr.startswith(
        f"{len(before)} of 6 results are on record in mpxgat-results\n1 of {6 - len(before)}: "
    )
    assert Path("tables.md").read_bytes() == Path("expected.md").read_bytes()
    assert lines()[: len(before)] == before
    assert len(computed) == 6 - len(before)
    assert len({json.dumps(json.loads(line)["key"], sort_keys=True) for line in lines()}) == len(lines()) == 6

    computed.clear()
    result = run("benchmark", "run", "mine.toml", "-o", "again.md")
    assert computed == []
    assert "6 of 6 results are on record" in result.stderr
    assert Path("again.md").read_bytes() == Path("expected.md").read_bytes()


def test_a_quick_version_is_marked_and_kept_apart(config, computed):
    config(CONFIG)
    result = run("benchmark", "run", "mine.toml", "--quick", "-o", "quick.md")
    assert "A table (quick version)" in result.stdout
    for text in (result.stderr, Path("quick.md").read_text()):
        assert "Quick version, not for reporting: mpxgat with epochs = 3." in text
    assert len(lines("mpxgat-results/quick/run.jsonl")) == 3
    assert {key.seed for key in computed} == {100}
    shown = run("benchmark", "run", "mine.toml", "--recorded", "--json")
    assert [row["seeds"] for row in json.loads(shown.stdout)["tables"][0]["rows"]] == [[], [], []]
    assert not os.path.exists("mpxgat-results/run.jsonl")


def test_json_holds_every_number_and_nothing_else_is_printed(config):
    config(CONFIG)
    result = run("benchmark", "run", "mine.toml", "--quick", "--seeds", 2, "--json")
    assert result.stderr == ""
    value = json.loads(result.stdout)
    assert (value["quick"], value["failed"], value["charts"]) == (True, [], [])
    rules, degree, mpxgat = value["tables"][0]["rows"]
    assert rules["seeds"] == [100, 101]
    assert len(rules["measures"]["inter"]["values"]) == 2
    assert 0 < degree["p_value"] < 1
    assert mpxgat["published"] == {"inter": {"mean": 0.83, "std": 0.01}}
    assert mpxgat["epochs"] == "3, 3"


def test_the_time_left_is_that_of_cells_of_the_same_kind():
    keys = [CellKey(dataset, "marked", model, {}, 0) for dataset in "ab" for model in ("slow", "fast", "other")]
    left = TimeLeft(keys, jobs=2)
    assert left.text() == "?"
    left.done(keys[0], 100.0)
    left.done(keys[1], 2.0)
    # To do: a other (51 as the mean of all), b slow (100), b fast (2), b other (51); two at a time.
    assert left.text() == "0:01:42"
    left.done(keys[3], 300.0)
    assert left.text() == str(timedelta(seconds=round((134 + 2 + 134) / 2)))


def test_a_failing_cell_is_named_at_the_end_and_the_others_are_there(config):
    config(FAILING)
    Path("damaged.parquet").write_text("no such thing")
    result = run("benchmark", "run", "mine.toml")
    assert result.exit_code == 2
    assert "failed: damaged.parquet, rules, seed 0: damaged.parquet: " in result.stderr.splitlines()[-1]
    assert [json.loads(line)["key"]["dataset"] for line in lines()] == ["social(people=60,layers=2)"]
    assert "social(people=60,layers=2)" in result.stdout


def test_interrupted_it_says_how_to_go_on(config, monkeypatch):
    config(CONFIG)

    def stopped(key, graph, session):
        if key.model == "degree":
            raise KeyboardInterrupt
        return run_cell(key, graph, session)

    monkeypatch.setattr("mpxgat.experiments.runner.run_cell", stopped)
    result = run("benchmark", "run", "mine.toml")
    assert result.exit_code == 130
    assert result.stdout == ""
    assert "on record in mpxgat-results; start the same command again to continue\n" in result.stderr
    assert len(lines()) == 1


def test_a_sweep_has_a_chart_and_its_page_shows_it(config):
    config(SWEEP)
    Path("docs").mkdir()
    Path("docs/page.md").write_text("before\n<!-- results mine: begin --><!-- results mine: end -->\nafter\n")
    result = run("benchmark", "run", "mine.toml", "--charts", "charts", "--into", "docs/page.md")
    assert result.exit_code == 0
    assert Path("charts/mine.png").stat().st_size > 10_000
    assert "the chart is in charts/mine.svg and mine.png" in result.stderr
    page = Path("docs/page.md").read_text()
    assert "![A sweep](../charts/mine.svg)" in page
    assert "| overlap = 1 | rules | 1 (0) |" in page
    assert page.startswith("before\n")
    assert page.endswith("after\n")


def test_without_matplotlib_a_sweep_computes_nothing(config, computed, monkeypatch):
    config(SWEEP)
    monkeypatch.setattr(sweep_chart, "find_spec", lambda name: None)
    result = run("benchmark", "run", "mine.toml")
    assert isinstance(result.exception, MissingExtraError)
    assert computed == []
    assert os.listdir() == ["mine.toml"]


def test_what_is_wrong_with_a_file_is_told_before_anything_is_computed(config, computed):
    config(CONFIG, "good.toml")
    config(CONFIG.replace("degree", "degreee"), "bad.toml")
    result = run("benchmark", "run", "good.toml", "bad.toml")
    assert isinstance(result.exception, MpxgatError)
    assert str(result.exception).startswith("bad.toml: cell 2 (degreee on social(people=150,layers=2)): no model")
    assert computed == []
    assert not os.path.exists("mpxgat-results")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-o", "none/tables.md"), "none/tables.md: there is no folder 'none'"),
        (("--into", "mine.toml"), "no lines '<!-- results mine: begin -->'"),
        (("mine.toml",), "two experiments are called 'mine'"),
        (("--results", "mine.toml"), "cannot make it: Not a directory"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_before_anything_is_computed(config, computed, options, said):
    config(CONFIG)
    result = run("benchmark", "run", "mine.toml", *options)
    assert isinstance(result.exception, MpxgatError)
    assert said in str(result.exception)
    assert computed == []


@pytest.mark.skipif(datasets.where("arxiv") is None, reason="the data set arxiv is not on this machine")
def test_tables_narrow_down_to_a_data_set(config):
    for options in ((), ("--quick", "--table", 5)):
        result = run("benchmark", "paper", "--table", 2, *options, "--dataset", "arxiv", "--recorded", "--json")
        assert [len(table["rows"]) for table in json.loads(result.stdout)["tables"]] == [1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("paper", "--table", 1), "no table '1'; known are 2, 3, 4, 5, 6"),
        (("paper", "--table", 5, "--dataset", "aucs"), "no data set 'aucs'; known are fftwyt, drosophila, arxiv"),
        (("sweep", "--study", "colour"), "no study 'colour'; known are overlap, mixing, density, known, layers"),
        (("run", "none.toml"), "none.toml: no such file"),
    ],
)
def test_what_there_is_not_is_named(config, arguments, said):
    result = run("benchmark", *arguments)
    assert isinstance(result.exception, MpxgatError)
    assert said in str(result.exception)


def test_two_at_a_time_are_refused(config):
    config(CONFIG)
    with ResultsFolder(Path("mpxgat-results"), "other.jsonl").locked():
        result = run("benchmark", "run", "mine.toml")
    assert "another process adds results to this folder" in str(result.exception)


def test_the_tables_of_the_paper_show_what_is_on_record(config):
    results = Path(__file__).parents[2] / "experiments" / "results"
    arguments = ("--dataset", "drosophila", "--results", results, "--recorded", "--seeds", 1)
    shown = run("benchmark", "paper", "--table", 5, *arguments)
    assert shown.exit_code == 0, shown.output
    found = json.loads(run("benchmark", "paper", "--table", 5, *arguments, "--json").stdout)["tables"][0]["rows"]
    by_label = {row["label"]: row for row in found}
    gat, published = by_label["gat, tuned"], by_label["mpxgat, published settings"]
    assert (gat["against"], gat["published_p"]) == ("mpxgat, tuned", 6e-7)
    assert all(by_label[name]["seeds"] == [0] for name in ("rules", "mpxgat, published settings"))
    assert published["measures"]["inter"]["mean"] == pytest.approx(0.777, abs=0.001)


def test_few_anchors_known(config):
    text = CONFIG.partition('[[cell]]\nmodel = "mpxgat"')[0].replace("settings = { mpxgat = { epochs = 3 } }\n", "")
    head = (
        'protocol = "anchors"\nknown = 0.3\nmeasures = ["intra", "inter", "forward.hits@10", "backward.mrr"]\nseeds = 2'
    )
    config(text.replace("seeds = 2", head, 1))
    shown = run("benchmark", "run", "mine.toml", "-o", "tables.md")
    assert shown.exit_code == 0, shown.exception
    table = Path("tables.md").read_text()
    assert "Protocol anchors 0.3, leak-free" in table
    assert "| intra AUC | inter AUC | forward hits@10 | backward mrr |" in table
    row = next(line for line in table.splitlines() if "| rules |" in line)
    assert [cell.strip() == "–" for cell in row.split("|")[5:9]] == [True, False, False, False]
    assert {json.loads(line)["key"]["protocol"] for line in lines()} == {"anchors 0.3"}


class TestTables:
    """A further model, and tables in other formats."""

    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        (tmp_path / "mine.toml").write_text(
            'title = "A & B"\nseeds = 2\n[[cell]]\nmodel = "rules"\nsocial = { people = 60, layers = 2 }\n'
        )
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def test_one_more_model_stands_beside_those_of_the_experiment(self, folder):
        done = run("benchmark", "run", "mine.toml", "--model", "degree", "--model", "rules", "--json")
        rows = json.loads(done.stdout)["tables"][0]["rows"]
        assert [(row["label"], row["seeds"]) for row in rows] == [("rules", [0, 1]), ("degree", [0, 1])]

    def test_an_unknown_one_is_named(self, folder):
        refused = run("benchmark", "run", "mine.toml", "--model", "degre")
        assert "--model degre (degre on social(people=60,layers=2)): no model 'degre'" in str(refused.exception)

    def test_formats(self, folder):
        latex = run("benchmark", "run", "mine.toml", "--format", "latex").stdout
        assert latex.startswith("\\begin{table}\n\\centering\n\\caption{A \\& B. ")
        assert run("benchmark", "run", "mine.toml", "-o", "table.tex").exit_code == 0
        assert (folder / "table.tex").read_text() == latex
        shown = run("benchmark", "run", "mine.toml", "--format", "csv")
        assert shown.stdout.splitlines()[0].startswith("data set,model,seeds,epochs,intra AUC,intra AUC sd,")
        assert "Protocol marked, leak-free" in shown.stderr

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--format", "word"), "no table format 'word'"),
            (("--format", "csv", "--json"), "--format 'csv' beside --json"),
            (("--format", "latex", "--into", "page.md"), "--into puts tables into Markdown"),
            (("other.toml", "--format", "csv"), r"a CSV file holds one table, found 2 \(mine, other\)"),
        ],
    )
    def test_what_does_not_go_together_is_told_first(self, folder, options, said):
        (folder / "page.md").write_text("<!-- results mine: begin -->\n<!-- results mine: end -->\n")
        (folder / "other.toml").write_text((folder / "mine.toml").read_text())
        with pytest.raises(MpxgatError, match=said):
            raise run("benchmark", "run", "mine.toml", *options).exception
        assert not (folder / "mpxgat-results").exists()
