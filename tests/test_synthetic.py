"""Planted multiplexes: every argument does what it says, and ids give nobody away."""

import numpy as np
import pytest

from mpxgat.errors import GraphError, SettingError
from mpxgat.synthetic import social, truth


def person_of(graph):
    return graph.attributes["person"].cast("int64").to_numpy()


def community_of(graph):
    return graph.attributes["community"].cast("int64").to_numpy()


def shared_links(graph):
    rows = graph.stats().overlap
    return sum(row.links_shared for row in rows) / sum(row.links_possible for row in rows)


@pytest.mark.parametrize("mean_degree", [2.0, 8.0, 20.0])
def test_mean_degree_is_near_the_request(mean_degree):
    graph = social(2000, 3, 1, mean_degree=mean_degree)
    for layer in graph.stats().per_layer:
        assert layer.mean_degree == pytest.approx(mean_degree, rel=0.02)


def test_overlap_moves_the_measured_overlap():
    asked = (0.0, 0.25, 0.5, 0.75, 1.0)
    measured = [shared_links(social(1500, 3, 2, overlap=overlap)) for overlap in asked]
    assert measured == sorted(measured)
    by_chance = measured[0]
    assert by_chance < 0.25
    assert measured == pytest.approx([overlap + (1 - overlap) * by_chance for overlap in asked], abs=0.05)


def test_overlap_keeps_the_mean_degree():
    degrees = [social(2000, 3, 3, overlap=overlap).degree.mean() for overlap in (0.0, 0.5, 1.0)]
    assert degrees == pytest.approx([8.0, 8.0, 8.0], rel=0.05)


@pytest.mark.parametrize("mixing", [0.0, 0.2, 0.7, 1.0])
def test_share_of_links_within_communities(mixing):
    graph = social(2000, 2, 4, mixing=mixing)
    community = community_of(graph)
    within = community[graph.intra[:, 0]] == community[graph.intra[:, 1]]
    assert within.mean() == pytest.approx(1 - mixing, abs=0.02)


def test_communities_are_as_many_as_asked():
    assert set(community_of(social(1000, 2, 0, communities=7))) == set(range(7))
    one = social(300, 2, 0, communities=1, mixing=0.5)
    assert set(community_of(one)) == {0}
    assert one.degree.mean() == pytest.approx(8, rel=0.05)


def test_degrees_are_heavy_tailed():
    heavy = social(5000, 1, 5, presence=1.0, exponent=2.2).degree
    light = social(5000, 1, 5, presence=1.0, exponent=8.0).degree
    assert heavy.max() > 10 * heavy.mean()
    assert light.max() < 6 * light.mean()
    assert heavy.std() > 2 * light.std()


def test_a_busy_person_is_busy_in_every_layer():
    graph = social(2000, 2, 6, presence=1.0, overlap=0.0)
    one, other = truth(graph).T
    assert np.corrcoef(graph.degree[one], graph.degree[other])[0, 1] > 0.6


@pytest.mark.parametrize("presence", [0.3, 0.7, 1.0])
def test_presence(presence):
    graph = social(4000, 3, 7, presence=presence)
    copies = np.bincount(person_of(graph), minlength=4000)
    assert copies.min() >= 1
    nowhere = (1 - presence) ** 3
    assert graph.n_nodes == pytest.approx(4000 * (3 * presence + nowhere), rel=0.03)


def test_nobody_is_nowhere_even_where_presence_is_tiny():
    graph = social(500, 4, 8, presence=1e-6)
    assert np.bincount(person_of(graph)).tolist() == [1] * 500
    assert graph.n_inter == 0


def test_known_share_is_a_part_of_the_truth():
    whole = social(1500, 3, 9)
    part = social(1500, 3, 9, known=0.3)
    assert np.array_equal(whole.inter, truth(whole))
    assert np.array_equal(truth(part), truth(whole))
    assert np.array_equal(part.intra, whole.intra)
    assert part.n_inter == round(0.3 * whole.n_inter)
    assert set(map(tuple, part.inter.tolist())) < set(map(tuple, whole.inter.tolist()))
    assert social(1500, 3, 9, known=0.0).n_inter == 0


