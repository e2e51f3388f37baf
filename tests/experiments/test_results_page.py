"""docs/results.md shows exactly what is on record."""

from pathlib import Path

import pytest

from mpxgat.experiments.records import ResultsFile
from mpxgat.experiments.tables import markdown_table, write_section

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("protocol", ["marked", "units"])
def test_the_tables_are_those_of_the_recorded_results(protocol, tmp_path):
    page = tmp_path / "results.md"
    page.write_bytes((ROOT / "docs" / "results.md").read_bytes())
    before = page.read_text()
    files = sorted((ROOT / "experiments" / "results").glob("*.jsonl"))
    records = [record for file in files for record in ResultsFile(file).read()]
    assert records
    write_section(page, protocol, markdown_table(records, protocol))
    assert page.read_text() == before, "run: mpxgat results experiments/results/*.jsonl -o docs/results.md"
