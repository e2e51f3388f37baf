"""One-to-one plans against all sets of pairs that exclude each other, and what holds for any odds."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat.matching.plan import Rivals
from tests.matching.doubles import steady

SETTLED = 2000  # turns after which messages have settled even where odds are large


def exclude_each_other(one, other, layer):
    """Whether two pairs share a node and lead from it to the same layer."""
    return any(
        one[side] == other[there] and layer[one[1 - side]] == layer[other[1 - there]]
        for side in (0, 1)
        for there in (0, 1)
    )


def by_all_sets(pairs, layer, log_odds):
    """Probability of each pair in a set drawn by the product of its odds, over all sets without rivals."""
    rivals = {(i, j) for i, j in combinations(range(len(pairs)), 2) if exclude_each_other(pairs[i], pairs[j], layer)}
    total, of_pair = 0.0, np.zeros(len(pairs))
    for size in range(len(pairs) + 1):
        for chosen in combinations(range(len(pairs)), size):
            if not any(two in rivals for two in combinations(chosen, 2)):
                weight = np.exp(sum(log_odds[i] for i in chosen))
                total += weight
                of_pair[list(chosen)] += weight
    return of_pair / total


def sums_by_node(pairs, layer, probability):
    """By node and layer: the sum over its pairs there."""
    sums = {}
    for (first, second), p in zip(pairs.tolist(), probability.tolist(), strict=True):
        for node, other in ((first, second), (second, first)):
            place = (node, int(layer[other]))
            sums[place] = sums.get(place, 0.0) + p
    return sums


def alone_by_node(pairs, layer, plan):
    """By node and layer, and the same from whichever pair it is read."""
    alone = {}
    for side, values in enumerate(plan.alone):
        for pair, value in zip(pairs.tolist(), values.tolist(), strict=True):
            place = (pair[side], int(layer[pair[1 - side]]))
            assert alone.setdefault(place, value) == value
    return alone


@st.composite
def candidate_graphs(draw, *, largest=40.0, tree=False):
    """Nodes (n,) of two to four layers, some pairs of them, and log-odds; as trees between any two layers if asked."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    layer = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    pairs = rng.permutation(np.argwhere(layer[:, None] < layer))
    if tree:
        pairs = np.array(without_cycles(pairs.tolist(), layer)[:10])
    else:
        pairs = pairs[rng.random(len(pairs)) < draw(st.sampled_from([0.2, 0.6, 1.0]))]
    log_odds = rng.choice([-largest, largest, *rng.normal(scale=largest / 4, size=4)], size=len(pairs))
    return layer, pairs.reshape(-1, 2), log_odds


def without_cycles(pairs, layer):
    """The pairs that join what none before has joined, between any two layers."""
    kept, part = [], {}
    for first, second in pairs:
        one, other = ((node, int(layer[first]), int(layer[second])) for node in (first, second))
        ours, theirs = part.get(one, {one}), part.get(other, {other})
        if ours is not theirs and not ours & theirs:
            joined = ours | theirs
            part |= dict.fromkeys(joined, joined)
            kept.append([first, second])
    return kept


@pytest.mark.parametrize("log_odds", [-14.0, -2.0, 0.0, 0.7, 14.0])
def test_a_lone_pair_has_its_own_odds(log_odds):
    plan = Rivals(np.array([[0, 1]]), np.array([0, 1])).plan(np.array([log_odds]))
    odds = np.exp(log_odds)
    assert plan.probability == pytest.approx([odds / (1 + odds)], rel=1e-9)
    assert plan.alone[0] == pytest.approx([1 / (1 + odds)], rel=1e-9)
    assert plan.alone[1] == pytest.approx([1 / (1 + odds)], rel=1e-9)


@given(candidate_graphs(largest=6.0, tree=True))
@steady
def test_it_is_exact_where_candidates_form_trees(given):
    layer, pairs, log_odds = given
    plan = Rivals(pairs, layer).plan(log_odds, SETTLED)
    assert plan.probability == pytest.approx(by_all_sets(pairs.tolist(), layer, log_odds), abs=1e-7)


