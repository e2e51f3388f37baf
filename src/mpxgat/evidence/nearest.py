"""Nodes with the nearest embeddings: candidates that sparse profiles miss.

In an ordinary layer all products are computed. A large one is searched by an index instead, if there is a library for
it: the vectors are clustered, and a node is compared with those of the clusters nearest to it alone. Without the
library all products are computed there too, which takes long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mpxgat.errors import SettingError
from mpxgat.evidence.pairs import row_parts
from mpxgat.evidence.similarity import LARGE_LAYER, Nodes, Similarities, decided_pairs
from mpxgat.nn.steady import product

AUTO, EXACT, APPROXIMATE = "auto", "exact", "approximate"
SEARCHES = (AUTO, EXACT, APPROXIMATE)
_CELLS = 1 << 23
_ASKED = 4  # times as many as wanted are searched for: some of them are known to differ
_CLUSTERS_SEARCHED = 8
_ROUNDS, _NODES_OF_A_CLUSTER = 10, 64  # of clustering, and how many nodes it learns from
_NONE = -math.inf
Vectors = NDArray[np.float32]


def search_library() -> ModuleType:
    """Faiss; SettingError if it is missing. Imported late: hardly anyone needs it."""
    if find_spec("faiss") is None:
        raise SettingError(
            "search is approximate, which needs Faiss: install it with pip install 'mpxgat[ann]', or let search be auto"
        )
    return import_module("faiss")


def is_approximate(search: str, n_theirs: int) -> bool:
    """Whether so many nodes are searched by an index; ``search`` is one of `SEARCHES`."""
    return search == APPROXIMATE or (search == AUTO and n_theirs >= LARGE_LAYER and find_spec("faiss") is not None)


def open_products(vectors: Vectors, present: NDArray[np.float32], ours: Nodes, theirs: Nodes) -> Iterator[Similarities]:
    """<v_i, v_j> of some of ``ours`` to all of ``theirs``, until all had their turn.

    vectors     (n, d)
    present     (n, L) layers where a node's unit has a node; two that share one are known to differ, or to be one, and
                have the product -inf
    """
    turned = torch.from_numpy(vectors[theirs]).T
    for part in row_parts(ours, len(theirs), _CELLS):
        nodes = ours[part]
        value = product(torch.from_numpy(vectors[nodes]), turned)
        value[torch.from_numpy(decided_pairs(present, nodes, theirs))] = _NONE
        yield Similarities(nodes, value)


def likely_products(
    vectors: Vectors, present: NDArray[np.float32], ours: Nodes, theirs: Nodes, k: int
) -> Iterator[Similarities]:
    """As `open_products`, of each node only the largest that an index finds; its ``k`` largest mostly among them."""
    library = search_library()
    library.omp_set_num_threads(torch.get_num_threads())
    index = _index(library, vectors[theirs])
    asked = min(_ASKED * k, len(theirs))
    for part in row_parts(ours, asked * present.shape[1], _CELLS):
        nodes = ours[part]
        value, partner = index.search(vectors[nodes], asked)
        missing = partner < 0  # the clusters hold fewer
        partner[missing] = 0
        decided = (present[nodes][:, None] * present[theirs[partner]]).any(axis=2)
        value[missing | decided] = _NONE
        yield Similarities(nodes, torch.from_numpy(value), torch.from_numpy(partner))


def _index(library: ModuleType, vectors: Vectors) -> Any:
    """An index of (m, d) vectors, which finds the largest products."""
    m, d = vectors.shape
    index = library.IndexIVFFlat(library.IndexFlatIP(d), d, max(1, math.isqrt(m)), library.METRIC_INNER_PRODUCT)
    clustering = index.cp
    clustering.niter, clustering.max_points_per_centroid = _ROUNDS, _NODES_OF_A_CLUSTER
    clustering.min_points_per_centroid = 1  # or it complains on the terminal
    index.train(vectors)
    index.add(vectors)
    index.nprobe = _CLUSTERS_SEARCHED
    return index
