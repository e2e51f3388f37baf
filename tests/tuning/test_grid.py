from pathlib import Path

import pytest

from mpxgat.errors import InputError, SettingError
from mpxgat.models.mpxgat import PUBLISHED
from mpxgat.tuning.grid import grid_method, read_grid

PAPER = Path(__file__).parents[2] / "experiments" / "grids" / "paper.toml"


def combinations(model, grid):
    method = grid_method(model, grid)
    return method, list(method.storage.args[0].values())


def test_every_combination_once_in_the_order_of_the_file():
    method, found = combinations("toy", {"width": [2, 1, 2], "quality": [0.5, 0.25], "epochs": [3]})
    assert [(one["width"], one["quality"]) for one in found] == [(2, 0.5), (2, 0.25), (1, 0.5), (1, 0.25)]
    assert all(one["epochs"] == 3 and one["word"] == "plain" for one in found)
    assert method.varied == ("width", "quality")
    assert method.total == 4


def test_a_file_has_values_and_plain_values(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text("hidden = [64, 128]\nlr = [1e-3, 5e-4]\nheads = 2\n")
    assert read_grid(path) == {"hidden": [64, 128], "lr": [1e-3, 5e-4], "heads": [2]}


@pytest.mark.parametrize(
    ("text", "said"),
    [("hidden = []", "hidden has no values"), ("lr = {low = 1, high = 2}", "ranges are for --trials and --space")],
)
def test_what_is_no_grid_is_named(tmp_path, text, said):
    path = tmp_path / "grid.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_grid(path)


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ({"colour": [1]}, "no setting 'colour'"),
        ({"heads": [1, 0]}, "heads is 0, expected at least 1"),
        ({"hidden": [[1]]}, "hidden is '\\[1\\]', expected a whole number"),
        ({name: list(range(1, 100)) for name in ("hidden", "out", "heads")}, "970299 combinations"),
    ],
)
def test_settings_the_model_does_not_take_are_named(grid, said):
    with pytest.raises(SettingError, match=said):
        grid_method("mpxgat", grid)


def test_the_grid_of_the_paper_holds_the_published_horizontal_settings():
    _, found = combinations("mpxgat", read_grid(PAPER))
    for published in PUBLISHED.values():
        wanted = {name: value for name, value in published.items() if not name.startswith("vertical")}
        assert any(wanted.items() <= one.items() for one in found), wanted
