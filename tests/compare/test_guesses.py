"""What columns are taken for."""

import numpy as np
import pytest

from mpxgat.compare import guess
from tests.compare.doubles import graph_of

N = 40
COLUMNS = {
    "username": ([f"user{i}.{i * 7 % 40}" for i in range(N)], "text"),
    "person": ([f"Ann{chr(97 + i % 26)} Smith{chr(97 + i // 26)}" for i in range(N)], "name"),
    "author": ([f"{chr(65 + i % 26)}. O'Neill-{chr(65 + i // 26)}ö" for i in range(N)], "name"),
    "city": (["Paris", "Rome", "Oslo", ""] * 10, "category"),
    "flag": (["0", "1"] * 20, "category"),
    "followers": ([str(i * i) for i in range(N)], "number"),
    "score": ([str(i / 7) if i else "NA" for i in range(N)], "number"),
    "joined": ([f"2021-01-{i % 28 + 1:02}" for i in range(N)], "date"),
    "profile": ([f"{i} 0 {i % 3}" for i in range(N)], "vector"),
    "phone": ([f"555 {i}" for i in range(N)], "text"),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_kinds_by_values(column):
    values, kind = COLUMNS[column]
    assert [str(one) for one in guess(graph_of(20, 20, **{column: values}))] == [f"{column}:{kind}"]


def test_what_is_guessed_can_be_prepared():
    graph = graph_of(20, 20, **{name: values for name, (values, _) in COLUMNS.items() if name != "score"})
    for comparison in guess(graph):
        comparison.prepare(graph)


@pytest.mark.parametrize("column", ["id", "user_id", "ID", "unit", "account.uid", "uuid"])
def test_ids_are_never_guessed(column):
    assert guess(graph_of(20, 20, **{column: COLUMNS["username"][0]})) == ()


def test_columns_that_tell_nothing_are_passed_over():
    assert guess(graph_of(2, 2, empty=[""] * 4, same=["a", "", "a", "a"], none=["NA", "nan", "", ""])) == ()
    assert guess(graph_of(2, vertical=[[1, 2], [1, 2]])) == ()


def test_a_value_in_every_layer_is_no_category():
    assert [str(one) for one in guess(graph_of(9, 9, 9, 9, a=[f"user{i}" for i in range(9)] * 4))] == ["a:text"]


def test_tables_of_features_are_vectors_and_one_that_stands_twice_is_one():
    rng = np.random.default_rng(0)
    one, other = rng.random((4, 2)), rng.random((4, 2))
    assert [str(c) for c in guess(graph_of(4, horizontal=one, vertical=other))] == ["h:*:vector", "v:*:vector"]
    assert [str(c) for c in guess(graph_of(4, horizontal=one, vertical=one))] == ["h:*:vector"]
    assert [str(c) for c in guess(graph_of(4, vertical=one))] == ["v:*:vector"]