def test_a_chain_by_hand():
    """x1-y1, y1-x2, x2-y2 of odds 1, 2, 3: the sets weigh 1; 1, 2, 3; 1 · 3."""
    layer, pairs = np.array([0, 0, 1, 1]), np.array([[0, 2], [1, 2], [1, 3]])
    plan = Rivals(pairs, layer).plan(np.log([1.0, 2.0, 3.0]))
    assert plan.probability == pytest.approx([4 / 10, 2 / 10, 6 / 10], abs=1e-6)
    assert plan.alone[0] == pytest.approx([6 / 10, 2 / 10, 2 / 10], abs=1e-6)
    assert plan.alone[1] == pytest.approx([4 / 10, 4 / 10, 4 / 10], abs=1e-6)


def test_pairs_that_lead_to_different_layers_do_not_exclude_each_other():
    layer = np.array([0, 1, 2])
    apart = Rivals(np.array([[0, 1], [0, 2], [1, 2]]), layer).plan(np.log([3.0, 3.0, 1.0]))
    assert apart.probability == pytest.approx([0.75, 0.75, 0.5], abs=1e-7)


def test_equal_candidates_share_what_there_is():
    """All of three nodes with all of three, sure that each has somebody: a cycle at every turn."""
    layer = np.repeat([0, 1], 3)
    pairs = np.argwhere(layer[:, None] < layer)
    plan = Rivals(pairs, layer).plan(np.full(9, 12.0))
    assert plan.probability == pytest.approx(np.full(9, 1 / 3), abs=0.01)


@given(candidate_graphs(largest=40.0))
@steady
def test_pairs_of_a_node_never_sum_to_more_than_one(given):
    layer, pairs, log_odds = given
    rivals = Rivals(pairs, layer)
    for turns in (1, 2, 10, 30):
        plan = rivals.plan(log_odds, turns)
        assert ((plan.probability >= 0) & (plan.probability <= 1)).all()
        assert all(((alone > 0) & (alone <= 1)).all() for alone in plan.alone)
        assert max(sums_by_node(pairs, layer, plan.probability).values(), default=0) <= 1 + 1e-12


@given(candidate_graphs(largest=4.0))
@steady
def test_with_the_chance_to_be_alone_they_sum_to_one_once_messages_have_settled(given):
    layer, pairs, log_odds = given
    plan = Rivals(pairs, layer).plan(log_odds, SETTLED)
    sums, alone = sums_by_node(pairs, layer, plan.probability), alone_by_node(pairs, layer, plan)
    assert sums.keys() == alone.keys()
    for place, total in sums.items():
        assert total + alone[place] == pytest.approx(1, abs=1e-6)


@given(candidate_graphs(largest=40.0), st.integers(0, 2**32 - 1))
@steady
def test_the_order_of_the_pairs_does_not_matter(given, seed):
    layer, pairs, log_odds = given
    order = np.random.default_rng(seed).permutation(len(pairs))
    plan, shuffled = Rivals(pairs, layer).plan(log_odds), Rivals(pairs[order], layer).plan(log_odds[order])
    assert shuffled.probability == pytest.approx(plan.probability[order], rel=1e-6, abs=1e-12)
    for one, other in zip(shuffled.alone, plan.alone, strict=True):
        assert one == pytest.approx(other[order], rel=1e-6, abs=1e-12)


def test_odds_beyond_all_bounds_are_sure_and_finite():
    plan = Rivals(np.array([[0, 2], [1, 3]]), np.array([0, 0, 1, 1])).plan(np.array([1e9, -1e9]))
    assert plan.probability == pytest.approx([1, 0], abs=1e-6)
    assert (plan.probability > 0).all()
    assert (plan.probability < 1).all()


def test_no_pairs():
    plan = Rivals(np.empty((0, 2), dtype=np.int64), np.array([0, 1])).plan(np.zeros(0))
    assert plan.probability.shape == plan.alone[0].shape == plan.alone[1].shape == (0,)
