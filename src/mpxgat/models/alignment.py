"""Network alignment as the literature does it: what its methods share, IsoRank and FINAL. PARROT has its own file.

Each pair of layers is aligned by itself, from the links within the two and from the known counterparts between them
(its anchors; those that only a chain through a third layer makes known are among them). What comes out is a dense
matrix of similarities: these methods are rivals to compare with, for layers of some ten thousand nodes. They say
nothing about links within a layer. Probabilities of matches are ours: see `mpxgat.matching.similarities`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.errors import GraphError, quoted
from mpxgat.graph import LayerLike, MultiplexGraph, NodeLike
from mpxgat.io.arrays import Arrays
from mpxgat.matching.match import Candidates, MatchesLayers, check_two_layers, layer_pairs, no_candidates
from mpxgat.matching.reasons import Explanation, unexplained
from mpxgat.matching.similarities import Between, SimilarityMatching
from mpxgat.models.base import Model, Positions, Scores, Settings
from mpxgat.pairs import row_parts
from mpxgat.system import check_fits
from mpxgat.training.parallel import Session

Dense = NDArray[np.floating[Any]]
Similarity = NDArray[np.float32]
_Float = TypeVar("_Float", bound=np.floating[Any])
_CELLS_AT_ONCE = 1 << 20  # of a matrix; a part of this size stays in a cache
_MOST_DOUBLE = 1 << 24  # cells of a matrix in double precision (128 MB); larger ones are in single


# ---- two layers ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LayerPair:
    """What is known of two layers; nodes are numbered from 0 in each.

    first, second       (n1, n1) and (n2, n2) symmetric 0/1 matrices of the links within them
    anchors             (k, 2) the known counterparts, in the order of the first layer; no node twice
    features            (n1, p) and (n2, p) of the nodes, or None where the graph has none
    """

    first: sparse.csr_array
    second: sparse.csr_array
    anchors: NDArray[np.int64]
    features: tuple[Dense, Dense] | None

    @classmethod
    def of(cls, graph: MultiplexGraph, layer_a: int, layer_b: int) -> LayerPair:
        """Two layers of a graph."""
        one, other = (slice(*graph.layer_start[layer : layer + 2]) for layer in (layer_a, layer_b))
        dtype = precision(one.stop - one.start, other.stop - other.start)
        _, first, second = np.intersect1d(graph.unit[one], graph.unit[other], assume_unique=True, return_indices=True)
        anchors = np.stack([first, second], axis=1)[np.argsort(first)]
        tables = [each.values for each in (graph.horizontal_features, graph.vertical_features) if each is not None]
        features = np.concatenate(tables, axis=1).astype(dtype) if tables else None
        return cls(
            sparse.csr_array(graph.adjacency[one, one], dtype=dtype),
            sparse.csr_array(graph.adjacency[other, other], dtype=dtype),
            anchors,
            None if features is None else (features[one], features[other]),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(n1, n2)."""
        return self.first.shape[0], self.second.shape[0]

    @property
    def at_anchors(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the anchors are in an (n1, n2) matrix."""
        return self.anchors[:, 0], self.anchors[:, 1]

    def prior(self) -> Dense:
        """(n1, n2) 1/k at each of the k anchors, 0 elsewhere."""
        values = np.zeros(self.shape, dtype=self.first.dtype)
        values[self.at_anchors] = 1 / max(len(self.anchors), 1)
        return values


def precision(n_first: int, n_second: int) -> type[np.floating[Any]]:
    """In which to compute: double, so that rounding breaks no tie; single where that would take too much memory."""
    return np.float64 if n_first * n_second <= _MOST_DOUBLE else np.float32


def row_normalised(matrix: sparse.csr_array) -> sparse.csr_array:
    """Every row divided by its sum: the steps of a random walk. A row of zeros stays."""
    total = matrix.sum(axis=1)
    inverse = np.divide(1, total, out=np.zeros_like(total), where=total != 0)
    return sparse.csr_array(sparse.diags_array(inverse, dtype=matrix.dtype) @ matrix)


def unit_length(vectors: Dense) -> Dense:
    """Every row scaled to length 1; a row of zeros stays."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Dense = np.divide(vectors, length, out=np.zeros_like(vectors), where=length != 0)
    return scaled


# ---- propagation ---------------------------------------------------------------------------------------------------


def propagated(
    left: sparse.csr_array, values: NDArray[_Float], right: sparse.csr_array
) -> Iterator[tuple[slice, NDArray[_Float]]]:
    """Left @ values @ right.T, for sparse (n1, n1) and (n2, n2) and a dense (n1, n2), a part of the rows at a time."""
    for part in parts_of(values):
        yield part, propagated_rows(left, values, right, part)


def propagated_rows(
    left: sparse.csr_array, values: NDArray[_Float], right: sparse.csr_array, part: slice
) -> NDArray[_Float]:
    """Some rows of left @ values @ right.T."""
    rows: NDArray[_Float] = (right @ (left[part] @ values).T).T
    return rows


def parts_of(values: Dense) -> Iterator[slice]:
    """Parts of a dense matrix's rows that stay in a cache."""
    return row_parts(np.arange(len(values)), values.shape[1], _CELLS_AT_ONCE)


@dataclass(frozen=True)
class PropagationSettings(Settings):
    """Settings of a model that hands similarity on from anchors to neighbours.

    alpha           weight of the neighbours against the anchors
    iterations      of the propagation; what is left of the start is alpha to their power
    """

    alpha: float
    iterations: int = 30

    def __post_init__(self) -> None:
        self.check_share("alpha")
        self.check_at_least(1, "iterations")


# ---- models of this kind -------------------------------------------------------------------------------------------


class AlignmentModel(MatchesLayers, Model):
    """A model that gives every pair of layers a matrix of similarities, kept in single precision; no chance in it.

    The seed only chooses the known units on which matches are calibrated. That takes one to five further fits, so it
    is done when matches are first asked for. Pairs within a layer all score 0. `fit` raises a TrainingError if the
    memory does not hold the matrices.
    """

    def __init__(self, *, seed: int = 0):
        super().__init__(seed=seed)
        self._similarity: dict[tuple[int, int], Similarity] = {}

    @abstractmethod
    def _align(self, pair: LayerPair) -> Dense:
        """(n1, n2) similarities of the nodes of two layers."""

    @abstractmethod
    def _numbers(self, pair: LayerPair) -> int:
        """About how many numbers `_align` holds at once."""

    def similarity(self, layer_a: LayerLike, layer_b: LayerLike) -> Similarity:
        """(n_a, n_b) similarities of all nodes of two layers; GraphError for an unknown or the same layer."""
        a, b = (self.graph.layer_index(layer) for layer in (layer_a, layer_b))
        if a == b:
            raise GraphError(f"the layer {quoted(layer_a)} twice, expected two layers to compare")
        return self._between(a, b)

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """A part of a matrix; 0 within a layer."""
        if self._is_intra(rows, cols):
            return np.zeros((len(rows), len(cols)))
        layers = self.graph.node_layer
        a, b = int(layers[rows[0]]), int(layers[cols[0]])
        start = self.graph.layer_start
        return self._between(a, b)[np.ix_(rows - start[a], cols - start[b])].astype(np.float64)

    # ---- matching --------------------------------------------------------------------------------------

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """The k most similar partners of every open node, from both sides, best first."""
        return self._matching.candidates(layer_a, layer_b, k) if self._matching else no_candidates(self.graph)

    def explain(self, first: NodeLike, second: NodeLike) -> Explanation:
        """A pair's similarity and its ranks; SettingError if both nodes are in one layer."""
        return self.explain_many(self.graph.positions([first, second])[None])[0]

    def explain_many(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """As `explain`, for (k, 2) pairs."""
        check_two_layers(self.graph, pairs)
        return self._matching.explain(pairs) if self._matching else unexplained(pairs)

    @cached_property
    def _matching(self) -> SimilarityMatching | None:
        """None if too few links are known to calibrate similarities on."""

        def refit(hidden: MultiplexGraph) -> Between:
            return type(self)(**self.get_params()).fit(hidden)._between

        return SimilarityMatching.learned(self.graph, self._between, refit, self.seed)

    # ---- learning and saving ---------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        vars(self).pop("_matching", None)  # that of a graph before
        pairs = {(a, b): LayerPair.of(graph, a, b) for a, b in layer_pairs(graph)}
        self._check_memory(list(pairs.values()))
        self._similarity = {ab: self._align(pair).astype(np.float32, copy=False) for ab, pair in pairs.items()}

    def _check_memory(self, pairs: list[LayerPair]) -> None:
        """TrainingError unless there is room for all results and for the work on the largest pair."""
        if not pairs:
            return
        held = sum(np.dtype(np.float32).itemsize * math.prod(pair.shape) for pair in pairs)
        work = max(np.dtype(pair.first.dtype).itemsize * self._numbers(pair) for pair in pairs)
        first, second = max((pair.shape for pair in pairs), key=math.prod)
        what = f"{self.name}, which compares all nodes of layers of {first:,} and {second:,} nodes,"
        check_fits(held + work, what, "the models evidence and rules need far less")

    def _between(self, a: int, b: int) -> Similarity:
        return self._similarity[a, b] if a < b else self._similarity[b, a].T

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return np.zeros(len(pairs))

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        scores = np.zeros(len(pairs))
        layer, start = self.graph.node_layer[pairs], self.graph.layer_start
        for a, b in np.unique(layer, axis=0).tolist():
            here = (layer == (a, b)).all(axis=1)
            first, second = (pairs[here] - start[[a, b]]).T
            scores[here] = self._between(a, b)[first, second]
        return scores

    def _state(self) -> Arrays:
        return {f"{a}-{b}": values for (a, b), values in self._similarity.items()}

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        sizes = np.diff(graph.layer_start)
        for a, b in layer_pairs(graph):
            values = state[f"{a}-{b}"]
            if values.shape != (sizes[a], sizes[b]) or values.dtype != np.float32 or not np.isfinite(values).all():
                found = f"{values.dtype} of the shape {values.shape}"
                expected = f"finite float32 of the shape {(int(sizes[a]), int(sizes[b]))}"
                raise GraphError(f"similarities of layers {a} and {b} are {found}, expected {expected}")
            self._similarity[a, b] = values


# ---- IsoRank -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IsoRankSettings(PropagationSettings):
    """Settings of IsoRank; alpha as the library PyNetAlign has it for anchors as prior."""

    alpha: float = 0.4


class IsoRank(AlignmentModel):
    """IsoRank (Singh, Xu and Berger 2008): two nodes are alike as far as their neighbours are.

        R_ij = alpha sum_{u in N(i), v in N(j)} R_uv / (d_u d_v) + (1 - alpha) H_ij

    with the known counterparts as prior H, 1/k each. Arguments: `IsoRankSettings`.
    """

    name = "isorank"
    description = "inter: IsoRank, similarity handed on from known counterparts to neighbours; intra: nothing"
    _settings: IsoRankSettings

    def __init__(
        self, *, alpha: float = IsoRankSettings.alpha, iterations: int = IsoRankSettings.iterations, seed: int = 0
    ):
        super().__init__(seed=seed)
        self._settings = IsoRankSettings.among(locals())

    def _numbers(self, pair: LayerPair) -> int:
        return 2 * math.prod(pair.shape)

    def _align(self, pair: LayerPair) -> Dense:
        alpha = self._settings.alpha
        # A / d, by columns: what a node has is shared out among its neighbours.
        left, right = (sparse.csr_array(row_normalised(each).T) for each in (pair.first, pair.second))
        old = pair.prior()
        new = np.empty_like(old)
        at_anchors, prior = pair.at_anchors, (1 - alpha) / max(len(pair.anchors), 1)
        for _ in range(self._settings.iterations):
            for part, rows in propagated(left, old, right):
                np.multiply(rows, alpha, out=new[part])
            new[at_anchors] += prior
            old, new = new, old
        return old


# ---- FINAL ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FINALSettings(PropagationSettings):
    """Settings of FINAL, as its authors have them for ACM and DBLP."""

    alpha: float = 0.5


class FINAL(AlignmentModel):
    """FINAL (Zhang and Tong 2016): neighbours of alike nodes are alike, as far as their attributes are.

        s = alpha D^-1/2 N (A1 x A2) N D^-1/2 s + (1 - alpha) h,    D = diag(N (A1 x A2) N 1)

    over all pairs of nodes, with N the cosine of their features, 0 where it is negative (FINAL-N); without features
    N = 1 (FINAL-P). h is 1/k at the k known counterparts. Arguments: `FINALSettings`.
    """

    name = "final"
    description = "inter: FINAL, similarity handed on to neighbours with similar features, if any; intra: nothing"
    reads = frozenset({"features"})
    _settings: FINALSettings

    def __init__(
        self, *, alpha: float = FINALSettings.alpha, iterations: int = FINALSettings.iterations, seed: int = 0
    ):
        super().__init__(seed=seed)
        self._settings = FINALSettings.among(locals())

    def _numbers(self, pair: LayerPair) -> int:
        return 3 * math.prod(pair.shape)

    def _align(self, pair: LayerPair) -> Dense:
        alpha = self._settings.alpha
        scale = _final_scale(pair)
        at_anchors, prior = pair.at_anchors, 1 / max(len(pair.anchors), 1)
        scaled = pair.prior() * scale
        similarity = np.empty_like(scaled)
        for _ in range(self._settings.iterations):
            for part, rows in propagated(pair.first, scaled, pair.second):
                np.multiply(rows, alpha * scale[part], out=similarity[part])
            similarity[at_anchors] += (1 - alpha) * prior
            np.multiply(similarity, scale, out=scaled)
        return similarity


def _final_scale(pair: LayerPair) -> Dense:
    """(n1, n2) the diagonal of D^-1/2 N."""
    if pair.features is None:
        degrees = [np.sqrt(each.sum(axis=1)) for each in (pair.first, pair.second)]
        inverse = [np.divide(1, each, out=np.zeros_like(each), where=each > 0) for each in degrees]
        return np.outer(*inverse)
    one, other = (unit_length(each) for each in pair.features)
    alike = np.maximum(one @ other.T, 0)
    scale = np.empty_like(alike)
    for part, degree in propagated(pair.first, alike, pair.second):
        # N / sqrt(N d) = sqrt(N / d); where d is 0, nothing is ever handed on.
        scale[part] = np.sqrt(np.divide(alike[part], degree, out=np.zeros_like(degree), where=degree > 0))
    return scale
