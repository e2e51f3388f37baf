"""What every kind of comparison promises, whatever the data."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat.compare import KINDS, Comparison, parse
from mpxgat.errors import SettingError
from mpxgat.pairs import PairGrid, PairList
from tests.compare.doubles import all_pairs, graph_of
from tests.matching.doubles import steady

words = st.sampled_from(
    ["ann", "Ann", "bob", "j.", "josé", "jose", "😀", "李", "\x00", "smith-jones", "--", "O'Brien", "̈"]
)
texts = st.lists(words, max_size=4).map(" ".join) | st.text(max_size=12)
numbers = st.floats(-1e100, 1e100).map(repr) | st.integers(-3, 3).map(str) | st.integers(0, 10**9).map(str)
dates = st.datetimes().map(lambda moment: moment.isoformat()) | st.dates().map(str)
lists = st.lists(st.integers(-2, 4), min_size=3, max_size=3).map(str)
counts = st.lists(st.integers(0, 3) | st.floats(0, 2.0**100, width=32), min_size=3, max_size=3).map(str)
VALUES = {"text": texts, "name": texts, "category": texts, "number": numbers, "date": dates, "vector": lists | counts}
KIND_VALUES = [(kind, VALUES[kind]) for kind in KINDS] + [("vector", counts)]


@st.composite
def declared(draw):
    """A comparison, and two layers of some nodes that it fits."""
    kind, values = draw(st.sampled_from(KIND_VALUES))
    column = draw(st.lists(st.just("") | values, min_size=2, max_size=9))
    return Comparison("a", kind), graph_of(1, len(column) - 1, a=column)


prepared = declared().map(lambda given_: (given_[0].prepare(given_[1]), given_[1].n_nodes))


@steady
@given(prepared)
def test_numbers_are_finite_symmetric_and_the_same_in_lists_and_grids(given_):
    compared, n = given_
    found = compared.numbers(PairList(all_pairs(n)))
    grid = compared.numbers(PairGrid(np.arange(n), np.arange(n)))
    assert tuple(found) == tuple(grid) == compared.names
    assert set(compared.competing) < set(compared.names)
    there = np.logical_and.outer(compared.there, compared.there)
    for name, value in found.items():
        square = value.reshape(n, n)
        assert value.dtype == np.float64
        assert np.isfinite(value).all()
        assert (square[~there] == 0).all()
        np.testing.assert_allclose(square, square.T, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(square, grid[name], rtol=1e-9, atol=1e-12)
        if name in compared.competing:
            assert (value >= 0).all()
    assert np.array_equal(found["a, both there"].reshape(n, n), there)


@steady
@given(prepared, st.integers(1, 4))
def test_proposals_are_pairs_of_values_that_are_alike(given_, k):
    compared, n = given_
    ours, theirs = np.arange(0, n, 2), np.arange(n)
    keys = compared.proposals(ours, theirs, k)
    assert keys.dtype == np.int64
    assert (np.diff(keys) > 0).all()
    assert len(keys) <= k * (len(ours) + len(theirs))
    assert ((keys >= 0) & (keys < len(ours) * len(theirs))).all()
    pairs = np.stack([ours[keys // n], theirs[keys % n]], axis=1)
    found = compared.numbers(PairList(pairs))
    assert (found["a, both there"] == 1).all()
    assert compared.proposals(ours, theirs[:0], k).tolist() == compared.proposals(ours, theirs, 0).tolist() == []


@steady
@given(prepared)
def test_everything_can_be_pickled_asked_side_by_side_and_described(given_):
    compared, n = given_
    again = pickle.loads(pickle.dumps(compared))  # noqa: S301 - made here
    pairs = PairList(all_pairs(n))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda which: which.numbers(pairs), [compared, compared, again, again]))
    for name, value in compared.numbers(pairs).items():
        assert all(np.array_equal(answer[name], value) for answer in answers)
    for i, j in all_pairs(n):
        assert compared.describe(i, j).isprintable()
        assert len(compared.describe(i, j)) < 600


@steady
@given(declared())
def test_the_form_that_the_data_decided_gives_the_same_numbers(given_):
    comparison, graph = given_
    compared = comparison.prepare(graph)
    again = comparison.prepare(graph, compared.form)
    assert again.form == compared.form
    pairs = PairList(all_pairs(graph.n_nodes))
    for name, value in compared.numbers(pairs).items():
        assert np.array_equal(value, again.numbers(pairs)[name])


def some(kind, n, seed=0):
    """(n,) values, half of them shared, some missing."""
    rng = np.random.default_rng(seed)
    number = rng.integers(0, n, n)
    of_kind = {
        "text": lambda i: f"user {i} x{i % 7}",
        "name": lambda i: f"Ann{chr(97 + i % 26)} Smith{i}",
        "category": lambda i: f"city {i % 5}",
        "number": lambda i: str(i * 1.5),
        "date": lambda i: f"20{i % 30 + 10}-01-0{i % 9 + 1}",
        "vector": lambda i: f"{i % 3} {i % 5} 1",
    }[kind]
    return ["" if i % 6 == 0 else of_kind(int(i)) for i in number]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_the_column_is_read(kind):
    values = some(kind, 40)
    graph = graph_of(20, 20, a=values, b=[f"{i}" for i in range(40)], vertical=np.arange(80).reshape(40, 2))
    rng = np.random.default_rng(1)
    order = rng.permutation(40)
    other = replace(
        graph,
        ids=graph.ids.take(pa.array(order)),
        attributes={"a": graph.attributes["a"], "b": graph.attributes["b"].take(pa.array(order))},
        intra=np.array([[0, 1], [2, 3]], dtype=np.int32),
        inter=np.array([[0, 25]], dtype=np.int32),
        vertical_features=graph.vertical_features.take(order),
    )
    one, two = (Comparison("a", kind).prepare(each) for each in (graph, other))
    pairs, ours, theirs = PairList(all_pairs(40)), np.arange(20), np.arange(20, 40)
    assert one.form == two.form
    for name, value in one.numbers(pairs).items():
        assert np.array_equal(value, two.numbers(pairs)[name])
    assert np.array_equal(one.proposals(ours, theirs, 5), two.proposals(ours, theirs, 5))
    assert one.describe(3, 30) == two.describe(3, 30)


class Closed:
    """A graph that refuses to be asked for anything but its layers and attributes, and these only by name."""

    def __init__(self, graph, column):
        self._graph, self._column = graph, column

    def __getattr__(self, name):
        if name == "attributes":
            return {self._column: self._graph.attributes[self._column]}
        if name in ("n_nodes", "layer_start", "horizontal_features", "vertical_features"):
            return None if name.endswith("features") else getattr(self._graph, name)
        raise AssertionError(f"{name} was read")


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_never_read(kind):
    graph = graph_of(20, 20, a=some(kind, 40))
    compared = Comparison("a", kind).prepare(Closed(graph, "a"))
    compared.numbers(PairList(all_pairs(40)))
    compared.proposals(np.arange(20), np.arange(20, 40), 3)
    assert compared.describe(1, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [["", "", ""], ["{0}", "{0}", "{0}"], ["{0}"], [""], ["{0}", "", "{0}"]])
def test_all_missing_all_equal_and_a_single_node(kind, values):
    value = next(value for value in some(kind, 40) if value)
    column = [text.format(value) for text in values]
    n = len(column)
    compared = Comparison("a", kind).prepare(graph_of(n, a=column))
    for number in compared.numbers(PairList(all_pairs(n))).values():
        assert np.isfinite(number).all()
    compared.proposals(np.arange(n), np.arange(n), 2)
    assert compared.describe(0, n - 1)
    assert set(compared.numbers(PairList(np.empty((0, 2), dtype=np.int64)))) == set(compared.names)
    assert all(value.shape == (0, n) for value in compared.numbers(PairGrid(np.arange(0), np.arange(n))).values())


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_graph_can_be_prepared(kind):
    assert Comparison("a", kind).prepare(graph_of(0, a=[])).proposals(np.arange(0), np.arange(0), 3).tolist() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_form_learned_elsewhere_gives_the_same_columns(kind):
    learned = Comparison("a", kind).prepare(graph_of(20, 20, a=some(kind, 40)))
    again = Comparison("a", kind).prepare(graph_of(25, 25, a=some(kind, 50, seed=3)), learned.form)
    assert (again.form, again.names, again.competing) == (learned.form, learned.names, learned.competing)
    with pytest.raises(SettingError, match="column 'a' has the form 'odd', expected"):
        Comparison("a", kind).prepare(graph_of(1, a=[""]), "odd")


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_may_be_called_otherwise_in_some_layers(kind):
    values = some(kind, 40)
    mine, yours = [*values[:20], *[""] * 20], [*["ignored"] * 20, *values[20:]]
    one = Comparison("a", kind).prepare(graph_of(20, 20, a=values))
    two = parse(f"mine=yours:{kind}").prepare(graph_of(20, 20, mine=mine, yours=yours))
    pairs = PairList(all_pairs(40))
    for value, other in zip(one.numbers(pairs).values(), two.numbers(pairs).values(), strict=True):
        assert np.array_equal(value, other)
    assert two.label == "mine"
    with pytest.raises(SettingError, match="no column 'your' to compare; did you mean 'yours'"):
        parse(f"mine=your:{kind}").prepare(graph_of(20, 20, mine=mine, yours=yours))


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_column_is_refused_with_a_near_name(kind):
    with pytest.raises(SettingError, match=r"no column 'usrname' to compare; did you mean 'username'\? there are"):
        Comparison("usrname", kind).prepare(graph_of(2, username=["", ""], city=["", ""]))
    with pytest.raises(SettingError, match=r"no column 'h:\*' to compare; there is none"):
        Comparison("h:*", kind).prepare(graph_of(2))


@pytest.mark.parametrize("kind", ["text", "name", "category", "date"])
def test_features_are_no_texts(kind):
    with pytest.raises(SettingError, match=r"'v:f1' holds features, expected the kind number or vector"):
        Comparison("v:f1", kind).prepare(graph_of(2, vertical=[[1, 2], [3, 4]]))


def test_values_of_a_million_characters_are_compared_at_once():
    values = ["ab" * 5_000_000, "ab" * 5_000_000 + "c", "".join(map(chr, range(0x4E00, 0x9FFF))) * 100, "ﷺ" * 1_000_000]
    for kind in ("text", "name", "category"):
        compared = Comparison("a", kind).prepare(graph_of(2, 2, a=values))
        found = compared.numbers(PairList(all_pairs(4)))
        assert found["a, equal and rare"].reshape(4, 4)[0, 1] == 0  # the last character differs
        compared.proposals(np.arange(2), np.arange(2, 4), 2)
        assert all(len(compared.describe(i, j)) < 200 for i, j in all_pairs(4))
    for kind in ("number", "date", "vector"):
        with pytest.raises(SettingError) as problem:
            Comparison("a", kind).prepare(graph_of(2, 2, a=values))
        assert len(str(problem.value)) < 300
