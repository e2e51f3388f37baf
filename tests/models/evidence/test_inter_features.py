"""Features and candidates of pairs of different layers against slow counts, with and without a soft matching."""

import numpy as np
import pytest

from mpxgat.matching.match import layer_pairs
from mpxgat.models.evidence import inter_features
from mpxgat.models.evidence.inter_features import InterFeatures, entries_at, layer_prior
from mpxgat.models.evidence.surroundings import Surroundings
from mpxgat.pairs import PairGrid, PairList
from tests.examples import graph_of, random_graph
from tests.matching.doubles import is_open
from tests.models.evidence.checks import check_grid, check_numbers
from tests.models.evidence.graphs import (
    GRAPHS,
    copies_of,
    dense_units,
    layers_of,
    named,
    neighbours_of,
    open_pairs,
    some_matching,
)

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
both_rounds = pytest.mark.parametrize("softly", [False, True], ids=["first round", "later round"])
MANY_OPEN = {"three": random_graph(38, people=30, known=0.3), "two": random_graph(39, people=40, layers=2, known=0.4)}
CLOSE = 1e-5  # numbers are float32


def features_of(graph, matching=None, candidates=10, barred=None):
    return InterFeatures(graph, Surroundings.of(graph), layer_prior(graph), matching, candidates, barred)


def matching_of(graph, *, softly):
    return some_matching(graph) if softly else None


def inter_pairs(graph):
    """All pairs of nodes of different layers, the lower layer first."""
    return np.argwhere(graph.node_layer[:, None] < graph.node_layer)


class Slow:
    """The definitions, dense.

    Units of a single layer are left out: copies in that layer may both see them, but then the pair is not open.
    """

    def __init__(self, graph, matching):
        self.graph, self.layer = graph, graph.node_layer
        units = dense_units(graph)
        self.matching = np.zeros((graph.n_nodes, graph.n_nodes)) if matching is None else matching.toarray()
        units = np.minimum(units + self.matching @ units / 2, 1)
        layers = range(graph.n_layers)
        present = np.minimum([units[self.layer == layer].sum(axis=0) for layer in layers], 1)
        several = (present > 0).sum(axis=0) > 1
        units, self.present = units[:, several], present[:, several]  # (n, units), (L, units)
        copies, self.layers = copies_of(graph), layers_of(graph)
        walks = {name: walk.toarray() @ units for name, walk in Surroundings.of(graph).walks.items()}
        self.rows = {name: np.array([rows[those].mean(axis=0) for those in copies]) for name, rows in walks.items()}
        near = np.array([units[sorted(there)].sum(axis=0) for there in neighbours_of(graph)])
        self.neighbours = np.array([near[those].sum(axis=0) for those in copies])

    def similarity(self, name, i, j):
        """Scaled by what could be compared at all."""
        one, other = self.rows[name][i], self.rows[name][j]
        scale = np.sqrt((one**2 @ self.there(j)) * (other**2 @ self.there(i)))
        return one @ other / scale if scale > 0 else 0.0

    def searched(self, name, i, j):
        """As candidates are searched for: scaled by what could be compared in the two layers alone."""
        one, other = self.rows[name][i], self.rows[name][j]
        scale = np.sqrt((one**2 @ self.present[self.layer[j]]) * (other**2 @ self.present[self.layer[i]]))
        return one @ other / scale if scale > 0 else 0.0

    def could(self, i, j):
        """Neighbours of i and of its copies that are present where j's unit is known."""
        return self.neighbours[i] @ self.there(j)

    def there(self, node):
        """(units,) how much of them lies in the layers of a node's unit, these added up."""
        return self.present[sorted(self.layers[node])].sum(axis=0)


# ---- numbers ---------------------------------------------------------------------------------------------


@both_rounds
@every_graph
def test_a_grid_has_the_numbers_of_the_list(graph, softly):
    features = features_of(graph, matching_of(graph, softly=softly))
    for a, b in layer_pairs(graph):
        check_grid(features, PairGrid(graph.layer_nodes(a), graph.layer_nodes(b)), CLOSE)


