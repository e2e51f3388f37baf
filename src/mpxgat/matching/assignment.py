"""From candidates to matches: one to one between two layers, exact and sparse, then agreeing over all layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csgraph
from scipy.special import logit

from mpxgat.errors import SettingError
from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import NODE_DTYPE, label_components

Places = NDArray[np.int64]

_SURE = 1e-12  # probabilities nearer to 0 or 1 count as this near, so that log-odds stay finite
_DENSE_ENTRIES = 1 << 16  # up to here a component's full matrix is solved sooner than its sparse one
_PREFER_A_PAIR = 1e-9  # among equal totals the one with more pairs: a pair at the threshold itself is taken


def check_threshold(threshold: float) -> None:
    """SettingError unless a threshold is a probability."""
    if not 0 <= threshold <= 1:
        raise SettingError(f"the threshold is {threshold}, expected a probability from 0 to 1")


def assign(pairs: NDArray[np.int32], probability: NDArray[np.float64], threshold: float) -> NDArray[np.bool_]:
    """(k,) which of (k, 2) different pairs to take, so that no node is in two of them.

    A pair gains what its log-odds exceed those of the threshold by; pairs below it are never taken. The total
    gain is the largest possible, and among equals the choice does not depend on the order of the pairs. Nodes may be
    numbered anyhow, but first and second nodes are two kinds.
    """
    check_threshold(threshold)
    chosen = np.zeros(len(pairs), dtype=bool)
    rows = np.flatnonzero(probability >= threshold)
    rows = rows[np.lexsort((pairs[rows, 1], pairs[rows, 0]))]
    gain = _log_odds(probability[rows]) - _log_odds(threshold) + _PREFER_A_PAIR
    alone, contested = _components(pairs[rows])
    chosen[rows[alone]] = True
    for part in contested:
        left, right = (np.unique(pairs[rows[part], side], return_inverse=True)[1] for side in (0, 1))
        solve = _best_dense if (left.max() + 1) * (right.max() + 1) <= _DENSE_ENTRIES else _best_sparse
        chosen[rows[part[solve(left, right, gain[part])]]] = True
    return chosen


def _components(pairs: NDArray[np.int32]) -> tuple[Places, list[Places]]:
    """Rows of (k, 2) pairs that share no node with another row; and the others, those apart that share no node
    directly or by others, in every part ascending. Most candidates above a high threshold have no competitor.
    """
    if not len(pairs):
        return np.empty(0, dtype=np.int64), []
    left, right = (np.unique(pairs[:, side], return_inverse=True)[1] for side in (0, 1))
    n_left = left.max() + 1
    label = label_components(np.stack([left, n_left + right], axis=1), n_left + right.max() + 1)[left]
    alone = np.bincount(label)[label] == 1
    contested = np.flatnonzero(~alone)
    order = contested[np.argsort(label[contested], kind="stable")]
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(order) else []
    return np.flatnonzero(alone), parts


def _best_dense(left: Places, right: Places, gain: NDArray[np.float64]) -> Places:
    """Rows of the assignment with the largest total; where there is no pair nothing is gained, as if unmatched."""
    matrix = np.zeros((left.max() + 1, right.max() + 1))
    matrix[left, right] = gain
    partner = np.full(len(matrix), -1)
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    partner[rows] = columns
    return np.flatnonzero(partner[left] == right)


def _best_sparse(left: Places, right: Places, gain: NDArray[np.float64]) -> Places:
    """As `_best_dense`, for a component whose matrix would be large.

    Every left node also has a partner of its own for which it gains nothing: so all left nodes can be assigned, as
    the solver wants it, and one that takes this partner stays unmatched.
    """
    n_left, n_right = left.max() + 1, right.max() + 1
    offset = gain.max() + 1.0  # the same for all pairs of a node, so it changes nothing; zero would mean no edge
    own = np.arange(n_left)
    cost = sparse.csr_array(
        (
            np.concatenate([offset - gain, np.full(n_left, offset)]),
            (np.concatenate([left, own]), np.concatenate([right, n_right + own])),
        ),
        shape=(n_left, n_right + n_left),
    )
    node, taken = csgraph.min_weight_full_bipartite_matching(cost)
    partner = np.full(n_left, -1)
    partner[node] = taken
    return np.flatnonzero(partner[left] == right)


def _log_odds(probability: NDArray[np.float64] | float) -> NDArray[np.float64]:
    odds: NDArray[np.float64] = logit(np.clip(probability, _SURE, 1 - _SURE))
    return odds


# ---- many layer pairs: units that have at most one node in a layer -------------------------------------------------


Pairs = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Cliques:
    """Units after matching. All pairs of a unit are one and the same, so units are disjoint cliques.

    unit            (n,) unit of every node, numbered by first node; known units are whole in it
    pairs           (m, 2) the pairs of one unit that were not known before; first < second, rows sorted
    probability     (m,) of the weakest link on the path that joins the two; known links count as sure
    joined_by       (m, 2) that weakest link: the pair that brought the two parts of the unit together
    """

    unit: NDArray[np.int32]
    pairs: Pairs
    probability: NDArray[np.float64]
    joined_by: Pairs


def merge_units(graph: MultiplexGraph, pairs: Pairs, probability: NDArray[np.float64]) -> Cliques:
    """Merge the known units of a graph along (k, 2) pairs, the most probable first (ties: by the nodes' positions).

    A pair whose units both have a node in some layer, or are known to be different, is passed over. Since probabilities
    fall from merge to merge, the pair that merges two units is the weakest link on every path that it makes.
    """
    merger = _Merger(graph, pairs)
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -probability))
    for (first, second), chance in zip(pairs[order].tolist(), probability[order].tolist(), strict=True):
        merger.offer(first, second, chance)
    return merger.cliques()


class _Merger:
    """Units that grow: nodes, layers (as bits) and those that are different, by the number of a known unit in each.

    Only the units of nodes that are ``offered`` are looked at; the others stay as they are.
    """

    def __init__(self, graph: MultiplexGraph, offered: Pairs):
        self._known = graph.unit
        changing = np.zeros(graph.n_units, dtype=bool)
        changing[graph.unit[offered]] = True
        self._nodes = np.flatnonzero(changing[graph.unit])
        self._unit: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._layers: dict[int, int] = {}
        columns = (self._nodes, graph.unit[self._nodes], graph.node_layer[self._nodes])
        for node, unit, layer in zip(*(column.tolist() for column in columns), strict=True):
            self._unit[node] = unit
            self._members.setdefault(unit, []).append(node)
            self._layers[unit] = self._layers.get(unit, 0) | 1 << layer
        self._apart: dict[int, set[int]] = {}
        for one, other in graph.unit[graph.apart].tolist():
            self._apart.setdefault(one, set()).add(other)
            self._apart.setdefault(other, set()).add(one)
        self._found: list[tuple[int, int, float, int, int]] = []

    def offer(self, first: int, second: int, chance: float) -> None:
        """Merge the units of two nodes, unless they are one already, share a layer or are known to be different."""
        one, other = self._unit[first], self._unit[second]
        if one == other or self._layers[one] & self._layers[other] or other in self._apart.get(one, ()):
            return
        for u in self._members[one]:
            for v in self._members[other]:
                self._found.append((min(u, v), max(u, v), chance, first, second))
        # A unit has at most as many nodes as there are layers, so relabelling it is cheap.
        for node in self._members[other]:
            self._unit[node] = one
        self._members[one] += self._members.pop(other)
        self._layers[one] |= self._layers.pop(other)
        for third in self._apart.pop(other, ()):
            self._apart[third].remove(other)
            self._apart[third].add(one)
            self._apart.setdefault(one, set()).add(third)

    def cliques(self) -> Cliques:
        """What has come of it."""
        unit = self._known.copy()
        unit[self._nodes] = [self._unit[node] for node in self._nodes.tolist()]
        _, first, inverse = np.unique(unit, return_index=True, return_inverse=True)
        number = np.empty(len(first), dtype=np.int32)
        number[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        nodes = np.array([(u, v, a, b) for u, v, _, a, b in self._found], dtype=NODE_DTYPE).reshape(-1, 4)
        chances = np.array([chance for _, _, chance, _, _ in self._found], dtype=np.float64)
        order = np.lexsort((nodes[:, 1], nodes[:, 0]))  # no pair is found twice
        return Cliques(number[inverse], nodes[order, :2], chances[order], nodes[order, 2:])
