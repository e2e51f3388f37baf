"""What commands print: one JSON object, tables that show texts as they are, progress only on a terminal."""

import io
import json
import re
import sys
import time

import numpy as np

from mpxgat.cli.output import (
    Percent,
    cell,
    print_error,
    print_fields,
    print_json,
    print_json_error,
    print_note,
    print_table,
    progress,
    training_progress,
)
from mpxgat.errors import InputError, MpxgatError
from mpxgat.training.loop import EpochReport


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


def test_errors_for_programs_are_single_lines_too(capsys):
    print_json_error(InputError("weight 'é\n', expected a number", "net.edges", 7), "expected a number")
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert json.loads(told) == {
        "error": r"net.edges:7: weight 'é\n', expected a number",
        "hint": "expected a number",
        "kind": "InputError",
        "path": "net.edges",
        "line": 7,
    }


PART = "layer 2 of 3: suppressive_genetic_interaction_defined_by_inequality"
READINGS = {f"beta_{block}_{head}": 0.1 * block for block in range(1, 4) for head in range(4)}
LAST = EpochReport(640, 1500, 0.25, 0.87, READINGS, stalled=200)
WHY = f"{PART}: stopped early at epoch 640: no better on validation links for 200 epochs"


def wait(stream, pattern):
    """Until another thread has written something."""
    for _ in range(2000):
        if re.search(pattern, stream.getvalue()):
            return
        time.sleep(0.005)
    raise AssertionError(stream.getvalue())


def test_a_training_without_a_terminal_tells_why_it_stopped_and_nothing_else_if_it_is_short(capsys):
    with training_progress() as report:
        report(PART, EpochReport(639, 1500, 0.5, None, READINGS))
        report(PART, LAST)
        report("between layers", EpochReport(20, 20, 0.5, 0.9, {}))
    assert capsys.readouterr() == ("", WHY + "\n")
    with training_progress(quiet=True) as report:
        report(PART, LAST)
    assert capsys.readouterr() == ("", "")


def test_a_long_training_without_a_terminal_tells_where_it_is_now_and_then(monkeypatch):
    told = io.StringIO()
    monkeypatch.setattr(sys, "stderr", told)

    def wait_for(words):
        wait(told, re.escape(words))

    with training_progress("learning", every=0.01) as report:
        wait(told, r"learning, \d+:\d\d:\d\d gone by\n")
        report("lunch", EpochReport(10, 20, 0.5, 0.75, {"beta_1": 0.2}))
        report("lunch", EpochReport(11, 20, 0.4, None, {"beta_1": 0.2, "beta_2": 0.4}))
        wait_for("gone by; lunch: epoch 11 of 20, loss 0.4000, AUC 0.750, β 0.20 to 0.40\n")
        report("lunch", EpochReport(20, 20, float("nan"), None, {}))
        wait_for("gone by; lunch is done\n")
    assert "\x1b" not in told.getvalue()


def test_the_bar_of_a_training_fits_eighty_columns(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with training_progress() as report:
        for epoch in range(1, 640, 100):
            report(PART, EpochReport(epoch, 1500, 0.5, 0.87, READINGS))
        wait(terminal, r"layer 2 of.*… .* 601/1500 .*loss 0.5000, AUC 0.870, β 0.10 to 0.30")
        report(PART, LAST)
    told = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert max(map(len, re.split(r"[\r\n]+", told))) <= 80
    assert WHY in " ".join(told.split())
