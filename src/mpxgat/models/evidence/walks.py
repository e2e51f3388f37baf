"""Short random walks from every node, as sparse rows over known units.

With A the links within layers, T = D⁻¹A one random step, S the node × known unit matrix and V̄ the mean over a node's
known copies and itself, a step of a *joint* walk is J = V̄ T: it may go on in any layer where the unit is known.

    I_k = Tᵏ S        k steps within the layer          J_k = Jᵏ S        k steps through all layers

Walks from two copies of one unit visit the same units, whether or not a link between them is known. A unit visited by
few says more than one visited by all: every column is divided by the root of its sum. A node's own unit is left out of
its row: it would be evidence for itself. Only the largest entries of a row are kept, which bounds time and memory
(measured on ff-tw-yt and Drosophila, held-out units: 128 entries of up to 5,000 cost .005 of AUC); in networks of more
than 100,000 nodes fewer, so that all of them together stay as many, down to 32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import IntArray, Pairs, Values, unit_matrix, unit_sizes

Counts = NDArray[np.int64]
LARGEST, _FEWEST = 128, 32
_MOST_NODES = 100_000  # with all of the largest
DECAY = 0.6  # of a step against the one before
_CELLS = 1 << 20


def constants() -> dict[str, float]:
    """What changes the rows, by name: a classifier that learned with other values does not fit."""
    return {
        "walks.decay": DECAY,
        "walks.largest entries": LARGEST,
        "walks.fewest entries": _FEWEST,
        "walks.nodes with the largest entries": _MOST_NODES,
    }


@dataclass(frozen=True, eq=False)
class Walks:
    """Short walks from every node, as sparse rows (n, units), float64.

    visits      chances of visiting a unit on joint walks of one, two and three steps, added up with falling weight
    weighted    rows by name, columns divided by the roots of their sums, own unit left out: ``near`` and ``joint`` (one
                step), ``far`` (one and two steps in the layer), ``joint_far`` (one to three through all layers)
    """

    visits: sparse.csr_array
    weighted: Mapping[str, sparse.csr_array]


def entries_kept(n_nodes: int) -> int:
    """Of a row, in a network of so many nodes."""
    return min(LARGEST, max(_FEWEST, LARGEST * _MOST_NODES // max(n_nodes, 1)))


def short_walks(graph: MultiplexGraph, largest: int | None = None) -> Walks:
    """Walks with at most ``largest`` entries in a row; None leaves the number to `entries_kept`."""
    usual = entries_kept(graph.n_nodes)
    largest = usual if largest is None else largest
    step, joint, unit = one_step(graph), joint_step(graph), unit_matrix(graph)
    near, joint_near = sparse.csr_array(step @ unit), sparse.csr_array(joint @ unit)
    for rows in (near, joint_near):
        rows.sort_indices()  # so that what is kept of equals does not depend on the parts in which they are looked at
    far = stacked(near[part] + DECAY * two for part, two in _largest_of_product(step, near, 2 * largest))
    plain = {"near": near, "joint": joint_near, "far": far}
    weighted = {name: _weighted(rows, graph.unit, largest) for name, rows in plain.items()}
    del far, plain  # hardly more than two of what is large are there at once
    joint_2 = stacked(two for _, two in _largest_of_product(joint, joint_near, 2 * largest))
    most_visits = graph.n_units if usual == LARGEST else 2 * largest  # all of them, while that fits
    visits = stacked(
        _largest_entries(joint_near[part] + DECAY * joint_2[part] + DECAY**2 * three, most_visits)
        for part, three in _largest_of_product(joint, joint_2, 2 * largest)
    )
    del joint_2
    weighted["joint_far"] = _weighted(visits, graph.unit, largest)
    return Walks(visits, weighted)


def one_step(graph: MultiplexGraph) -> sparse.csr_array:
    """T: (n, n) to a random neighbour; a node without any goes nowhere."""
    return sparse.csr_array(_over(graph.degree) @ graph.adjacency.astype(np.float64))


def joint_step(graph: MultiplexGraph) -> sparse.csr_array:
    """J: (n, n) to a random known copy, itself included, and from there to a random neighbour."""
    unit = unit_matrix(graph)
    return sparse.csr_array(unit @ (_over(unit_sizes(graph)) @ (unit.T @ one_step(graph))))


class WalkSimilarity:
    """How similar the walks of two nodes are."""

    def __init__(self, walks: Mapping[str, sparse.csr_array]):
        self._walks = walks
        self._length = {name: _row_lengths(rows) for name, rows in walks.items()}

    def of(self, pairs: Pairs) -> Iterator[tuple[str, Values, Values]]:
        """Name, overlap <w_i, w_j> and cosine of every kind of walk; the cosine with an empty row is 0."""
        for name, rows in self._walks.items():
            overlap = pairs.overlap(rows, rows)
            lengths = self._length[name][pairs.first] * self._length[name][pairs.second]
            yield name, overlap, np.divide(overlap, lengths, out=np.zeros_like(overlap), where=lengths > 0)


def unit_length(rows: sparse.csr_array) -> sparse.csr_array:
    """Rows scaled to length 1; empty ones stay empty."""
    return sparse.csr_array(_over(_row_lengths(rows)) @ rows)


def _row_lengths(rows: sparse.csr_array) -> Values:
    """(n,) Euclidean lengths."""
    lengths: Values = np.sqrt(rows.multiply(rows).sum(axis=1))
    return lengths


def _over(values: NDArray[np.generic]) -> sparse.dia_array:
    """A diagonal of 1 / value, 0 where the value is 0."""
    value = np.asarray(values, dtype=np.float64)
    return sparse.diags_array(np.divide(1.0, value, out=np.zeros_like(value), where=value > 0))


def _weighted(rows: sparse.csr_array, unit: NDArray[np.int32], largest: int) -> sparse.csr_array:
    """Own unit left out, columns divided by the roots of their sums, largest entries kept."""
    parts = list(parts_of_like_sum(np.diff(rows.indptr).astype(np.int64), _CELLS))
    sums = np.zeros(rows.shape[1])
    for part in parts:
        others = _without_own(rows[part], unit[part])
        np.add.at(sums, others.indices, others.data)
    over_root = _over(np.sqrt(sums))

    def weighted(part: slice) -> sparse.csr_array:
        scaled = sparse.csr_array(_without_own(rows[part], unit[part]) @ over_root)
        scaled.eliminate_zeros()
        return _largest_entries(scaled, largest)

    return stacked(map(weighted, parts))


def _without_own(rows: sparse.csr_array, unit: NDArray[np.int32]) -> sparse.csr_array:
    """The same rows, 0 for the unit of each row's node."""
    own = rows.indices == np.repeat(unit, np.diff(rows.indptr))
    return sparse.csr_array((np.where(own, 0, rows.data), rows.indices, rows.indptr), shape=rows.shape)


