import tomllib
from types import SimpleNamespace

import pytest

from mpxgat.errors import InputError
from mpxgat.tuning.search import SearchFolder, read_values
from mpxgat.tuning.trials import Trial


def test_the_best_settings_are_read_again(tmp_path):
    settings = {"a": 1, "b": 5e-05, "c": 'x "y" \\ ä \x7f\n', "d": True, "e": 1e22, "f": -0.5}
    trial = Trial(1, {**settings, "none": None}, "finished", "inter", {"inter": 0.5}, 3, 0.5)
    folder = SearchFolder(tmp_path)
    folder.write_best(SimpleNamespace(model="mine", measure="inter", seed=0), "net\n# x", ["c", "none"], [trial])
    assert read_values(folder.best_path) == {"model": "mine", **settings}
    assert tomllib.loads(folder.best_path.read_text()) == {"model": "mine", **settings}


@pytest.mark.parametrize(
    ("text", "said"),
    [("a = 1\na = ?\n", ":2: not TOML"), ("# only a remark\n", "no settings in the file"), ("", "the file is empty")],
)
def test_what_is_no_toml_is_named(tmp_path, text, said):
    path = tmp_path / "file.toml"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_values(path)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)
