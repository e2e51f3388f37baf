import pytest

from mpxgat import errors
from mpxgat.errors import InputError, MissingExtraError, MpxgatError, printable, quoted


def test_every_error_is_a_child_of_the_one_at_the_top():
    kinds = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(kinds) >= 8
    assert [kind for kind in kinds if not issubclass(kind, MpxgatError)] == [errors.DataWarning]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InputError("bad"), "bad"),
        (InputError("bad", "a.csv"), "a.csv: bad"),
        (InputError("bad", "a.csv", 3), "a.csv:3: bad"),
        (InputError("bad", line=3), "row 3: bad"),
        (InputError("b\nad", "a\tb"), r"a\tb: b\nad"),
    ],
)
def test_an_input_error_says_where_on_one_line(error, text):
    assert str(error) == text


def test_values_are_shown_without_control_characters_and_cut():
    assert quoted("a\x1b[31m\n") == r"'a\x1b[31m\n'"
    assert quoted("ü😀") == "'ü😀'"
    assert printable("x" * 10_000_000) == "x" * 60 + "… (10000000 characters)"


def test_a_missing_extra_says_how_to_install_it():
    assert "pip install 'mpxgat[pyg]'" in str(MissingExtraError("torch-geometric", "pyg", "to_pyg"))


def test_values_that_have_no_text_are_shown_all_the_same():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert quoted(10**10_000) == "'(int too long to be shown)'"
    assert quoted(deep) == "'(list too long to be shown)'"


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("lr is 0, expected a number above 0", "expected a number above 0"),
        ("no model 'rule'; did you mean rules? known are rules", "did you mean rules? known are rules"),
        ("no such file", None),
    ],
)
def test_what_to_do_can_be_read_alone(message, hint):
    assert MpxgatError(message).hint == InputError(message, "a.csv", 3).hint == hint
