"""Compiled loops against plain NumPy: overlaps, largest entries, largest products, competitors."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mpxgat import kernels
from mpxgat.kernels import (
    agreeing_words,
    largest_entries,
    largest_of_groups,
    largest_of_product,
    most_similar,
    overlaps,
    overlaps_of_product,
    sums_of_minima,
)
from tests.matching.doubles import steady


def sparse_rows(rows, columns, seed, *, share=0.4, dtype=np.float32):
    """Random entries above 0, all of them different."""
    rng = np.random.default_rng(seed)
    values = rng.permutation(np.arange(1, rows * columns + 1)).reshape(rows, columns) / (rows * columns)
    return np.where(rng.random((rows, columns)) < share, values, 0).astype(dtype)


@steady
@given(rows=st.integers(1, 8), columns=st.integers(1, 8), count=st.integers(0, 30), seed=st.integers(0, 99))
def test_overlaps_are_products_of_rows(rows, columns, count, seed):
    left, right = sparse_rows(rows, columns, seed), sparse_rows(rows, columns, seed + 1)
    first, second = np.random.default_rng(seed).integers(rows, size=(2, count))
    found = overlaps(sparse.csr_array(left), sparse.csr_array(right), first, second)
    assert found == pytest.approx((left[first] * right[second]).sum(axis=1), abs=1e-5)


def test_entries_that_stand_twice_are_added():
    rows = sparse.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert overlaps(rows, rows, np.array([0]), np.array([0])) == pytest.approx([9.0])


@steady
@given(
    rows=st.integers(0, 8),
    cols=st.integers(0, 8),
    k=st.integers(1, 9),
    width=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_most_similar_of_both_sides(rows, cols, k, width, seed):
    left, right = sparse_rows(rows, width, seed), sparse_rows(cols, width, seed + 1)
    found = set(most_similar(sparse.csr_array(left), sparse.csr_array(right), k).tolist())
    product = left.astype(np.float64) @ right.T
    expected = set()
    for table, key in ((product, lambda i, j: i * cols + j), (product.T, lambda j, i: i * cols + j)):
        for number, line in enumerate(table):
            best = [place for place in np.argsort(-line)[:k] if line[place] > 0]
            expected |= {key(number, int(place)) for place in best}
    assert found == expected


def test_of_equals_the_first_are_most_similar():
    same = sparse.csr_array(np.ones((5, 1), dtype=np.float32))
    assert set(most_similar(same, same, 1).tolist()) == {0, 5, 10, 15, 20, 1, 2, 3, 4}


@steady
@given(
    rows=st.integers(0, 8),
    cols=st.integers(1, 8),
    k=st.integers(1, 9),
    width=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_the_largest_entries_of_a_product(rows, cols, k, width, seed):
    left, right = sparse_rows(rows, width, seed), sparse_rows(width, cols, seed + 1)
    found = largest_of_product(sparse.csr_array(left), sparse.csr_array(right), k).toarray()
    product = left.astype(np.float64) @ right
    least = -np.sort(-product, axis=1)[:, min(k, cols) - 1] if rows else np.zeros(0)
    expected = np.where(product >= least[:, None], product, 0)
    assert found == pytest.approx(expected, abs=1e-6)


@steady
@given(rows=st.integers(0, 6), columns=st.integers(1, 9), k=st.integers(1, 5), seed=st.integers(0, 99))
def test_the_largest_entries_of_rows(rows, columns, k, seed):
    dense = sparse_rows(rows, columns, seed)
    found = largest_entries(sparse.csr_array(dense), k)
    least = -np.sort(-dense, axis=1)[:, min(k, columns) - 1]
    assert np.array_equal(found.toarray(), np.where(dense >= least[:, None], dense, 0))
    assert found.has_sorted_indices


@pytest.mark.parametrize("width", [10, 3000])
def test_the_largest_of_many_values_with_equals(width):
    rng = np.random.default_rng(width)
    dense = rng.integers(1, 40, (30, width)).astype(np.float32)
    found = largest_entries(sparse.csr_array(dense), 7)
    values = np.sort(found.data.reshape(30, 7), axis=1)
    assert np.array_equal(values, np.sort(dense, axis=1)[:, -7:])


def test_of_equal_entries_the_first_are_kept():
    found = largest_entries(sparse.csr_array(np.array([[1.0, 2.0, 1.0, 1.0]])), 3)
    assert found.indices.tolist() == [0, 1, 2]


@steady
@given(sizes=st.tuples(*[st.integers(1, 8)] * 4), count=st.integers(0, 30), seed=st.integers(0, 99))
def test_overlaps_of_a_product_are_those_of_its_rows(sizes, count, seed):
    rows, inner, width, others = sizes
    left, middle = sparse_rows(rows, inner, seed), sparse_rows(inner, width, seed + 1)
    right = sparse_rows(others, width, seed + 2)
    rng = np.random.default_rng(seed)
    first, second = rng.integers(rows, size=count), rng.integers(others, size=count)
    found = overlaps_of_product(*map(sparse.csr_array, (left, middle, right)), first, second)
    product = left.astype(np.float64) @ middle
    assert found == pytest.approx((product[first] * right[second]).sum(axis=1), abs=1e-5)


def test_the_largest_of_a_group_stand_in_order():
    largest, total = np.zeros((2, 2), dtype=np.float32), np.zeros(2)
    largest_of_groups(np.array([1, 1, 1, 0]), np.array([0.2, 0.7, 0.5, 0.1]), largest, total)
    assert largest == pytest.approx(np.array([[0.1, 0.0], [0.7, 0.5]]))
    assert total == pytest.approx([0.1, 1.4])


def test_a_product_in_parts_is_the_same(monkeypatch):
    left, right = (sparse.csr_array(sparse_rows(20, 20, seed)) for seed in (0, 1))
    whole = largest_of_product(left, right, 3)
    monkeypatch.setattr(kernels, "_ROWS_AT_ONCE", 6)
    assert (largest_of_product(left, right, 3) != whole).nnz == 0


@steady
@given(rows=st.integers(1, 8), columns=st.integers(1, 8), count=st.integers(0, 30), seed=st.integers(0, 99))
def test_sums_of_minima_are_those_of_dense_rows(rows, columns, count, seed):
    left, right = (sparse_rows(rows, columns, seed + side, dtype=np.float64) for side in (0, 1))
    first, second = np.random.default_rng(seed).integers(0, rows, (2, count))
    found = sums_of_minima(sparse.csr_array(left), sparse.csr_array(right), first, second)
    np.testing.assert_allclose(found, np.minimum(left[first], right[second]).sum(axis=1))


def plain_agreement(one, other):
    """By counting: equal words, then the initials on one side that the longer words of the other begin with."""
    shorter = min(len(one), len(other))
    one, other = Counter(one), Counter(other)
    agreed = (one & other).total()
    one, other = one - other, other - one
    for some, others in ((one, other), (other, one)):
        longer = Counter()
        for word, often in others.items():
            longer[word[0]] += often * (len(word) > 1)
        agreed += sum(min(often, longer[word]) for word, often in some.items() if len(word) == 1)
    return agreed / shorter


names = st.lists(st.sampled_from(["a", "ab", "ac", "b", "bc", "bd"]), min_size=1, max_size=4)


@steady
@given(st.lists(names, min_size=2, max_size=4))
def test_words_agree_that_are_equal_or_initials_of_others(words):
    known = {word: code for code, word in enumerate(sorted({word for name in words for word in name}))}
    flat = [word for name in words for word in name]
    start = np.concatenate([[0], np.cumsum([len(name) for name in words])])
    word = np.array([known[word] for word in flat])
    initial, single = np.array([ord(word[0]) for word in flat]), np.array([len(word) == 1 for word in flat])
    pairs = np.array([(i, j) for i in range(len(words)) for j in range(len(words))])
    found = agreeing_words(pairs[:, 0].copy(), pairs[:, 1].copy(), start, word, initial, single)
    assert found.tolist() == [plain_agreement(words[i], words[j]) for i, j in pairs]
