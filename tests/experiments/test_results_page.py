"""docs/results.md and the README's table show exactly what is on record."""

from pathlib import Path

import pytest

from mpxgat.experiments.config import CONFIGS, read_config
from mpxgat.experiments.records import ResultsFile, ResultsFolder
from mpxgat.experiments.tables import make_table, results_table, write_section

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"
PAPERS = [f"table{number}" for number in (3, 4, 5, 6)]
README_NAMES = {"fftwyt": "ff-tw-yt", "drosophila": "Drosophila", "arxiv": "arXiv"}


@pytest.fixture
def page(tmp_path):
    copy = tmp_path / "results.md"
    copy.write_bytes((ROOT / "docs" / "results.md").read_bytes())
    return copy


@pytest.fixture(scope="module")
def on_record():
    return ResultsFolder(RESULTS, "paper.jsonl").read()


@pytest.mark.parametrize("protocol", ["marked", "units"])
def test_the_tables_are_those_of_the_recorded_results(protocol, page):
    before = page.read_text()
    records = [record for file in sorted(RESULTS.glob("*.jsonl")) for record in ResultsFile(file).read()]
    assert records
    write_section(page, protocol, results_table(records, protocol))
    assert page.read_text() == before, "run: mpxgat results experiments/results/*.jsonl -o docs/results.md"


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_tables_are_those_of_the_recorded_results(name, page, on_record):
    before = page.read_text()
    write_section(page, name, make_table(read_config(CONFIGS / f"{name}.toml"), on_record).markdown())
    assert page.read_text() == before, (
        "run: mpxgat benchmark paper --recorded --results experiments/results --into docs/results.md"
    )


def test_the_readme_has_the_figures_of_table_3(on_record):
    table = make_table(read_config(CONFIGS / "table3.toml"), on_record)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    cells = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in readme.splitlines()]
    header = next(row for row in cells if "MPXGAT, our defaults" in row)
    columns = {
        "rules": header.index("rules of thumb"),
        "mpxgat, tuned": header.index("MPXGAT, our defaults"),
        "mpxgat, published settings": header.index("MPXGAT, published settings"),
    }
    for row in table.rows:
        data, model, _, _, intra, _, inter, _ = row
        if model in columns:
            first = next(i for i, each in enumerate(cells) if each[:2] == [README_NAMES[data], "intra"])
            for shown, figure in zip(cells[first : first + 2], (intra, inter), strict=True):
                assert shown[columns[model]] == figure.replace("0.", "."), (data, model)
