"""One-to-one assignment of the nodes of two layers, by candidates: exact and sparse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csgraph
from scipy.special import logit

from mpxgat.errors import SettingError
from mpxgat.pairs import label_components

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
