"""A split as a value, and the protocols that make one.

A model sees ``split.train`` and nothing else; what it is asked about stands in ``split.intra`` and
``split.inter``. The training graph has all nodes, at the same positions, and none of the test links.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.splits.negatives import InterNegatives, IntraNegatives

MARKED_SHARE = 0.2
INTRA_SHARE = 0.2
MAX_SEED = 2**63
_VALIDATION = 1  # what random numbers are for


@dataclass(frozen=True, eq=False)
class IntraTargets:
    """Intra pairs to be told apart: ``positives`` (p, 2) are links hidden from training."""

    positives: NDArray[np.int32]
    negatives: IntraNegatives


@dataclass(frozen=True, eq=False)
class InterTargets:
    """Inter pairs to be told apart: ``positives`` (p, 2) are links hidden from training."""

    positives: NDArray[np.int32]
    negatives: InterNegatives


@dataclass(frozen=True, eq=False)
class Split:
    """A training graph and the pairs it is judged on."""

    protocol: str
    seed: int
    train: MultiplexGraph
    intra: IntraTargets
    inter: InterTargets

    def validation(self, seed: int) -> Split:
        """A split of the training graph by the same protocol: what models may tune and stop on."""
        return validation_split(self.train, self.protocol, seed)


def marked_nodes(graph: MultiplexGraph, seed: int, share: float = MARKED_SHARE) -> Split:
    """The paper's protocol: mark a share of the *nodes* at random; links among marked nodes are tested.

    Positives: a random 20% of the intra links and all inter links with both ends marked. Negatives: a
    random 20% of the non-linked same-layer pairs and all non-linked different-layer pairs of marked nodes.
    Training keeps every other link.
    """
    rng = _generator(seed, share)
    marked = rng.choice(graph.n_nodes, size=round(share * graph.n_nodes), replace=False)
    return _split_at(graph, np.sort(marked).astype(np.int32), "marked", seed, rng)


def held_out_units(graph: MultiplexGraph, seed: int, share: float = MARKED_SHARE) -> Split:
    """Mark a share of the *units* at random, with all their nodes: no marked unit keeps an inter link.

    Units are the known ones, single nodes included. Pairs are chosen as in `marked_nodes`.
    """
    rng = _generator(seed, share)
    units = rng.choice(graph.n_units, size=round(share * graph.n_units), replace=False)
    marked = np.flatnonzero(np.isin(graph.unit, units))
    return _split_at(graph, marked.astype(np.int32), "units", seed, rng)


PROTOCOLS: dict[str, Callable[[MultiplexGraph, int], Split]] = {
    "marked": marked_nodes,
    "units": held_out_units,
}


def make_split(graph: MultiplexGraph, protocol: str, seed: int) -> Split:
    """A split by the protocol's name."""
    check_protocol(protocol)
    return PROTOCOLS[protocol](graph, seed)


def validation_split(graph: MultiplexGraph, protocol: str, seed: int) -> Split:
    """A split of a training graph, to tune or to choose by.

    Its chance has nothing to do with that of `make_split` for the same seed, which would mark the very nodes that the
    training graph was made by: their inter links are hidden already, so none would be left to choose by.
    """
    check_protocol(protocol)
    _generator(seed, 1.0)  # says what is wrong with a seed
    return make_split(graph, protocol, int(np.random.default_rng([seed, _VALIDATION]).integers(MAX_SEED)))


def check_protocol(protocol: str) -> None:
    """SettingError unless there is a protocol of this name."""
    if protocol not in PROTOCOLS:
        raise SettingError(f"no protocol {quoted(protocol)}; known are {', '.join(PROTOCOLS)}")


def _generator(seed: int, share: float) -> np.random.Generator:
    if not 0 <= seed < MAX_SEED:
        raise SettingError(f"seed {seed}, expected a whole number from 0 to 2^63 - 1")
    if not 0 < share <= 1:
        raise SettingError(f"share {share} of marked nodes, expected more than 0 and at most 1")
    return np.random.default_rng(seed)


def _split_at(
    graph: MultiplexGraph, marked: NDArray[np.int32], protocol: str, seed: int, rng: np.random.Generator
) -> Split:
    place = np.full(graph.n_nodes, -1, dtype=np.int32)
    place[marked] = np.arange(len(marked), dtype=np.int32)
    intra_among = graph.intra[(place[graph.intra] >= 0).all(axis=1)]
    hidden = rng.choice(len(intra_among), size=round(INTRA_SHARE * len(intra_among)), replace=False)
    intra = intra_among[np.sort(hidden)]
    inter = graph.inter[(place[graph.inter] >= 0).all(axis=1)]
    layer = graph.node_layer[marked]
    return Split(
        protocol=protocol,
        seed=seed,
        train=graph.without(intra=intra, inter=inter),
        intra=IntraTargets(intra, IntraNegatives(marked, layer, place[intra_among], INTRA_SHARE, seed)),
        inter=InterTargets(inter, InterNegatives(marked, layer, graph.unit[marked])),
    )
