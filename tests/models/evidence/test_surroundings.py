"""Walks over nodes and soft units against slow dense definitions."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from mpxgat.kernels import largest_of_product
from mpxgat.models.evidence import surroundings as surroundings_module
from mpxgat.models.evidence.features import LinkDetails
from mpxgat.models.evidence.surroundings import (
    AGAINST,
    ALONG,
    FAR,
    FOLLOWED,
    FOLLOWERS,
    HEAVY_NEAR,
    HEAVY_WIDE,
    NEAR,
    WIDE,
    SoftUnits,
    Surroundings,
    relative_weights,
)
from tests.examples import graph_of, random_graph
from tests.models.evidence.graphs import GRAPHS, dense_units, neighbours_of, some_matching

every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def slow_step(graph):
    step = np.zeros((graph.n_nodes, graph.n_nodes))
    for node, near in enumerate(neighbours_of(graph)):
        for other in near:
            step[node, other] = 1 / len(near)
    return step


def slow_walks(graph):
    """Own node left out, columns over the roots of their sums, nothing cut off."""
    one = slow_step(graph)
    plain = {NEAR: one, FAR: one + one @ one / 2, WIDE: one + 0.6 * one @ one + 0.36 * one @ one @ one}
    found = {}
    for name, rows in plain.items():
        others = np.where(np.eye(graph.n_nodes, dtype=bool), 0, rows)
        root = np.sqrt(others.sum(axis=0))
        found[name] = np.divide(others, root, out=np.zeros_like(others), where=root > 0)
    return found


def same_entries(one, other):
    return (
        np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and one.data.tobytes() == other.data.tobytes()
    )


# ---- walks -----------------------------------------------------------------------------------------------


@every_graph
def test_walks_are_those_of_the_definition(graph):
    found = Surroundings.of(graph)
    assert np.array_equal(found.links.toarray(), slow_step(graph) > 0)
    for name, rows in slow_walks(graph).items():
        assert found.walks[name].dtype == np.float32
        assert found.walks[name].toarray() == pytest.approx(rows, abs=1e-5), name


@every_graph
def test_degrees_are_logs_and_those_of_neighbours_a_mean(graph):
    found, near = Surroundings.of(graph), neighbours_of(graph)
    degree = [np.log1p(len(there)) for there in near]
    assert found.degree == pytest.approx(degree, abs=1e-6)
    mean = [np.mean([degree[other] for other in there]) if there else 0 for there in near]
    assert found.neighbour_degree == pytest.approx(mean, abs=1e-6)
    assert found.degree.dtype == found.neighbour_degree.dtype == np.float32


@every_graph
def test_the_shape_of_neighbourhoods(graph):
    found, near = Surroundings.of(graph).shape, [set(there) for there in neighbours_of(graph)]
    degrees = [[len(near[other]) for other in there] for there in near]
    slow = {
        "triangles": [sum(len(near[other] & there) for other in there) / 2 for there in near],
        "walks of two steps": [sum(numbers) for numbers in degrees],
        "largest degree of a neighbour": [max(numbers, default=0) for numbers in degrees],
        "least degree of a neighbour": [min(numbers, default=0) for numbers in degrees],
    }
    assert found.keys() == slow.keys()
    for name, numbers in slow.items():
        assert found[name] == pytest.approx(np.log1p(numbers), abs=1e-6), name


@every_graph
def test_a_node_is_not_among_its_own_surroundings(graph):
    for rows in Surroundings.of(graph).walks.values():
        assert not rows.diagonal().any()


@every_graph
def test_they_say_nothing_about_links_between_layers(graph):
    known, unknown = Surroundings.of(graph), Surroundings.of(graph.without(inter=graph.inter))
    for name in (NEAR, FAR, WIDE):
        assert same_entries(known.walks[name], unknown.walks[name])
        layers = graph.node_layer[np.stack(known.walks[name].nonzero())]
        assert np.array_equal(layers[0], layers[1])


def test_weights_are_not_looked_at():
    links = ["x.a x.b", "x.b x.c", "x.c x.d", "y.a y.b"]
    plain = graph_of(*links)
    weighted = replace(plain, intra_weight=np.array([5.0, 1.0, 0.5, 2.0]))
    for name in (NEAR, FAR, WIDE):
        assert same_entries(Surroundings.of(plain).walks[name], Surroundings.of(weighted).walks[name])


def test_only_the_largest_entries_are_kept(monkeypatch):
    graph = random_graph(35, people=60, layers=2, degree=6)
    monkeypatch.setattr(surroundings_module, "_LARGEST", 10)
    found = Surroundings.of(graph).walks
    assert found[NEAR].toarray() == pytest.approx(slow_walks(graph)[NEAR], abs=1e-5)  # which has no more
    for name in (FAR, WIDE):
        assert np.diff(found[name].indptr).max() == 10


# ---- soft units ------------------------------------------------------------------------------------------


@every_graph
def test_without_a_matching_units_are_the_known_ones(graph):
    found = SoftUnits.of(graph, None)
    assert np.array_equal(found.matrix.toarray(), dense_units(graph))
    present = np.zeros((graph.n_units, graph.n_layers))
    present[graph.unit, graph.node_layer] = 1
    assert np.array_equal(found.present, present)


@every_graph
def test_half_of_a_match_lies_in_the_unit_of_either(graph):
    matching = some_matching(graph)
    found, known = SoftUnits.of(graph, matching), dense_units(graph)
    soft = np.minimum(known + matching.toarray() @ known / 2, 1)
    assert found.matrix.dtype == found.present.dtype == np.float32
    assert found.matrix.toarray() == pytest.approx(soft, abs=1e-6)
    present = np.stack([soft[graph.node_layer == layer].sum(axis=0) for layer in range(graph.n_layers)], axis=1)
    assert found.present == pytest.approx(np.minimum(present, 1), abs=1e-5)


def test_two_nodes_share_as_much_as_they_match():
    graph = graph_of("x.a x.a", "y.b y.b", layers="xy")
    matching = sparse.csr_array(np.array([[0, 0.3], [0.3, 0]], dtype=np.float32))
    rows = SoftUnits.of(graph, matching).matrix.toarray()
    assert rows[0] @ rows[1] == pytest.approx(0.3)


def test_a_third_layer_joins_two_nodes():
    """x.a and y.b are both known to match, more or less, z.c."""
    graph = graph_of("x.a x.a", "y.b y.b", "z.c z.c", layers="xyz")
    matching = np.zeros((3, 3), dtype=np.float32)
    matching[0, 2] = matching[2, 0] = matching[1, 2] = matching[2, 1] = 0.8
    rows = SoftUnits.of(graph, sparse.csr_array(matching)).matrix.toarray()
    assert rows[0] @ rows[1] == pytest.approx(0.4 * 0.4)


def test_no_entry_is_above_one():
    """A node that is matched with several nodes of one known unit."""
    graph = graph_of("x.a y.a", "y.a z.a", "w.b w.b", layers="xyzw")
    node, unit = graph.index("b", "w"), graph.unit[graph.index("a", "x")]
    matching = np.zeros((4, 4), dtype=np.float32)
    matching[node, :3] = matching[:3, node] = 0.9
    found = SoftUnits.of(graph, sparse.csr_array(matching))
    assert found.matrix[node, unit] == 1  # not 1.35
    assert found.matrix.max() == found.present.max() == 1


@every_graph
def test_only_units_of_two_layers_can_join_them(graph):
    for matching in (None, some_matching(graph)):
        found = SoftUnits.of(graph, matching)
        several = (found.present > 0).sum(axis=1) > 1
        units, present = found.shared
        assert np.array_equal(units.toarray(), found.matrix.toarray()[:, several])
        assert np.array_equal(present, found.present[several])


def test_the_number_of_threads_does_not_matter():
    graph = random_graph(36, people=200, degree=8)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            walks = Surroundings.of(graph).walks
            found.append([*walks.values(), largest_of_product(walks[WIDE], sparse.csr_array(walks[WIDE].T), 7)])
    finally:
        torch.set_num_threads(before)
    assert all(same_entries(one, other) for one, other in zip(*found, strict=True))


# ---- direction and weights -------------------------------------------------------------------------------


def directed(graph, seed=3):
    return replace(graph, intra_arcs=np.random.default_rng(seed).integers(1, 4, graph.n_intra).astype(np.uint8))


def weighted(graph, seed=4):
    return replace(graph, intra_weight=np.random.default_rng(seed).uniform(0.1, 5, graph.n_intra))


def slow_by_rarity(entries):
    """Of dense (n, n) entries: steps in proportion to them, added up as `steps` says, own node left out, by rarity."""
    total = entries.sum(axis=1, keepdims=True)
    step = np.divide(entries, total, out=np.zeros_like(entries), where=total > 0)

    def rows(steps):
        power, found = np.eye(len(step)), np.zeros_like(step)
        for weight in steps:
            power = power @ step
            found += weight * power
        np.fill_diagonal(found, 0)
        root = np.sqrt(found.sum(axis=0))
        return np.divide(found, root, out=np.zeros_like(found), where=root > 0)

    return rows


@every_graph
def test_walks_along_and_against_the_arcs(graph):
    graph = directed(graph)
    found = Surroundings.of(graph, LinkDetails(direction=True))
    out = np.zeros((graph.n_nodes, graph.n_nodes))
    ways = np.full(graph.n_intra, 3) if graph.intra_arcs is None else graph.intra_arcs
    for (one, other), way in zip(graph.intra.tolist(), ways.tolist(), strict=True):
        out[one, other], out[other, one] = bool(way & 1), bool(way & 2)
    along, against = slow_by_rarity(out), slow_by_rarity(out.T.copy())
    for name, rows in ((FOLLOWED, along([1])), (ALONG, along([1, 0.5])), (FOLLOWERS, against([1]))):
        assert found.walks[name].toarray() == pytest.approx(rows, abs=1e-5), name
    assert found.walks[AGAINST].toarray() == pytest.approx(against([1, 0.5]), abs=1e-5)
    assert found.shape["followed"] == pytest.approx(np.log1p(out.sum(axis=1)))
    assert found.shape["followers"] == pytest.approx(np.log1p(out.sum(axis=0)))
    assert found.shape["mutual ties"] == pytest.approx(np.log1p((out * out.T).sum(axis=1)))


@every_graph
def test_walks_by_weight(graph):
    graph = weighted(graph)
    found = Surroundings.of(graph, LinkDetails(weights=True))
    heavy = graph.weighted_adjacency.toarray().astype(np.float64)
    rows = slow_by_rarity(heavy)
    assert found.walks[HEAVY_NEAR].toarray() == pytest.approx(rows([1]), abs=1e-5)
    assert found.walks[HEAVY_WIDE].toarray() == pytest.approx(rows([1, 0.6, 0.36]), abs=1e-5)


def test_weights_are_relative_to_their_layer_and_negative_ones_left_out():
    graph = graph_of("x.a x.b 2", "x.b x.c 4", "x.c x.d -7", "y.a y.b 1e300", "z.a z.b -1")
    found = relative_weights(graph)
    assert found.nnz == 6
    assert found[[0], [1]] == pytest.approx(2 / 3)
    assert found[[1], [2]] == pytest.approx(4 / 3)
    assert found[[4], [5]] == pytest.approx(1)


@every_graph
def test_without_direction_and_weights_the_further_walks_are_the_plain_ones(graph):
    found, plain = Surroundings.of(graph, LinkDetails(True, True)), Surroundings.of(graph)
    for name, same in ((FOLLOWED, NEAR), (FOLLOWERS, NEAR), (ALONG, FAR), (AGAINST, FAR), (HEAVY_WIDE, WIDE)):
        assert found.walks[name].toarray() == pytest.approx(plain.walks[same].toarray(), abs=1e-6)
    for name, rows in plain.walks.items():
        assert same_entries(rows, found.walks[name])


def test_nobody_who_was_not_asked_looks_at_direction_and_weights():
    graph = GRAPHS["two layers"]
    found, plain = Surroundings.of(directed(weighted(graph))), Surroundings.of(graph)
    assert list(found.walks) == list(plain.walks)
    assert list(found.shape) == list(plain.shape)
    assert all(same_entries(rows, found.walks[name]) for name, rows in plain.walks.items())
