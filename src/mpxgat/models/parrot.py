"""PARROT (Zeng, Zhang, Xia and Tong, WWW 2023): position-aware regularised optimal transport between two layers.

As in its authors' code (MATLAB, zhichenz98/PARROT-WWW23): random walks with restart from the anchors say where every
node stands; a walk on the product of the two layers turns differing positions into the cost of a match; constrained
proximal steps, each solved by Sinkhorn's iteration, find the transport plan that is cheap and keeps edges,
neighbourhoods and anchors together. The plan is the similarity.

Everything of the size (n1, n2) is written in parts of rows into as few matrices as will do: four at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.models.alignment import (
    AlignmentModel,
    Dense,
    LayerPair,
    parts_of,
    propagated_rows,
    row_normalised,
    unit_length,
)
from mpxgat.models.base import Settings

_POSITION_CHANGE, _COST_CHANGE = 1e-5, 1e-2  # largest change of an entry at which walks end (the authors' own)
_KEPT = 0.05  # of the plan before, in every proximal step (the authors' own)
_LINKS_AT_ONCE = 1 << 12


@dataclass(frozen=True)
class PARROTSettings(Settings):
    """Settings of PARROT: those published for networks without attributes (phone and e-mail).

    alpha               weight of the cost by positions beside that by features; without features, positions stand for
                        them and weigh 1 + alpha, as in the authors' code
    restart             chance that a walk starts again (beta)
    discount            of a further step on the product of the layers (gamma)
    proximal            weight of the distance between two plans in a row (lambda_p)
    neighbourhood       weight of neighbourhood consistency (lambda_n)
    preference          weight of alignment preference: the anchors (lambda_a)
    edge                weight of edge consistency, a Gromov-Wasserstein distance (lambda_e), times n1 n2
    walk_iterations     of the walks in each layer, at most
    product_iterations  of the walk on the product, at most
    steps               proximal steps
    sinkhorn            iterations in a step
    """

    alpha: float = 0.5
    restart: float = 0.15
    discount: float = 0.7
    proximal: float = 5e-4
    neighbourhood: float = 5e-3
    preference: float = 5e-4
    edge: float = 2e-5
    walk_iterations: int = 100
    product_iterations: int = 50
    steps: int = 10
    sinkhorn: int = 5

    def __post_init__(self) -> None:
        self.check_share("restart", "discount")
        self.check_at_least(0, "alpha", "neighbourhood", "preference", "edge")
        self.check_at_least(1e-6, "proximal")
        self.check_at_least(1, "walk_iterations", "product_iterations", "steps", "sinkhorn")


# What differs from the defaults in the authors' settings for networks without attributes.
PUBLISHED: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "phone_email": {},
        "foursquare_twitter": {"discount": 0.8, "proximal": 1e-3, "edge": 3e-6},
        "acm_dblp": {
            "alpha": 0.1,
            "restart": 0.5,
            "discount": 0.9,
            "proximal": 1e-3,
            "neighbourhood": 4e-4,
            "preference": 1e-2,
            "edge": 1e-5,
        },
    }
)


class PARROT(AlignmentModel):
    """The transport plan between two layers, times the nodes of the smaller: a node's similarities sum to at most 1,
    but for what Sinkhorn's iteration leaves undone. Features, where there are any, have their own cost.
    Arguments: `PARROTSettings`.
    """

    name = "parrot"
    description = "inter: PARROT, optimal transport by walks from known counterparts (and features); intra: nothing"
    reads = frozenset({"features"})
    _settings: PARROTSettings

    def __init__(
        self,
        *,
        alpha: float = PARROTSettings.alpha,
        restart: float = PARROTSettings.restart,
        discount: float = PARROTSettings.discount,
        proximal: float = PARROTSettings.proximal,
        neighbourhood: float = PARROTSettings.neighbourhood,
        preference: float = PARROTSettings.preference,
        edge: float = PARROTSettings.edge,
        walk_iterations: int = PARROTSettings.walk_iterations,
        product_iterations: int = PARROTSettings.product_iterations,
        steps: int = PARROTSettings.steps,
        sinkhorn: int = PARROTSettings.sinkhorn,
        seed: int = 0,
    ):
        super().__init__(seed=seed)
        self._settings = PARROTSettings.among(locals())

    def _numbers(self, pair: LayerPair) -> int:
        positions = len(pair.anchors) * sum(pair.shape)
        return max(4 * math.prod(pair.shape), math.prod(pair.shape) + 4 * positions)

    def _align(self, pair: LayerPair) -> Dense:
        settings = self._settings
        walks = Walk.on(pair.first), Walk.on(pair.second)
        nodes, edges = node_and_edge_costs(walks, pair, settings)
        cost = product_cost(walks, nodes, pair, settings)
        del nodes  # as large as the plan
        plan = Transport(walks, edges, cost, pair, settings).solve()
        plan *= min(pair.shape)
        return plan


# ---- walks ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Walk:
    """A step of a random walk within a layer; from a node without links it goes anywhere.

    steps       (n, n) chance to go from a row's node to a column's; a row of zeros for a node without links
    stranded    (n,) which nodes have no links
    """

    steps: sparse.csr_array
    stranded: NDArray[np.bool_]

    @classmethod
    def on(cls, adjacency: sparse.csr_array) -> Walk:
        """Along the links of a layer, each as likely as the others of its node."""
        return cls(row_normalised(adjacency), np.diff(adjacency.indptr) == 0)

    def mean(self, values: Dense) -> Dense:
        """(n, d) of values (n, d): the mean over where a step leads."""
        found: Dense = self.steps @ values
        found[self.stranded] = values.mean(axis=0)
        return found


Walks = tuple[Walk, Walk]


def product_mean(walks: Walks, values: Dense, part: slice) -> Dense:
    """Some rows of L1 @ values @ L2.T: the mean of values (n1, n2) over where a step in both layers leads."""
    first, second = walks
    rows = first.steps[part] @ values
    rows[first.stranded[part]] = values.mean(axis=0) if first.stranded[part].any() else 0
    return second.mean(rows.T).T


def anchor_positions(walks: Walks, anchors: NDArray[np.int64], settings: PARROTSettings) -> tuple[Dense, Dense]:
    """(n1, k) and (n2, k) where nodes stand: r = (1 - beta) L r + beta e, for each of the k anchors e."""
    found = [np.zeros((len(walk.stranded), len(anchors)), dtype=walk.steps.dtype) for walk in walks]
    for _ in range(settings.walk_iterations):
        change = 0.0
        for side, (walk, anchor) in enumerate(zip(walks, anchors.T, strict=True)):
            position = (1 - settings.restart) * walk.mean(found[side])
            position[anchor, np.arange(len(anchor))] += settings.restart
            change = max(change, float(np.abs(position - found[side]).max(initial=0)))
            found[side] = position
        if change <= _POSITION_CHANGE:
            break
    return found[0], found[1]


# ---- costs ---------------------------------------------------------------------------------------------------------


Edges = tuple[sparse.csr_array, sparse.csr_array]


def node_and_edge_costs(walks: Walks, pair: LayerPair, settings: PARROTSettings) -> tuple[Dense, Edges]:
    """(n1, n2) exp(-cosine) of features plus alpha times that of positions, 0 at anchors; and `edge_costs` of
    both layers by features. Without features, the positions stand for them.
    """
    positions = tuple(_directions(each) for each in anchor_positions(walks, pair.anchors, settings))
    nodes = _cosine_costs(*positions)
    if pair.features is None:
        vectors = positions
        nodes *= 1 + settings.alpha
    else:
        vectors = tuple(_directions(each) for each in pair.features)
        nodes *= settings.alpha
        nodes += _cosine_costs(*vectors)
    nodes[pair.at_anchors] = 0
    return nodes, (edge_costs(pair.first, vectors[0]), edge_costs(pair.second, vectors[1]))


def _directions(vectors: Dense) -> Dense:
    """Rows scaled to length 1; a row of zeros points everywhere alike."""
    scaled = unit_length(vectors)
    scaled[~vectors.any(axis=1)] = max(vectors.shape[1], 1) ** -0.5
    return scaled


def _cosine_costs(one: Dense, other: Dense) -> Dense:
    """(n1, n2) exp(-cosine) of rows of length 1."""
    costs = one @ other.T
    np.negative(costs, out=costs)
    return np.exp(costs, out=costs)


def edge_costs(adjacency: sparse.csr_array, vectors: Dense) -> sparse.csr_array:
    """(n, n) exp(-cosine) of the two ends of every link, for vectors (n, d) of length 1.

    The authors' code gives a node without links a row of costs with all others; here it has none, as it has no edge to
    keep. One such node among the 1,003 of the e-mail network moves hits@1 from .323 (here) to .292 (their way).
    """
    links = adjacency.tocoo()
    costs = np.empty_like(links.data)
    for start in range(0, len(costs), _LINKS_AT_ONCE):
        part = slice(start, start + _LINKS_AT_ONCE)
        costs[part] = np.exp(-np.einsum("ij,ij->i", vectors[links.row[part]], vectors[links.col[part]]))
    return sparse.csr_array((costs, (links.row, links.col)), shape=links.shape)


def product_cost(walks: Walks, nodes: Dense, pair: LayerPair, settings: PARROTSettings) -> Dense:
    """(n1, n2) what a walk on the product graph costs in the long run, scaled by 1 - gamma:

    C = (1 + gamma beta) C_node + gamma (1 - beta) L1 C L2',    0 at anchors
    """
    own, onward = 1 + settings.discount * settings.restart, settings.discount * (1 - settings.restart)
    cost, new = np.zeros_like(nodes), np.empty_like(nodes)
    for _ in range(settings.product_iterations):
        for part in parts_of(nodes):
            new[part] = own * nodes[part] + onward * product_mean(walks, cost, part)
        new[pair.at_anchors] = 0
        change = max((float(np.abs(new[part] - cost[part]).max(initial=0)) for part in parts_of(nodes)), default=0.0)
        cost, new = new, cost
        if change <= _COST_CHANGE:
            break
    cost *= 1 - settings.discount
    return cost


# ---- optimal transport ---------------------------------------------------------------------------------------------


class Transport:
    """Constrained proximal steps towards the plan T (n1, n2) of the least cost, with uniform marginals:

        <C, T> + lambda_e GW(T) + lambda_n KL(T | L1 T L2') + lambda_a KL(T | H)

    Each step makes the cost linear at the plan so far and stays near it: `regularised_cost`, `proximal_step`.
    """

    def __init__(
        self,
        walks: Walks,
        edges: Edges,
        cost: Dense,
        pair: LayerPair,
        settings: PARROTSettings,
    ):
        self._walks, self._edges, self._cost, self._settings = walks, edges, cost, settings
        self._at_anchors = pair.at_anchors
        rows, columns = (0.5 * (edge.power(2).sum(axis=1) / max(edge.shape[0], 1)) for edge in edges)
        self._edge_rows, self._edge_columns = rows[:, None], columns[None, :]

    def solve(self) -> Dense:
        """The plan after the last step. Where the cost at a new plan is higher than the one it was found by, the next
        step keeps to the old cost.
        """
        first, second = self._cost.shape
        plan = np.full_like(self._cost, 1 / (first * second))
        cost, spare = np.empty_like(plan), np.empty_like(plan)
        potential = np.zeros(first, dtype=plan.dtype)
        self.regularised_cost(plan, out=cost)
        for step in range(self._settings.steps):
            if step:
                self.regularised_cost(plan, out=spare)
                if _total(spare, plan) <= _total(cost, plan):
                    cost, spare = spare, cost
            potential = proximal_step(plan, cost, potential, self._settings, work=spare)
        return plan

    def regularised_cost(self, plan: Dense, out: Dense) -> None:
        """C + lambda_e n1 n2 (E - C1 T C2') - lambda_n log(L1 T L2') - lambda_a log H, with H = 1/n2, at anchors + 1.

        E_ij = (sum_k C1_ik^2 / n1 + sum_k C2_jk^2 / n2) / 2, for edge costs C1 and C2.
        """
        settings, tiny = self._settings, np.finfo(plan.dtype).tiny
        first, second = plan.shape
        edge = settings.edge * first * second
        for part in parts_of(plan):
            kept = propagated_rows(self._edges[0], plan, self._edges[1], part)
            around = product_mean(self._walks, plan, part)
            np.log(np.maximum(around, tiny, out=around), out=around)
            out[part] = self._cost[part] + edge * (self._edge_rows[part] + self._edge_columns - kept)
            out[part] -= settings.neighbourhood * around
        out += settings.preference * np.log(second)
        out[self._at_anchors] -= settings.preference * np.log(second + 1)


def _total(cost: Dense, plan: Dense) -> float:
    """<C, T>, summed in double precision."""
    return float(sum(np.sum(cost[part] * plan[part], dtype=np.float64) for part in parts_of(plan)))


def proximal_step(plan: Dense, cost: Dense, potential: Dense, settings: PARROTSettings, work: Dense) -> Dense:
    """Move a plan T, in place, to the next: 0.05 T + 0.95 exp(u + v - (C - lambda_p log T) / lambda) / (n1 n2).

    lambda is lambda_p + lambda_n + lambda_a; the potentials u (n1,) and v (n2,) make rows sum to 1/n1 and, as far as
    Sinkhorn's iteration goes, columns to 1/n2. It starts from ``potential``, and the last u is returned. ``work`` is
    overwritten.
    """
    scale, tiny = settings.proximal + settings.neighbourhood + settings.preference, np.finfo(plan.dtype).tiny
    for part in parts_of(plan):
        work[part] = (settings.proximal * np.log(np.maximum(plan[part], tiny)) - cost[part]) / scale
    columns = _column_potential(work, potential)
    for iteration in range(settings.sinkhorn):
        last = iteration == settings.sinkhorn - 1
        potential = _row_potential(work, columns)
        columns = columns if last else _column_potential(work, potential)
    plan *= _KEPT
    for part in parts_of(plan):
        plan[part] += (1 - _KEPT) / plan.size * np.exp(work[part] + potential[part, None] + columns)
    return potential


def _row_potential(exponent: Dense, columns: Dense) -> Dense:
    """(n1,) u with mean_j exp(z_ij + u_i + v_j) = 1."""
    potential = np.empty(len(exponent), dtype=exponent.dtype)
    for part in parts_of(exponent):
        rows = exponent[part] + columns
        most = rows.max(axis=1)
        rows -= most[:, None]
        potential[part] = -most - np.log(np.exp(rows, out=rows).mean(axis=1))
    return potential


def _column_potential(exponent: Dense, rows: Dense) -> Dense:
    """(n2,) v with mean_i exp(z_ij + u_i + v_j) = 1; parts are added up under the largest exponent so far."""
    most = np.full(exponent.shape[1], -np.inf, dtype=exponent.dtype)
    total = np.zeros(exponent.shape[1])
    for part in parts_of(exponent):
        here = exponent[part] + rows[part, None]
        larger = np.maximum(most, here.max(axis=0))
        here -= larger
        total = total * np.exp(most - larger) + np.exp(here, out=here).sum(axis=0)
        most = larger
    return np.asarray(-most - np.log(total / len(exponent)), dtype=exponent.dtype)
