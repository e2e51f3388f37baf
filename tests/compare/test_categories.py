"""Categories: equal or not, and how rare."""

import math

import numpy as np
import pytest

from mpxgat.compare import parse
from mpxgat.pairs import PairList
from tests.compare.doubles import graph_of

CITIES = ["Paris", "paris ", "Rome", "Rome", "Oslo", "Oslo", "Rome", ""]


@pytest.fixture
def city():
    return parse("city:category").prepare(graph_of(4, 4, city=CITIES))


def test_equal_values_weigh_by_their_rarity(city):
    found = city.numbers(PairList(np.array([[0, 1], [0, 2], [2, 3], [2, 7]])))
    assert found["city, equal"].tolist() == [1, 0, 1, 0]
    assert found["city, equal and rare"] == pytest.approx([-math.log(2 / 7), 0, -math.log(3 / 7), 0])
    assert found["city, both there"].tolist() == [1, 1, 1, 0]
    assert city.competing == ("city, equal and rare",)


def test_values_are_shown(city):
    assert city.describe(0, 1) == "Paris = paris "
    assert city.describe(0, 2) == "Paris and Rome"
    assert city.describe(7, 7) == "missing on both sides"


def test_rare_values_propose_and_common_ones_do_not():
    values = ["a", "a", "a", "b", "c", "c", "a", "a", "a", "b", "c", ""]
    found = parse("city:category").prepare(graph_of(6, 6, city=values))
    ours, theirs = np.arange(6), np.arange(6, 12)
    keys = found.proposals(ours, theirs, 2)
    assert keys.tolist() == [3 * 6 + 3, 4 * 6 + 4, 5 * 6 + 4]
    assert len(found.proposals(ours, theirs, 3)) == 3 + 9


def test_a_value_rare_on_one_side_is_proposed_to_all_of_the_other():
    found = parse("city:category").prepare(graph_of(1, 9, city=["a"] * 10))
    assert found.proposals(np.arange(1), np.arange(1, 10), 1).tolist() == list(range(9))
