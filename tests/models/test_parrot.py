"""PARROT against its equations (as in its authors' code), in dense matrices; and what its plan must be."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from mpxgat.errors import SettingError
from mpxgat.graph import Features
from mpxgat.models import make_model, parrot
from mpxgat.models.alignment import LayerPair
from mpxgat.models.parrot import (
    PARROTSettings,
    Transport,
    Walk,
    anchor_positions,
    node_and_edge_costs,
    product_cost,
    proximal_step,
)
from tests.examples import graph_of, random_graph

PUBLISHED = PARROTSettings()
WITH_A_REFUSED_STEP = PARROTSettings(edge=2e-3, neighbourhood=5e-2)


def network(seed=3, people=25, known=0.4):
    return random_graph(seed, people=people, layers=2, known=known)


def with_features(graph):
    values = np.random.default_rng(1).random((graph.n_nodes, 4))
    return replace(graph, horizontal_features=Features(tuple("pqrs"), values))


# ---- the paper, in dense matrices -----------------------------------------------------------------------


class Dense:
    """Every quantity by its definition; the slow way."""

    def __init__(self, pair, settings):
        self.settings, self.pair, self.refused = settings, pair, 0
        self.first, self.second = (self.steps(each) for each in (pair.first, pair.second))
        self.preference = np.full(pair.shape, 1 / pair.shape[1])
        self.preference[pair.at_anchors] += 1

    @staticmethod
    def steps(adjacency):
        matrix = adjacency.toarray()
        matrix[matrix.sum(axis=1) == 0] = 1
        return matrix / matrix.sum(axis=1, keepdims=True)

    def positions(self):
        beta, anchors = self.settings.restart, self.pair.anchors
        exact = []
        for steps, anchor in zip((self.first, self.second), anchors.T, strict=True):
            start = np.eye(len(steps))[:, anchor]
            exact.append(beta * np.linalg.solve(np.eye(len(steps)) - (1 - beta) * steps, start))
        return exact

    def cost_and_edges(self):
        settings, positions = self.settings, self.positions()
        vectors = positions if self.pair.features is None else self.pair.features
        nodes = exp_cosine(*vectors) + settings.alpha * exp_cosine(*positions)
        nodes[self.pair.at_anchors] = 0
        edges = [
            exp_cosine(each, each) * adjacency.toarray()
            for each, adjacency in zip(vectors, (self.pair.first, self.pair.second), strict=True)
        ]
        cost = np.zeros_like(nodes)
        for _ in range(settings.product_iterations):
            old = cost
            onward = settings.discount * (1 - settings.restart) * self.first @ cost @ self.second.T
            cost = (1 + settings.discount * settings.restart) * nodes + onward
            cost[self.pair.at_anchors] = 0
            if np.abs(cost - old).max() <= 1e-2:
                break
        return (1 - settings.discount) * cost, edges

    def linear_cost(self, plan, cost, edges):
        """What a step minimises, made linear at a plan."""
        settings, (n1, n2) = self.settings, plan.shape
        one, other = edges
        constant = 0.5 * (one**2).sum(axis=1)[:, None] / n1 + 0.5 * (other**2).sum(axis=1)[None, :] / n2
        return (
            cost
            + settings.edge * n1 * n2 * (constant - one @ plan @ other.T)
            - settings.neighbourhood * np.log(self.first @ plan @ self.second.T)
            - settings.preference * np.log(self.preference)
        )

    def plan(self):
        settings, (n1, n2) = self.settings, self.pair.shape
        cost, edges = self.cost_and_edges()
        plan, u = np.full((n1, n2), 1 / (n1 * n2)), np.zeros((n1, 1))
        scale = settings.proximal + settings.neighbourhood + settings.preference
        used = self.linear_cost(plan, cost, edges)
        for _ in range(settings.steps):
            new = self.linear_cost(plan, cost, edges)
            if (new * plan).sum() <= (used * plan).sum():
                used = new
            else:
                self.refused += 1
            exponent = (settings.proximal * np.log(plan) - used) / scale
            for _ in range(settings.sinkhorn):
                v = -logsumexp(exponent + u, axis=0, keepdims=True) + np.log(n1)
                u = -logsumexp(exponent + v, axis=1, keepdims=True) + np.log(n2)
            plan = 0.05 * plan + 0.95 * np.exp(exponent + u + v) / (n1 * n2)
        return plan


def exp_cosine(one, other):
    one, other = (np.where(each.any(axis=1, keepdims=True), each, 1.0) for each in (one, other))
    lengths = np.linalg.norm(one, axis=1)[:, None] * np.linalg.norm(other, axis=1)
    return np.exp(-(one @ other.T) / lengths)


# ---- the model is the paper ------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [PUBLISHED, WITH_A_REFUSED_STEP], ids=["published", "refused steps"])
@pytest.mark.parametrize("graph", [network(), with_features(network(4))], ids=["plain", "features"])
def test_the_plan_is_that_of_the_equations(graph, settings, monkeypatch):
    monkeypatch.setattr(parrot, "_POSITION_CHANGE", 0)  # walks to their end: the equations are solved exactly here
    settings = replace(settings, walk_iterations=400)
    pair = LayerPair.of(graph, 0, 1)
    dense = Dense(pair, settings)
    expected = dense.plan() * min(pair.shape)
    found = make_model("parrot", **settings.to_dict()).fit(graph).similarity("L0", "L1")
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert np.abs(expected - 1 / max(pair.shape)).max() > 0.1


def test_a_step_is_refused_where_it_should_be():
    graph = network()
    dense = Dense(LayerPair.of(graph, 0, 1), WITH_A_REFUSED_STEP)
    dense.plan()
    assert 0 < dense.refused < WITH_A_REFUSED_STEP.steps


def test_positions_are_those_of_endless_walks_with_restart():
    pair = LayerPair.of(network(), 0, 1)
    walks = Walk.on(pair.first), Walk.on(pair.second)
    for found, exact in zip(
        anchor_positions(walks, pair.anchors, PUBLISHED), Dense(pair, PUBLISHED).positions(), strict=True
    ):
        np.testing.assert_allclose(found, exact, atol=1e-4)
        assert found.shape[1] == len(pair.anchors)


def test_a_node_without_links_walks_anywhere_and_has_no_edge_costs():
    pair = LayerPair.of(graph_of("x.a x.b", "x.c x.c", "y.a y.b", "x.a y.a"), 0, 1)
    walk = Walk.on(pair.first)
    assert walk.mean(np.array([[3.0], [0.0], [6.0]])).ravel().tolist() == [0, 3, 3]
    _, (edges, _) = node_and_edge_costs((walk, Walk.on(pair.second)), pair, PUBLISHED)
    assert edges.nnz == 2


# ---- what a plan must be ---------------------------------------------------------------------------------


def problem(settings, seed=3):
    pair = LayerPair.of(network(seed), 0, 1)
    walks = Walk.on(pair.first), Walk.on(pair.second)
    nodes, edges = node_and_edge_costs(walks, pair, settings)
    return Transport(walks, edges, product_cost(walks, nodes, pair, settings), pair, settings)


def test_rows_of_the_plan_have_their_mass_and_columns_nearly():
    settings = PARROTSettings(sinkhorn=2000)
    plan = problem(settings).solve()
    n1, n2 = plan.shape
    np.testing.assert_allclose(plan.sum(axis=1), 1 / n1, rtol=1e-9)
    np.testing.assert_allclose(plan.sum(axis=0), 1 / n2, rtol=1e-3)
    few = problem(PUBLISHED).solve()
    np.testing.assert_allclose(few.sum(axis=1), 1 / n1, rtol=1e-9)  # rows are put right last
    assert (plan > 0).all()


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_no_proximal_step_raises_the_objective_it_minimises(seed):
    """<C, T> + (lambda_n + lambda_a) <T, log T> for the linear cost C of the step: where the plan stood, it was no
    lower."""
    settings = PARROTSettings(sinkhorn=3000)
    transport = problem(settings, seed)
    plan = np.full_like(transport._cost, 1 / transport._cost.size)
    cost, potential = np.empty_like(plan), np.zeros(len(plan))

    def objective(at):
        return (cost * at).sum() + (settings.neighbourhood + settings.preference) * (at * np.log(at)).sum()

    falls = []
    for _ in range(settings.steps):
        transport.regularised_cost(plan, out=cost)
        before = objective(plan)
        potential = proximal_step(plan, cost, potential, settings, work=np.empty_like(plan))
        falls.append(before - objective(plan))
    assert min(falls) > -1e-6
    assert falls[0] > 1e-3


def test_similarities_of_a_node_sum_to_at_most_one():
    similarity = make_model("parrot", sinkhorn=2000).fit(network(6)).similarity("L0", "L1")
    assert similarity.sum(axis=0).max() < 1.01
    assert similarity.sum(axis=1).max() < 1.0001


def test_it_finds_most_counterparts_of_two_like_networks():
    rng = np.random.default_rng(0)
    ties = rng.integers(120, size=(400, 2))
    links = [f"{layer}.p{u} {layer}.p{v}" for layer in "xy" for u, v in ties[rng.random(len(ties)) < 0.95]]
    present = [{end.split(".")[1] for link in links for end in link.split() if end[0] == layer} for layer in "xy"]
    both = sorted(present[0] & present[1])
    known, hidden = both[::5], [name for place, name in enumerate(both) if place % 5]
    graph = graph_of(*links, *(f"x.{name} y.{name}" for name in known))
    pairs = np.array([[graph.index(name, "x"), graph.index(name, "y")] for name in hidden])
    found = {}
    for model in ("rules", "parrot"):
        scores = make_model(model).fit(graph).score_block(pairs[:, 0], graph.layer_nodes(1))
        found[model] = (scores.argmax(axis=1) == pairs[:, 1] - graph.layer_start[1]).mean()
    assert found["parrot"] > 0.9 > found["rules"]


@pytest.mark.parametrize(
    "setting", [{"restart": 1.0}, {"discount": -0.1}, {"proximal": 0.0}, {"edge": -1.0}, {"steps": 0}, {"sinkhorn": 0}]
)
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(SettingError, match=next(iter(setting))):
        make_model("parrot", **setting)


@pytest.mark.parametrize("name", parrot.PUBLISHED)
def test_published_settings_are_settings(name):
    model = make_model("parrot", **parrot.PUBLISHED[name])
    assert model.settings == {**PUBLISHED.to_dict(), **parrot.PUBLISHED[name]}
    assert (model.settings == PUBLISHED.to_dict()) == (name == "phone_email")
