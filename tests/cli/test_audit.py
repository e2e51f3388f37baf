import json

import pytest

from mpxgat.experiments.audit_tables import KINDS
from tests.cli.runs import SETTINGS, network, run

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return network(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "audit"
    result = run("audit", data, *SETTINGS, "--first-seed", 3, "-o", folder)
    assert result.exit_code == 0, result.output
    assert "random non-links" in result.stdout
    assert "within layers" in result.stdout
    return folder


def test_one_json_object_with_both_kinds_of_link(data, folder):
    result = run("audit", data, *SETTINGS, "--seeds", 2, "--first-seed", 3, "--json", "-o", folder)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["seeds"] == [3, 4]
    for kind, names in KINDS.items():
        assert list(found[kind])[: len(names)] == list(names)
        assert set(found[kind]["std"]) <= set(names)
    assert {way["preset"] for way in found["settings"].values()} == {"reference"}


def test_a_folder_keeps_figures_and_chart_and_is_taken_up_again(data, folder):
    pytest.importorskip("matplotlib")
    names = {"audit.json", "audit.jsonl", "audit.svg", "audit.png", "checkpoints"}
    assert {path.name for path in folder.iterdir()} == names
    lines = (folder / "audit.jsonl").read_bytes()
    again = run("audit", data, *SETTINGS, "--first-seed", 3, "-o", folder)
    assert again.exit_code == 0
    assert json.loads((folder / "audit.json").read_bytes())["seeds"] == [3]
    assert (folder / "audit.jsonl").read_bytes() == lines


def test_a_folder_of_other_settings_is_refused(data, folder):
    other = run("audit", data, *SETTINGS, "--set", "dropout=0.1", "-o", folder)
    assert other.exit_code != 0
    assert "made with other settings" in str(other.exception)


def test_audits_on_record_as_table_page_and_chart(folder, tmp_path):
    pytest.importorskip("matplotlib")
    records = tmp_path / "records"
    records.mkdir()
    (records / "net.json").write_bytes((folder / "audit.json").read_bytes())
    shown = run("audit", "--recorded", records)
    assert shown.exit_code == 0, shown.output
    assert "our training, leak-free scoring" in shown.stdout
    page = tmp_path / "page.md"
    page.write_text("<!-- results audit: begin --><!-- results audit: end -->\n")
    assert run("audit", "--recorded", records, "-o", page).exit_code == 0
    assert page.read_text().count("\n| ") == 4
    assert run("audit", "--recorded", records, "-o", tmp_path / "charts").exit_code == 0
    assert {path.name for path in (tmp_path / "charts").iterdir()} == {"audit.svg", "audit.png"}


def test_either_data_or_records(data):
    for arguments in ((), (data, "--recorded", data.parent)):
        result = run("audit", *arguments)
        assert result.exit_code != 0
        assert "either DATA or --recorded" in str(result.exception)
