"""Settings from the command line."""

import pytest

from mpxgat.cli.options import note_attributes, parse_features, parse_settings
from mpxgat.errors import InputError, SettingError
from mpxgat.models.auto import Auto
from mpxgat.models.mpxgat import PUBLISHED
from mpxgat.synthetic import social


def of_sets(*sets):
    return parse_settings(list(sets), None, None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64", 64),
        ("1e-3", 1e-3),
        (" 0.5 ", 0.5),
        ("true", True),
        ('"64"', "64"),
        ("paper", "paper"),
        ("cuda:0", "cuda:0"),
        ("a=b", "a=b"),
        ("", ""),
        ("[1, 2]", [1, 2]),
        ("2020-01-01", "2020-01-01"),
        ("1\nhidden = 2", "1\nhidden = 2"),
        ("[" * 5000, "[" * 5000),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_a_value_is_read_as_toml_or_is_a_text(text, value):
    found = of_sets(f"key={text}")["key"]
    assert found == value
    assert type(found) is type(value)


def test_later_ones_win_over_earlier_ones_and_over_other_sources(tmp_path):
    config = tmp_path / "c.toml"
    config.write_text("hidden = 1\nout = 1\nheads = 1\n")
    settings = parse_settings(["out=2", "out=3", "epochs=4"], config, "arxiv", 5)
    assert settings == {**PUBLISHED["arxiv"], "hidden": 1, "heads": 1, "out": 3, "epochs": 5}
    assert PUBLISHED["arxiv"]["hidden"] == 256  # not changed


def test_a_table_of_settings(tmp_path):
    config = tmp_path / "c.toml"
    config.write_text("[settings]\r\npreset = 'reference'\r\nlr = 1e-4\r\n")
    assert parse_settings([], config, None, None) == {"preset": "reference", "lr": 1e-4}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hidden = 1\nlr = = 2\n", r"c\.toml:2: not TOML"),
        (b"hidden = 1\nhidden = 2\n", r"c\.toml:2: not TOML"),
        (b"hidden = \xff\n", r"c\.toml:1: byte 0xff"),
        (b"", r"c\.toml: the file is empty"),
        (b"hidden = 1\n[settings]\nout = 2\n", "'hidden' stands beside the table"),
        (b"[model]\nout = 2\n", r"a table \[model\], expected"),
        (b"[settings.more]\nout = 2\n", r"a table \[more\], expected"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, content, said):
    config = tmp_path / "c.toml"
    config.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        parse_settings([], config, None, None)
    assert "\n" not in str(caught.value)


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        parse_settings([], tmp_path / "none.toml", None, None)


@pytest.mark.parametrize("text", ["hidden", "=3", " =3", ""])
def test_what_is_no_setting_is_named(text):
    with pytest.raises(SettingError, match="expected KEY=VALUE"):
        of_sets(text)


def test_an_unknown_publication_is_named():
    with pytest.raises(SettingError, match="no published settings for 'aucs'; known are drosophila"):
        parse_settings([], None, "aucs", None)


def test_the_seed_has_its_own_option():
    with pytest.raises(SettingError, match="--seed"):
        of_sets("seed=3")


@pytest.mark.parametrize(("text", "value"), [("1024", 1024), ("auto", "auto"), ("full", "full"), ("many", "many")])
def test_batch_is_a_number_or_a_word_that_the_model_checks(text, value):
    assert parse_settings(["batch=7"], None, None, None, text) == {"batch": value}


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (None, "the columns 'person', 'community', 'username', 'city', 'joined' of the nodes"),
        (["city", "joined:date"], "the columns 'person', 'community', 'username' of the nodes"),
        (["city=username", "joined", "person", "community"], ""),
    ],
)
def test_columns_that_are_features_are_not_said_to_be_unread(features, said, capsys):
    note_attributes(Auto(), social(20, 2, 0, names=True), parse_features(features))
    note = capsys.readouterr().err
    assert note.startswith(f"note: {said} are not read" if said else "")
    assert bool(note) == bool(said)
