"""A weighted sample of open pairs, against all of them."""

import numpy as np
import pytest

from mpxgat.models.open_pairs import open_sample
from mpxgat.models.rules import common_neighbours_in_union, linked_in_union, union_of_layers
from mpxgat.pairs import PairList, pair_keys
from mpxgat.synthetic import social
from tests.examples import graph_of


@pytest.fixture(scope="module")
def graph():
    return social(people=200, layers=3, seed=0)


def every_open_pair(graph):
    found = []
    for layer in range(graph.n_layers):
        nodes = graph.layer_nodes(layer)
        found.append(np.stack(np.triu_indices(len(nodes), 1), axis=1) + nodes[0])
    pairs = np.concatenate(found)
    return pairs[~np.isin(pair_keys(pairs, graph.n_nodes), pair_keys(graph.intra, graph.n_nodes))]


def test_open_pairs_of_one_layer_each_once(graph):
    sample = open_sample(graph, 4000, np.random.default_rng(0))
    keys = pair_keys(sample.pairs, graph.n_nodes)
    assert len(np.unique(keys)) == len(keys)
    assert np.isin(keys, pair_keys(every_open_pair(graph), graph.n_nodes)).all()
    assert (sample.pairs[:, 0] < sample.pairs[:, 1]).all()


def test_sums_over_the_sample_are_those_over_all_pairs(graph):
    union = union_of_layers(graph)
    pairs = every_open_pair(graph)
    signals = [common_neighbours_in_union(graph, union), linked_in_union(graph, union), lambda some: some.first % 7]
    whole = [len(pairs), *(signal(PairList(pairs)).sum() for signal in signals)]
    sums = []
    for seed in range(20):
        sample = open_sample(graph, 2000, np.random.default_rng(seed))
        values = [np.ones(len(sample.pairs)), *(signal(PairList(sample.pairs)) for signal in signals)]
        sums.append([(sample.weight * value).sum() for value in values])
    assert np.mean(sums, axis=0) == pytest.approx(whole, rel=0.03)


def test_pairs_that_look_like_links_are_most_of_the_sample(graph):
    union = union_of_layers(graph)
    elsewhere = linked_in_union(graph, union)
    pairs = every_open_pair(graph)
    sample = open_sample(graph, 4000, np.random.default_rng(0))
    assert elsewhere(PairList(sample.pairs)).sum() == elsewhere(PairList(pairs)).sum() <= 1000  # all of them
    shared = common_neighbours_in_union(graph, union)
    assert (shared(PairList(sample.pairs)) > 0).mean() > 1.3 * (shared(PairList(pairs)) > 0).mean()


@pytest.mark.parametrize(
    "links", [("x.a y.a",), ("x.a x.b",), ("x.a x.b", "y.a y.b"), ("x.a x.b", "x.b x.c", "x.a x.c")]
)
def test_hardly_any_pair(links):
    graph = graph_of(*links)
    assert len(open_sample(graph, 100, np.random.default_rng(0)).pairs) == 0


def test_one_open_pair():
    sample = open_sample(graph_of("x.a x.b", "x.b x.c"), 100, np.random.default_rng(0))
    assert sample.pairs.tolist() == [[0, 2]]
    assert sample.weight == pytest.approx(1, abs=0.3)
