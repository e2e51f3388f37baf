"""Where every node stands in its layer: short walks over nodes, computed once; and units that are known only softly.

With A the links within layers and P = D⁻¹A one random step, the walks are

    near P        far P + ½ P²        wide P + .6 P² + .36 P³

In a directed network the same is done along the arcs and against them (their steps are in `_ALONG_STEPS`), and in a
weighted one with steps in proportion to weights, beside the plain walks.

A node visited by few says more than one visited by all: every column is divided by the root of its sum. The node itself
is left out of its row. Only the largest entries of a row are kept, which bounds time and memory.

Who is who in other layers changes from round to round, where these nodes lie does not. With S the node × unit matrix of
the known links and M a soft matching (probabilities of open pairs), the soft units are S + ½ M S: a node lies wholly in
its own unit, and half as probably as they match in the unit of another, so that two nodes matched with probability p
share p in all, half in the unit of either. Seen through soft units the walks of any two layers, W (S + ½ M S), can be
compared; a third layer where both are matched joins them as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.kernels import largest_of_product, overlaps
from mpxgat.models.evidence.features import PLAIN, LinkDetails
from mpxgat.models.evidence.walks import by_rarity
from mpxgat.pairs import symmetric_matrix, unit_matrix

NEAR, FAR, WIDE = "near", "far", "wide"
TRIANGLES = "triangles"
_STEPS = {NEAR: (1.0,), FAR: (1.0, 0.5), WIDE: (1.0, 0.6, 0.36)}
FOLLOWED, ALONG = "followed", "along the arcs"
FOLLOWERS, AGAINST = "followers", "against the arcs"
_ALONG_STEPS = {FOLLOWED: (1.0,), ALONG: (1.0, 0.5)}
_AGAINST_STEPS = {FOLLOWERS: (1.0,), AGAINST: (1.0, 0.5)}
HEAVY_NEAR, HEAVY_WIDE = "near by weight", "wide by weight"
_HEAVY_STEPS = {HEAVY_NEAR: (1.0,), HEAVY_WIDE: _STEPS[WIDE]}
_SHARED = 0.5  # of a match that lies in the unit of either node
_LARGEST, _FEWEST, _MOST = 256, 32, 2_000_000  # entries of a row, and about as many in all


def entries_kept(n_nodes: int) -> int:
    """Of a row, in a network of so many nodes."""
    return min(_LARGEST, max(_FEWEST, _MOST // max(n_nodes, 1)))


def constants(details: LinkDetails = PLAIN) -> dict[str, float]:
    """What changes the rows, by name: a classifier that learned with other values does not fit."""
    all_steps = _STEPS
    if details.direction:
        all_steps = all_steps | _ALONG_STEPS | _AGAINST_STEPS
    if details.weights:
        all_steps = all_steps | _HEAVY_STEPS
    steps = ((name, n, weight) for name, weights in all_steps.items() for n, weight in enumerate(weights, 1))
    return {f"surroundings.{name}, step {n}": weight for name, n, weight in steps} | {
        "surroundings.shared": _SHARED,
        "surroundings.largest entries": _LARGEST,
        "surroundings.fewest entries": _FEWEST,
        "surroundings.entries in all": _MOST,
    }


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Of a graph's links within layers, whatever is known between them; float32.

    links           (n, n) 0 or 1
    walks           (n, n) by name
    degree          (n,) log(1 + degree)
    neighbour_degree    (n,) its mean over the neighbours
    shape           by name: (n,) further numbers of a node's neighbourhood, as log(1 + number)
    details         what of the links was looked at beside that they are there
    """

    links: sparse.csr_array
    walks: dict[str, sparse.csr_array]
    degree: NDArray[np.float32]
    neighbour_degree: NDArray[np.float32]
    shape: dict[str, NDArray[np.float32]]
    details: LinkDetails = PLAIN

    @classmethod
    def of(cls, graph: MultiplexGraph, details: LinkDetails = PLAIN) -> Surroundings:
        """Direction and weights are looked at as far as ``details`` say, whatever the graph has."""
        largest = min(_LARGEST, 2 * entries_kept(graph.n_nodes))
        links = sparse.csr_array(graph.adjacency, dtype=np.float32)
        links.data[:] = 1
        step = _step(links)
        walks, shape = _walks(step, _STEPS, largest), _neighbourhood_shape(links)
        if details.direction:
            out, back = graph.arcs, sparse.csr_array(graph.arcs.T)
            walks |= _walks(_step(out), _ALONG_STEPS, largest) | _walks(_step(back), _AGAINST_STEPS, largest)
            shape |= _shape_of_arcs(out, back)
        if details.weights:
            heavy = relative_weights(graph)
            walks |= _walks(_step(heavy), _HEAVY_STEPS, largest)
            shape["strength"] = np.log1p(heavy.sum(axis=1)).astype(np.float32)
        degree = np.log1p(graph.degree).astype(np.float32)
        return cls(links, walks, degree, step @ degree, shape, details)


