import tomllib

import pytest

from mpxgat.errors import InputError
from mpxgat.tuning.trials import read_table, toml_lines


def test_what_is_written_is_read_again(tmp_path):
    settings = {"a": 1, "b": 5e-05, "c": 'x "y" \\ ä \x7f\n', "d": True, "e": 1e22, "f": -0.5}
    path = tmp_path / "file.toml"
    path.write_text("\n".join(toml_lines({**settings, "none": None})))
    assert read_table(path) == settings
    assert tomllib.loads(path.read_text()) == settings


@pytest.mark.parametrize(
    ("text", "said"),
    [("a = 1\na = ?\n", ":2: not TOML"), ("# only a remark\n", "no settings in the file"), ("", "the file is empty")],
)
def test_what_is_no_table_is_named(tmp_path, text, said):
    path = tmp_path / "file.toml"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_table(path)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)