@both_rounds
@every_graph
def test_every_number_is_finite_and_one_for_each_pair(graph, softly):
    check_numbers(features_of(graph, matching_of(graph, softly=softly)), inter_pairs(graph))


@both_rounds
@every_graph
def test_walks_are_compared_by_what_could_be_compared(graph, softly):
    matching = matching_of(graph, softly=softly)
    pairs, slow = inter_pairs(graph), Slow(graph, matching)
    found = named(features_of(graph, matching).columns(PairList(pairs)))
    for name in ("near", "far", "wide"):
        assert found[name] == pytest.approx([slow.similarity(name, i, j) for i, j in pairs], abs=CLOSE)


@both_rounds
@every_graph
def test_neighbours_that_match_and_that_could(graph, softly):
    matching = matching_of(graph, softly=softly)
    pairs, slow = inter_pairs(graph), Slow(graph, matching)
    found = named(features_of(graph, matching).columns(PairList(pairs)))
    for row, (i, j) in enumerate(pairs.tolist()):
        matched, one, other = slow.neighbours[i] @ slow.neighbours[j], slow.could(i, j), slow.could(j, i)
        expected = {
            "matched neighbours": matched,
            "matched of the first's that could": matched / max(one, 0.5),
            "matched of the second's that could": matched / max(other, 0.5),
            "matched of both's that could": matched / np.sqrt(max(one * other, 0.25)),
            "neighbours of the first that could match": one,
            "neighbours of the second that could match": other,
        }
        assert {name: found[name][row] for name in expected} == pytest.approx(expected, rel=CLOSE, abs=CLOSE)


@every_graph
def test_in_the_first_round_known_neighbours_are_counted(graph):
    """Those of a node's known copies count as its own, one by one."""
    near, copies, layers = neighbours_of(graph), copies_of(graph), layers_of(graph)
    pairs = open_pairs(graph)
    found = named(features_of(graph).columns(PairList(pairs)))
    for row, (i, j) in enumerate(pairs.tolist()):
        ours, theirs = ([x for copy in copies[node] for x in near[copy]] for node in (i, j))
        assert found["matched neighbours"][row] == sum(y in copies[x] for x in ours for y in theirs)
        could = sum(len(layers[x] & layers[j]) for x in ours if len(layers[x]) > 1)
        assert found["neighbours of the first that could match"][row] == could
    assert not found["probability before"].any()


def test_what_known_copies_see_counts():
    """x.a has no neighbour that is known in z, its copy y.a has; without the copy nothing speaks for the pair."""
    links = ["x.a x.c", "x.b x.d", "y.a y.b", "z.a z.b", "x.b y.b", "y.b z.b"]
    pair = ("a", "x"), ("a", "z")
    for known, matched in ((["x.a y.a"], 1.0), ([], 0.0)):
        graph = graph_of(*links, *known, layers="xyz")
        ends = np.array([[graph.index(*node) for node in pair]])
        found = named(features_of(graph).columns(PairList(ends)))
        assert found["matched neighbours"].tolist() == [matched]
        assert all((found[name][0] > 0) == bool(known) for name in ("near", "far", "wide"))
        assert (ends[0].tolist() in features_of(graph).pairs.tolist()) == bool(known)


@every_graph
def test_the_round_before_is_read_as_it_is(graph):
    matching, pairs = some_matching(graph), inter_pairs(graph)
    found = named(features_of(graph, matching).columns(PairList(pairs)))
    assert found["probability before"].tolist() == matching.toarray()[tuple(pairs.T)].tolist()


