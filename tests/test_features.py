"""Attributes as node features."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mpxgat as mx
from mpxgat.errors import DataWarning, SettingError
from mpxgat.features import MOST_VALUES, FeatureColumn, encode_features
from tests.compare.doubles import graph_of

CITIES = ["Paris", "paris ", "Rome", "", "Oslo", "Oslo", "Oslo", "Bergen"]


def features_of(values, kind=None, **columns):
    """Names and numbers of the features that one column gives."""
    graph = graph_of(len(values) // 2, len(values) - len(values) // 2, x=values, **columns)
    found = encode_features(graph, "x" if kind is None else f"x:{kind}")
    assert found.horizontal_features == found.vertical_features
    return found.horizontal_features.names, found.horizontal_features.values


# ---- what columns become -----------------------------------------------------------------------------------


def test_numbers_are_standardised():
    names, values = features_of([str(i) for i in range(21)], "number")
    assert names == ("x: (x -10) / 6.0553",)
    assert values[:, 0] == pytest.approx((np.arange(21) - 10) / np.arange(21).std())


def test_heavy_tailed_numbers_are_standardised_logarithms():
    numbers = 10.0 ** np.linspace(0, 6, 21)
    names, values = features_of([str(number) for number in numbers])
    unit = np.quantile(numbers, 0.1)
    logs = np.log(unit + numbers)
    assert re.fullmatch(r"x: \(log\(.* \+ x\) .*\) / .*", names[0])
    assert values[:, 0] == pytest.approx((logs - logs.mean()) / logs.std(), rel=1e-5)


def test_dates_are_days():
    names, values = features_of(
        ["2020-01-01", "2020-01-03", "31.12.2019", "2020-01-02 12:00", "2020-01-02", "2020-01-09"]
    )
    days = np.array([0, 2, -1, 1.5, 1, 8])
    assert values[:, 0] == pytest.approx((days - days.mean()) / days.std(), rel=1e-5)
    assert len(names) == 1


def test_a_missing_number_is_the_mean_and_says_so():
    with pytest.warns(DataWarning, match="'NA' are taken for no value"):
        names, values = features_of(["1.5", "", "2.5", "NA", "7", "0.25"], "number")
    assert names[1] == "x: missing"
    assert values[:, 1].tolist() == [0, 1, 0, 1, 0, 0]
    assert values[[1, 3], 0].tolist() == [0, 0]
    assert values[[0, 2, 4, 5], 0].mean() == pytest.approx(0, abs=1e-6)


def test_categories_are_one_hot_by_their_commonest_values():
    with pytest.warns(DataWarning, match="column 'x' has 4 different values: the commonest 2 have a feature each"):
        names, values = features_of(CITIES, "category")
    assert names == ("x=oslo", "x=paris", "x: other")
    expected = [[0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]]
    assert values.tolist() == expected


def test_a_category_has_no_more_features_than_it_may():
    texts = [f"value {i // 2}" for i in range(4 * MOST_VALUES)]  # 2 nodes have each, 1%
    with pytest.warns(DataWarning, match="has 100 different values: the commonest 50"):
        names, values = features_of(texts, "category")
    assert len(names) == MOST_VALUES + 1
    assert (values.sum(axis=1) == 1).all()
    assert values[:, -1].sum() == len(texts) - 2 * MOST_VALUES


@pytest.mark.parametrize(("nodes", "fewest"), [(60, 2), (150, 2), (700, 7), (3000, 10)])
def test_values_of_very_few_nodes_have_no_feature_of_their_own(nodes, fewest):
    texts = ["often"] * (nodes - 2 * fewest + 1) + ["enough"] * fewest + ["too few"] * (fewest - 1)
    with pytest.warns(DataWarning, match="has 3 different values: the commonest 2 have a feature each"):
        names, _ = features_of(texts, "category")
    assert names == ("x=often", "x=enough", "x: other")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([str(i * i) for i in range(20)], "number"),
        ([f"2021-01-{i + 1:02}" for i in range(20)], "date"),
        (["0", "1"] * 10, "category"),
        (["ann lee", "bob ray"] * 10, "category"),
    ],
)
def test_without_a_kind_it_is_guessed(values, kind):
    assert features_of(values)[0] == features_of(values, kind)[0]


@given(st.lists(st.one_of(st.just(""), st.floats(-1e100, 1e100).map(str)), min_size=3, max_size=30))
def test_any_numbers_are_finite_and_of_deviation_1(values):
    if not any(values) or (all(values) and len({float(value) for value in values}) == 1):
        with pytest.raises(SettingError, match="tells no nodes apart"):
            features_of(values, "number")
        return
    names, found = features_of(values, "number")
    assert len(set(names)) == len(names) == found.shape[1]
    known = np.array([value != "" for value in values])
    assert names[-1] != "x: missing" or np.array_equal(found[:, -1] == 0, known)
    if names[0] != "x: missing":
        assert found[known, 0].mean() == pytest.approx(0, abs=1e-4)


@given(st.lists(st.text(max_size=3), min_size=4, max_size=30))
@pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")
def test_every_text_is_in_one_category_and_a_blank_one_in_none(texts):
    names, values = features_of([*texts, "same", "same", ""], "category")
    assert len(set(names)) == len(names)
    assert set(values.sum(axis=1).tolist()) <= {0.0, 1.0}
    assert values.sum(axis=1)[-3:].tolist() == [1, 1, 0]


def test_they_stand_beside_the_features_that_there_are():
    graph = graph_of(2, 2, horizontal=np.arange(4)[:, None], x=["a", "a", "b", "b"])
    found = encode_features(graph, ["x"])
    assert found.horizontal_features.names == ("f0", "x=a", "x=b")
    assert found.horizontal_features.values[:, 0].tolist() == [0, 1, 2, 3]
    assert found.vertical_features.names == ("x=a", "x=b")
    assert found.attributes.keys() == {"x"}
    assert found.fingerprint() != graph.fingerprint()


def test_nothing_that_is_not_named_is_read():
    one, other = (graph_of(2, 2, x=["a", "a", "b", "b"], secret=secret) for secret in (list("abcd"), list("aaaa")))
    assert encode_features(one, "x").fingerprint() == encode_features(other, "x").fingerprint()
    assert encode_features(one, []) == one


def test_layers_may_call_a_column_otherwise():
    graph = graph_of(2, 2, city=["a", "b", "", ""], town=["", "", "b", "a"])
    assert encode_features(graph, "city=town:category").vertical_features.values.tolist() == [
        [1, 0],
        [0, 1],
        [0, 1],
        [1, 0],
    ]


def test_it_is_public():
    assert mx.encode_features is encode_features


# ---- another graph -----------------------------------------------------------------------------------------


def test_another_graph_is_encoded_like_the_first():
    first = graph_of(3, 3, city=["a", "a", "b", "b", "", "c"], size=["1.5", "2", "30", "", "5", "6"])
    second = graph_of(2, 2, city=["b", "z", "a", ""], size=["2", "1e90", "", "30"])
    columns = ["city", "size:number"]
    with pytest.warns(DataWarning, match="commonest 2 have"):
        one, other = (encode_features(graph, columns, like=first) for graph in (first, second))
    alone = encode_features(second, "size:number")
    assert one.vertical_features.names == other.vertical_features.names
    assert alone.vertical_features.names[0] not in one.vertical_features.names  # another scale, and it says so
    assert other.vertical_features.values[0].tolist() == [0, 1, 0, *one.vertical_features.values[1, 3:].tolist()]
    assert other.vertical_features.values[1, :3].tolist() == [0, 0, 1]
    assert other.vertical_features.values[3, :3].tolist() == [0, 0, 0]
    assert np.isfinite(other.vertical_features.values).all()


# ---- what is refused ---------------------------------------------------------------------------------------

GRAPH = {"city": ["a", "a", "b", "b"], "size": ["1", "2", "3", "many"], "none": ["", " ", "", ""], "same": ["x"] * 4}
GRAPH |= {"one": ["7.5"] * 4, "name": list("abcd"), "list": ["1 2 3", "3 4 5", "5 6 7", "8 8 8"]}


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (
            "citty",
            "no column 'citty' among the nodes' attributes; did you mean 'city'? there are 'city', 'size', 'none'",
        ),
        ("city=tow:category", "no column 'tow' among the nodes' attributes"),
        ("h:*:number", "no column 'h:*' among the nodes' attributes"),
        (
            "size:number",
            "column 'size', node 'n0003' (layer 'layer 1'): 'many' is no number, expected a number such as",
        ),
        ("city:date", "column 'city', node 'n0000' (layer 'layer 0'): 'a' is no date, expected a date such as"),
        ("none", "column 'none' tells no nodes apart: no node has a value"),
        ("none:number", "column 'none' tells no nodes apart: no node has a value"),
        ("same", "column 'same' tells no nodes apart: all nodes have 'x'"),
        ("one:number", "column 'one' tells no nodes apart: all nodes have 7.5"),
        (
            "name",
            "column 'name' tells no nodes apart: none of its 4 values is that of 2 nodes, expected a category",
        ),
        ("list", "column 'list' holds lists of numbers, expected a number, a date or a category in each node"),
        (
            "city:categry",
            "no kind of feature 'categry' in 'city:categry'; did you mean category? known are number, date",
        ),
        ("city:", "no kind of feature '' in 'city:'"),
        (":number", "':number' names no column, expected COLUMN or COLUMN:KIND"),
        (" ", "' ' names no column"),
        (["city", "city:category"], "column 'city' is to become features twice, expected once"),
    ],
)
def test_what_cannot_be_a_feature_is_named(declared, said):
    with pytest.raises(SettingError, match=re.escape(said)) as caught:
        encode_features(graph_of(2, 2, **GRAPH), declared)
    assert "\n" not in str(caught.value)


def test_a_graph_without_attributes_says_so():
    with pytest.raises(SettingError, match="no column 'city': the nodes have no attributes"):
        encode_features(graph_of(2, 2), "city")


def test_a_feature_that_is_there_already_is_refused():
    graph = encode_features(graph_of(2, 2, **GRAPH), "city")
    with pytest.raises(SettingError, match="two features would be called 'city=a'"):
        encode_features(graph, "city")


def test_long_values_have_short_names_of_their_own():
    long = "ab" * 5_000_000
    names, values = features_of([long, long, long + "c", long + "c"], "category")
    assert len(set(names)) == 2
    assert max(map(len, names)) < 60
    assert values.sum(axis=0).tolist() == [2, 2]
    names, _ = features_of(["\x01", "\\x01"] * 2, "category")
    assert len(set(names)) == 2


@pytest.mark.parametrize("text", ["city", "city:category", "a=b", "a=b:date", r"x\, y:number", r"a\=b"])
def test_a_declaration_is_written_as_it_is_read(text):
    assert str(FeatureColumn.parse(text)) == text
