"""Matches: whatever a matcher offers, uniqueness and transitivity hold, known links stay, the threshold is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat.build import with_inter_links
from mpxgat.errors import GraphError, SettingError
from mpxgat.matching import Candidates, match_all, match_layers, with_reasons
from mpxgat.matching.match import Lower, MatchesLayers, layer_pairs
from tests.examples import graph_of
from tests.matching.doubles import TableMatcher, check_matcher, matchers, steady

THRESHOLDS = st.sampled_from([0.0, 0.3, 0.5, 0.9, 0.95]) | st.floats(0.01, 0.99)
COLUMNS = ["node", "node_layer", "candidate", "candidate_layer", "probability", "rank", "runner_up", "chosen"]


def matcher_of(graph, **chances):
    """Probabilities of pairs like ``xa_yb=0.9``."""
    table = {}
    for name, chance in chances.items():
        first, second = (graph.index(end[1], end[0]) for end in name.split("_"))
        table[first, second] = chance
    return TableMatcher(graph, table)


def rows_of(matches, *columns):
    return [tuple(row[name] for name in columns) for row in matches.to_table().to_pylist()]


# ---- what holds for every matcher ----------------------------------------------------------------------------------


@steady
@given(matcher=matchers())
def test_the_double_keeps_the_contract(matcher):
    check_matcher(matcher)


@steady
@given(matcher=matchers(), threshold=THRESHOLDS, k=st.integers(1, 4))
def test_all_matches_with_the_known_links_are_disjoint_cliques(matcher, threshold, k):
    graph = matcher.graph
    matches = match_all(matcher, threshold, k)
    # This refuses links that give a unit two nodes in a layer, or two that are known to be different.
    joined = with_inter_links(graph, np.concatenate([graph.inter, matches.pairs]))
    unit = joined.unit
    assert (unit[graph.inter[:, 0]] == unit[graph.inter[:, 1]]).all()
    pairs = {tuple(pair) for pair in matches.pairs.tolist()}
    assert len(pairs) == len(matches)
    for u in range(graph.n_nodes):  # transitive: every pair of a unit is known or listed, and no other
        for v in range(u + 1, graph.n_nodes):
            assert ((u, v) in pairs) == (unit[u] == unit[v] and graph.unit[u] != graph.unit[v])


@steady
@given(matcher=matchers(), threshold=THRESHOLDS, k=st.integers(1, 4))
def test_the_threshold_is_kept_and_every_match_rests_on_a_candidate(matcher, threshold, k):
    matches = match_all(matcher, threshold, k)
    assert matches.chosen.all()
    assert (matches.probability >= threshold).all()
    for pair, chance, decides in zip(
        matches.pairs.tolist(), matches.probability.tolist(), matches.joined_by.tolist(), strict=True
    ):
        assert matcher.table[tuple(decides)] >= threshold
        own = matcher.table.get(tuple(pair), 0.0)
        assert chance >= own
        assert chance <= max(own, *matcher.table.values())


@steady
@given(matcher=matchers(), threshold=THRESHOLDS, k=st.integers(1, 4), data=st.data())
def test_two_layers_are_matched_one_to_one(matcher, threshold, k, data):
    graph = matcher.graph
    layers = data.draw(st.sampled_from(layer_pairs(graph)).flatmap(st.permutations))
    matches = match_layers(matcher, *layers, k, threshold=threshold)
    assert (graph.node_layer[matches.pairs] == layers).all()
    chosen = matches.pairs[matches.chosen]
    assert len(np.unique(chosen)) == chosen.size
    assert (matches.probability[matches.chosen] >= threshold).all()
    with_inter_links(graph, np.concatenate([graph.inter, chosen]))
    assert matches.probability.tolist() == [matcher.table[tuple(sorted(pair))] for pair in matches.pairs.tolist()]


@steady
@given(matcher=matchers(), k=st.integers(1, 4), data=st.data())
def test_candidates_are_ranked_with_their_runners_up(matcher, k, data):
    layers = data.draw(st.sampled_from(layer_pairs(matcher.graph)).flatmap(st.permutations))
    matches = match_layers(matcher, *layers, k, threshold=0.5)
    offered = matcher.candidates(min(layers), max(layers), k)
    side = int(layers[0] > layers[1])
    for node in matcher.graph.layer_nodes(layers[0]).tolist():
        rows = np.flatnonzero(matches.pairs[:, 0] == node)
        every = np.sort(offered.probability[offered.pairs[:, side] == node])[::-1]
        assert matches.probability[rows].tolist()[:k] == every[:k].tolist()
        assert matches.rank[rows].tolist()[:k] == list(range(1, min(k, len(every)) + 1))
        for row in rows:
            others = np.delete(every, matches.rank[row] - 1)
            assert matches.runner_up[row] == others.max(initial=0.0)
            assert matches.rank[row] <= k or matches.chosen[row]
    assert (np.diff(matches.pairs[:, 0]) >= 0).all()


@steady
@given(matcher=matchers(), threshold=THRESHOLDS, k=st.integers(1, 4))
def test_outcomes_count_every_open_node_once(matcher, threshold, k):
    graph = matcher.graph
    matches = match_all(matcher, threshold, k)
    assert len(matches.outcomes) == len(layer_pairs(graph))
    for (a, b), outcome in zip(layer_pairs(graph), matches.outcomes, strict=True):
        known = sum(len(set(graph.unit[graph.layer_nodes(layer)].tolist())) for layer in (a, b))
        known -= len(set(graph.unit[np.concatenate([graph.layer_nodes(a), graph.layer_nodes(b)])].tolist()))
        assert outcome.open_nodes == len(graph.layer_nodes(a)) + len(graph.layer_nodes(b)) - 2 * known
        parts = (outcome.matched, outcome.below_threshold, outcome.outdone, outcome.no_candidate)
        assert sum(parts) == outcome.open_nodes
        assert min(parts) >= 0
        assert outcome.matched == 2 * (graph.node_layer[matches.pairs] == (a, b)).all(axis=1).sum()


# ---- examples ------------------------------------------------------------------------------------------------------

GRAPH = graph_of("x.a x.b", "y.a y.b", "z.a z.b", "x.b y.b", layers="xyz")


def test_a_table_of_candidates():
    graph = graph_of("x.a x.b", "y.a y.b", "y.b y.c", layers="xy")
    matches = match_layers(matcher_of(graph, xa_ya=0.95, xa_yb=0.3, xa_yc=0.2, xb_ya=0.92), 0, 1, k=2)
    assert matches.to_table().column_names == COLUMNS
    assert [tuple(row.values()) for row in matches.to_table().to_pylist()] == [
        ("a", "x", "a", "y", 0.95, 1, 0.3, True),
        ("a", "x", "b", "y", 0.3, 2, 0.95, False),
        # The third of the node is listed by the other side alone: it is not among the best two.
        ("b", "x", "a", "y", 0.92, 1, 0.0, False),
    ]
    backward = match_layers(matcher_of(graph, xa_ya=0.95, xb_ya=0.92), 1, 0)
    assert rows_of(backward, "node_layer", "candidate", "rank", "runner_up", "chosen") == [
        ("y", "a", 1, 0.92, True),
        ("y", "b", 2, 0.95, False),
    ]


def test_a_chosen_candidate_behind_the_kth_is_listed():
    graph = graph_of("x.a x.b", "y.a y.b", layers="xy")
    matches = match_layers(matcher_of(graph, xa_ya=0.99, xa_yb=0.95, xb_ya=0.98), 0, 1, k=1)
    assert rows_of(matches, "node", "candidate", "rank", "chosen") == [
        ("a", "a", 1, False),
        ("a", "b", 2, True),
        ("b", "a", 1, True),
    ]


def test_matches_that_follow_from_others():
    matches = match_all(matcher_of(GRAPH, xa_ya=0.97, ya_za=0.95, xa_zb=0.2, xa_za=0.1), threshold=0.9)
    expected = [("x", "y", 0.97, 1, 0.0), ("x", "z", 0.95, 1, 0.2), ("y", "z", 0.95, 1, 0.0)]
    assert rows_of(matches, "node_layer", "candidate_layer", "probability", "rank", "runner_up") == expected
    reasons = with_reasons(matcher_of(GRAPH, xa_ya=0.97, ya_za=0.95), matches).column("reasons").to_pylist()
    assert reasons[0] == "the table: 'a' (layer 'x'), 'a' (layer 'y') (+7.98); degrees: 3 and 4 (-0.50)"
    assert reasons[1].startswith("follows from 'a' (layer 'y') and 'a' (layer 'z'): the table: ")
    assert not reasons[2].startswith("follows")


def test_pairs_that_are_assigned_keep_their_own_probability():
    matches = match_all(matcher_of(GRAPH, xa_ya=0.97, ya_za=0.95, xa_za=0.96), threshold=0.9)
    assert rows_of(matches, "probability") == [(0.97,), (0.96,), (0.95,)]
    assert matches.joined_by.tolist() == matches.pairs.tolist()


def test_reasons_are_asked_for_once_and_only_where_they_are_written():
    asked = []

    class Counting(TableMatcher):
        def explain(self, first, second):
            asked.append((first, second))
            return super().explain(first, second)

    matcher = Counting(GRAPH, matcher_of(GRAPH, xa_ya=0.97, yb_za=0.95).table)
    matches = match_all(matcher)
    done = []
    table = with_reasons(matcher, matches.head(2), done.append)
    assert matches.pairs.tolist() == [[0, 2], [1, 4], [3, 4]]
    assert table.num_rows == sum(done) == 2
    assert asked == [(0, 2), (3, 4)]


def test_the_most_probable_rows_come_first_and_what_became_of_the_nodes_stays():
    matches = match_all(matcher_of(GRAPH, xa_ya=0.93, yb_za=0.97))
    best = matches.most_probable(2)
    assert best.probability.tolist() == sorted(matches.probability.tolist(), reverse=True)[:2]
    assert best.outcomes == matches.outcomes


def test_why_nodes_are_left_unmatched():
    graph = graph_of("x.a x.b", "x.c x.d", "y.a y.b", "y.c y.d", "x.d y.d", "z.a z.b", layers="xyz")
    matches = match_all(matcher_of(graph, xa_ya=0.95, xb_ya=0.92, xc_yb=0.4), threshold=0.9)
    first = matches.outcomes[0]
    assert (first.layer_a, first.layer_b) == ("x", "y")
    assert (first.open_nodes, first.matched, first.below_threshold, first.outdone, first.no_candidate) == (
        6,
        2,
        2,
        1,
        1,
    )
    assert matches.notes == (
        "layer 'z' has no known link to any other layer: nothing ties it to the others, "
        "so its nodes are left unmatched",
    )
    assert matches.outcomes[1].no_candidate == matches.outcomes[1].open_nodes == 6
    assert match_layers(matcher_of(graph), 0, 1).notes == ()
    assert match_layers(matcher_of(graph), 2, 1).notes == matches.notes
    assert match_all(matcher_of(graph, xa_za=0.95)).notes == ()  # it was matched nevertheless


def test_nothing_to_match_is_an_empty_table():
    matches = match_all(matcher_of(GRAPH))
    assert len(matches) == 0
    assert matches.to_table().column_names == COLUMNS
    assert with_reasons(matcher_of(GRAPH), matches).column_names == [*COLUMNS, "reasons"]
    assert len(match_layers(matcher_of(GRAPH), 0, 1)) == 0


# ---- what is refused -----------------------------------------------------------------------------------------------


class Wrong(TableMatcher):
    """Offers whatever it is told to."""

    def __init__(self, graph, *pairs):
        super().__init__(graph, {})
        self.pairs = np.array(pairs, dtype=np.int32)

    def candidates(self, layer_a, layer_b, k):
        return Candidates(self.pairs, np.full(len(self.pairs), 0.95))


@pytest.mark.parametrize(
    ("pairs", "error", "said"),
    [
        ([(1, 3)], GraphError, r"'b' \(layer 'x'\) and 'b' \(layer 'y'\), which are known to be one unit"),
        ([(1, 2)], GraphError, r"'b' \(layer 'x'\) and 'a' \(layer 'y'\), which cannot be one unit"),
        ([(0, 4)], SettingError, "candidates of other layers"),
        ([(0, 2), (0, 2)], SettingError, "a pair twice"),
    ],
)
def test_a_matcher_that_breaks_its_promise_is_named(pairs, error, said):
    with pytest.raises(error, match=said):
        match_layers(Wrong(GRAPH, *pairs), 0, 1)


@pytest.mark.parametrize(
    ("pairs", "probability", "said"),
    [
        ([(2, 1)], [0.5], "lower layer first"),
        ([(1, 2)], [0.5, 0.5], "expected \\(k, 2\\) and \\(k,\\)"),
        ([(1, 2)], [1.5], "probability 1.5, expected 0 to 1"),
        ([(1, 2)], [np.nan], "probability nan, expected 0 to 1"),
    ],
)
def test_candidates_are_checked(pairs, probability, said):
    with pytest.raises(SettingError, match=said):
        Candidates(np.array(pairs, dtype=np.int32), np.array(probability))


def test_bad_settings_are_named():
    matcher = matcher_of(GRAPH)
    with pytest.raises(SettingError, match="one and the same"):
        match_layers(matcher, 1, 1)
    with pytest.raises(SettingError, match="wanted is 0, expected at least 1"):
        match_layers(matcher, 0, 1, 0)
    with pytest.raises(SettingError, match="expected a probability"):
        match_all(matcher, 1.5)
    with pytest.raises(SettingError, match="expected at least 2"):
        match_all(TableMatcher(graph_of("x.a x.b"), {}))


def test_results_cannot_be_changed():
    matches = match_all(matcher_of(GRAPH, xa_ya=0.97))
    with pytest.raises(ValueError, match="read-only"):
        matches.probability[0] = 1


# ---- a lower threshold ---------------------------------------------------------------------------------------------


def test_where_nothing_is_matched_a_lower_threshold_is_named():
    graph = graph_of("x.a x.b", "y.a y.b", "z.a z.b", layers="xyz")
    matcher = matcher_of(graph, xa_ya=0.71, xb_yb=0.6, ya_za=0.55, yb_zb=0.3)
    assert match_all(matcher, 0.9).lower == Lower(0.71, 0.5, 4)  # with x.a and z.a, which follow
    assert match_layers(matcher, 0, 1, threshold=0.9).lower == Lower(0.71, 0.5, 2)
    assert match_layers(matcher, 1, 2, threshold=0.9).lower == Lower(0.55, 0.5, 1)
    assert match_all(matcher, 0.7).lower is None


@pytest.mark.parametrize(
    ("chance", "threshold", "lower"),
    [
        (0.42, 0.5, 0.4),
        (0.42, 0.45, 0.4),
        (0.5, 0.9, 0.5),
        (0.034, 0.9, 0.02),
        (0.0002, 0.9, None),
        (0.015, 0.02, 0.01),
        (0.009, 0.01, None),
    ],
)
def test_the_lower_threshold_is_a_round_number_that_a_pair_reaches(chance, threshold, lower):
    found = match_all(matcher_of(graph_of("x.a x.b", "y.a y.b", layers="xy"), xa_yb=chance), threshold)
    assert found.lower == Lower(chance, lower, 0 if lower is None else 1)
    if lower is not None:
        again = match_all(matcher_of(found.graph, xa_yb=chance), lower)
        assert len(again) == found.lower.matches


def test_without_candidates_there_is_no_lower_threshold():
    assert match_all(matcher_of(graph_of("x.a x.b", "y.a y.b", layers="xy"))).lower is None


def test_layers_by_name_and_a_short_look():
    matcher = matcher_of(GRAPH, xa_ya=0.95)
    one, other = GRAPH.layers[:2]
    assert match_layers(matcher, one, other).to_table() == match_layers(matcher, 0, 1).to_table()
    with pytest.raises(GraphError, match="no layer 'nowhere'"):
        match_layers(matcher, one, "nowhere")
    assert repr(match_layers(matcher, one, other)).startswith("<Matches: ")


class Named(MatchesLayers, TableMatcher):
    """A matcher of one's own, with the methods that ours have."""


def test_what_a_model_of_ones_own_inherits():
    matcher = matcher_of(GRAPH, xa_ya=0.95)
    named = Named(GRAPH, matcher.table)
    one, other = GRAPH.layers[:2]
    expected = match_layers(matcher, 0, 1, threshold=0.5)
    assert named.match_layers(one, other, threshold=0.5).to_table() == expected.to_table()
    assert named.match(one, other).to_table() == match_layers(matcher, 0, 1).to_table()
    assert named.match_all(0.5).to_table() == match_all(matcher, 0.5).to_table()
