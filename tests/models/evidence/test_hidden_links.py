"""Self-made splits: what is hidden is gone, and nothing else is."""

import numpy as np
import pytest

from mpxgat.models.evidence.training import hide_inter, hide_intra
from mpxgat.synthetic import social
from tests.examples import graph_of
from tests.models.evidence.graphs import GRAPHS

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
SHARES = [(0.0, 0.0), (0.3, 0.0), (0.0, 0.5), (0.3, 0.5), (0.99, 0.99)]


def pairs_in(array):
    return {tuple(pair) for pair in array.tolist()}


def pairs_of_units(graph):
    """All (i < j) known to be one unit."""
    unit = graph.unit.tolist()
    return {(i, j) for i in range(graph.n_nodes) for j in range(i + 1, graph.n_nodes) if unit[i] == unit[j]}


def same_but_for_inter(one, other):
    return one.layers == other.layers and np.array_equal(one.intra, other.intra) and one.ids.equals(other.ids)


# ---- inter -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shares", SHARES, ids=str)
@every_graph
def test_positives_are_exactly_the_pairs_of_one_unit_that_are_now_apart(graph, shares):
    for seed in range(4):
        hidden = hide_inter(graph, np.random.default_rng(seed), *shares)
        assert same_but_for_inter(hidden.graph, graph)
        assert pairs_in(hidden.graph.inter) <= pairs_in(graph.inter)
        assert len(pairs_in(hidden.positives)) == len(hidden.positives)
        assert pairs_in(hidden.positives) == pairs_of_units(graph) - pairs_of_units(hidden.graph)
        assert not pairs_in(hidden.positives) & pairs_in(hidden.graph.inter)
        gone = np.array(sorted(pairs_in(graph.inter) - pairs_in(hidden.graph.inter)), dtype=int).reshape(-1, 2)
        assert set(gone.ravel().tolist()) <= set(hidden.touched.tolist())
        assert (np.diff(hidden.touched) > 0).all()


def test_a_share_of_all_units_is_dissolved():
    graph = social(people=300, layers=3, seed=1)
    size = np.bincount(graph.unit)
    hidden = hide_inter(graph, np.random.default_rng(0), 0.2, 0.0)
    units = np.unique(graph.unit[hidden.touched])
    assert len(units) == round(0.2 * graph.n_units)
    assert (size[units] == 1).any()  # nodes without a known link are chosen as well
    assert np.array_equal(np.flatnonzero(np.isin(graph.unit, units)), hidden.touched)
    alone = np.bincount(hidden.graph.unit)[hidden.graph.unit] == 1
    assert alone[hidden.touched].all()
    others = graph.inter[~np.isin(graph.unit[graph.inter[:, 0]], units)]
    assert np.array_equal(hidden.graph.inter, others)


def test_a_share_of_the_larger_units_loses_one_node():
    graph = social(people=300, layers=4, seed=2)
    size = np.bincount(graph.unit)
    hidden = hide_inter(graph, np.random.default_rng(0), 0.0, 0.25)
    units = np.unique(graph.unit[hidden.touched])
    assert len(units) == round(0.25 * (size > 2).sum())
    assert (size[units] > 2).all()
    layers = set()
    for unit in units:
        nodes = np.flatnonzero(graph.unit == unit)
        parts = sorted(np.bincount(hidden.graph.unit[nodes])[np.unique(hidden.graph.unit[nodes])].tolist())
        assert parts == [1, len(nodes) - 1]
        leaver = next(node for node in nodes if (hidden.graph.unit == hidden.graph.unit[node]).sum() == 1)
        layers.add(int(graph.node_layer[leaver]))
    assert layers == {0, 1, 2, 3}  # any of its nodes may leave


def test_units_are_either_dissolved_or_loosened():
    graph = social(people=300, layers=3, seed=3)
    size = np.bincount(graph.unit)
    hidden = hide_inter(graph, np.random.default_rng(0), 0.4, 0.5)
    dissolved = round(0.4 * graph.n_units)
    units = np.unique(graph.unit[hidden.touched])
    apart = np.array([len(np.unique(hidden.graph.unit[graph.unit == unit])) for unit in range(graph.n_units)])
    loosened = int(((apart < size) & (apart > 1)).sum())
    assert len(units) == dissolved + loosened
    whole = int((size > 2).sum() - ((apart == size) & (size > 2)).sum())  # large units that were not dissolved
    assert loosened == round(0.5 * whole)


def test_the_middle_of_an_unclosed_unit_takes_the_ends_apart():
    graph = graph_of("x.a y.a", "y.a z.a", layers="xyz")
    middle = graph.index("a", "y")
    found = [hide_inter(graph, np.random.default_rng(seed), 0.0, 0.9) for seed in range(20)]
    assert {len(hidden.positives) for hidden in found} == {2, 3}
    for hidden in found:
        middle_left = hidden.graph.n_inter == 0
        assert (len(hidden.positives) == 3) == middle_left
        assert middle in hidden.touched


# ---- intra -----------------------------------------------------------------------------------------------


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


# ---- random numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("hide", [hide_inter, hide_intra])
def test_the_same_generator_hides_the_same(hide):
    graph = GRAPHS["three layers"]
    one, again, other = (hide(graph, np.random.default_rng(seed), 0.3, 0.5) for seed in (7, 7, 8))
    assert one.graph == again.graph
    assert np.array_equal(one.positives, again.positives)
    assert one.graph != other.graph