@both_rounds
@pytest.mark.parametrize("name", ["near", "wide", "matched neighbours", "probability before"])
@pytest.mark.parametrize("graph", MANY_OPEN.values(), ids=MANY_OPEN)
def test_a_number_is_compared_with_that_of_all_candidates_of_either_node(graph, name, softly):
    features = features_of(graph, matching_of(graph, softly=softly), candidates=5)
    own = named(features.columns(PairList(features.pairs)))[name]
    pairs = inter_pairs(graph)[::7]
    found = named(features.columns(PairList(pairs)))
    layer = graph.node_layer

    def from_side(value, node, other):
        here = (features.pairs == node).any(axis=1) & (layer[features.pairs] == layer[other]).any(axis=1)
        others = sorted(own[here].tolist(), reverse=True)
        total, best = sum(others), (others + [0.0] * 5)[:5]
        best_other = best[0] if best[0] > value * (1 + 1e-5) else best[1]
        return {
            "rank among": sum(rival > value * (1 + 2e-5) for rival in others[:8]),
            "lead among": value - best_other,
            "share among": value / total if total else 0.0,
            "lead over": value - sum(best) / 5,
        }

    for row, (i, j) in enumerate(pairs.tolist()):
        for who, node, other in (("first", i, j), ("second", j, i)):
            expected = from_side(found[name][row], node, other)
            ends = {"rank among": "", "lead among": "", "share among": "", "lead over": " best"}
            for what, number in expected.items():
                column = f"{name}, {what} the {who}'s{ends[what]}"
                assert found[column][row] == pytest.approx(number, rel=1e-4, abs=CLOSE), column


@every_graph
def test_degrees_copies_and_prior_in_the_order_of_the_nodes(graph):
    near, copies = neighbours_of(graph), copies_of(graph)
    pairs = inter_pairs(graph)
    found = named(features_of(graph).columns(PairList(pairs)))
    degree = np.array([np.log1p(len(there)) for there in near])
    of_neighbours = np.array([degree[sorted(there)].mean() if there else 0.0 for there in near])
    known = np.array([min(len(those), 3) for those in copies])
    for name, value in {"degree": degree, "neighbours' degree": of_neighbours, "copies": known}.items():
        assert found[f"{name} of the first"] == pytest.approx(value[pairs[:, 0]], abs=CLOSE)
        assert found[f"{name} of the second"] == pytest.approx(value[pairs[:, 1]], abs=CLOSE)
        if name != "copies":
            difference = value[pairs[:, 0]] - value[pairs[:, 1]]
            assert found[f"{name}, difference"] == pytest.approx(difference, abs=CLOSE)
    prior, layer = layer_prior(graph), graph.node_layer
    assert found["prior"] == pytest.approx([prior[layer[i], layer[j]] for i, j in pairs])


def test_the_prior_is_the_log_share_of_known_links():
    graph = graph_of("x.a x.b", "x.b x.c", "y.a y.b", "z.a z.a", "x.a y.a", "x.b y.b", "y.b z.a", layers="xyz")
    prior = layer_prior(graph)
    assert np.array_equal(prior, prior.T)
    assert prior[0, 1] == pytest.approx(np.log(2.5 / 6))
    assert prior[1, 2] == pytest.approx(np.log(1.5 / 2))
    assert prior[0, 2] == pytest.approx(np.log(0.5 / 3))


@both_rounds
@every_graph
def test_numbers_of_candidates_are_those_of_their_pairs(graph, softly):
    features = features_of(graph, matching_of(graph, softly=softly))
    whole = features.of_candidates()
    assert whole.shape == (len(features.pairs), len(features.names))
    assert whole == pytest.approx(features.matrix(features.pairs), abs=CLOSE)
    some = np.arange(len(whole))[::-3]
    assert np.array_equal(features.of_candidates(some), whole[some])
    assert np.array_equal(features.of_candidates(slice(2, 5)), whole[2:5])


def test_walks_keep_the_largest_entries_only(monkeypatch):
    graph = GRAPHS["four dense layers"]
    monkeypatch.setattr(inter_features, "entries_kept", lambda n_nodes: 2)
    features = features_of(graph)
    assert all(np.diff(rows.indptr).max() == 2 for rows in features._rows.values())
    check_numbers(features, inter_pairs(graph))


def test_entries_at_pairs_of_a_list_and_of_a_grid():
    graph = GRAPHS["two layers"]
    matching, pairs = some_matching(graph), inter_pairs(graph)
    assert matching.nnz
    dense = matching.toarray()
    assert np.array_equal(entries_at(matching, PairList(pairs)), dense[tuple(pairs.T)])
    grid = PairGrid(graph.layer_nodes(0), graph.layer_nodes(1))
    assert np.array_equal(entries_at(matching, grid), dense[np.ix_(graph.layer_nodes(0), graph.layer_nodes(1))])
    assert entries_at(matching, PairList(pairs[:0])).shape == (0,)
    assert not entries_at(matching[:, :0], PairList(pairs[:3])).any()


