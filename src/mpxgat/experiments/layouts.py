"""A table of texts as Markdown, as LaTeX for a paper, or as CSV for other programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from mpxgat.errors import SettingError, quoted

MARKDOWN, LATEX, CSV = LAYOUTS = ("markdown", "latex", "csv")
_SUFFIXES = {".tex": LATEX, ".csv": CSV}
_AND_SPREAD = " ± "  # between a mean and its standard deviation
_PUBLISHED = "published"
_NOTHING = ("", "–")
_FIGURE = re.compile(r"-?[0-9.,]+(e-?[0-9]+)?( ± [0-9.]+)?")
# What LaTeX would read as a command, and what it lacks in plain text.
_ESCAPED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "±": r"$\pm$", "–": "--", "…": r"\ldots{}", "×": r"$\times$",
    "β": r"$\beta$", "\n": " ", "\r": " ", "\t": " ",
}  # fmt: skip


def chosen_layout(name: str | None, output: Path | None = None) -> str | None:
    """The layout that is asked for: by name, or by the suffix of a file (.tex, .csv); None if by neither."""
    if name not in (None, *LAYOUTS):
        raise SettingError(f"no table format {quoted(name)}; known are {', '.join(LAYOUTS)}")
    return name or (None if output is None else _SUFFIXES.get(output.suffix.lower()))


def markdown_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, one line a row."""
    lines = [_line(header), _line(["---"] * len(header)), *(_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def latex_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A tabular for the package booktabs, one line a row; columns in which nothing stands are left out.

    Rows whose first text is another one than in the row before stand a little apart.
    """
    kept = [n for n in range(len(header)) if not rows or any(row[n] not in _NOTHING for row in rows)]
    sides = "".join("r" if _is_numeric([row[n] for row in rows]) else "l" for n in kept)
    lines = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", _latex_row([header[n] for n in kept]), r"\midrule"]
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and before[0] != row[0]:
            lines.append(r"\addlinespace")
        lines.append(_latex_row([row[n] for n in kept]))
    return "\n".join(["% needs \\usepackage{booktabs}", *lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def latex_table(title: str, notes: Sequence[str], header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """`latex_lines` as a float, title and notes in its caption."""
    caption = " ".join([f"{title}.", *notes])
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{latex_text(caption)}}}"]
    return "\n".join(lines) + "\n" + latex_lines(header, rows) + "\\end{table}\n"


def latex_text(text: str) -> str:
    """A text in which nothing is a command."""
    return "".join(_ESCAPED.get(character, character) for character in text)


def csv_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A header and a line for each row, ready for a program: means and standard deviations in columns of their own,
    nothing in place of a dash, no name twice.
    """
    from mpxgat.io.csv_tables import csv_bytes, without_formulas

    columns: dict[str, pa.Array] = {}
    for n, name in enumerate(header):
        whose = f"{header[n - 1]} {name}" if name == _PUBLISHED else name
        values = [row[n] for row in rows]
        if any(_AND_SPREAD in value for value in values):
            parts = [value.partition(_AND_SPREAD) for value in values]
            columns[whose] = _texts([mean for mean, _, _ in parts])
            columns[f"{whose} sd"] = _texts([spread for _, _, spread in parts])
        else:
            columns[whose] = _texts(values)
    return csv_bytes(without_formulas(pa.table(columns)), Path("table.csv")).decode()


def _texts(values: Sequence[str]) -> pa.Array:
    return pa.array(["" if value in _NOTHING else value for value in values], pa.large_string())


def _line(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


def _latex_row(values: Sequence[str]) -> str:
    return " & ".join(latex_text(value) for value in values) + r" \\"


def _is_numeric(values: Sequence[str]) -> bool:
    return all(value in _NOTHING or _FIGURE.fullmatch(value) for value in values)
