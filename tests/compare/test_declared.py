"""Comparisons as data: what is written is what is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat import compare
from mpxgat.compare import KINDS, Comparison, Kind, parse, parse_all, read_declarations
from mpxgat.errors import InputError, SettingError
from tests.matching.doubles import steady

columns = st.text(min_size=1)
comparisons = st.builds(
    lambda column, kind, other: Comparison(column, kind, None if other == column else other),
    columns,
    st.sampled_from(KINDS),
    st.none() | columns,
)


@steady
@given(comparisons)
def test_what_is_written_is_read(comparison):
    assert parse(str(comparison)) == comparison


@steady
@given(st.lists(comparisons, unique_by=lambda comparison: comparison.column))
def test_several_are_separated_by_commas(several):
    assert parse_all(",".join(map(str, several))) == tuple(several)
    assert parse_all([str(one) for one in several]) == tuple(several)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("username:text", Comparison("username", "text")),
        ("username=screen_name:text", Comparison("username", "text", "screen_name")),
        (" full name : name ", Comparison("full name", "name")),
        ("v:*:vector", Comparison("v:*", "vector")),
        ("h:age:number", Comparison("h:age", "number")),
        (r"a\=b\,c=d:date", Comparison("a=b,c", "date", "d")),
    ],
)
def test_declarations(declared, expected):
    assert parse(declared) == expected


def test_kinds_stand_in_mappings_as_objects_or_texts():
    declared = {
        "username": compare.text("screen_name"),
        "city": "category",
        "joined": "since:date",
        "v:*": Kind("vector"),
    }
    assert [str(one) for one in parse_all(declared)] == [
        "username=screen_name:text",
        "city:category",
        "joined=since:date",
        "v:*:vector",
    ]
    for kind in KINDS:
        assert getattr(compare, kind)("other") == Kind(kind, "other")


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ("username", "'username' names no kind, expected COLUMN:KIND"),
        ("", "names no kind"),
        (":text", "without a column's name"),
        ("a=:text", "without a column's name"),
        ("a=a:text", "compared with itself"),
        ("a=b=c:text", "names 3 columns"),
        ("a\\:text", "backslash"),
        ("a:words", "no kind of comparison 'words'; known are text, name, category, number, date, vector"),
        ("a:txt", "did you mean text?"),
        ("a:", "no kind of comparison ''"),
    ],
)
def test_what_declares_nothing_is_refused(declared, says):
    with pytest.raises(SettingError) as problem:
        parse(declared)
    assert says in str(problem.value)
    assert "\n" not in str(problem.value)


def test_a_column_is_compared_once():
    with pytest.raises(SettingError, match="'a' is to be compared twice"):
        parse_all("a:text,b:text,a=c:name")


def test_a_kind_must_be_one():
    with pytest.raises(SettingError, match="column 'a' has '3', expected a kind: text"):
        parse_all({"a": 3})


@pytest.mark.parametrize("declared", [3, None, [3], ["a:text", None], {"a:text"}])
def test_what_is_no_list_of_texts_is_refused(declared):
    with pytest.raises(SettingError, match="declares no comparisons, expected texts as username:text, or a mapping"):
        parse_all(declared)


def test_declarations_stand_in_a_file(tmp_path):
    path = tmp_path / "compare.toml"
    path.write_text('[compare]\nusername = "screen_name:text"\n"v:*" = "vector"\n')
    assert read_declarations(path) == parse_all("username=screen_name:text,v:*:vector")


@pytest.mark.parametrize(
    "content", ["# nothing", "compare = 3", "[compare]", "[other]\na = 'text'", "[compare]\na = 'words'"]
)
def test_a_file_that_declares_nothing_is_named(tmp_path, content):
    path = tmp_path / "compare.toml"
    path.write_text(content)
    with pytest.raises(SettingError, match=r"compare\.toml: no (comparisons|kind)"):
        read_declarations(path)
    path.write_text("[compare")
    with pytest.raises(InputError, match=r"compare\.toml.*not TOML"):
        read_declarations(path)