def _largest_of_product(
    left: sparse.csr_array, right: sparse.csr_array, largest: int
) -> Iterator[tuple[slice, sparse.csr_array]]:
    """Some rows of ``left @ right`` after the other, with their ``largest`` largest entries: all may be dense."""
    for part in parts_of_like_sum(np.minimum(products_per_row(left, right), right.shape[1]), _CELLS):
        yield part, _largest_entries(sparse.csr_array(left[part] @ right), largest)


def _largest_entries(rows: sparse.csr_array, largest: int) -> sparse.csr_array:
    """The ``largest`` largest entries of every row."""
    counts = np.diff(rows.indptr)
    keep = np.repeat(counts <= largest, counts)
    longer = np.flatnonzero(counts > largest)
    longer = longer[np.argsort(counts[longer], kind="stable")]
    for part in parts_of_like_length(counts[longer], _CELLS):
        keep[_places_of_largest(rows, longer[part], largest)] = True
    kept = csr_rows(rows.data[keep], rows.indices[keep], np.minimum(counts, largest), rows.shape[1])
    kept.sort_indices()
    return kept


def _places_of_largest(rows: sparse.csr_array, part: IntArray, largest: int) -> IntArray:
    """Where in ``rows.data`` the largest entries of some rows are, all of them longer than that; of equals the first.

    What is kept of a row depends on that row alone, not on those it is looked at with.
    """
    begin, count = rows.indptr[part].astype(np.int64), np.diff(rows.indptr)[part]
    place = begin[:, None] + np.arange(count.max())
    values = rows.data[np.minimum(place, rows.nnz - 1)]
    values[np.arange(count.max()) >= count[:, None]] = -np.inf
    # torch selects several times faster than numpy
    least = torch.from_numpy(values).topk(largest, dim=1, sorted=False).values.amin(dim=1, keepdim=True).numpy()
    above, equal = values > least, values == least
    missing = largest - above.sum(axis=1, keepdims=True)
    kept: IntArray = place[above | (equal & (equal.cumsum(axis=1, dtype=np.int32) <= missing))]
    return kept


