"""Splits: a training graph and the pairs to be predicted, by a protocol and a seed.

A model sees ``split.train`` and nothing else; what it is asked about stands in ``split.intra`` and ``split.inter``. The
training graph has all nodes, at the same positions, and none of the test links.

In a file there are the training graph, the marked nodes and the hidden links. Which pairs are no links follows from
these, so the file does not say it and cannot say it wrongly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.errors import GraphError, InputError, SettingError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import Arrays, graph_from_arrays, graph_to_arrays, read_arrays, write_arrays
from mpxgat.pairs import canonical_links, label_components, pair_keys, row_parts

__all__ = [
    "PROTOCOLS",
    "InterNegatives",
    "InterTargets",
    "IntraNegatives",
    "IntraTargets",
    "Negatives",
    "PairBlock",
    "Split",
    "check_protocol",
    "held_out_units",
    "load_split",
    "make_split",
    "marked_nodes",
    "save_split",
    "validation_split",
]


# ---- non-links: millions of pairs, described, enumerated block by block, never held all at once ------

BLOCK_PAIRS = 1 << 20


@dataclass(frozen=True)
class PairBlock:
    """The pairs (rows[a], cols[b]) with ``mask[a, b]``; rows are of layer ``layers[0]``, cols of ``layers[1]``."""

    layers: tuple[int, int]
    rows: NDArray[np.int32]  # (r,)
    cols: NDArray[np.int32]  # (c,)
    mask: NDArray[np.bool_]  # (r, c)

    def pairs(self) -> NDArray[np.int32]:
        """(k, 2) the pairs themselves."""
        row, col = np.nonzero(self.mask)
        return np.stack([self.rows[row], self.cols[col]], axis=1)


class Negatives(Protocol):
    """Pairs of nodes that are no links."""

    def blocks(self, max_pairs: int = BLOCK_PAIRS) -> Iterator[PairBlock]:
        """All pairs, each once, in blocks of at most about ``max_pairs`` cells; those of one layer pair in a row."""

    def cells(self) -> int:
        """How many cells all blocks have together, about: what scoring them costs."""


@dataclass(frozen=True, eq=False)
class InterNegatives:
    """All different-layer pairs of ``nodes`` that are not copies of one unit.

    nodes   (k,) ascending positions
    layer   (k,) their layers
    unit    (k,) their true units: two nodes of one unit are a link, stated or implied, so never a negative
    """

    nodes: NDArray[np.int32]
    layer: NDArray[np.int32]
    unit: NDArray[np.int32]

    def blocks(self, max_pairs: int = BLOCK_PAIRS) -> Iterator[PairBlock]:
        """Layer pair by layer pair (a < b), rows in order."""
        present = np.unique(self.layer)
        for position, a in enumerate(present):
            for b in present[position + 1 :]:
                cols = np.flatnonzero(self.layer == b)
                inside = np.flatnonzero(self.layer == a)
                for rows in (inside[part] for part in row_parts(inside, len(cols), max_pairs)):
                    mask = self.unit[rows][:, None] != self.unit[cols][None, :]
                    yield PairBlock((int(a), int(b)), self.nodes[rows], self.nodes[cols], mask)

    def cells(self) -> int:
        """Pairs of different layers, links included."""
        sizes = np.bincount(self.layer)
        return int((len(self.nodes) ** 2 - (sizes**2).sum()) // 2)


@dataclass(frozen=True, eq=False)
class IntraNegatives:
    """A random ``share`` of all same-layer pairs of ``nodes`` that are not joined by a link.

    A pair is taken if a hash of (seed, pair) falls below the share: no list is kept, and the choice does
    not depend on how the pairs are enumerated.

    links   (m, 2) intra links among ``nodes``, given as places in ``nodes``
    """

    nodes: NDArray[np.int32]
    layer: NDArray[np.int32]
    links: NDArray[np.int32]
    share: float
    seed: int

    def blocks(self, max_pairs: int = BLOCK_PAIRS) -> Iterator[PairBlock]:
        """Layer by layer, rows in order, the row's node before the column's."""
        k = len(self.nodes)
        linked = sparse.csr_array(
            (np.ones(len(self.links), dtype=bool), (self.links[:, 0], self.links[:, 1])), shape=(k, k)
        )
        for a in np.unique(self.layer):
            inside = np.flatnonzero(self.layer == a)  # a run of places, as nodes are sorted by layer
            for rows in (inside[part] for part in row_parts(inside, len(inside), max_pairs)):
                cols = inside[inside > rows[0]]
                if not len(cols):
                    continue
                mask = self._taken(rows, cols)
                mask &= rows[:, None] < cols[None, :]
                mask &= ~linked[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1].toarray()
                yield PairBlock((int(a), int(a)), self.nodes[rows], self.nodes[cols], mask)

    def cells(self) -> int:
        """Pairs of one layer; about, as blocks overhang the diagonal."""
        return int((np.bincount(self.layer) ** 2).sum() // 2)

    def _taken(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> NDArray[np.bool_]:
        if self.share >= 1:
            return np.ones((len(rows), len(cols)), dtype=bool)
        key = self.nodes[rows].astype(np.uint64)[:, None] << np.uint64(32) | self.nodes[cols].astype(np.uint64)
        salt = _mixed(np.array([self.seed], dtype=np.uint64))
        return _mixed(key ^ salt) < np.uint64(self.share * 2.0**64)


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The SplitMix64 finaliser (Steele, Lea and Flood, 2014): 64 bits in, 64 well-mixed bits out."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


# ---- a split as a value, and the protocols that make one ---------------------------------------------

MARKED_SHARE = 0.2
INTRA_SHARE = 0.2
MAX_SEED = 2**63
Links = NDArray[np.int32]
_VALIDATION = 1  # what random numbers are for


@dataclass(frozen=True, eq=False)
class IntraTargets:
    """Intra pairs to be scored: ``positives`` (p, 2) are links hidden from training."""

    positives: NDArray[np.int32]
    negatives: IntraNegatives


@dataclass(frozen=True, eq=False)
class InterTargets:
    """Inter pairs to be scored: ``positives`` (p, 2) are links hidden from training."""

    positives: NDArray[np.int32]
    negatives: InterNegatives


@dataclass(frozen=True, eq=False)
class Split:
    """A training graph and the pairs it is evaluated on."""

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
    intra_among, inter = (links[np.isin(links, marked).all(axis=1)] for links in (graph.intra, graph.inter))
    hidden = rng.choice(len(intra_among), size=round(INTRA_SHARE * len(intra_among)), replace=False)
    intra = intra_among[np.sort(hidden)]
    train = graph.without(intra=intra, inter=inter)
    return _split_of(train, marked, intra, inter, protocol, seed)


def _split_of(train: MultiplexGraph, marked: Links, intra: Links, inter: Links, protocol: str, seed: int) -> Split:
    """The split with the given training graph, marked nodes (k,) and hidden links; all else follows from these."""
    place = np.full(train.n_nodes, -1, dtype=np.int32)
    place[marked] = np.arange(len(marked), dtype=np.int32)
    every_intra = np.concatenate([train.intra[(place[train.intra] >= 0).all(axis=1)], intra])
    links, _ = canonical_links(place[every_intra], None, len(marked))
    unit = label_components(np.concatenate([train.inter, inter]), train.n_nodes)[marked]
    layer = train.node_layer[marked]
    return Split(
        protocol=protocol,
        seed=seed,
        train=train,
        intra=IntraTargets(intra, IntraNegatives(marked, layer, links, INTRA_SHARE, seed)),
        inter=InterTargets(inter, InterNegatives(marked, layer, unit)),
    )


# ---- a split in one file -----------------------------------------------------------------------------

KIND = "mpxgat-split-2"
_TRAIN = "train."
_TARGETS = ("marked", "intra.positives", "inter.positives")


def save_split(split: Split, path: str | PathLike[str]) -> Path:
    """Write a split to one file, replacing an older one in a single step; the same split gives the same bytes.

    SettingError for a split whose non-links are not those of its protocol: the file could not tell them.
    """
    path = Path(path)
    negatives = split.intra.negatives
    if (negatives.share, negatives.seed) != (INTRA_SHARE, split.seed):
        raise SettingError(
            f"non-links of share {negatives.share} and seed {negatives.seed}, expected {INTRA_SHARE} and {split.seed}: "
            "a file holds splits that a protocol made"
        )
    targets = (negatives.nodes, split.intra.positives, split.inter.positives)
    arrays: Arrays = dict(zip(_TARGETS, targets, strict=True))
    arrays |= {_TRAIN + name: array for name, array in graph_to_arrays(split.train).items()}
    write_arrays(path, KIND, {"protocol": split.protocol, "seed": split.seed}, arrays)
    return path


def load_split(path: str | PathLike[str]) -> Split:
    """Read a split; InputError if the file is damaged, something else, or no split that its protocol could make."""
    path = Path(path)
    header, arrays = read_arrays(path, KIND)
    train = {name.removeprefix(_TRAIN): value for name, value in arrays.items() if name.startswith(_TRAIN)}
    try:
        protocol, seed = header["protocol"], header["seed"]
        if protocol not in PROTOCOLS or type(seed) is not int or not 0 <= seed < MAX_SEED:
            raise GraphError(f"protocol {quoted(protocol)} and seed {quoted(seed)} are none that a split has")
        marked, intra, inter = (arrays[name] for name in _TARGETS)
        graph = graph_from_arrays(train)
        _check_targets(graph, marked, intra, inter)
        split = _split_of(graph, marked, intra, inter, protocol, seed)
        _check_protocol_kept(split)
    except GraphError as problem:
        raise InputError(str(problem), path) from None
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise InputError(f"a damaged split file ({printable(problem)})", path) from None
    return split


def _check_targets(train: MultiplexGraph, marked: Links, intra: Links, inter: Links) -> None:
    """GraphError unless hidden links join marked nodes of the right layers, in order, and are no links of ``train``."""
    _check_positions(marked, (len(marked),), train.n_nodes)
    if (np.diff(marked) <= 0).any():
        raise GraphError("the marked nodes are out of order")
    for kind, pairs, known in (("intra", intra, train.intra), ("inter", inter, train.inter)):
        _check_positions(pairs, (len(pairs), 2), train.n_nodes)
        keys = pair_keys(pairs, train.n_nodes)
        if (pairs[:, 0] >= pairs[:, 1]).any() or (np.diff(keys) <= 0).any():
            raise GraphError(f"the hidden {kind} links are out of order")
        layer = train.node_layer[pairs]
        if ((layer[:, 0] == layer[:, 1]) != (kind == "intra")).any():
            raise GraphError(f"a hidden {kind} link joins the wrong layers")
        if not np.isin(pairs, marked).all() or np.isin(keys, pair_keys(known, train.n_nodes)).any():
            raise GraphError(f"a hidden {kind} link joins nodes that are not marked, or is a training link too")


def _check_positions(numbers: NDArray[Any], shape: tuple[int, ...], bound: int) -> None:
    fits = numbers.dtype == np.int32 and numbers.shape == shape
    if not fits or (numbers < 0).any() or (numbers >= bound).any():
        raise GraphError("the targets of the split do not fit its training graph")


def _check_protocol_kept(split: Split) -> None:
    """GraphError unless as many links are hidden as the protocol hides, of nodes that it could have marked."""
    train, marked, unit = split.train, split.inter.negatives.nodes, split.inter.negatives.unit
    expected = round(INTRA_SHARE * len(split.intra.negatives.links))
    if len(split.intra.positives) != expected:
        raise GraphError(f"{len(split.intra.positives)} hidden intra links, expected {expected} of the marked nodes'")
    if np.isin(train.inter, marked).all(axis=1).any():
        raise GraphError("an inter link of two marked nodes is in the training graph, expected it hidden")
    layer_and_unit = np.stack([split.inter.negatives.layer, unit])
    if len(np.unique(layer_and_unit, axis=1).T) < len(marked):
        raise GraphError("the hidden inter links make one unit of two nodes in a layer")
    if split.protocol == "units" and np.isin(train.inter, marked).any():
        raise GraphError("a marked node has an inter link in the training graph, expected whole units to be marked")
