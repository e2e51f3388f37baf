"""Matches by similarities: what counts of a pair, and a curve learned without letting a link speak for itself."""

import numpy as np
import pytest

from mpxgat.matching import match_all
from mpxgat.matching.similarities import OpenPairs, SimilarityMatching, folds, open_pairs
from mpxgat.pairs import KnownUnits
from tests.examples import graph_of, random_graph
from tests.matching.doubles import is_open, some_apart

PEOPLE = 60


def by_table(table):
    return lambda a, b: table[a, b] if a < b else table[b, a].T


def two_layers(known=PEOPLE - 10, people=PEOPLE):
    """Person i is i in both layers; the first ``known`` are known to be so."""
    nodes = [f"{layer}.{i:03d} {layer}.{i:03d}" for layer in "xy" for i in range(people)]
    return graph_of(*nodes, *(f"x.{i:03d} y.{i:03d}" for i in range(known)), layers="xy")


def noisy_truth(rng, people=PEOPLE, right=1.0):
    """Similarities that are higher for the true partner of a share of the people."""
    table = rng.random((people, people))
    chosen = np.flatnonzero(rng.random(people) < right)
    table[chosen, chosen] += 2
    return by_table({(0, 1): table.astype(np.float32)})


def by_hand(graph, table, i, j):
    """Similarity and best rival of a pair, and its ranks from both sides, from the definition."""
    n, m = table.shape
    own = table[i, j]
    row = [table[i, v] for v in range(m) if v != j and is_open(graph, i, n + v)]
    column = [table[u, j] for u in range(n) if u != i and is_open(graph, u, n + j)]
    ranks = [1 + sum(other > own for other in others) for others in (row, column)]
    return own, max(row + column, default=0), ranks, [len(row) + 1, len(column) + 1]


@pytest.mark.parametrize("seed", range(5))
def test_what_counts_of_a_pair_is_as_defined(seed):
    rng = np.random.default_rng(seed)
    graph = two_layers(known=4, people=9)
    graph = some_apart(graph, 8) if seed % 2 else graph
    table = rng.integers(0, 6, size=(9, 9)) / 4  # with ties and zeros
    pairs = OpenPairs(KnownUnits.of(graph), (graph.layer_nodes(0), graph.layer_nodes(1)), table)
    places = pairs.candidates(2)
    assert len(places) > 5
    own, rival = pairs.own_and_rival(places)
    ranked = [pairs.ranks(places, side) for side in (0, 1)]
    for row, (i, j) in enumerate(places.tolist()):
        assert is_open(graph, i, 9 + j)
        expected = by_hand(graph, table, i, j)
        ranks, counts = zip(*((rank[row], count[row]) for rank, count in ranked), strict=True)
        assert (own[row], rival[row], [*ranks], [*counts]) == expected
        assert pairs.standing(places)[row] == own[row] / (own[row] + rival[row])
        assert min(ranks) <= 2  # among the best two of one of its nodes, ties broken somehow
    best = {(i, j) for i, j in np.argwhere(table > 0).tolist() if is_open(graph, i, 9 + j)}
    firsts = {(i, j) for i, j in best if 1 in by_hand(graph, table, i, j)[2]}
    alone = {(i, j) for i, j in firsts if table[i, j] > by_hand(graph, table, i, j)[1]}
    assert alone <= {tuple(place) for place in places.tolist()} <= best


def test_parts_change_nothing(monkeypatch):
    graph, between = two_layers(), noisy_truth(np.random.default_rng(0))
    pairs = open_pairs(graph, between)[0, 1]
    places = pairs.candidates(3)
    expected = pairs.ranks(places, 1)
    monkeypatch.setattr("mpxgat.matching.similarities._CELLS", 100)
    assert np.array_equal(open_pairs(graph, between)[0, 1].candidates(3), places)
    assert np.array_equal(pairs.ranks(places, 1), expected)


def test_probabilities_say_how_often_hidden_links_were_right():
    rng = np.random.default_rng(1)
    graph = two_layers(known=400, people=500)
    between = noisy_truth(rng, people=500, right=0.7)
    found = SimilarityMatching.learned(graph, between, lambda hidden: noisy_truth(rng, people=500, right=0.7), seed=0)
    candidates = found.candidates(0, 1, 5)
    right = candidates.pairs[:, 1] - candidates.pairs[:, 0] == 500
    sure = candidates.probability > 0.8
    assert 60 <= sure.sum() <= 80  # seven in ten of the hundred that are not known
    assert right[sure].all()
    assert candidates.probability[~sure].mean() < 0.1


