import numpy as np
import pytest

from mpxgat.models import make_model, model_class, model_names
from mpxgat.models.rules import StructuralModel
from tests.examples import graph_of, random_graph

STRUCTURAL = sorted(name for name in model_names() if issubclass(model_class(name), StructuralModel))


def score(model, graph, *pairs):
    ends = [[graph.index(*reversed(end.split("."))) for end in pair.split()] for pair in pairs]
    return make_model(model).fit(graph).score(ends).tolist()


def test_closure_follows_chains_of_known_links():
    graph = graph_of("x.a y.b", "y.b z.c", "x.d x.a")
    assert score("closure", graph, "x.a z.c", "x.d z.c", "x.a x.d") == [1, 0, 0]


def test_exclusion_looks_at_all_layers_of_both_units():
    graph = graph_of("x.a y.a", "z.b y.b", "x.c x.a", "z.d z.b", layers="xyz")
    # a and b both have a node in y; a and d, c and b, c and d could be one unit
    assert score("exclusion", graph, "x.a z.b", "x.a z.d", "x.c z.b", "x.c z.d") == [-1, 0, 0, 0]
    # c (only in x) and a's copy in y: the unit of a is in x already
    assert score("exclusion", graph, "x.c y.a") == [-1]


def test_matched_neighbours_count_known_counterparts():
    graph = graph_of("x.a x.p", "x.a x.q", "x.a x.r", "y.b y.s", "y.b y.t", "y.b y.u", "x.p y.s", "x.q y.t", "y.c y.s")
    assert score("matched-neighbours", graph, "x.a y.b", "x.a y.c", "x.r y.u") == [2, 1, 0]


def test_common_neighbours_and_adamic_adar():
    graph = graph_of("x.a x.h", "x.b x.h", "x.c x.h", "x.a x.r", "x.b x.r", "y.a y.b")
    assert score("common-neighbours", graph, "x.a x.b", "x.a x.c", "x.h x.r", "x.a y.a") == [2, 1, 2, 0]
    adamic_adar = score("adamic-adar", graph, "x.a x.b", "x.a x.c")
    assert adamic_adar == pytest.approx([1 / np.log(3) + 1 / np.log(2), 1 / np.log(3)])


def test_degree_multiplies_within_and_compares_between_layers():
    graph = graph_of("x.a x.b", "x.a x.c", "x.d x.e", "y.a y.b")
    intra = score("degree", graph, "x.a x.d", "x.d x.b", "x.c x.e")
    assert intra[0] > intra[1] == intra[2]
    assert score("degree", graph, "x.a y.a", "x.b y.a") == pytest.approx([2 / 3, 1])


def test_rules_decide_in_their_order():
    graph = graph_of(
        "x.a y.a", "y.a z.a",  # a is one unit in three layers
        "x.n x.p", "y.m y.s", "x.p y.s",  # n and m share a matched neighbour
        "x.l x.n", "x.k x.l", "y.o y.o",
    )  # fmt: skip
    closed, matched, similar, unlike, excluded = score(
        "rules", graph, "x.a z.a", "x.n y.m", "x.k y.m", "x.k y.o", "x.n y.a"
    )
    assert closed > matched > similar > unlike > excluded


def test_rules_put_a_link_in_another_layer_before_shared_neighbours():
    graph = graph_of("x.a y.a", "x.b y.b", "y.a y.b", "x.a x.c", "x.c x.d", "x.d x.e", "x.b x.f", "x.f x.g")
    elsewhere, shared, nothing = score("rules", graph, "x.a x.b", "x.a x.d", "x.a x.g")
    assert elsewhere > shared > nothing


@pytest.mark.parametrize("name", STRUCTURAL)
def test_scores_equal_a_slow_count_over_neighbour_sets(name):
    graph = random_graph(8, people=25, known=0.6)
    model = make_model(name).fit(graph)
    near = [
        set(graph.adjacency.indices[graph.adjacency.indptr[i] : graph.adjacency.indptr[i + 1]].tolist())
        for i in range(graph.n_nodes)
    ]
    unit, layer, degree = graph.unit, graph.node_layer, graph.degree
    layers_of = [set(layer[unit == u].tolist()) for u in range(graph.n_units)]
    linked = {(unit[u], unit[v]) for i in range(graph.n_nodes) for u, v in [(i, j) for j in near[i]]}
    near_unit = [{b for a, b in linked if a == u} for u in range(graph.n_units)]
    most_intra = 2 * max(map(len, near_unit)) + 2
    log = np.log1p(degree)

    def slow(i, j):
        same_layer = layer[i] == layer[j]
        product = (log[i] + log[j]) / (2 * log.max() + 1)
        similar = (min(degree[i], degree[j]) + 1) / (max(degree[i], degree[j]) + 1)
        matched = sum(unit[x] == unit[y] for x in near[i] for y in near[j])
        same = unit[i] == unit[j]
        clash = not same and bool(layers_of[unit[i]] & layers_of[unit[j]])
        most = degree.max() + 2
        return {
            "closure": 0 if same_layer else float(same),
            "exclusion": 0 if same_layer else -float(clash),
            "matched-neighbours": 0 if same_layer else matched,
            "common-neighbours": len(near[i] & near[j]) if same_layer else 0,
            "adamic-adar": sum(1 / np.log(degree[x]) for x in near[i] & near[j]) if same_layer else 0,
            "degree": product if same_layer else similar,
            "rules": most_intra * ((unit[i], unit[j]) in linked)
            + len(near[i] & near[j])
            + len(near_unit[unit[i]] & near_unit[unit[j]])
            + product
            if same_layer
            else most * same - most * clash + matched + similar,
        }[name]

    rng = np.random.default_rng(0)
    pairs = rng.integers(graph.n_nodes, size=(300, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    assert model.score(pairs) == pytest.approx([slow(i, j) for i, j in pairs], abs=1e-9)
