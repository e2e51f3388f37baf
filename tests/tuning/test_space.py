import pytest

from mpxgat.errors import InputError, SettingError
from mpxgat.tuning.optuna_search import check_space, default_space, read_space, suggest, varied

optuna = pytest.importorskip("optuna")

RANGES = {
    "quality": {"low": 0, "high": 1},
    "width": {"low": 1, "high": 64, "log": True},
    "word": {"choices": ["plain", "fancy"]},
    "vertical_lr": {"low": 0.5, "high": 1},
    "epochs": 3,
}


def test_a_file_is_read_as_it_is(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text("lr = {low = 1e-5, high = 1e-2, log = true}\nhidden = {choices = [32, 64]}\nheads = 2\n")
    space = read_space(path)
    assert space == {"lr": {"low": 1e-5, "high": 1e-2, "log": True}, "hidden": {"choices": [32, 64]}, "heads": 2}
    assert varied(space) == ("lr", "hidden")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lr = [1, 2]", "lr is a list, .* lists are for --grid"),
        ("lr = {low = 1}", "lr is no range"),
        ("lr = {low = 1, high = 2, base = 10}", "lr is no range"),
        ("lr = {low = true, high = 2}", "lr is no range"),
        ("lr = {low = 1, high = 2, log = 1}", "lr is no range"),
        ("lr = {low = 2, high = 1}", "lr ranges from 2 to 1"),
        ("lr = {low = nan, high = 1}", "lr ranges from nan to 1"),
        ("lr = {low = 0, high = 1, log = true}", "above 0 on a log scale"),
        ("lr = {choices = []}", "lr has no list of choices"),
        ("lr = {choices = 3}", "lr has no list of choices"),
    ],
)
def test_what_is_no_range_is_named(tmp_path, text, said):
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_space(path)


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({"heads": 2}, "no setting varies"),
        ({"colour": {"low": 1, "high": 2}}, "no setting 'colour'"),
        ({"lr": {"low": -1.0, "high": 1.0}}, "lr is -1.0"),
        ({"preset": {"choices": ["paper", "nobody's"]}}, "nobody's"),
        ({"lr": {"low": 0.1, "high": 1.0}, "heads": 0}, "heads is 0"),
    ],
)
def test_settings_the_model_does_not_take_are_named(space, said):
    with pytest.raises(SettingError, match=said):
        check_space("mpxgat", space)


@pytest.mark.parametrize(
    ("model", "some"),
    [
        ("mpxgat", {"hidden", "heads", "dropout", "vertical_lr"}),
        ("gat", {"hidden", "heads", "dropout", "vertical_lr"}),
        ("graphsage", {"dimensions"}),
        ("multiplexsage", {"dimensions"}),
        ("gatne", {"dimensions"}),
    ],
)
def test_the_default_space_has_the_usual_settings_and_the_model_takes_them(model, some):
    space = default_space(model)
    assert {"lr", "weight_decay"} | some <= space.keys()
    assert {"epochs", "patience", "device", "preset"}.isdisjoint(space)
    check_space(model, space)


def test_values_have_the_kind_of_the_setting():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    defaults = {"quality": 0.5, "width": 8, "word": "plain", "vertical_lr": None}
    for _ in range(20):
        trial = study.ask()
        drawn = {name: suggest(trial, name, RANGES[name], default) for name, default in defaults.items()}
        assert type(drawn["quality"]) is float
        assert 0 <= drawn["quality"] <= 1
        assert type(drawn["width"]) is int
        assert 1 <= drawn["width"] <= 64
        assert drawn["word"] in ("plain", "fancy")
        assert 0.5 <= drawn["vertical_lr"] <= 1
