"""Numbers of pairs, side by side."""

import numpy as np

from mpxgat.models.evidence import features as features_module
from mpxgat.models.evidence.features import Column, column_names, matrix, matrix_of, sides


def test_columns_stand_side_by_side_in_their_order():
    found = matrix({Column("b", "why"): np.array([1.0, 2.0]), Column("a", "why"): np.array([3.0, 4.0])})
    assert found.dtype == np.float32
    assert found.tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_the_lower_of_both_sides_comes_first():
    found = sides("degree", "degrees", np.array([1, 5]), np.array([2, 4]))
    assert [column.name for column in found] == ["degree, low", "degree, high"]
    assert {column.reason for column in found} == {"degrees"}
    assert [values.tolist() for values in found.values()] == [[1, 4], [2, 5]]


def test_numbers_of_many_pairs_are_computed_some_at_a_time(monkeypatch):
    asked = []

    def both_ends(pairs):
        asked.append(len(pairs.first))
        return {Column("first", "why"): pairs.first * 1.0, Column("second", "why"): pairs.second * 1.0}

    monkeypatch.setattr(features_module, "_ROWS_AT_ONCE", 3)
    pairs = np.arange(14).reshape(7, 2)
    assert matrix_of(both_ends, pairs).tolist() == pairs.tolist()
    assert asked == [3, 3, 1]
    assert matrix_of(both_ends, pairs[:0]).shape == (0, 2)
    assert column_names(both_ends) == ["first", "second"]
