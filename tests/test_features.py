import numpy as np
import pytest

from mpxgat.errors import GraphError
from mpxgat.graph import Features


def test_features_must_be_finite_and_fit():
    with pytest.raises(GraphError, match="feature 'q' of node 1 is nan"):
        Features(("p", "q"), np.array([[1, 2], [3, np.nan]]))
    with pytest.raises(GraphError, match="expected one column for each of 1 names"):
        Features(("p",), np.zeros((3, 2)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_cannot_be_changed_but_the_array_they_came_from_can(dtype):
    given = np.zeros((2, 1), dtype=dtype)
    features = Features(("p",), given)
    with pytest.raises(ValueError, match="read-only"):
        features.values[0] = 1
    given[0] = 1
    assert given.tolist() == [[1], [0]]