def test_truth_joins_exactly_the_copies_of_a_person():
    graph = social(60, 4, 10)
    person, layer = person_of(graph), graph.node_layer
    expected = [[i, j] for i in range(graph.n_nodes) for j in range(i + 1, graph.n_nodes) if person[i] == person[j]]
    assert truth(graph).tolist() == expected
    assert all(layer[i] != layer[j] for i, j in expected)


def test_ids_and_order_do_not_give_identity_away():
    graph = social(3000, 2, 11, presence=1.0)
    assert len(set(graph.ids.to_pylist())) == graph.n_nodes
    assert graph.ids[0].as_py() == "a-000000"
    assert graph.nodes[3000].id == "b-000000"
    one, other = truth(graph).T
    rank = np.arange(3000)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.06
    assert (other - 3000 == one).sum() < 10
    for nodes in (slice(0, 3000), slice(3000, 6000)):  # nor do they tell the community, or how busy someone is
        assert abs(np.corrcoef(rank, community_of(graph)[nodes])[0, 1]) < 0.06
        assert abs(np.corrcoef(rank, graph.degree[nodes])[0, 1]) < 0.06


def test_same_seed_same_bytes():
    assert social(400, 3, 12, known=0.5) == social(400, 3, 12, known=0.5)
    assert social(400, 3, 12).fingerprint() != social(400, 3, 13).fingerprint()


def test_layer_names():
    graph = social(200, 30, 0, mean_degree=1.0)
    assert graph.layers[:6] == ("friends", "work", "messages", "family", "layer-5", "layer-6")
    assert graph.ids[-1].as_py().startswith("ad-")


@pytest.mark.parametrize("people", [1, 2, 3, 10])
def test_small_worlds_hold_what_fits(people):
    graph = social(people, 2, 0, presence=1.0)
    assert graph.n_nodes == 2 * people
    assert graph.n_intra <= people * (people - 1)
    assert graph.n_inter == people


def test_no_ties():
    assert social(50, 2, 0, mean_degree=0.0).n_intra == 0


def test_truth_needs_a_planted_graph():
    graph = social(20, 2, 0)
    object.__setattr__(graph, "attributes", {})
    with pytest.raises(GraphError, match="person"):
        truth(graph)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"people": 0}, "people is '0', expected a whole number, at least 1"),
        ({"people": 10.5}, "people is '10.5'"),
        ({"layers": 0}, "layers is '0'"),
        ({"seed": -1}, "seed is '-1'"),
        ({"people": 2**30, "layers": 2}, "people times layers is 2147483648, expected at most 2147483647"),
        ({"people": 100, "communities": 51}, "communities is '51', expected a whole number, from 1 to 50"),
        ({"communities": 0}, "communities is '0'"),
        ({"overlap": 1.1}, "overlap is '1.1', expected a number from 0 to 1"),
        ({"overlap": float("nan")}, "overlap is 'nan'"),
        ({"mixing": -0.1}, "mixing is '-0.1'"),
        ({"known": 2}, "known is '2'"),
        ({"presence": 0.0}, "presence is '0.0', expected a number above 0, at most 1"),
        ({"mean_degree": -1.0}, "mean_degree is '-1.0'"),
        ({"mean_degree": float("inf")}, "mean_degree is 'inf'"),
        ({"exponent": 2.0}, "exponent is '2.0', expected a number above 2"),
    ],
)
def test_arguments_outside_their_range(arguments, found):
    with pytest.raises(SettingError) as problem:
        social(**arguments)
    assert found in str(problem.value)


def test_ties_of_two_people_go_one_way_in_all_layers():
    plain, directed = (social(800, 2, 5, overlap=0.8, directed=share) for share in (0, 0.6))
    assert directed.undirected() == plain
    assert plain.intra_arcs is None
    ways = {}
    person = person_of(directed)
    for (one, other), way in zip(person[directed.intra].tolist(), directed.intra_arcs.tolist(), strict=True):
        ways.setdefault((min(one, other), max(one, other)), set()).add(way if way == 3 or one < other else 3 - way)
    assert all(len(each) == 1 for each in ways.values())
    counts = np.bincount([next(iter(each)) for each in ways.values()]) / len(ways)
    assert counts == pytest.approx([0, 0.3, 0.3, 0.4], abs=0.03)
    again = social(800, 2, 5, overlap=0.8, directed=0.6)
    assert again == directed
    assert social(800, 2, 5, overlap=0.8, directed=0.6, known=0.5).intra_arcs.tolist() == directed.intra_arcs.tolist()