# ---- candidates ------------------------------------------------------------------------------------------


def pairs_in(array):
    return {tuple(pair) for pair in array.tolist()}


@both_rounds
@every_graph
def test_candidates_are_open_pairs_in_order(graph, softly):
    pairs = features_of(graph, matching_of(graph, softly=softly)).pairs
    assert pairs.dtype == np.int64
    assert pairs.shape == (len(pairs), 2)
    assert (graph.node_layer[pairs[:, 0]] < graph.node_layer[pairs[:, 1]]).all()
    assert all(is_open(graph, *pair) for pair in pairs.tolist())
    assert len(pairs_in(pairs)) == len(pairs)
    keys = [(*graph.node_layer[pair].tolist(), *pair.tolist()) for pair in pairs]
    assert keys == sorted(keys)


@both_rounds
@every_graph
def test_all_that_is_similar_by_two_walks_is_a_candidate_if_there_is_room(graph, softly):
    matching = matching_of(graph, softly=softly)
    slow = Slow(graph, matching)
    expected = {
        (i, j)
        for i, j in open_pairs(graph).tolist()
        if slow.matching[i, j] or max(slow.similarity(name, i, j) for name in ("far", "wide")) > 0
    }
    assert pairs_in(features_of(graph, matching, 1000).pairs) == expected


@both_rounds
@pytest.mark.parametrize("graph", MANY_OPEN.values(), ids=MANY_OPEN)
def test_candidates_are_the_most_similar_of_every_node_from_both_sides(graph, softly):
    k, matching = 2, matching_of(graph, softly=softly)
    slow, layers = Slow(graph, matching), layers_of(graph)
    found = pairs_in(features_of(graph, matching, k).pairs)
    wanted = {pair for pair in pairs_in(open_pairs(graph)) if slow.matching[pair]}
    allowed = set(wanted)
    for a, b in layer_pairs(graph):
        ours = [i for i in graph.layer_nodes(a).tolist() if b not in layers[i]]
        theirs = [j for j in graph.layer_nodes(b).tolist() if a not in layers[j]]
        for name in ("far", "wide"):
            value = {(i, j): slow.searched(name, i, j) for i in ours for j in theirs}
            for side, nodes in enumerate((ours, theirs)):
                for node in nodes:
                    mine = {pair: number for pair, number in value.items() if pair[side] == node and number > 0}
                    ranked = [*sorted(mine.values(), reverse=True), *[0.0] * (k + 1)]
                    # Of equals any may be taken.
                    wanted |= {pair for pair, number in mine.items() if number > ranked[k] + CLOSE}
                    allowed |= {pair for pair, number in mine.items() if number >= ranked[k - 1] - CLOSE}
    wanted, allowed = ({pair for pair in pairs if is_open(graph, *pair)} for pairs in (wanted, allowed))
    assert wanted <= found <= allowed
    assert len(found) < len(features_of(graph, matching, 1000).pairs)


def test_a_node_has_fewer_candidates_where_they_would_be_too_many(monkeypatch):
    graph = random_graph(37, people=60, known=0.3)
    plenty, few = features_of(graph, None, 1000), features_of(graph, None, 5)
    assert len(few.pairs) < len(plenty.pairs)
    monkeypatch.setattr(inter_features, "_CANDIDATES", 10)
    assert np.array_equal(features_of(graph, None, 1000).pairs, few.pairs)
    assert len(features_of(graph, None, 2).pairs) < len(few.pairs)  # as many as are asked for, at most


def test_candidates_found_before_are_taken_as_they_are():
    graph = GRAPHS["three layers"]
    found = features_of(graph, some_matching(graph))
    again = features_of(graph, some_matching(graph), found.pairs[::2])
    assert np.array_equal(again.pairs, found.pairs[::2])
    same = features_of(graph, some_matching(graph), found.pairs)
    assert same.of_candidates().tobytes() == found.of_candidates().tobytes()


