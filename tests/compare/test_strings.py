"""Texts and names of people: rapidfuzz's own numbers, plain n-grams, and what is found among many."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from mpxgat.compare import parse
from mpxgat.compare.words import gram_rows, one_spelling, without_accents, words_of
from mpxgat.pairs import PairList
from tests.compare.doubles import all_pairs, graph_of
from tests.matching.doubles import steady


def compared(kind, *values):
    return parse(f"u:{kind}").prepare(graph_of(len(values), u=list(values)))


def numbers(kind, one, other, *others):
    found = compared(kind, one, other, *others).numbers(PairList(np.array([[0, 1]])))
    return {name.partition(", ")[2]: float(value[0]) for name, value in found.items()}


def test_texts_are_compared_by_rapidfuzz():
    found = numbers("text", "Ann.B  SMITH", "ann_smyth")
    assert found["edit similarity"] == pytest.approx(Levenshtein.normalized_similarity("ann.b smith", "ann_smyth"))
    assert found["word similarity"] == pytest.approx(fuzz.token_set_ratio("ann b smith", "ann smyth") / 100)
    assert found["equal and rare"] == 0
    assert found["both there"] == 1


def test_case_width_and_spaces_are_no_difference():
    found = numbers("text", "ＡＮＮ  B", " ann b\t", "c", "d")
    assert found["edit similarity"] == found["word similarity"] == 1
    assert found["n-gram similarity"] == pytest.approx(1)
    assert found["equal and rare"] == pytest.approx(-math.log(2 / 4))


def plain_grams(text):
    grams = Counter()
    for word in words_of(text):
        padded = f" {word} "
        grams.update(padded[i : i + size] for size in (2, 3) for i in range(len(padded) - size + 1))
    return grams


@steady
@given(st.lists(st.text(min_size=1).map(lambda text: one_spelling(text)[0]).filter(bool), min_size=1, max_size=8))
def test_n_grams_against_plain_counters(texts):
    counted = [plain_grams(text) for text in texts]
    spread = Counter(gram for grams in counted for gram in grams)
    weighted = [
        {gram: (1 + math.log(often)) * math.log1p(len(texts) / spread[gram]) for gram, often in grams.items()}
        for grams in counted
    ]
    rows = gram_rows([words_of(text) for text in texts])
    assert rows.shape == (len(texts), len(spread))
    products = (rows @ rows.T).toarray()
    for i, one in enumerate(weighted):
        for j, other in enumerate(weighted):
            dot = sum(value * other.get(gram, 0) for gram, value in one.items())
            lengths = math.hypot(*one.values()) * math.hypot(*other.values())
            assert products[i, j] == pytest.approx(dot / lengths)


def test_n_grams_of_parts_are_those_of_the_whole(monkeypatch):
    texts = [[f"word{number}", "more"] for number in range(50)]
    whole = gram_rows(texts)
    monkeypatch.setattr("mpxgat.compare.words._CHARACTERS_AT_ONCE", 40)
    assert (gram_rows(texts) != whole).nnz == 0


def test_a_nul_is_a_character_like_others():
    found = numbers("text", "a\x00b", "ab")
    assert 0 < found["edit similarity"] < 1
    assert 0 < found["n-gram similarity"] < 1


def test_words_stand_between_punctuation_and_spaces():
    assert words_of("ann.b_smith (jr) 😀 हिन्दी") == ["ann", "b", "smith", "jr", "😀", "हिन्दी"]
    assert words_of("*** --") == ["***", "--"]


def test_long_texts_are_told_apart_by_their_ends():
    one, other = "x" * 10_000, "x" * 9_999 + "y"
    assert numbers("text", one, one, other)["equal and rare"] == pytest.approx(-math.log(2 / 3))
    assert numbers("text", one, other)["equal and rare"] == 0
    assert numbers("text", one, other)["edit similarity"] == 1  # by the beginnings


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("J. Smith", "John Smith", 1),
        ("Smith, John", "J Smith", 1),
        ("John Smith", "Jane Smith", 0.5),
        ("J. R. Smith", "John Ronald Smith", 1),
        ("J. J. Smith", "John Smith", 1),  # of the shorter's two
        ("John James Smith", "J. Smith", 1),
        ("John Smith", "Smith John", 1),
        ("J. J.", "John", 1),
        ("Ann", "Bob", 0),
        ("O’Brien", "OBrien", 1),
    ],
)
def test_initials_agree_with_words(one, other, expected):
    assert numbers("name", one, other)["words or initials agree"] == expected
    assert numbers("name", other, one)["words or initials agree"] == expected


def test_accents_and_order_are_no_difference_of_names():
    found = numbers("name", "José García", "garcia, JOSE", "Ann Garcia", "Bob Hall")
    assert found["edit similarity"] == 1  # what stands before a comma is the last name
    assert found["equal and rare"] == pytest.approx(-math.log(2 / 4))
    assert found["last word equal and rare"] == pytest.approx(-math.log(3 / 4))
    assert numbers("name", "Wei Li", "Li Wei")["edit similarity in any order"] == 1
    assert numbers("name", "Wei Li", "Li Wei")["edit similarity"] < 1
    assert numbers("text", "José", "Jose")["equal and rare"] == 0
    assert without_accents("\u0301")[0]  # nothing but an accent is still a value


def test_values_are_shown_as_they_stand():
    found = compared("text", "Ann.B", "ann.b", "bob\n", "x" * 1000, "")
    assert found.describe(0, 1) == "'Ann.B' = 'ann.b'"
    assert found.describe(0, 2) == r"'Ann.B' ~ 'bob\n'"
    assert found.describe(3, 0) == f"'{'x' * 40}…' ~ 'Ann.B'"
    assert found.describe(4, 0) == "missing on one side"


def test_the_most_similar_are_proposed():
    values = ["ann.b", "bob.c", "carol", "annb", "bobc", "xyz", "", "carole"]
    found = parse("u:text").prepare(graph_of(3, 5, u=values))
    keys = found.proposals(np.arange(3), np.arange(3, 8), 1)
    assert keys.tolist() == [0 * 5 + 0, 1 * 5 + 1, 2 * 5 + 4]


def test_proposals_are_those_of_all_pairs_by_n_grams():
    rng = np.random.default_rng(0)
    values = ["".join(rng.choice(list("abcdef"), 5)) for _ in range(60)]
    found = parse("u:text").prepare(graph_of(30, 30, u=values))
    similar = found.numbers(PairList(all_pairs(60)))["u, n-gram similarity"].reshape(60, 60)[:30, 30:]
    keys = found.proposals(np.arange(30), np.arange(30, 60), 4)
    chosen = np.zeros(similar.shape, dtype=bool)
    chosen.ravel()[keys] = True
    for one, of_node in ((similar, chosen), (similar.T, chosen.T)):
        for value, picked in zip(one, of_node, strict=True):
            best = np.sort(value)[::-1][:4]
            assert np.sort(value[picked])[::-1][: (best > 0).sum()] == pytest.approx(best[best > 0])


def test_a_value_that_many_have_proposes_few_of_them_each_and_different_ones():
    found = parse("u:text").prepare(graph_of(4, 8, u=["ann"] * 12))
    keys = found.proposals(np.arange(4), np.arange(4, 12), 2)
    taken = [set((keys[keys // 8 == row] % 8).tolist()) for row in range(4)]
    assert {col for row in taken for col in row} == set(range(8))
    assert len(keys) <= 2 * (4 + 8)


def test_rows_that_meet_many_others_are_cut_and_still_find_their_like(monkeypatch):
    monkeypatch.setattr("mpxgat.compare.similar._LOOKED_AT", 3)
    values = [f"common {word}" for word in ("ann", "bob", "carol", "dave")] * 2
    found = parse("u:text").prepare(graph_of(4, 4, u=values))
    keys = found.proposals(np.arange(4), np.arange(4, 8), 1)
    assert {0, 5, 10, 15} <= set(keys.tolist())
