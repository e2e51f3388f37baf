import numpy as np
import pytest

from mpxgat.pairs import canonical_links, label_components, links_among, pair_keys, symmetric_matrix


@pytest.mark.parametrize("weighted", [False, True])
def test_the_canonical_form_is_that_of_a_dictionary_of_pairs(weighted):
    rng = np.random.default_rng(0)
    pairs, weight = rng.integers(9, size=(60, 2)), rng.random(60)
    expected: dict[tuple[int, int], float] = {}
    for (u, v), value in zip(pairs.tolist(), weight.tolist(), strict=True):
        if u != v:
            pair = (min(u, v), max(u, v))
            expected[pair] = max(value, expected.get(pair, 0.0))
    links, weights = canonical_links(pairs, weight if weighted else None, 9)
    assert [tuple(link) for link in links.tolist()] == sorted(expected)
    assert (None if weights is None else weights.tolist()) == (
        [expected[pair] for pair in sorted(expected)] if weighted else None
    )


def test_no_links_have_a_canonical_form():
    links, weight = canonical_links(np.array([[1, 1]]), np.array([2.0]), 3)
    assert links.shape == (0, 2)
    assert weight is None


def test_keys_of_pairs_ignore_direction_and_sort_as_pairs_do():
    assert pair_keys(np.array([[0, 1], [3, 0], [1, 2], [2, 1]]), 4).tolist() == [1, 3, 6, 6]
    far = 100_000  # beyond what 32 bits hold
    assert pair_keys(np.array([[far - 1, far - 2]], dtype=np.int32), far).tolist() == [(far - 2) * far + far - 1]


def test_links_among_some_nodes_are_renumbered():
    keep = np.array([True, False, True, True])
    links = np.array([[0, 1], [0, 2], [2, 3]], dtype=np.int32)
    kept, weight = links_among(links, np.array([1.0, 2.0, 3.0]), keep, np.cumsum(keep) - 1)
    assert kept.tolist() == [[0, 1], [1, 2]]
    assert weight.tolist() == [2, 3]


def test_a_matrix_of_links_is_symmetric():
    matrix = symmetric_matrix(np.array([[0, 2], [1, 2]]), np.array([5.0, 7.0]), 3)
    assert matrix.toarray().tolist() == [[0, 0, 5], [0, 0, 7], [5, 7, 0]]
    assert matrix.dtype == np.float32


def test_components_are_numbered_by_their_first_node():
    assert label_components(np.array([[1, 4], [0, 3]]), 5).tolist() == [0, 1, 2, 0, 1]