@dataclass(frozen=True, eq=False)
class SoftUnits:
    """The known units of a graph, and by how much nodes lie in those of others.

    matrix      (n, units) float32, entries up to 1
    present     (units, L) how much of a unit lies in each layer, up to 1
    """

    matrix: sparse.csr_array
    present: NDArray[np.float32]

    @classmethod
    def of(cls, graph: MultiplexGraph, matching: sparse.csr_array | None) -> SoftUnits:
        """``matching`` (n, n) holds probabilities of open pairs, both ways; None for none."""
        matrix = sparse.csr_array(unit_matrix(graph), dtype=np.float32)
        if matching is not None:
            matrix = sparse.csr_array(matrix + _SHARED * (matching @ matrix))
            np.minimum(matrix.data, 1, out=matrix.data)
        entries = matrix.tocoo()
        present = np.zeros((graph.n_units, graph.n_layers), dtype=np.float32)
        np.add.at(present, (entries.col, graph.node_layer[entries.row]), entries.data)
        return cls(matrix, np.minimum(present, 1))

    @cached_property
    def shared(self) -> tuple[sparse.csr_array, NDArray[np.float32]]:
        """Matrix and presence of the units that lie in two layers at least: no other joins two layers."""
        several = np.flatnonzero((self.present > 0).sum(axis=1) > 1)
        return sparse.csr_array(self.matrix[:, several]), self.present[several]


def relative_weights(graph: MultiplexGraph) -> sparse.csr_array:
    """(n, n) weights of the intra links as shares of their mean in the layer, float32; negative ones are left out."""
    weight = np.maximum(np.ones(graph.n_intra) if graph.intra_weight is None else graph.intra_weight, 0)
    layer = graph.node_layer[graph.intra[:, 0]]
    largest = np.zeros(graph.n_layers)
    np.maximum.at(largest, layer, weight)
    weight = np.divide(weight, largest[layer], out=np.zeros_like(weight), where=weight > 0)  # sums may be too large
    total, count = np.zeros(graph.n_layers), np.zeros(graph.n_layers)
    np.add.at(total, layer, weight)
    np.add.at(count, layer, weight > 0)
    weight *= np.divide(count, total, out=np.zeros_like(total), where=total > 0)[layer]
    there = weight > 0
    return symmetric_matrix(graph.intra[there], weight[there], graph.n_nodes)


def _step(links: sparse.csr_array) -> sparse.csr_array:
    """(n, n) float32 to a neighbour, in proportion to the entries of its link; a node without any goes nowhere."""
    return sparse.csr_array(_over(links.sum(axis=1)) @ links)


def _walks(step: sparse.csr_array, weights: Mapping[str, Sequence[float]], largest: int) -> dict[str, sparse.csr_array]:
    """By name: sums of the powers of a step, each with its weight, as rows by rarity."""
    powers = [step]
    for _ in range(max(map(len, weights.values())) - 1):
        powers.append(largest_of_product(step, powers[-1], largest))
    nodes = np.arange(step.shape[0])
    return {
        name: by_rarity(sum(weight * power for weight, power in zip(each, powers, strict=False)), nodes, largest)
        for name, each in weights.items()
    }


def _shape_of_arcs(out: sparse.csr_array, back: sparse.csr_array) -> dict[str, NDArray[np.float32]]:
    """By name: (n,) log(1 + number) of a node's arcs."""
    numbers = {
        "followed": out.sum(axis=1),
        "followers": back.sum(axis=1),
        "mutual ties": out.multiply(back).sum(axis=1),
    }
    return {name: np.log1p(number).astype(np.float32) for name, number in numbers.items()}


def _neighbourhood_shape(links: sparse.csr_array) -> dict[str, NDArray[np.float32]]:
    """By name: (n,) log(1 + number) of a node; they compare any two networks, whatever is known between these."""
    degree = np.diff(links.indptr)
    first = np.repeat(np.arange(len(degree)), degree)
    near = degree[links.indices].astype(np.float64)
    some = np.flatnonzero(degree > 0)
    most, least = np.zeros(len(degree)), np.zeros(len(degree))
    if len(some):
        most[some] = np.maximum.reduceat(near, links.indptr[some])
        least[some] = np.minimum.reduceat(near, links.indptr[some])
    numbers = {
        TRIANGLES: np.bincount(first, overlaps(links, links, first, links.indices), len(degree)) / 2,
        "walks of two steps": np.bincount(first, near, len(degree)),
        "largest degree of a neighbour": most,
        "least degree of a neighbour": least,
    }
    return {name: np.log1p(number).astype(np.float32) for name, number in numbers.items()}


def _over(values: NDArray[np.floating]) -> sparse.dia_array:
    """A diagonal of 1 / value, 0 where the value is 0; float32."""
    value = np.asarray(values, dtype=np.float32)
    return sparse.diags_array(np.divide(1, value, out=np.zeros_like(value), where=value > 0))
