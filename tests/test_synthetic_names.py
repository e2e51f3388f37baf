"""Planted profiles: the promised shares hold, values tell no more than they should, and the network stays the same."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from difflib import SequenceMatcher

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat.io import read, write
from mpxgat.synthetic import social, truth
from mpxgat.synthetic_names import MISSING, first_and_last_names, mistyped, profiles

SIMILAR = 0.55  # of the letters in common, in order


@pytest.fixture(scope="module")
def graph():
    return social(6000, 2, 1, names=True)


def texts(graph, name):
    return np.array(graph.attributes[name].to_pylist())


def both_there(values, pairs):
    return pairs[(values[pairs] != "").all(axis=1)]


def strangers(graph, count, seed=0):
    """Pairs of nodes, one in each of two layers, of different people."""
    rng = np.random.default_rng(seed)
    pairs = np.stack([rng.integers(*graph.layer_start[[a, a + 1]], size=count) for a in (0, 1)], axis=1)
    person = texts(graph, "person")
    return pairs[person[pairs[:, 0]] != person[pairs[:, 1]]]


def share_similar(names, pairs):
    ratios = [SequenceMatcher(None, names[a], names[b], autojunk=False).ratio() for a, b in both_there(names, pairs)]
    return np.mean(np.array(ratios) >= SIMILAR)


def test_three_of_five_true_pairs_have_similar_usernames(graph):
    names = texts(graph, "username")
    assert share_similar(names, truth(graph)) == pytest.approx(0.60, abs=0.03)
    assert share_similar(names, strangers(graph, 2000)) < 0.03


def test_the_shares_hold_between_all_layers():
    graph = social(4000, 3, 2, presence=1.0, names=True)
    names, pairs = texts(graph, "username"), truth(graph)
    for layers in ((0, 1), (0, 2), (1, 2)):
        between = pairs[(graph.node_layer[pairs] == layers).all(axis=1)]
        assert share_similar(names, between) == pytest.approx(0.60, abs=0.03)


def test_strangers_who_share_a_first_name():
    first, last = first_and_last_names(5000, np.random.default_rng(0))
    sharing = [(np.unique(names, return_counts=True)[1] ** 2).sum() / 5000**2 for names in (first, last)]
    assert sharing[0] == pytest.approx(0.15, abs=0.02)
    assert sharing[1] < 0.003
    both = np.strings.add(np.strings.add(first, " "), last)  # a first name says nothing about the last
    namesakes = (np.unique(both, return_counts=True)[1] ** 2).sum() / 5000**2 - 1 / 5000
    assert namesakes == pytest.approx(sharing[0] * (sharing[1] - 1 / 5000), rel=0.2)


@pytest.mark.parametrize("name", ["username", "city", "joined"])
def test_values_are_missing_independently(graph, name):
    missing = texts(graph, name) == ""
    assert missing.mean() == pytest.approx(MISSING[name], abs=0.015)
    one, other = truth(graph).T
    assert (missing[one] & missing[other]).mean() == pytest.approx(MISSING[name] ** 2, abs=0.015)
    others = [texts(graph, other) == "" for other in MISSING if other != name]
    assert all(abs(np.corrcoef(missing, other)[0, 1]) < 0.05 for other in others)


def test_no_username_is_taken_twice_in_a_layer(graph):
    for layer in range(2):
        names = texts(graph, "username")[graph.layer_nodes(layer)]
        there = names[names != ""]
        assert len(np.unique(there)) == len(there)
        assert all(re.fullmatch(r"[a-z0-9._-]{2,40}", each) for each in there)


def test_cities_are_heavy_tailed_and_follow_the_community_in_part(graph):
    cities, community = texts(graph, "city"), texts(graph, "community")
    known = cities[cities != ""]
    counts = np.sort(np.unique(known, return_counts=True)[1])[::-1]
    assert counts[0] > 20 * np.median(counts)
    there = np.flatnonzero(cities != "")
    largest = [np.unique(cities[there[community[there] == each]], return_counts=True)[1] for each in set(community)]
    shares = [counts.max() / counts.sum() for counts in largest]
    assert 0.2 < np.median(shares) < 0.7


def test_cities_of_a_person_agree_in_most_cases_and_far_more_often_than_those_of_strangers(graph):
    cities = texts(graph, "city")
    agree = [
        (cities[pairs[:, 0]] == cities[pairs[:, 1]]).mean()
        for pairs in (both_there(cities, truth(graph)), both_there(cities, strangers(graph, 5000)))
    ]
    assert 0.5 < agree[0] < 0.75  # moved, or written otherwise
    assert agree[1] < 0.1


def test_dates_of_joining_are_weakly_correlated_between_layers(graph):
    days = texts(graph, "joined")
    assert all(date.fromisoformat(day) >= date(2003, 6, 1) for day in days[days != ""])

    def correlation(pairs):
        one, other = days[both_there(days, pairs)].T.astype("datetime64[D]").astype(np.int64)
        return np.corrcoef(one, other)[0, 1]

    assert 0.2 < correlation(truth(graph)) < 0.45
    assert abs(correlation(strangers(graph, 5000))) < 0.06


def test_the_network_is_the_same_without_names():
    for known in (1.0, 0.3):
        plain, named = social(300, 3, 5, known=known), social(300, 3, 5, known=known, names=True)
        assert list(plain.attributes) == ["person", "community"]
        assert list(named.attributes) == ["person", "community", "username", "city", "joined"]
        assert replace(named, attributes=plain.attributes) == plain
        assert {name: named.attributes[name] for name in plain.attributes} == plain.attributes


def test_same_seed_same_profiles_whatever_is_known():
    one, again, other = (social(300, 2, seed, names=True) for seed in (5, 5, 6))
    assert one == again
    assert set(texts(one, "username")) != set(texts(other, "username"))
    assert social(300, 2, 5, names=True, known=0.2).attributes == one.attributes


def test_the_order_of_nodes_does_not_tell_profiles(graph):
    """Rows of one city or of one name are not side by side: each layer has an order of its own."""
    cities = texts(graph, "city")[graph.layer_nodes(0)]
    neighbours = (cities[:-1] == cities[1:]).mean()
    assert neighbours == pytest.approx(
        (np.unique(cities, return_counts=True)[1] ** 2).sum() / len(cities) ** 2, abs=0.03
    )


@pytest.mark.parametrize("people", [1, 2, 10])
def test_small_worlds(people):
    graph = social(people, 2, 0, presence=1.0, names=True)
    assert all(len(column) == 2 * people for column in graph.attributes.values())


def test_people_may_have_nodes_in_any_layers_or_none():
    found = profiles(np.array([3, 0, 3]), np.array([0, 1, 1]), np.array([0, 0, 4, 1]), np.random.default_rng(0))
    assert {name: (len(column), column.type) for name, column in found.items()} == dict.fromkeys(
        MISSING, (3, pa.large_string())
    )


def test_profiles_survive_a_file(tmp_path):
    graph = social(80, 2, 3, names=True)
    write(graph, tmp_path / "named.mpxg")
    assert read(tmp_path / "named.mpxg") == graph


@given(st.lists(st.text("abc._1", min_size=2, max_size=12), min_size=1, max_size=8), st.integers(0, 2**31))
def test_a_mistyped_text_is_one_slip_away(written, seed):
    found = mistyped(np.array(written), np.random.default_rng(seed)).tolist()
    for text, wrong in zip(written, found, strict=True):
        places = range(1, len(text))
        slips = {text[: place + 1] + text[place:] for place in places}
        slips |= {text[:place] + text[place + 1 :] for place in places}
        slips |= {text[: place - 1] + text[place] + text[place - 1] + text[place + 1 :] for place in places}
        assert wrong in slips
