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
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mpxgat.build import RowError, with_inter_links
from mpxgat.errors import GraphError, InputError, SettingError, printable, quoted
from mpxgat.graph import MultiplexGraph, describe
from mpxgat.io.arrays import Arrays, graph_from_arrays, graph_to_arrays, read_arrays, write_arrays
from mpxgat.pairs import canonical_links, label_components, pair_keys, row_parts
from mpxgat.tabular import html_fields

__all__ = [
    "PROTOCOLS",
    "InterNegatives",
    "InterTargets",
    "IntraNegatives",
    "IntraTargets",
    "Negatives",
    "PairBlock",
    "Split",
    "anchored_split",
    "held_out_units",
    "is_anchors",
    "known_anchors",
    "load_split",
    "make_split",
    "marked_nodes",
    "protocol_text",
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
KNOWN_SHARE = 0.2
ANCHORS = "anchors"
LISTED_ANCHORS = "anchors listed"  # by lists of one's own: nothing that a seed could make again
_VALIDATION_KNOWN = 0.8  # of a training graph's anchors
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
    """A training graph and the pairs it is evaluated on; ``protocol`` is a `protocol_text` or ``anchors listed``."""

    protocol: str
    seed: int
    train: MultiplexGraph
    intra: IntraTargets
    inter: InterTargets

    @property
    def marked(self) -> NDArray[np.int32]:
        """(k,) the marked nodes, ascending: those among which links are hidden; of anchors, all of hidden units."""
        if is_anchors(self.protocol):
            return np.unique(self.inter.positives)  # a hidden unit has no other inter links
        return self.inter.negatives.nodes

    def __repr__(self) -> str:
        hidden = f"{len(self.intra.positives):,} intra and {len(self.inter.positives):,} inter links"
        return f"<Split: protocol {self.protocol}, seed {self.seed}, {hidden} hidden>"

    def _repr_html_(self) -> str:
        train = f"{self.train.n_intra:,} intra and {self.train.n_inter:,} inter links"
        compared = (f"{kind.negatives.cells():,}" for kind in (self.intra, self.inter))
        return html_fields(
            repr(self), {"to train on": train, "compared with": f"about {' intra and '.join(compared)} inter pairs"}
        )

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


def known_anchors(graph: MultiplexGraph, seed: int, known: float = KNOWN_SHARE) -> Split:
    """Network alignment: a random share of the *units in two layers or more* is known, all others are to be found.

    Positives: every inter link of the other units. Negatives: all pairs of nodes of different layers that are no link,
    nodes of known units and of a single layer included. No intra link is hidden, none is tested. With one seed, what is
    known at a small share is known at a larger one too. ``known`` is from 0 (a cold start) to less than 1.
    """
    _check_seed(seed)
    _check_known(known)
    units = np.unique(graph.unit[graph.inter[:, 0]])
    hidden = np.random.default_rng(seed).permutation(units)[round(known * len(units)) :]
    inter = graph.inter[np.isin(graph.unit[graph.inter[:, 0]], hidden)]
    return _split_of_anchors(graph.without(inter=inter), inter, protocol_text(ANCHORS, known), seed)


def anchored_split(graph: MultiplexGraph, known: ArrayLike, hidden: ArrayLike, seed: int = 0) -> Split:
    """As `known_anchors`, by lists of one's own: (k, 2) and (h, 2) pairs of nodes, given by their positions.

    They take the place of the graph's own inter links, none of which is trained on. The seed is for models alone.
    GraphError if the lists contradict each other or uniqueness: a pair is in one list, a unit known or hidden as a
    whole.
    """
    _check_seed(seed)
    pairs = [np.asarray(each, dtype=np.int64).reshape(-1, 2) for each in (known, hidden)]
    both = np.concatenate(pairs)
    if both.size and not 0 <= both.min() <= both.max() < graph.n_nodes:
        raise GraphError(f"pairs name nodes from {both.min()} to {both.max()}, expected 0 to {graph.n_nodes - 1}")
    try:
        whole = with_inter_links(graph, both)
    except RowError as problem:
        raise GraphError(problem.message) from None
    _check_whole_units(whole, *pairs)
    inter, _ = canonical_links(pairs[1], None, graph.n_nodes)
    return _split_of_anchors(whole.without(inter=inter), inter, LISTED_ANCHORS, seed)


def _check_whole_units(whole: MultiplexGraph, known: NDArray[np.int64], hidden: NDArray[np.int64]) -> None:
    mixed = np.flatnonzero(np.isin(whole.unit[hidden[:, 0]], whole.unit[known[:, 0]]))
    if len(mixed):
        first, second = (describe(whole.nodes[int(node)]) for node in hidden[mixed[0]])
        raise GraphError(
            f"{first} and {second} are to be hidden, but one of them is in a known pair of their unit, "
            "expected units that are known or hidden as a whole"
        )


PROTOCOLS: dict[str, Callable[[MultiplexGraph, int], Split]] = {
    "marked": marked_nodes,
    "units": held_out_units,
    ANCHORS: known_anchors,
}


def make_split(graph: MultiplexGraph, protocol: str, seed: int, known: float | None = None) -> Split:
    """A split by the protocol's name; of ``anchors``, ``known`` is the share, as is the number in ``anchors 0.2``."""
    text = protocol_text(protocol, known)
    if (share := _known_share(text)) is not None:
        return known_anchors(graph, seed, share)
    return PROTOCOLS[text](graph, seed)


def validation_split(graph: MultiplexGraph, protocol: str, seed: int) -> Split:
    """A split of a training graph, to tune or to choose by.

    Its chance has nothing to do with that of `make_split` for the same seed, which would mark the very nodes that the
    training graph was made by: their inter links are hidden already, so none would be left to choose by. Of anchors
    four in five stay known, whatever the protocol's share: a fifth of a fifth would be another task.
    """
    text = protocol if protocol == LISTED_ANCHORS else protocol_text(protocol)
    _check_seed(seed)
    inner = int(np.random.default_rng([seed, _VALIDATION]).integers(MAX_SEED))
    return make_split(graph, protocol_text(ANCHORS, _VALIDATION_KNOWN) if is_anchors(text) else text, inner)


def protocol_text(protocol: str, known: float | None = None) -> str:
    """The one text that splits, records and tables call a protocol by: ``marked``, ``units``, ``anchors 0.2``.

    protocol    a name, or such a text
    known       share of known units, for anchors alone (0.2 by default)

    SettingError if there is no such protocol, or the share does not go with it.
    """
    name, _, written = protocol.partition(" ")
    if name not in PROTOCOLS or (written and name != ANCHORS):
        raise SettingError(f"no protocol {quoted(protocol)}; known are {', '.join(PROTOCOLS)}")
    if name != ANCHORS:
        if known is not None:
            raise SettingError(f"a known share ({known}) with the protocol {name}, expected it with {ANCHORS} alone")
        return name
    if written:
        try:
            share = float(written)
        except ValueError:
            raise SettingError(f"no protocol {quoted(protocol)}, expected such as '{ANCHORS} {KNOWN_SHARE}'") from None
        if known not in (None, share):
            raise SettingError(f"a known share of {known} with the protocol {quoted(protocol)}, expected one of them")
        known = share
    share = KNOWN_SHARE if known is None else known
    _check_known(share)
    return f"{ANCHORS} {float(share) + 0.0}"  # 0.0, not -0.0


def is_anchors(protocol: str) -> bool:
    """Whether a split's protocol hides anchors, by a share or by lists: all intra links are kept."""
    return protocol.partition(" ")[0] == ANCHORS


def _known_share(text: str) -> float | None:
    """The share in a `protocol_text`; None if it has none."""
    name, _, written = text.partition(" ")
    return float(written) if name == ANCHORS and text != LISTED_ANCHORS else None


def _check_known(known: float) -> None:
    if not 0 <= known < 1:  # NaN too
        raise SettingError(f"a share of {known} of the units is known, expected a number from 0 to less than 1")


def _check_seed(seed: int) -> None:
    if not 0 <= seed < MAX_SEED:
        raise SettingError(f"seed {seed}, expected a whole number from 0 to 2^63 - 1")


def _generator(seed: int, share: float) -> np.random.Generator:
    _check_seed(seed)
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


def _split_of_anchors(train: MultiplexGraph, inter: Links, protocol: str, seed: int) -> Split:
    """The split with a given training graph and hidden inter links; all nodes are compared with all, no intra pair is.

    Known units stay among the non-links: who looks for a counterpart does not know which nodes are taken.
    """
    none = np.empty(0, dtype=np.int32)
    unit = label_components(np.concatenate([train.inter, inter]), train.n_nodes)
    everyone = np.arange(train.n_nodes, dtype=np.int32)
    no_links = np.empty((0, 2), dtype=np.int32)
    return Split(
        protocol=protocol,
        seed=seed,
        train=train,
        intra=IntraTargets(no_links, IntraNegatives(none, none, no_links, INTRA_SHARE, seed)),
        inter=InterTargets(inter, InterNegatives(everyone, train.node_layer, unit)),
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
    targets = (split.marked, split.intra.positives, split.inter.positives)
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
        if not _is_protocol(protocol) or type(seed) is not int or not 0 <= seed < MAX_SEED:
            raise GraphError(f"protocol {quoted(protocol)} and seed {quoted(seed)} are none that a split has")
        marked, intra, inter = (arrays[name] for name in _TARGETS)
        graph = graph_from_arrays(train)
        _check_targets(graph, marked, intra, inter)
        if is_anchors(protocol):
            split = _split_of_anchors(graph, inter, protocol, seed)
            _check_anchors_kept(split, marked, intra)
        else:
            split = _split_of(graph, marked, intra, inter, protocol, seed)
            _check_protocol_kept(split)
    except GraphError as problem:
        raise InputError(str(problem), path) from None
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise InputError(f"a damaged split file ({printable(problem)})", path) from None
    return split


def _is_protocol(text: object) -> bool:
    """Whether a split can have this protocol, written as it writes it."""
    try:
        return isinstance(text, str) and (text == LISTED_ANCHORS or protocol_text(text) == text)
    except SettingError:
        return False


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
    train, marked = split.train, split.marked
    expected = round(INTRA_SHARE * len(split.intra.negatives.links))
    if len(split.intra.positives) != expected:
        raise GraphError(f"{len(split.intra.positives)} hidden intra links, expected {expected} of the marked nodes'")
    if np.isin(train.inter, marked).all(axis=1).any():
        raise GraphError("an inter link of two marked nodes is in the training graph, expected it hidden")
    _check_one_node_in_a_layer(split.inter.negatives)
    if split.protocol == "units" and np.isin(train.inter, marked).any():
        raise GraphError("a marked node has an inter link in the training graph, expected whole units to be marked")


def _check_anchors_kept(split: Split, marked: Links, intra: Links) -> None:
    """GraphError unless whole units are hidden, no intra link is, and as many units are known as the protocol says."""
    if len(intra) or not np.array_equal(marked, split.marked):
        raise GraphError("hidden intra links, or marked nodes without a hidden inter link, expected none with anchors")
    if np.isin(split.train.inter, marked).any():
        raise GraphError("a node of a hidden unit has an inter link in the training graph, expected whole units hidden")
    _check_one_node_in_a_layer(split.inter.negatives)
    share, unit = _known_share(split.protocol), split.inter.negatives.unit
    known, hidden = (len(np.unique(unit[links[:, 0]])) for links in (split.train.inter, split.inter.positives))
    if share is not None and known != (expected := round(share * (known + hidden))):
        raise GraphError(f"{known} known units of {known + hidden}, expected {expected} by {quoted(split.protocol)}")


def _check_one_node_in_a_layer(negatives: InterNegatives) -> None:
    layer_and_unit = negatives.layer.astype(np.int64) * (negatives.unit.max(initial=0) + 1) + negatives.unit
    if len(np.unique(layer_and_unit)) < len(negatives.nodes):
        raise GraphError("the hidden inter links make one unit of two nodes in a layer")
