"""A network scientist sets her own embedding beside all other models, as docs/tutorial-own-model.md shows.

The module is the one that the tutorial shows; the network is a small planted one.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

import mpxgat as mx
from mpxgat.experiments.tables import published_figures
from tests.cli.runs import run

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial-own-model.md"
NAME = "spectral:Spectral"
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def source():
    """What the tutorial puts into spectral.py."""
    return re.search(r"Path\(\"spectral\.py\"\)\.write_text\('''\n(.*?)'''\)", TUTORIAL.read_text(), re.DOTALL)[1]


@pytest.fixture
def here(tmp_path, monkeypatch, source):
    """Her folder: a network and her module."""
    mx.write(mx.synthetic.social(people=80, layers=3, seed=0), tmp_path / "net.parquet")
    (tmp_path / "spectral.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("spectral", None)


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def test_from_a_function_to_a_table_in_latex(here):
    """`evaluate`, `record`, `results`: the same splits for all, and a table for the paper."""
    assert "coupling" in done("models", NAME).stdout
    table = done("evaluate", "net.parquet", "--model", NAME, "--seeds", 2).stdout
    assert "rules" in table  # the yardstick is always there
    found = {
        model: json.loads(done("evaluate", "net.parquet", "--model", model, "--seeds", 2, "--json").stdout)
        for model in (NAME, "degree")
    }
    mine, degree = found[NAME], found["degree"]
    assert mine["intra"]["positives"] == degree["intra"]["positives"]
    assert mine["inter"]["negatives"] == degree["inter"]["negatives"]
    assert mine["inter"]["auc"]["mean"] != degree["inter"]["auc"]["mean"]

    for model in (NAME, "degree", "rules"):
        done("record", "net.parquet", "--model", model, "--seeds", 2, "-o", "results.jsonl")
    done("results", "results.jsonl", "-o", "table.tex")
    latex = Path("table.tex").read_text()
    mean, std = (mine["inter"]["auc"][name] for name in ("mean", "std"))
    (row,) = [line for line in latex.splitlines() if NAME in line]
    assert rf"& {mean:.3f} $\pm$ {std:.3f} &" in row
    assert latex.count(r"\\") == 4
    assert r"\toprule" in latex
    rows = list(csv.DictReader(io.StringIO(done("results", "results.jsonl", "--format", "csv").stdout)))
    assert [each["model"] for each in rows] == ["rules", "degree", NAME]
    assert float(rows[-1]["inter AUC"]) == pytest.approx(mean, abs=5e-4)
    assert NAME in done("results", "results.jsonl", "--format", "markdown").stdout


def test_she_sees_what_the_command_line_sees(here):
    """In Python the figures are the same, and hidden links that are deleted from the file change nothing."""
    told = json.loads(done("evaluate", "net.parquet", "--model", NAME, "--json").stdout)
    embed = import_module("spectral").spectral
    graph = mx.read("net.parquet")
    split = mx.splits.marked_nodes(graph, seed=0)
    model = mx.adapt(embed=embed).fit(split.train)
    assert mx.evaluate(model, split).inter.values["auc"] == told["inter"]["auc"]["mean"]

    mx.write(graph.without(intra=split.intra.positives, inter=split.inter.positives), "stripped.parquet")
    blind = mx.adapt(embed=embed).fit(mx.read("stripped.parquet"))
    pairs = split.inter.positives
    assert blind.score(pairs).tobytes() == model.score(pairs).tobytes()
    cheating = mx.adapt(embed=lambda train: embed(graph)).fit(split.train)
    assert mx.evaluate(cheating, split).inter.values["auc"] > told["inter"]["auc"]["mean"]  # so it matters

    elsewhere = mx.adapt(embed(split.train), learned_on=split.train).fit(split.train)
    assert elsewhere.score(pairs).tobytes() == model.score(pairs).tobytes()


def test_her_row_in_a_table_of_the_papers_form(here):
    """An experiment with published figures, one more row by ``--model``, in LaTeX."""
    figure = published_figures("mpxgat", "arxiv")["inter"]
    Path("table.toml").write_text(
        'title = "Links between layers & within"\nseeds = 2\n'
        '[[cell]]\nmodel = "rules"\nsocial = { people = 60, layers = 2 }\n'
        '[[cell]]\nmodel = "degree"\nsocial = { people = 60, layers = 2 }\n'
        f"figures = {{ inter = [{figure.mean}, {figure.std}] }}\n"
    )
    done("benchmark", "run", "table.toml", "--model", NAME, "-o", "table.tex")
    latex = Path("table.tex").read_text()
    assert r"\caption{Links between layers \& within. Protocol marked, leak-free; mean $\pm$ standard" in latex
    assert latex.index("& rules &") < latex.index("& degree &") < latex.index(f"& {NAME} &")
    assert rf"{figure.mean:.2f} $\pm$ {figure.std:.2f} \\" in latex
    again = done("benchmark", "run", "table.toml", "--model", NAME, "--recorded", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(again.stdout)))
    assert [row["seeds"] for row in rows] == ["2 (0, 1)"] * 3


def test_a_run_of_hers_is_looked_at_only_if_she_names_her_module(here):
    """`train`, `predict` and `report`, as on another day."""
    done("train", "net.parquet", "-o", "run", "--model", NAME)
    sys.modules.pop("spectral")
    refused = run("predict", "run", "--top", "3")
    assert "import spectral first if you trust it" in str(refused.exception)
    assert "spectral" not in sys.modules
    assert len(done("--import", "spectral", "predict", "run", "--top", 3).stdout.splitlines()) > 3
    sys.modules.pop("spectral")
    done("report", "run", "-o", "report.html", "--model", NAME)
    page = Path("report.html").read_text()
    assert "Leading eigenvectors of all layers together." in page
    assert "Maps of the embeddings" in page
