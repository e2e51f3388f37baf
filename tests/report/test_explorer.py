"""The explorer's data: the network, candidates, reasons; that it stays small."""

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat.models import make_model
from mpxgat.report.explorer import encoded, explorer_data, explorer_section, shortlist
from mpxgat.report.page import Page
from mpxgat.synthetic import social
from tests.matching.doubles import TableMatcher, steady
from tests.report.networks import HOSTILE, hostile, people


def decoded(found):
    dtype = np.dtype(found["type"]).newbyteorder("<")
    return np.frombuffer(base64.b64decode(found["base64"]), dtype)


@pytest.fixture(scope="module")
def matcher():
    return people()


def test_the_network_comes_back(matcher):
    graph, data = matcher.graph, explorer_data(matcher)
    assert data["layers"] == list(graph.layers)
    assert data["ids"] == graph.ids.to_pylist()
    assert data["layer_start"] == graph.layer_start.tolist()
    assert decoded(data["intra"]).reshape(-1, 2).tolist() == graph.intra.tolist()
    assert decoded(data["inter"]).reshape(-1, 2).tolist() == graph.inter.tolist()
    assert json.loads(json.dumps(data)) == data


def test_candidates_have_the_reasons_that_the_model_gives(matcher):
    data = explorer_data(matcher)["candidates"]
    pairs = decoded(data["pairs"]).reshape(-1, 2).tolist()
    start, label, finding = (decoded(data[name]).tolist() for name in ("start", "label", "finding"))
    contribution = decoded(data["contribution"])
    assert len(pairs) == 3  # the fourth has a probability below .01
    for row, (first, second) in enumerate(pairs):
        why = matcher.explain(first, second)
        here = slice(start[row], start[row + 1])
        assert [data["labels"][i] for i in label[here]] == [reason.label for reason in why.reasons]
        assert [data["findings"][i] for i in finding[here]] == [reason.finding for reason in why.reasons]
        assert contribution[here] == pytest.approx([reason.contribution for reason in why.reasons], abs=1e-6)
        assert decoded(data["base"])[row] == pytest.approx(why.base)
        assert decoded(data["probability"])[row] == pytest.approx(why.probability)


def test_the_most_probable_come_first_and_the_rest_is_counted(matcher):
    found = shortlist(matcher, most_pairs=2)
    assert found.probability.tolist() == [0.93, 0.6]
    assert found.left_out == 1


def test_a_node_shows_its_best_over_all_layers():
    """Node 0 could be any of 5 nodes in each of 3 layers: of the 15 those stay that are its best or have no other."""
    graph = social(people=30, layers=4, seed=100, known=0.0, presence=1.0)
    starts = graph.layer_start[1:4].tolist()
    table = {
        (0, begin + i): 0.9 - 0.01 * place for place, (begin, i) in enumerate((b, i) for b in starts for i in range(5))
    }
    table |= {(1, begin + i): 0.99 for begin in starts for i in range(5)}
    found = shortlist(TableMatcher(graph, table))
    # Every one of the 15 has two candidates only, so its own list keeps both.
    assert len(found.pairs) == 30
    table |= {(n, begin + i): 0.95 for n in range(2, 9) for begin in starts for i in range(5)}
    found = shortlist(TableMatcher(graph, table))
    assert (found.pairs[:, 0] == 0).sum() == 6


def test_a_model_that_does_not_match_says_so(matcher):
    data = explorer_data(make_model("rules").fit(matcher.graph))
    assert "candidates" not in data
    assert data["why_none"] == "The model rules does not say who is who, so there are no candidates to show."


def test_one_layer_has_nothing_to_match(matcher):
    data = explorer_data(TableMatcher(matcher.graph.layer("work"), {}))
    assert data["why_none"] == "The network has one layer, so there is nobody to be matched."


def test_too_few_known_links_are_mentioned(monkeypatch, matcher):
    from mpxgat.matching import Candidates

    silent = Candidates(np.empty((0, 2), dtype=np.int32), np.empty(0), "too few links")
    monkeypatch.setattr(TableMatcher, "candidates", lambda *_: silent)
    assert explorer_data(matcher)["candidates"]["silence"] == ["too few links"]


def test_hostile_ids_stay_inside_their_element():
    text = Page("hostile", [explorer_section(hostile())]).html()
    assert HOSTILE[0] not in text
    assert "<img" not in text
    assert "\\u003cscript\\u003e" in text
    assert text.count("</script>") == text.count("<script")


def test_a_network_of_20_000_nodes_is_a_small_page():
    graph = social(people=2120, layers=13, seed=100, mean_degree=6)
    assert 18_000 < graph.n_nodes < 21_000
    assert len(Page("large", [explorer_section(TableMatcher(graph, {}))]).html().encode()) < 1_500_000


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
@steady
def test_whole_numbers_come_back(numbers):
    assert decoded(encoded(np.array(numbers, dtype=np.int64))).tolist() == numbers


@pytest.mark.parametrize(
    ("most", "name"), [(0, "uint8"), (255, "uint8"), (256, "uint16"), (65_535, "uint16"), (65_536, "int32")]
)
def test_the_smallest_type_is_taken(most, name):
    assert encoded(np.array([0, most]))["type"] == name


def test_negative_numbers_need_a_sign():
    assert encoded(np.array([-1]))["type"] == "int32"


def test_real_numbers_are_halved_in_size():
    found = encoded(np.array([0.5, -1.25]))
    assert found["type"] == "float32"
    assert decoded(found).tolist() == [0.5, -1.25]


def test_rows_stand_one_after_another():
    assert decoded(encoded(np.array([[1, 2], [3, 4]]).T)).tolist() == [1, 3, 2, 4]


def test_too_large_numbers_are_refused():
    with pytest.raises(OverflowError, match="2147483648"):
        encoded(np.array([2**31]))
