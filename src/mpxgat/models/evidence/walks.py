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

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.kernels import largest_entries, largest_of_product
from mpxgat.pairs import IntArray, Pairs, Product, Values, unit_matrix, unit_sizes

LARGEST, _FEWEST = 128, 32
_MOST_NODES = 100_000  # with all of the largest
DECAY = 0.6  # of a step against the one before


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
    """Short walks from every node, as sparse rows (n, units).

    visits      chances of visiting a unit on joint walks of one, two and three steps, added up with falling weight
    weighted    rows by name, columns divided by the roots of their sums, own unit left out: ``near`` and ``joint`` (one
                step), ``far`` (one and two steps in the layer), ``joint_far`` (one to three through all layers)
    """

    visits: Product
    weighted: Mapping[str, sparse.csr_array]


def entries_kept(n_nodes: int) -> int:
    """Of a row, in a network of so many nodes."""
    return min(LARGEST, max(_FEWEST, LARGEST * _MOST_NODES // max(n_nodes, 1)))


def short_walks(graph: MultiplexGraph, largest: int | None = None) -> Walks:
    """Walks with at most ``largest`` entries in a row; None leaves the number to `entries_kept`.

    Steps beyond the first are taken from rows of twice as many.
    """
    largest = entries_kept(graph.n_nodes) if largest is None else largest
    step, joint, unit = one_step(graph), joint_step(graph), unit_matrix(graph)
    near, joint_near = sparse.csr_array(step @ unit), sparse.csr_array(joint @ unit)
    joint_2 = largest_of_product(joint, joint_near, 2 * largest)
    visits = Product(joint, sparse.csr_array(unit + DECAY * joint_near + DECAY**2 * joint_2))
    rows = {
        "near": near,
        "joint": joint_near,
        "far": largest_of_product(step, sparse.csr_array(unit + DECAY * near), 2 * largest),
        "joint_far": largest_of_product(visits.left, visits.right, 2 * largest),
    }
    return Walks(visits, {name: by_rarity(each, graph.unit, largest) for name, each in rows.items()})


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


def _row_lengths(rows: sparse.csr_array) -> Values:
    """(n,) Euclidean lengths."""
    lengths: Values = np.sqrt(rows.multiply(rows).sum(axis=1))
    return lengths


def _over(values: NDArray[np.generic]) -> sparse.dia_array:
    """A diagonal of 1 / value, 0 where the value is 0."""
    value = np.asarray(values, dtype=np.float64)
    return sparse.diags_array(np.divide(1.0, value, out=np.zeros_like(value), where=value > 0))


def by_rarity(rows: sparse.csr_array, own: IntArray, largest: int) -> sparse.csr_array:
    """Every row's own column left out, columns divided by the roots of their sums, largest entries kept; float32."""
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    others = (rows.indices != own[row]) & (rows.data > 0)
    data, column = rows.data[others], rows.indices[others]
    counts = np.bincount(row[others], minlength=rows.shape[0])
    root = np.sqrt(np.bincount(column, data, minlength=rows.shape[1])).astype(rows.dtype)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(rows.indptr.dtype)
    return largest_entries(sparse.csr_array((data / root[column], column, start), shape=rows.shape), largest)
