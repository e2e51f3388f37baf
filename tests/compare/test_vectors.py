"""Vectors against slow, plain versions of their numbers."""

import numpy as np
import pytest

from mpxgat.compare import parse
from mpxgat.errors import DataWarning, SettingError
from mpxgat.pairs import PairList
from tests.compare.doubles import all_pairs, graph_of

COUNTS = np.array([[2, 0, 1], [2, 0, 1], [0, 3, 0], [1, 1, 1], [0, 0, 0]])


def numbers(compared, pairs):
    return {name.partition(", ")[2]: value for name, value in compared.numbers(PairList(np.array(pairs))).items()}


def test_counts_against_plain_numpy():
    compared = parse("v:*:vector").prepare(graph_of(3, 2, vertical=COUNTS))
    assert compared.form == "counts"
    found = numbers(compared, all_pairs(5))
    weight = np.log1p(4 / (COUNTS > 0).sum(axis=0))
    for place, (i, j) in enumerate(all_pairs(5)):
        one, other = COUNTS[i].astype(float), COUNTS[j].astype(float)
        if 4 in (i, j):
            assert all(value[place] == 0 for value in found.values())
            continue
        expected = {
            "cosine": cosine(one, other),
            "cosine of weighted counts": cosine(one * weight, other * weight),
            "cosine of weighted presence": cosine((one > 0) * weight, (other > 0) * weight),
            "overlap": np.minimum(one, other).sum() / np.maximum(one, other).sum(),
            "difference of log totals": abs(np.log(one.sum() / other.sum())),
            "smaller of the larger total": min(one.sum(), other.sum()) / max(one.sum(), other.sum()),
            "both there": 1,
        }
        assert {name: value[place] for name, value in found.items()} == pytest.approx(expected)
    assert compared.competing == ("v:*, cosine of weighted counts", "v:*, overlap")
    assert compared.label == "v:*"


def cosine(one, other):
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


def test_plain_vectors_have_a_cosine():
    values = np.array([[1, -1], [-1, 1], [1e38, 0], [1e-38, 0], [0, 0]])
    compared = parse("h:*:vector").prepare(graph_of(5, horizontal=values))
    assert compared.form == "plain"
    found = numbers(compared, [[0, 1], [2, 3], [0, 2], [2, 4]])
    assert found["cosine"] == pytest.approx([-1, 1, 0.5**0.5, 0], abs=1e-6)
    assert found["cosine above 0"] == pytest.approx([0, 1, 0.5**0.5, 0], abs=1e-6)
    assert found["both there"].tolist() == [1, 1, 1, 0]
    assert compared.describe(0, 2) == "cosine 0.71"
    assert compared.describe(0, 4) == "missing on one side"
    assert compared.describe(4, 4) == "missing on both sides"


def test_the_form_that_was_learned_stays():
    graph = graph_of(5, vertical=COUNTS)
    learned = parse("v:*:vector").prepare(graph)
    assert parse("v:*:vector").prepare(graph, learned.form).names == learned.names
    plain = parse("v:*:vector").prepare(graph, "plain")
    assert plain.form == "plain"
    assert plain.names == ("v:*, cosine", "v:*, cosine above 0", "v:*, both there")
    negative = graph_of(5, vertical=-COUNTS)
    with pytest.raises(SettingError, match=r"node 'n0000' \(layer 'layer 0'\): -2 lies below 0, expected counts"):
        parse("v:*:vector").prepare(negative, "counts")
    with pytest.raises(SettingError, match="has the form 'odd', expected counts or plain"):
        parse("v:*:vector").prepare(graph, "odd")


@pytest.mark.parametrize(
    "lists", [["1 0 2", "1,0,2", "1; 0;2", "[1, 0, 2.0]"], ["1e0 0 2.0", " 1 0 2 ", "1,\t0\n2", "+1 0 2"]]
)
def test_lists_of_numbers_in_many_spellings(lists):
    compared = parse("profile:vector").prepare(graph_of(3, 2, profile=[*lists, ""]))
    found = numbers(compared, [[0, 1], [0, 2], [0, 3], [0, 4]])
    assert found["cosine"] == pytest.approx([1, 1, 1, 0])
    assert found["both there"].tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize(
    "value",
    ["1 2 x", "[1, 2", "[1, true]", "[1, [2]]", "1 nan", "1e99 0", "[1e400, 1]", "[" * 5000, "[1" + "0" * 400 + ", 1]"],
)
def test_what_is_no_list_of_numbers_is_refused(value):
    with pytest.raises(SettingError) as problem:
        parse("p:vector").prepare(graph_of(2, p=["1 2", value]))
    assert str(problem.value).startswith("column 'p', node 'n0001' (layer 'layer 0'): '")
    assert "is no vector, expected numbers separated by spaces, commas or semicolons, or a JSON list" in str(
        problem.value
    )


def test_vectors_of_different_width_are_refused():
    with pytest.raises(SettingError, match=r"node 'n0001' .*: 3 numbers, expected 2 as node 'n0000'"):
        parse("p:vector").prepare(graph_of(1, 1, p=["1 2", "1 2 3"]))


def test_a_missing_value_may_be_said_in_words():
    with pytest.warns(DataWarning, match="in column 'p' 'NA' are taken for no value"):
        compared = parse("p:vector").prepare(graph_of(2, p=["1 2", "NA"]))
    assert compared.describe(0, 1) == "missing on one side"


def test_one_feature_is_no_vector():
    with pytest.raises(SettingError, match=r"expected the kind number, or v:\*:vector"):
        parse("v:f1:vector").prepare(graph_of(5, vertical=COUNTS))


@pytest.mark.parametrize(("column", "near"), [("v:f9", "v:f0"), ("h:*", "v:*"), ("citi", "city")])
def test_an_unknown_column_is_refused_with_a_near_name(column, near):
    graph = graph_of(5, vertical=COUNTS, city=[""] * 5)
    with pytest.raises(SettingError, match=r"no column .* to compare; did you mean .*there are 'city', 'v:"):
        parse(f"{column}:vector").prepare(graph)
    with pytest.raises(SettingError, match="there is none"):
        parse("city:vector").prepare(graph_of(2))


@pytest.mark.parametrize("signed", [False, True])
def test_proposals_are_the_most_similar_of_both_sides(signed):
    rng = np.random.default_rng(0)
    values = rng.random((60, 8)) * (rng.random((60, 8)) < 0.5)
    values = values - 0.3 * signed
    compared = parse("v:*:vector").prepare(graph_of(30, 30, vertical=values))
    ours, theirs = np.arange(3, 30), np.arange(30, 55)
    what = "cosine" if signed else "cosine of weighted counts"
    pairs = np.stack(np.meshgrid(ours, theirs, indexing="ij"), axis=-1).reshape(-1, 2)
    similar = numbers(compared, pairs)[what].reshape(len(ours), len(theirs))
    k = 3
    wanted = (np.argsort(np.argsort(-similar, axis=1), axis=1) < k) | (
        np.argsort(np.argsort(-similar, axis=0), axis=0) < k
    )
    wanted &= similar > 0
    assert compared.proposals(ours, theirs, k).tolist() == np.flatnonzero(wanted.ravel()).tolist()
