"""Numbers and dates: differences in the column's spread."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat.compare import parse
from mpxgat.compare.quantities import Scale
from mpxgat.compare.reading import read_date, read_number
from mpxgat.compare.similar import nearest_nodes
from mpxgat.errors import DataWarning, SettingError
from mpxgat.pairs import PairList
from tests.compare.doubles import all_pairs, graph_of
from tests.matching.doubles import steady


def compared(kind, values, form=None):
    return parse(f"a:{kind}").prepare(graph_of(len(values), a=[str(value) for value in values]), form)


def numbers(found, *pairs):
    return {name.partition(", ")[2]: value for name, value in found.numbers(PairList(np.array(pairs))).items()}


def test_differences_count_in_quartile_distances():
    found = compared("number", [1, 2, 3, 4, 5, 6, 7, 8, 9, ""])
    assert found.form == "plain 4.0"
    values = numbers(found, [0, 4], [2, 2], [0, 9])
    assert values["difference"].tolist() == [1, 0, 0]
    assert values["similarity"].tolist() == [0.5, 1, 0]
    assert values["equal and rare"] == pytest.approx([0, math.log(9), 0])
    assert values["both there"].tolist() == [1, 1, 0]


def test_heavy_tails_are_compared_in_logarithms():
    values = [10**power for power in range(9)]
    found = compared("number", values)
    assert found.form.startswith("logs ")
    steps = numbers(found, [2, 3], [5, 6])["difference"]
    assert steps[0] == pytest.approx(steps[1], rel=0.05)
    assert compared("number", [-1, *values]).form.startswith("plain ")
    assert compared("number", [0, 0, 0, 0, 0, 0, 0, 1, 9]).form.startswith("logs ")


def test_the_spread_is_never_0():
    assert compared("number", [5, 5, 5]).form == "plain 1.0"
    assert compared("number", [5] * 9 + [6]).form == f"plain {np.std([5] * 9 + [6])!r}".replace(
        "np.float64(", ""
    ).rstrip(")")
    found = compared("number", [1e100, -1e100, 5e-324, 0.0], "plain 5e-324")
    assert np.isfinite(numbers(found, [0, 1], [2, 3])["difference"]).all()


def test_a_form_says_the_spread_to_the_last_bit():
    for scale in (Scale(1 / 3), Scale(0.1, 2 / 3)):
        assert Scale.of_form("a", scale.form) == scale
    found = compared("number", [1, 2], "logs 2.0 1.0")
    assert numbers(found, [0, 1])["difference"] == pytest.approx([math.log(3 / 2) / 2])
    assert np.isfinite(numbers(compared("number", [-5, 2], "logs 2.0 1.0"), [0, 1])["difference"]).all()
    for form in ("plain", "plain x", "plain 0", "plain nan", "logs 1.0", "plain 1.0 2.0", "logs 1 2 3"):
        with pytest.raises(SettingError, match=f"has the form '{form}', expected its spread"):
            compared("number", [1], form)
    with pytest.raises(SettingError, match="expected plain"):
        compared("date", ["2020-01-01"], "logs 1.0 1.0")


@pytest.mark.parametrize("text", ["4000", "-0.5", "1e3", "+7", "0", "1e100"])
def test_numbers(text):
    assert read_number(text) == float(text)


@pytest.mark.parametrize(
    "text", ["4,000", "1_000", "inf", "nan", "1e101", "x", "2021-03-31", "1 2", "0x10", "9" * 9999]
)
def test_what_is_no_number_names_its_node(text):
    with pytest.raises(ValueError):
        read_number(text)
    if text != "nan":
        with pytest.raises(SettingError) as problem:
            compared("number", ["1", text])
        said = str(problem.value)
        assert said.startswith("column 'a', node 'n0001' (layer 'layer 0'): '")
        assert said.endswith("is no number, expected a number such as 4000 or 0.5")


def test_missing_numbers_may_be_said_in_words():
    with pytest.warns(DataWarning, match="in column 'a' 'NaN', 'n/a' are taken for no value"):
        found = compared("number", ["1", "NaN", "n/a", "2"])
    assert found.there.tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-02", 1),
        ("1970/01/02", 1),
        ("02.01.1970", 1),
        ("2.1.1970", 1),
        ("1970-01-02T12:00", 1.5),
        ("1970-01-02 12:00:00", 1.5),
        ("1970/01/02 12:00", 1.5),
        ("1970-01-02T12:00:00Z", 1.5),
        ("1970-01-02T12:00:00.000+02:00", 1.5 - 2 / 24),
        ("02.01.1970 12:00", 1.5),
        ("1969-12-31", -1),
        ("0001-01-01", -719162),
    ],
)
def test_dates(text, days):
    assert read_date(text) == pytest.approx(days)


@pytest.mark.parametrize(
    "text", ["1617148800", "2021", "20210331", "2021-13-01", "31/12/2020", "2021-02-30", "2021-1-1", "x"]
)
def test_what_is_no_date_names_its_node(text):
    with pytest.raises(SettingError) as problem:
        compared("date", ["2020-01-01", text])
    expected = f"column 'a', node 'n0001' (layer 'layer 0'): '{text}' is no date, expected a date such as 2021-03-31"
    assert str(problem.value) == expected


def test_dates_are_no_numbers():
    with pytest.raises(SettingError, match="'2021-03-31' is no number"):
        compared("number", ["2021-03-31"])


def test_values_are_shown():
    found = compared("number", [12, 4000, 12.0, 0.5, 1e30])
    assert found.describe(0, 1) == "12 and 4,000"
    assert found.describe(0, 2) == "12 = 12"
    assert found.describe(3, 4) == "0.5 and 1e+30"
    found = compared("date", ["2020-01-01", "01.01.2020", "2020-01-01T12:30", "0001-01-01"])
    assert found.describe(0, 1) == "2020-01-01 = 2020-01-01"
    assert found.describe(0, 2) == "2020-01-01 and 2020-01-01 12:30:00"
    assert found.describe(3, 0) == "0001-01-01 and 2020-01-01"
    found = compared("date", ["0001-01-01T00:00+12:00", "9999-12-31T23:59:59.999999-12:00"])
    assert found.describe(0, 1) == "0001-01-01 and 9999-12-31 23:59:59"


def test_a_feature_is_a_number():
    graph = graph_of(3, vertical=[[1, 5], [2, 5], [4, 7]])
    found = parse("v:f0:number").prepare(graph)
    assert found.describe(0, 2) == "1 and 4"
    with pytest.raises(SettingError, match=r"'v:\*' are columns of numbers, expected the kind vector"):
        parse("v:*:number").prepare(graph)


@steady
@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=9),
    st.lists(st.integers(-9, 9), min_size=1, max_size=9),
    st.integers(1, 4),
)
def test_the_nearest_are_found_from_both_sides(ours, theirs, k):
    keys = np.unique(nearest_nodes(np.array(ours, dtype=float), np.array(theirs, dtype=float), k))
    apart = np.abs(np.subtract.outer(ours, theirs))
    chosen = np.zeros(apart.shape, dtype=bool)
    chosen.ravel()[keys] = True
    for values, picked in ((apart, chosen), (apart.T, chosen.T)):
        for row, taken in zip(values, picked, strict=True):
            best = np.sort(row)[:k]
            assert np.sort(row[taken])[: len(best)].tolist() == best.tolist()
    assert chosen.sum() <= k * (len(ours) + len(theirs))


def test_neighbours_are_proposed_only_where_values_are_nearly_unique():
    unique, shared = [f"{i * 1.5}" for i in range(20)], [f"{i % 4}" for i in range(20)]
    ours, theirs = np.arange(10), np.arange(10, 20)
    assert len(compared("number", unique).proposals(ours, theirs, 2))
    assert not len(compared("number", shared).proposals(ours, theirs, 2))


@steady
@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=8))
def test_similarity_falls_as_the_difference_grows(values):
    found = compared("number", [repr(value) for value in values])
    of_pairs = numbers(found, *all_pairs(len(values)).tolist())
    order = np.argsort(of_pairs["difference"], kind="stable")
    assert (np.diff(of_pairs["similarity"][order]) <= 0).all()
    assert (of_pairs["similarity"] > 0).all()
