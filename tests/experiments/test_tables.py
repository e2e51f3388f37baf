import pytest
from scipy import stats

from mpxgat.experiments.config import CONFIGS, read_config
from mpxgat.experiments.records import CellRecord
from mpxgat.experiments.tables import make_table, read_dataset_table

CONFIG = """
title = "A table"
seeds = 3
measures = ["intra", "inter.mrr", "inter"]
[[cell]]
model = "rules"
dataset = "fftwyt"
[[cell]]
model = "degree"
dataset = "fftwyt"
figures = { inter = [0.72, 0.02], intra = [0.5] }
against = "rules"
published_p = 1.1e-7
[[cell]]
model = "closure"
dataset = "fftwyt"
label = "closure alone"
against = "rules"
published_p = 0.75
"""
INTER = {"rules": [0.9, 0.92, 0.91], "degree": [0.6, 0.65, 0.58], "closure": [0.8, 0.9, 0.85]}
PARTS = {"layer 1 of 2: a": {"epochs": 40}, "layer 2 of 2: b": {"epochs": 60}, "between layers": {"epochs": 120}}


@pytest.fixture
def experiment(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(CONFIG)
    return read_config(path)


def records(experiment, inter=INTER):
    """A result for every figure in ``inter``."""
    found = {}
    for cell in experiment.cells:
        for seed, auc in enumerate(inter[cell.model]):
            key = cell.key("marked", seed)
            measures = {"intra": {"auc": 0.5}, "inter": {"auc": auc, "mrr": 0.25}, "overall": {"auc": auc}}
            found[key.text()] = CellRecord(key, measures, {"parts": PARTS}, {}, None, {})
    return found


def test_figures_stand_beside_the_published_ones(experiment):
    table = make_table(experiment, records(experiment))
    assert table.columns == (
        "data set", "model", "seeds", "epochs",
        "intra AUC", "published", "inter mrr", "inter AUC", "published", "Welch p", "published p",
    )  # fmt: skip
    assert table.rows[0][:-2] == (
        "fftwyt", "rules", "3 (0, 1, 2)", "40–60, 120", "0.500 ± 0.000", "", "0.250 ± 0.000", "0.910 ± 0.010", "",
    )  # fmt: skip
    assert table.rows[1][4:6] == ("0.500 ± 0.000", "0.50")
    assert table.rows[1][7:9] == ("0.610 ± 0.036", "0.72 ± 0.02")
    assert table.rows[2][1] == "closure alone"


def test_p_values_are_those_of_scipy(experiment):
    table = make_table(experiment, records(experiment))
    for row, model in ((1, "degree"), (2, "closure")):
        expected = stats.ttest_ind(INTER[model], INTER["rules"], equal_var=False).pvalue
        assert table.values[row]["p_value"] == expected
        assert float(table.rows[row][-2]) == pytest.approx(expected, rel=0.02)
    assert [row[-1] for row in table.rows] == ["", "1.1e-07", "0.750"]
    assert table.rows[0][-2] == ""


@pytest.mark.parametrize(
    "inter",
    [
        {**INTER, "degree": [0.6]},
        {**INTER, "rules": [0.9]},
        {**INTER, "degree": []},
        {**INTER, "degree": [0.6, None, 0.5]},
        {**INTER, "degree": [0.6, 0.6], "rules": [0.9, 0.9]},
    ],
)
def test_there_is_no_p_value_without_two_seeds_on_both_sides(experiment, inter):
    table = make_table(experiment, records(experiment, inter))
    assert table.rows[1][-2] == "–"
    assert table.values[1]["p_value"] is None


def test_what_is_not_on_record_shows_as_a_dash(experiment):
    row = make_table(experiment, {}).rows[1]
    assert row[2:] == ("0", "", "–", "0.50", "–", "–", "0.72 ± 0.02", "–", "1.1e-07")


def test_only_the_experiments_own_cells_and_seeds_count(experiment):
    on_record = records(experiment)
    fewer = make_table(experiment.with_seeds(1, 2), on_record)
    assert fewer.rows[0][2] == "2 (1, 2)"
    assert fewer.rows[0][7] == "0.915 ± 0.007"


def test_the_markdown_of_a_quick_version_says_so(experiment):
    text = make_table(experiment.quick_version(), {}).markdown()
    assert text.startswith("**A table (quick version)**\n\nQuick version, not for reporting: fewer seeds.\n")
    assert "Welch p: two-sided, inter AUC of closure alone against rules, degree against rules." in text
    assert "\n| data set | model | seeds | epochs | intra AUC |" in text
    assert "quick" not in make_table(experiment, {}).markdown().lower()


def test_the_data_set_table_names_known_data_sets_and_its_figures():
    table = read_dataset_table(CONFIGS / "table2.toml")
    assert [(entry.name, entry.nodes, entry.inter_links, entry.average_degree) for entry in table.entries] == [
        ("fftwyt", 11827, 6028, 0.51),
        ("drosophila", 11867, 5171, 0.44),
        ("arxiv", 19310, 20738, 1.07),
    ]
