import pytest

from mpxgat.errors import MissingExtraError
from mpxgat.experiments import sweep_chart
from mpxgat.experiments.config import read_config
from mpxgat.experiments.records import CellRecord
from mpxgat.experiments.sweep_chart import draw, require_plots, write_chart
from mpxgat.experiments.tables import make_table

CONFIG = """
title = "A sweep"
seeds = 2
[sweep]
argument = "mean_degree"
label = "ties of a node"
scale = "log"
[[graph]]
social = { people = 60, layers = 2 }
values = [2, 4, 8]
[[cell]]
model = "rules"
[[cell]]
model = "degree"
"""


@pytest.fixture
def swept(tmp_path):
    """The experiment, and its table; rules lack an inter AUC where nodes have 2 ties."""
    path = tmp_path / "mine.toml"
    path.write_text(CONFIG)
    experiment = read_config(path)
    found = {}
    for key in experiment.cell_keys():
        auc = 0.6 + 0.1 * key.seed
        lacking = key.model == "rules" and "mean_degree=2.0" in key.dataset
        measures = {"intra": {"auc": auc}, "inter": {"auc": None if lacking else 0.3}}
        found[key.text()] = CellRecord(key, measures, {}, {}, None, {})
    return experiment, make_table(experiment, found)


def test_a_panel_for_each_kind_with_a_line_for_each_model(swept):
    figure = draw(*swept)
    intra, inter = figure.axes
    assert [axes.get_title(loc="left") for axes in (intra, inter)] == ["links within a layer", "links between layers"]
    assert [text.get_text() for text in intra.get_xticklabels()] == ["2", "4", "8"]
    assert intra.get_xlabel() == "ties of a node"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["rules", "degree"]
    lines, whiskers, _ = zip(*(container for container in intra.containers), strict=True)
    for line in lines:
        assert line.get_ydata().tolist() == pytest.approx([0.65] * 3)
    assert len(whiskers[0]) == 2
    assert len(inter.containers[0][0].get_ydata()) == 2  # what is undefined has no point
    low, high = intra.get_ylim()
    assert low < 0.3 < 1 < high
    assert (low, high) == inter.get_ylim()


def test_svg_and_png_have_the_same_bytes_every_time(swept, tmp_path):
    paths = write_chart(*swept, tmp_path / "one")
    again = write_chart(*swept, tmp_path / "other")
    assert [path.name for path in paths] == ["mine.svg", "mine.png"]
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    assert paths[0].read_bytes().startswith(b"<?xml")
    assert paths[1].read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch):
    require_plots()
    monkeypatch.setattr(sweep_chart, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mpxgat\[plots\]'"):
        require_plots()


def test_no_whisker_reaches_beyond_what_a_measure_can_be(swept):
    experiment, table = swept
    for value in table.values:
        value["measures"]["intra"].update(mean=0.99, std=0.05)
    ends = draw(experiment, table).axes[0].containers[0][2][0].get_segments()
    assert [end[:, 1].tolist() for end in ends] == [pytest.approx([0.94, 1.0])] * 3
