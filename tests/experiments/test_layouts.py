"""Tables as Markdown, LaTeX and CSV."""

import csv
import io
import shutil
import subprocess

import pytest

from mpxgat.errors import SettingError
from mpxgat.experiments.layouts import chosen_layout, csv_lines, latex_lines, latex_table, latex_text, markdown_lines
from mpxgat.experiments.tables import results_table
from tests.experiments.test_results_table import CELLS

HEADER = ("data set", "model", "seeds", "intra AUC", "published", "inter AUC", "published")
ROWS = [
    ("a_b & c", "rules", "2 (0, 1)", "0.930 ± 0.009", "", "0.993 ± 0.001", ""),
    ("a_b & c", "mine:X", "1 (0)", "0.655", "", "–", "0.83 ± 0.01"),
    ("=SUM(1)", "100% #1", "1 (0)", "0.5", "", "0.6", ""),
]


def test_latex_is_a_booktabs_tabular():
    assert latex_lines(HEADER, ROWS).splitlines() == [
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{lllrrr}",
        r"\toprule",
        r"data set & model & seeds & intra AUC & inter AUC & published \\",
        r"\midrule",
        r"a\_b \& c & rules & 2 (0, 1) & 0.930 $\pm$ 0.009 & 0.993 $\pm$ 0.001 &  \\",
        r"a\_b \& c & mine:X & 1 (0) & 0.655 & -- & 0.83 $\pm$ 0.01 \\",
        r"\addlinespace",
        r"=SUM(1) & 100\% \#1 & 1 (0) & 0.5 & 0.6 &  \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_nothing_in_a_text_is_a_command():
    told = latex_text('\\input{x} $a^2_b$ ~ 50% {#1} & <x> | \n"q"')
    assert told == (
        r"\textbackslash{}input\{x\} \$a\textasciicircum{}2\_b\$ \textasciitilde{} 50\% \{\#1\} \& "
        r"\textless{}x\textgreater{} \textbar{}  \textquotedbl{}q\textquotedbl{}"
    )


def test_a_float_has_title_and_notes():
    lines = latex_table("50% of it", ["One.", "Two_3."], HEADER, ROWS).splitlines()
    assert lines[:3] == [r"\begin{table}", r"\centering", r"\caption{50\% of it. One. Two\_3.}"]
    assert lines[-1] == r"\end{table}"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_reads_it(tmp_path):
    body = latex_table("T & more", ["β ≥ 1, a~b."], HEADER, ROWS)
    (tmp_path / "t.tex").write_text(
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}\n"
        f"\\begin{{document}}{body}\\end{{document}}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


def test_csv_has_a_column_for_each_number():
    rows = list(csv.DictReader(io.StringIO(csv_lines(HEADER, ROWS))))
    assert list(rows[0]) == [
        "data set", "model", "seeds",
        "intra AUC", "intra AUC sd", "intra AUC published",
        "inter AUC", "inter AUC sd", "inter AUC published", "inter AUC published sd",
    ]  # fmt: skip
    assert [row["intra AUC sd"] for row in rows] == ["0.009", "", ""]
    assert [row["inter AUC"] for row in rows] == ["0.993", "", "0.6"]
    assert [row["data set"] for row in rows] == ["a_b & c", "a_b & c", "'=SUM(1)"]  # no formula


def test_the_same_results_in_every_layout():
    markdown, latex, table = (results_table(CELLS, "marked", layout) for layout in ("markdown", "latex", "csv"))
    assert "| 0.750 ± 0.071 | 0.76 ± 0.05 |" in markdown
    assert r"mpxgat, preset paper & 2 (0, 1) & 40, 120 & 0.750 $\pm$ 0.071 & 0.76 $\pm$ 0.05 &" in latex
    row = list(csv.DictReader(io.StringIO(table)))[2]
    assert (row["intra AUC"], row["intra AUC sd"], row["intra AUC published"]) == ("0.750", "0.071", "0.76")


def test_markdown_keeps_its_columns():
    assert markdown_lines(("a", "b|c"), [("x", "y")]) == "| a | b\\|c |\n| --- | --- |\n| x | y |\n"


def test_without_rows_there_is_a_header():
    assert latex_lines(("a", "b"), []).count("\\\\") == 1
    assert csv_lines(("a", "b"), []) == "a,b\n"


def test_the_layout_is_named_or_told_by_the_suffix(tmp_path):
    assert chosen_layout("csv", tmp_path / "t.tex") == "csv"
    assert chosen_layout(None, tmp_path / "t.TEX") == "latex"
    assert chosen_layout(None, tmp_path / "t.md") is None
    with pytest.raises(SettingError, match="no table format 'word'; known are markdown, latex, csv"):
        chosen_layout("word")
