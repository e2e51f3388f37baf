"""What commands print: one JSON object, tables that show texts as they are, progress only on a terminal."""

import io
import json
import sys

import numpy as np

from mpxgat.cli.output import Percent, cell, print_error, print_fields, print_json, print_note, print_table, progress
from mpxgat.errors import MpxgatError


def test_json_is_one_object_in_the_given_order(capsys):
    value = {
        "b": np.int64(3),
        "a": (1.5, float("nan"), np.float32("inf")),
        "array": np.array([[1, 2]]),
        2: {3: None, "flag": np.bool_(True)},
        "text": "\x1b[31mé\u2028",
    }
    print_json(value)
    captured = capsys.readouterr()
    assert captured.err == ""
    assert list(json.loads(captured.out)) == ["b", "a", "array", "2", "text"]
    assert json.loads(captured.out) == {
        "b": 3,
        "a": [1.5, None, None],
        "array": [[1, 2]],
        "2": {"3": None, "flag": True},
        "text": "\x1b[31mé\u2028",
    }
    assert captured.out.isascii()
    assert "\x1b" not in captured.out


def test_cells():
    shown = {
        1234567: "1,234,567",
        0.25: "0.250",
        0.0: "0.000",
        1.5e-7: "1.5e-07",
        True: "yes",
        None: "-",
        "text": "text",
    }
    assert {value: str(cell(value)) for value in shown} == shown
    assert str(cell(Percent(0.256))) == "25.6%"
    assert str(cell(float("nan"))) == "-"


def test_texts_are_shown_as_they_are(capsys):
    print_table(["[bold]name", "n"], [["[red]x[/red]", 1], ["[/]", 2], ["\x1b[31m\n\u009b", 3]], title="[blue]t")
    print_fields({"[b]": "[link=file:///etc]x[/link]"})
    out = capsys.readouterr().out
    for text in (
        "[bold]name",
        "[red]x[/red]",
        "[/]",
        r"\x1b[31m\n\x9b",
        "[blue]t",
        "[b]",
        "[link=file:///etc]x[/link]",
    ):
        assert text in out
    assert "\x1b" not in out


def test_long_texts_are_not_cut_off(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    print_table(["name"], [["x" * 100]])
    assert capsys.readouterr().out.count("x") == 100


def test_notes_and_errors_are_single_lines_on_standard_error(capsys):
    print_note("one\ntwo [red]")
    print_error(MpxgatError("three\rfour"))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "one\\ntwo [red]\nerror: three\\rfour\n"


def test_progress_is_quiet_without_a_terminal(capsys):
    with progress("work", total=3) as advance:
        advance(1)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("reading [red]x", quiet=True) as advance:
        advance(1)
    assert terminal.getvalue() == ""
    with progress("reading [red]x", total=2) as advance:
        advance(2)
    assert "reading [red]x" in terminal.getvalue()
