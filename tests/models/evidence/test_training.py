"""Intra links hidden again: what is hidden is gone, and nothing else is."""

import numpy as np
import pytest

from mpxgat.models.evidence.training import hide_intra
from mpxgat.synthetic import social
from tests.models.evidence.graphs import GRAPHS

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def pairs_in(array):
    return {tuple(pair) for pair in array.tolist()}


@every_graph
def test_hidden_intra_links_are_the_positives(graph):
    for seed in range(3):
        hidden = hide_intra(graph, np.random.default_rng(seed), 0.4, 0.3)
        assert pairs_in(hidden.positives) == pairs_in(graph.intra) - pairs_in(hidden.graph.intra)
        assert pairs_in(hidden.graph.inter) <= pairs_in(graph.inter)
        assert hidden.graph.layers == graph.layers
        assert hidden.positives.shape == (len(hidden.positives), 2)
        assert hidden.positives.dtype == np.int64


def test_shares_of_links_are_hidden():
    graph = social(people=600, layers=3, seed=4)
    hidden = hide_intra(graph, np.random.default_rng(0), 0.1, 0.3)
    assert len(hidden.positives) / graph.n_intra == pytest.approx(0.1, abs=0.02)
    assert 1 - hidden.graph.n_inter / graph.n_inter == pytest.approx(0.3, abs=0.05)
    nothing = hide_intra(graph, np.random.default_rng(0), 0.0, 0.0)
    assert nothing.graph == graph
    assert nothing.positives.shape == (0, 2)


def test_the_same_generator_hides_the_same():
    graph = GRAPHS["three layers"]
    one, again, other = (hide_intra(graph, np.random.default_rng(seed), 0.3, 0.5) for seed in (7, 7, 8))
    assert one.graph == again.graph
    assert np.array_equal(one.positives, again.positives)
    assert one.graph != other.graph
