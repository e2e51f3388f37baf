"""Candidates against a slow search, and the formula that weighs competitors."""

import numpy as np
import pytest
from scipy import sparse

from mpxgat.matching.match import layer_pairs
from mpxgat.models.evidence import candidates
from mpxgat.models.evidence.candidates import against_competitors, similar_pairs
from mpxgat.pairs import KnownUnits
from tests.matching.doubles import is_open
from tests.models.evidence.graphs import GRAPHS, best_from_both_sides
from tests.models.evidence.test_competitors import both_ways, some_rows

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def slow_pairs(graph, rows, layers, k):
    """The k most similar of every node, from both sides, of the open pairs that are similar at all."""
    ours, theirs = (graph.layer_nodes(layer).tolist() for layer in layers)
    similar = {
        (i, j): rows[i] @ rows[j] for i in ours for j in theirs if is_open(graph, i, j) and rows[i] @ rows[j] > 0
    }
    return best_from_both_sides(similar, ours, theirs, k)


@both_ways
@pytest.mark.parametrize("k", [1, 2, 1000])
@every_graph
def test_the_most_similar_open_pairs_are_found(graph, k):
    rows = some_rows(graph, seed=1)
    for a, b in layer_pairs(graph):
        found = similar_pairs(
            sparse.csr_array(rows), KnownUnits.of(graph), graph.layer_nodes(a), graph.layer_nodes(b), k
        )
        assert found.shape == (len(found), 2)
        assert found.dtype == np.int64
        assert len(np.unique(found, axis=0)) == len(found)
        assert {tuple(pair) for pair in found.tolist()} == slow_pairs(graph, rows, (a, b), k)


def test_nothing_similar_is_no_candidate():
    graph = GRAPHS["two layers"]
    rows = sparse.csr_array((graph.n_nodes, 4))
    assert similar_pairs(rows, KnownUnits.of(graph), graph.layer_nodes(0), graph.layer_nodes(1), 5).shape == (0, 2)


def test_parts_of_the_rows_give_the_whole(monkeypatch):
    graph = GRAPHS["two layers"]
    asked = sparse.csr_array(some_rows(graph)), KnownUnits.of(graph), graph.layer_nodes(0), graph.layer_nodes(1), 2
    whole = similar_pairs(*asked)
    monkeypatch.setattr(candidates, "_CELLS", 50)
    assert np.array_equal(similar_pairs(*asked), whole)


def slow_against_competitors(pairs, score):
    """s - log(1 + Σ exp(s of the other pairs of either node))."""
    found = []
    for here, (first, second) in enumerate(pairs):
        others = [
            np.exp(score[there])
            for there, (one, other) in enumerate(pairs)
            for shared in (one == first, other == second)
            if there != here and shared
        ]
        found.append(score[here] - np.log1p(sum(others)))
    return found


def test_a_pair_competes_with_all_pairs_of_its_nodes():
    rng = np.random.default_rng(2)
    grid = np.array([(i, j) for i in range(6) for j in range(6, 13)])
    pairs = grid[rng.random(len(grid)) < 0.5]
    score = rng.normal(scale=3, size=len(pairs))
    before = score.copy()
    assert against_competitors(pairs, score) == pytest.approx(slow_against_competitors(pairs, score), abs=1e-9)
    assert np.array_equal(score, before)


def test_without_competitors_a_score_stays_as_it_is():
    pairs = np.array([[0, 5], [1, 6]])
    assert against_competitors(pairs, np.array([2.0, -3.0])) == pytest.approx([2.0, -3.0])
    assert against_competitors(np.empty((0, 2), dtype=np.int64), np.empty(0)).shape == (0,)


def test_scores_without_bound_do_not_overflow():
    pairs = np.array([[0, 5], [0, 6], [1, 6]])
    found = against_competitors(pairs, np.array([1000.0, 0.0, -1000.0]))
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx(1000 - np.log(2))
    assert found[1] < -29