@both_rounds
@pytest.mark.parametrize("graph", MANY_OPEN.values(), ids=MANY_OPEN)
def test_barred_pairs_are_no_candidates_and_no_rivals(graph, softly):
    """As if they had not been found, whichever end is named first; those of the round before are no exception."""
    matching = matching_of(graph, softly=softly)
    found = features_of(graph, matching).pairs
    before = [place for place, pair in enumerate(found.tolist()) if matching is not None and matching[*pair]]
    barred = np.zeros(len(found), dtype=bool)
    barred[::3] = barred[before] = True
    assert bool(before) == softly
    named_so = np.concatenate([found[barred][::2], found[barred][1::2, ::-1]])
    features = features_of(graph, matching, barred=named_so)
    assert np.array_equal(features.pairs, found[~barred])
    rest = features_of(graph, matching, found[~barred])
    assert features.of_candidates().tobytes() == rest.of_candidates().tobytes()
    assert features.matrix(found).tobytes() == rest.matrix(found).tobytes()
    assert features.matrix(found).tobytes() != features_of(graph, matching).matrix(found).tobytes()


def test_to_bar_nothing_or_what_was_not_found_changes_nothing():
    graph = MANY_OPEN["three"]
    found = features_of(graph)
    strangers = np.array(sorted(pairs_in(inter_pairs(graph)) - pairs_in(found.pairs)))
    for barred in (None, found.pairs[:0], strangers):
        again = features_of(graph, barred=barred)
        assert np.array_equal(again.pairs, found.pairs)
        assert again.of_candidates().tobytes() == found.of_candidates().tobytes()


# ---- what must not be told -------------------------------------------------------------------------------


def test_a_hidden_link_leaves_no_trace():
    """The evidence for a pair is that of a graph that never had the link, down to the last bit."""
    known = ["x.a x.b", "x.b x.c", "x.a x.d", "y.a y.b", "y.b y.c", "y.a y.d", "x.b y.b", "x.d y.d"]
    hidden, never = graph_of(*known, "x.a y.a", layers="xy"), graph_of(*known, layers="xy")
    pair = np.array([[hidden.index("a", "x"), hidden.index("a", "y")]])
    without, plain, told = features_of(hidden.without(inter=pair)), features_of(never), features_of(hidden)
    assert np.array_equal(without.pairs, plain.pairs)
    assert without.of_candidates().tobytes() == plain.of_candidates().tobytes()
    assert without.matrix(pair).tobytes() == plain.matrix(pair).tobytes()
    assert told.matrix(pair).tobytes() != plain.matrix(pair).tobytes()  # so it would have shown


def test_a_hidden_link_leaves_no_trace_through_copies():
    """x.a is hidden from y.a and z.a, which still know each other: neither sees what x.a sees."""
    within = [f"{layer}.a {layer}.{other}" for layer in "xyz" for other in "bd"]
    known = [*within, "x.b y.b", "x.d z.d", "y.a z.a"]
    hidden, never = graph_of(*known, "x.a y.a", layers="xyz"), graph_of(*known, layers="xyz")
    x, y, z = (hidden.index("a", layer) for layer in "xyz")
    assert hidden.unit[x] == hidden.unit[y] == hidden.unit[z]
    pairs = np.array([[x, y], [x, z]])
    without, plain, told = features_of(hidden.without(inter=pairs[:1])), features_of(never), features_of(hidden)
    assert np.array_equal(without.pairs, plain.pairs)
    assert without.matrix(pairs).tobytes() == plain.matrix(pairs).tobytes()
    assert told.matrix(pairs).tobytes() != plain.matrix(pairs).tobytes()  # so it would have shown


def test_a_nodes_own_unit_is_no_evidence_for_another_pair_of_it():
    """Two nodes that are linked with each other's copies do not look alike for that."""
    graph = graph_of("x.a x.b", "y.a y.b", "x.a y.a", "x.b y.b", layers="xy")
    pair = np.array([[graph.index("a", "x"), graph.index("b", "y")]])
    found = named(features_of(graph).columns(PairList(pair)))
    assert found["near"].tolist() == found["far"].tolist() == found["wide"].tolist() == [0.0]
    assert found["matched neighbours"].tolist() == [0.0]
