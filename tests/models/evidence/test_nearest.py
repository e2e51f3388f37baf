"""Nearest embeddings against a slow search, by all products and by an index."""

import sys

import numpy as np
import pytest
import torch

from mpxgat.errors import SettingError
from mpxgat.matching.match import layer_pairs
from mpxgat.models.evidence import candidates as nearest
from mpxgat.models.evidence.candidates import (
    APPROXIMATE,
    AUTO,
    EXACT,
    CandidateSearch,
    is_approximate,
    nearest_pairs,
    search_library,
    similar_pairs,
)
from mpxgat.models.evidence.features import InterFeatures, layer_prior
from mpxgat.models.evidence.walks import short_walks
from mpxgat.pairs import KnownUnits
from tests.matching.doubles import is_open
from tests.models.evidence.graphs import GRAPHS, best_from_both_sides
from tests.threads import on_any_number_of_threads

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def some_vectors(n, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def slow_pairs(graph, vectors, layers, k):
    """The k nearest of every node, from both sides, of the open pairs."""
    ours, theirs = (graph.layer_nodes(layer).tolist() for layer in layers)
    near = {(i, j): float(vectors[i] @ vectors[j]) for i in ours for j in theirs if is_open(graph, i, j)}
    return best_from_both_sides(near, ours, theirs, k)


def found_pairs(graph, vectors, layers, k, search):
    nodes = [graph.layer_nodes(layer) for layer in layers]
    found = nearest_pairs(vectors, KnownUnits.of(graph), *nodes, k, search)
    assert found.shape == (len(found), 2)
    assert found.dtype == np.int64
    assert np.array_equal(np.unique(found, axis=0), found)
    return {tuple(pair) for pair in found.tolist()}


@pytest.mark.parametrize("k", [1, 3, 1000])
@every_graph
def test_the_nearest_open_pairs_are_found(graph, k):
    vectors = some_vectors(graph.n_nodes)
    for layers in layer_pairs(graph):
        assert found_pairs(graph, vectors, layers, k, EXACT) == slow_pairs(graph, vectors, layers, k)


@every_graph
def test_an_index_that_searches_everything_finds_the_same(graph, monkeypatch):
    monkeypatch.setattr(nearest, "_CLUSTERS_SEARCHED", 1000)
    monkeypatch.setattr(nearest, "_ASKED", 1000)
    vectors = some_vectors(graph.n_nodes)
    for layers in layer_pairs(graph):
        assert found_pairs(graph, vectors, layers, 2, APPROXIMATE) == slow_pairs(graph, vectors, layers, 2)


def test_an_index_finds_nearly_all_without_searching_everything():
    copies, nodes = 1200, np.arange(2400)
    rng = np.random.default_rng(3)
    first = rng.normal(size=(copies, 16))
    vectors = np.concatenate([first, first + 0.2 * rng.normal(size=first.shape)])
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    side = np.repeat([0, 1], copies).astype(np.int32)
    units = KnownUnits(nodes, side, ((side + 1).astype(np.uint8),))  # every node is known in its own layer only
    found, expected = (
        {tuple(pair) for pair in nearest_pairs(vectors, units, nodes[:copies], nodes[copies:], 1, search).tolist()}
        for search in (APPROXIMATE, EXACT)
    )
    assert len(found & expected) > 0.98 * len(expected)
    assert sum(j - i == copies for i, j in found) > 0.98 * copies


def test_parts_of_the_nodes_give_the_whole(monkeypatch):
    graph = GRAPHS["three layers"]
    vectors = some_vectors(graph.n_nodes, d=20)
    whole = [found_pairs(graph, vectors, (0, 1), 2, search) for search in (EXACT, APPROXIMATE)]
    monkeypatch.setattr(nearest, "_CELLS", 50)
    assert [found_pairs(graph, vectors, (0, 1), 2, search) for search in (EXACT, APPROXIMATE)] == whole


@on_any_number_of_threads
def test_the_number_of_threads_does_not_matter():
    graph = GRAPHS["three layers"]
    vectors = some_vectors(graph.n_nodes, d=7)  # kernels for short sides depend on it
    threads = torch.get_num_threads()
    try:
        found = []
        for count in (1, 2):
            torch.set_num_threads(count)
            parts = nearest.all_products(vectors, KnownUnits.of(graph), graph.layer_nodes(0), graph.layer_nodes(1))
            found.append(np.concatenate([part.value.numpy() for part in parts]))
    finally:
        torch.set_num_threads(threads)
    assert found[0].tobytes() == found[1].tobytes()


def test_candidates_are_the_similar_and_the_nearest_ones():
    graph = GRAPHS["three layers"]
    vectors, walks = some_vectors(graph.n_nodes), short_walks(graph)
    nodes = graph.layer_nodes(0), graph.layer_nodes(1)
    similar = similar_pairs(walks.weighted["joint_far"], KnownUnits.of(graph), *nodes, 2)
    near = nearest_pairs(vectors, KnownUnits.of(graph), *nodes, 1, EXACT)

    def found(vectors, wanted):
        evidence = InterFeatures(graph, walks, layer_prior(graph), vectors)
        return evidence.candidates_between(0, 1, wanted).tolist()

    both = np.unique(np.concatenate([similar, near]), axis=0).tolist()
    assert len(both) > max(len(similar), len(near))
    assert found(vectors, CandidateSearch(2, nearest=1)) == both
    assert found(vectors, CandidateSearch(2)) == similar.tolist()
    assert found(None, CandidateSearch(2, nearest=1)) == similar.tolist()


def test_only_large_layers_are_searched_by_an_index(monkeypatch):
    assert not is_approximate(AUTO, 19_999)
    assert is_approximate(AUTO, 20_000)
    assert is_approximate(APPROXIMATE, 3)
    assert not is_approximate(EXACT, 10**6)
    monkeypatch.setitem(sys.modules, "faiss", None)
    monkeypatch.setattr(nearest, "find_spec", lambda name: None)
    assert not is_approximate(AUTO, 10**6)
    with pytest.raises(SettingError, match=r"pip install 'mpxgat\[ann\]'"):
        search_library()
