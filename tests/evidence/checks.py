"""What every kind of evidence must bear."""

import numpy as np
import pytest

from mpxgat.models.evidence.features import PairList


def check_symmetry(evidence, pairs):
    """No number depends on which node comes first."""
    one, other = (evidence.columns(PairList(ends)) for ends in (pairs, pairs[:, ::-1]))
    assert list(one) == list(other)
    for column, values in one.items():
        assert values == pytest.approx(other[column], abs=1e-12), column.name


def check_grid(evidence, grid):
    """A grid has the numbers of the list of its pairs."""
    listed = PairList(np.stack([grid.first, grid.second], axis=1))
    by_grid, by_list = evidence.columns(grid), evidence.columns(listed)
    assert list(by_grid) == list(by_list)
    for column, values in by_grid.items():
        assert values == pytest.approx(by_list[column], abs=1e-12), column.name


def check_numbers(evidence, pairs):
    """Every number is finite, and there is one for each pair."""
    columns = evidence.columns(PairList(pairs))
    assert len({column.name for column in columns}) == len(columns)
    for column, values in columns.items():
        assert values.shape == (len(pairs),), column.name
        assert np.isfinite(values).all(), column.name
