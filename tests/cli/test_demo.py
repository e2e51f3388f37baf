"""`mpxgat demo` with a report."""

import pytest

from mpxgat.errors import SettingError
from mpxgat.report import reports as files
from tests.cli.runs import run

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_demo_ends_in_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "chart_script", lambda: "window.vegaEmbed = null;")
    page = tmp_path / "demo.html"
    done = run("demo", "--people", 60, "--layers", 2, "--seeds", 1, "--report", page)
    assert done.exit_code == 0, done.output
    assert str(page) in done.stderr
    text = page.read_text()
    assert text.count("data-figure=") >= 8
    assert "hidden from training" in text
    assert "second fit" not in text
    assert 'id="explorer"' in text


def test_a_report_that_cannot_be_written_is_refused_at_once(tmp_path):
    assert isinstance(run("demo", "--report", tmp_path / "demo.pdf").exception, SettingError)