# ---- sparse matrices that are made some rows at a time ---------------------------------------------------


def products_per_row(left: sparse.csr_array, right: sparse.csr_array) -> Counts:
    """(r,) products of two entries that a row of ``left @ right`` is the sum of: it has no more entries than that."""
    sums = np.concatenate([[0], np.cumsum(np.diff(right.indptr)[left.indices], dtype=np.int64)])
    counts: Counts = sums[left.indptr[1:]] - sums[left.indptr[:-1]]
    return counts


def parts_of_like_sum(counts: Counts, most: int) -> Iterator[slice]:
    """Ranges of all rows, in order: at most ``most`` together, but for one row that may come on top; at least one."""
    group = np.cumsum(counts) // most
    bounds = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(counts)]
    return (slice(start, stop) for start, stop in pairwise(bounds))


def parts_of_like_length(lengths: IntArray, cells: int) -> Iterator[slice]:
    """Ranges of rows, whose lengths ascend: at most ``cells`` if all are filled up to the last; at least one row."""
    start = 0
    while start < len(lengths):
        ahead = np.maximum(lengths[start : start + cells].astype(np.int64), 1)
        stop = start + max(1, int(np.searchsorted(np.arange(1, len(ahead) + 1) * ahead, cells, side="right")))
        yield slice(start, stop)
        start = stop


def stacked(parts: Iterable[sparse.csr_array]) -> sparse.csr_array:
    """One part below the other, at least one. What is large is never held twice."""
    parts = iter(parts)
    first = next(parts)
    data, indices, counts = first.data.copy(), first.indices.copy(), [np.diff(first.indptr)]
    for part in parts:
        _append(data, part.data)
        _append(indices, part.indices)
        counts.append(np.diff(part.indptr))
    return csr_rows(data, indices, np.concatenate(counts), first.shape[1])


def csr_rows(
    data: NDArray[Any], indices: NDArray[np.integer[Any]], counts: NDArray[np.integer[Any]], columns: int
) -> sparse.csr_array:
    """A matrix from its entries, row by row, and their number in each; with 32-bit indices where these are enough.

    SciPy would make all indices as long as the longest of what it is given, and they are a third of the memory.
    """
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if max(int(indptr[-1]), columns) <= np.iinfo(np.int32).max:
        indptr, indices = indptr.astype(np.int32), indices.astype(np.int32, copy=False)
    return sparse.csr_array((data, indices, indptr), shape=(len(counts), columns))


def _append(whole: NDArray[Any], piece: NDArray[Any]) -> None:
    """Let an array grow where it is: the system gives large ones more memory without copying them."""
    end = len(whole)
    whole.resize(end + len(piece), refcheck=False)
    whole[end:] = piece


def at_rows(rows: sparse.csr_array, places: NDArray[np.integer], count: int) -> sparse.csr_array:
    """``count`` rows: these at their places, which ascend, the others empty."""
    counts = np.zeros(count, dtype=np.int64)
    counts[places] = np.diff(rows.indptr)
    return csr_rows(rows.data, rows.indices, counts, rows.shape[1])
