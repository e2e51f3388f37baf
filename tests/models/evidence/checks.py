"""What both kinds of features must bear."""

import numpy as np
import pytest

from mpxgat.pairs import PairList


def check_symmetry(features, pairs):
    """No number depends on which node comes first."""
    one, other = (features.columns(PairList(ends)) for ends in (pairs, pairs[:, ::-1]))
    assert list(one) == list(other)
    for column, values in one.items():
        assert values == pytest.approx(other[column], abs=1e-12), column.name


def check_grid(features, grid, close=1e-6):
    """A grid has the numbers of the list of its pairs, but for rounding."""
    listed = PairList(np.stack([end.ravel() for end in np.broadcast_arrays(grid.first, grid.second)], axis=1))
    by_grid, by_list = features.columns(grid), features.columns(listed)
    assert list(by_grid) == list(by_list)
    for column, values in by_grid.items():
        assert values.shape == grid.shape, column.name
        assert values.ravel() == pytest.approx(by_list[column], abs=close), column.name


def check_numbers(features, pairs):
    """Every number is finite, and there is one for each pair."""
    columns = features.columns(PairList(pairs))
    assert len({column.name for column in columns}) == len(columns)
    for column, values in columns.items():
        assert values.shape == (len(pairs),), column.name
        assert np.isfinite(values).all(), column.name