def test_similarities_that_know_nothing_give_no_match():
    rng = np.random.default_rng(2)
    graph = two_layers(known=400, people=500)
    # They would be perfect on the known links, were they not hidden.
    found = SimilarityMatching.learned(
        graph, noisy_truth(rng, people=500), lambda hidden: noisy_truth(rng, people=500, right=0.0), seed=0
    )
    assert found.candidates(0, 1, 5).probability.max() < 0.1


def test_hidden_units_are_hidden_from_the_models_that_calibrate():
    graph = random_graph(4, people=80, layers=3)
    seen = []

    def refit(hidden):
        seen.append(hidden)
        sizes = np.diff(hidden.layer_start)
        return lambda a, b: np.ones((sizes[a], sizes[b]))

    assert SimilarityMatching.learned(graph, refit(graph), refit, seed=0)
    assert len(seen) == 1 + 5  # of few links all are hidden in their turn
    known = np.unique(graph.unit[graph.inter])
    for hidden in seen[1:]:
        assert hidden.ids.equals(graph.ids)
        assert np.array_equal(hidden.intra, graph.intra)
        gone = np.setdiff1d(known, np.unique(graph.unit[hidden.inter]))
        assert abs(len(gone) - len(known) / 5) < 1
        kept = ~np.isin(graph.unit[graph.inter[:, 0]], gone)  # whole units stay or go
        assert np.array_equal(hidden.inter, graph.inter[kept])
    assert np.array_equal(np.sort(np.concatenate([f[:, 0] for f in folds(graph, 0)])), np.sort(graph.inter[:, 0]))


def test_of_many_known_links_a_few_are_hidden():
    fits = []
    graph, between = two_layers(known=600, people=610), noisy_truth(np.random.default_rng(0), people=610)
    SimilarityMatching.learned(graph, between, lambda hidden: fits.append(len(hidden.inter)) or between, seed=0)
    assert fits == [480, 480]


def test_a_scale_changes_nothing():
    graph, between = two_layers(), noisy_truth(np.random.default_rng(3), right=0.5)
    small = SimilarityMatching.learned(graph, lambda a, b: between(a, b) / 1024, lambda hidden: between, seed=0)
    large = SimilarityMatching.learned(graph, between, lambda hidden: between, seed=0)
    assert np.array_equal(small.candidates(0, 1, 3).probability, large.candidates(0, 1, 3).probability)


@pytest.mark.parametrize("known", [0, 1, 29])
def test_too_few_known_links_teach_nothing(known):
    between = noisy_truth(np.random.default_rng(4))
    assert SimilarityMatching.learned(two_layers(known), between, lambda hidden: between, seed=0) is None


def test_nobody_similar_to_anybody_teaches_nothing():
    def nothing(a, b):
        return np.zeros((PEOPLE, PEOPLE))

    assert SimilarityMatching.learned(two_layers(), nothing, lambda hidden: nothing, seed=0) is None


def test_the_reason_is_the_similarity_with_its_ranks():
    graph = two_layers(known=57, people=60)
    table = np.full((60, 60), 0.25)
    table[np.arange(60), np.arange(60)] = 1
    between = by_table({(0, 1): table})
    found = SimilarityMatching.learned(graph, between, lambda hidden: between, seed=0)
    one, other = found.explain(np.array([[118, 57], [57, 117]]))  # in either order
    assert (one.first, one.second, other.first, other.second) == (118, 57, 57, 117)
    assert other.reasons[0].finding == "1, rank 1 of 3 and, the other way, 1 of 3; best rival 0.25"
    assert one.reasons[0].finding == "0.25, rank 2 of 3 and, the other way, 2 of 3; best rival 1"
    assert other.probability > 0.8 > 0.1 > one.probability
    assert {tuple(pair) for pair in match_all(_Matcher(graph, found), 0.8).pairs.tolist()} == {
        (57, 117), (58, 118), (59, 119)
    }  # fmt: skip


class _Matcher:
    def __init__(self, graph, matching):
        self.graph, self.candidates = graph, matching.candidates
