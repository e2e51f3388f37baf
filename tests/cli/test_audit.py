import json

import pytest

from tests.cli.runs import SETTINGS, network, run

pytestmark = pytest.mark.usefixtures("one_thread")
FIGURES = ("reference_real", "reference_fake", "leak_free", "published")


def test_one_json_object_with_the_three_figures(tmp_path):
    result = run("audit", network(tmp_path), *SETTINGS, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert list(found)[:4] == list(FIGURES)
    assert all(0 <= found[name] <= 1 for name in FIGURES[:3])
    assert found["settings"]["preset"] == "reference"


def test_a_folder_keeps_figures_and_chart_and_is_taken_up_again(tmp_path):
    pytest.importorskip("matplotlib")
    data, folder = network(tmp_path), tmp_path / "audit"
    first = run("audit", data, *SETTINGS, "-o", folder)
    assert first.exit_code == 0, first.output
    assert "random non-links in place of the test links" in first.stdout
    kept = (folder / "audit.json").read_bytes()
    assert {path.name for path in folder.iterdir()} == {"audit.json", "audit.svg", "audit.png", "checkpoints"}
    again = run("audit", data, *SETTINGS, "-o", folder)
    assert again.exit_code == 0
    assert (folder / "audit.json").read_bytes() == kept


def test_a_folder_of_other_settings_is_refused(tmp_path):
    data, folder = network(tmp_path), tmp_path / "audit"
    assert run("audit", data, *SETTINGS, "-o", folder).exit_code == 0
    other = run("audit", data, *SETTINGS, "--set", "dropout=0.1", "-o", folder)
    assert other.exit_code != 0
    assert "checkpoint" in str(other.exception)
