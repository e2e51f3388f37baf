"""What is shown while a model trains."""

import io
import sys
from types import ModuleType, SimpleNamespace

import pytest
from rich.console import Console

import mpxgat as mx
from mpxgat.training import progress
from mpxgat.training.loop import EpochReport
from mpxgat.training.progress import Watch, counting, in_notebook, in_terminal
from tests.examples import random_graph

REPORT = EpochReport(3, 10, 0.5, 0.75, {"beta": 0.25})


def train(**more):
    return mx.Anchored(epochs=3).fit(random_graph(0, people=30), **more)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """What a notebook shows, one text after another."""
    texts = []

    class Handle:
        def update(self, html):
            texts.append(html)

    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.HTML, display.display = str, lambda html, display_id: Handle()
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(progress, "_SECONDS", -1.0)
    return texts


def test_nothing_is_shown_unless_asked_for(monkeypatch, shown):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    train()
    assert terminal.getvalue() == ""
    assert shown == []


def test_nothing_is_shown_where_there_is_no_place_for_it(capsys):
    train(progress=True)
    assert capsys.readouterr() == ("", "")


def test_a_bar_in_a_terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert train(progress=True).score([(0, 1)]).tolist() == train().score([(0, 1)]).tolist()
    assert "3/3" in terminal.getvalue()
    assert "loss" in terminal.getvalue()


def test_names_are_no_markup(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    text = io.StringIO()
    with in_terminal(Console(file=text, force_terminal=True, width=150)) as draw:
        Watch(draw)("layer [red]x\n", REPORT)
        Watch(draw).stage("who is who")
    assert "layer [red]x\\n" in text.getvalue()
    assert "loss 0.5000, AUC 0.750, β 0.25" in text.getvalue()
    assert "who is who" in text.getvalue()


def test_a_bar_in_a_notebook(shown):
    train(progress=True)
    assert '<progress value="3" max="3">' in shown[-2]
    assert shown[-1] == ""


def test_names_are_no_html(shown):
    with in_notebook() as draw:
        Watch(draw)("<b>x", REPORT)
        Watch(draw).stage("who is who")
    assert shown[0].startswith('<div>&lt;b&gt;x <progress value="3" max="10">')
    assert shown[1].startswith("<div>who is who <progress></progress>")


def test_the_bar_goes_when_training_fails(monkeypatch, shown):
    def fail(watch, part, report):
        raise ValueError(part)

    monkeypatch.setattr(Watch, "__call__", fail)
    with pytest.raises(ValueError, match="inner splits"):
        train(progress=True)
    assert shown == [""]


def test_steps_are_counted(shown):
    with counting("scoring", 10) as advance:
        advance(4)
        advance(8)
    assert '<progress value="4" max="10">' in shown[0]
    assert '<progress value="10" max="10">' in shown[1]


def test_an_evaluation_shows_what_it_does(shown):
    split = mx.splits.held_out_units(random_graph(0), seed=0)
    model = mx.make_model("rules").fit(split.train)
    assert mx.evaluate(model, split, progress=True) == mx.evaluate(model, split)
    assert "scoring" in shown[0]


def test_stages_of_the_evidence_model_are_told(shown):
    mx.Evidence(embeddings="none", splits=2, trees=5, rounds=1).fit(random_graph(0), progress=True)
    assert any("who is who" in text for text in shown)
    assert any("links within layers" in text for text in shown)
