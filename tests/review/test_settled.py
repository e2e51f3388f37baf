"""What follows from decisions, and contradictions among them."""

import numpy as np
import pytest

from mpxgat.build import with_apart
from mpxgat.errors import InputError, SettingError
from mpxgat.pairs import KnownUnits
from mpxgat.review.decisions import Decision, standing
from mpxgat.review.settled import Settled, Units, check_new, with_decisions
from tests.examples import graph_of

GRAPH = graph_of("x.a x.b", "x.b x.c", "y.a y.b", "y.b y.c", "z.a z.b", "x.c y.c", layers="xyz")


def pair(one, other):
    """ "xa", "yb": positions of two nodes, in order."""
    first, second = sorted(GRAPH.index(node[1], node[0]) for node in (one, other))
    return first, second


def said(*texts):
    """ "xa=yb" is accepted, "xa#yb" is rejected."""
    found = []
    for line, text in enumerate(texts, 2):
        one, other = text[:2], text[3:]
        found.append(Decision(pair(one, other), "accept" if text[2] == "=" else "reject", line=line))
    return found


def status(decisions, one, other):
    return Settled(Units(GRAPH), decisions).status(pair(one, other))


def test_accepted_pairs_are_transitive_and_exclude_others_of_the_layer():
    decisions = said("xa=ya", "ya=za")
    assert status(decisions, "xa", "za") == "same"
    assert (
        status(decisions, "xa", "yb") == status(decisions, "xb", "ya") == status(decisions, "xb", "za") == "different"
    )
    assert status(decisions, "xb", "yb") is None
    assert status([], "xc", "yc") == "same"  # known before
    assert status([], "xc", "yb") == "different"


def test_rejected_pairs_separate_whole_units():
    decisions = said("xa=ya", "ya#za")
    assert status(decisions, "xa", "za") == "different"
    assert status(decisions, "xb", "za") is None


def test_what_the_network_says_is_different_stays_so():
    graph = with_apart(GRAPH, [pair("xa", "ya")])
    assert Settled(Units(graph), said("ya=za")).status(pair("xa", "za")) == "different"
    with pytest.raises(InputError, match="the network says are different"):
        Settled(Units(graph), said("xa=za", "za=ya"))


@pytest.mark.parametrize(
    ("decisions", "line", "why"),
    [
        (("xa=ya", "xa=yb"), 3, "'a' (layer 'y') and 'b' (layer 'y') of one layer would be one unit"),
        (("xa=ya", "xa=za", "ya#za"), 4, "known links and accepted pairs make them one unit"),
        (("xc#yc",), 2, "known links and accepted pairs make them one unit"),
        (("xa=yc",), 2, "'a' (layer 'x') and 'c' (layer 'x') of one layer would be one unit"),
    ],
)
def test_a_contradiction_is_named_in_one_message(tmp_path, decisions, line, why):
    path = tmp_path / "decisions.csv"
    with pytest.raises(InputError) as caught:
        with_decisions(GRAPH, said(*decisions), path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert why in str(caught.value)
    assert "take one of them back" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_graph_has_what_was_decided():
    graph = with_decisions(GRAPH, said("xa=ya", "xb#yb", "xb#za"))
    units = KnownUnits.of(graph)
    assert graph.inter.tolist() == [list(pair("xa", "ya")), list(pair("xc", "yc"))]
    assert graph.apart.tolist() == [list(pair("xb", "yb")), list(pair("xb", "za"))]
    assert units.clash(*pair("xb", "yb"))
    assert np.array_equal(graph.intra, GRAPH.intra)
    assert with_decisions(GRAPH, []) is GRAPH
    skipped = [Decision(pair("xa", "ya"), "skip")]
    assert with_decisions(GRAPH, skipped) == GRAPH


def test_weights_of_known_links_stay():
    graph = graph_of("x.a x.b", "y.a y.b", "x.a y.a 2.5")
    decided = with_decisions(graph, [Decision((1, 3), "accept")])
    assert decided.inter_weight.tolist() == [2.5, 1.0]


def test_all_agree_with_the_graph_that_is_made():
    rng = np.random.default_rng(0)
    pairs = np.argwhere(GRAPH.node_layer[:, None] < GRAPH.node_layer)
    made = 0
    for _ in range(60):
        chosen = rng.choice(pairs, 5, replace=False).tolist()
        given = [Decision(tuple(each), rng.choice(["accept", "reject"])) for each in chosen]
        try:
            settled = Settled(Units(GRAPH), given)
        except InputError:
            continue
        made += 1
        graph = with_decisions(GRAPH, given)
        units = KnownUnits.of(graph)
        for u, v in pairs.tolist():
            expected = "same" if units.same(u, v) else "different" if units.clash(u, v) else None
            assert settled.status((u, v)) == expected
        numbers = settled.units()
        assert ((numbers[:, None] == numbers) == (graph.unit[:, None] == graph.unit)).all()
    assert made > 10


def test_a_new_answer_may_replace_one_but_contradict_none():
    latest = standing(said("xa=ya", "xb#yb"))
    units = Units(GRAPH)
    check_new(units, latest, Decision(pair("xa", "ya"), "reject"))
    check_new(units, latest, Decision(pair("xb", "ya"), "reject"))
    check_new(units, latest, Decision(pair("xb", "ya"), "skip"))
    with pytest.raises(SettingError, match=r"'b' \(layer 'x'\) and 'a' \(layer 'y'\) are different; take one"):
        check_new(units, latest, Decision(pair("xb", "ya"), "accept"))
    with pytest.raises(SettingError, match="are one unit; take one of them back first"):
        check_new(units, {**latest, **standing(said("ya=za"))}, Decision(pair("xa", "za"), "reject"))
