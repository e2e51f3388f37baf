import pytest

from mpxgat.errors import InputError
from mpxgat.io.files import read_toml


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\na." + "b." * 300 + "c = 1\n", ":2: more than 200 dots in a line"),
        ("[" + '"a".' * 300 + "b]", ":1: more than 200 dots in a line"),
        ("1.2 ." * 300 + "3 = 1", "more than 200 dots in a line"),
        ("a = 1\n" * 200_000, "1200000 bytes, expected a TOML file of at most 1048576"),
        ("a = " + "[" * 50_000, "not TOML"),
        ("a = " + "9" * 5000, "not TOML"),
        ("a = 1\nb =\n", ":2: not TOML"),
    ],
)
def test_what_is_no_file_of_settings_is_named(text, said, tmp_path):
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        read_toml(tmp_path / "a.toml")
    assert said in str(caught.value)


def test_long_lists_of_numbers_are_read(tmp_path):
    numbers = [number / 8 + 0.25 for number in range(1000)]
    (tmp_path / "a.toml").write_text(f"a = {numbers}\nb.c.d = 1\n")
    assert read_toml(tmp_path / "a.toml") == {"a": numbers, "b": {"c": {"d": 1}}}
