"""A split in one file: the training graph, the hidden links and the marked nodes."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.arrays import Arrays, graph_from_arrays, graph_to_arrays
from mpxgat.errors import GraphError, InputError, printable
from mpxgat.graph import MultiplexGraph
from mpxgat.io.array_files import read_arrays, write_arrays
from mpxgat.splits.negatives import InterNegatives, IntraNegatives
from mpxgat.splits.split import MAX_SEED, PROTOCOLS, InterTargets, IntraTargets, Split

KIND = "mpxgat-split-1"
_TRAIN = "train."


def save_split(split: Split, path: str | PathLike[str]) -> Path:
    """Write a split to one file, replacing an older one in a single step; the same split gives the same bytes."""
    path = Path(path)
    header = {
        "protocol": split.protocol,
        "seed": split.seed,
        "intra_share": split.intra.negatives.share,
        "intra_seed": split.intra.negatives.seed,
    }
    arrays: Arrays = {
        "intra.positives": split.intra.positives,
        "inter.positives": split.inter.positives,
        "marked": split.inter.negatives.nodes,
        "marked.unit": split.inter.negatives.unit,
        "marked.links": split.intra.negatives.links,
    }
    arrays |= {_TRAIN + name: array for name, array in graph_to_arrays(split.train).items()}
    write_arrays(path, KIND, header, arrays)
    return path


def load_split(path: str | PathLike[str]) -> Split:
    """Read a split; InputError if the file is damaged or something else."""
    path = Path(path)
    header, arrays = read_arrays(path, KIND)
    train = {name.removeprefix(_TRAIN): value for name, value in arrays.items() if name.startswith(_TRAIN)}
    try:
        return _assemble(header, arrays, graph_from_arrays(train))
    except GraphError as problem:
        raise InputError(str(problem), path) from None
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        raise InputError(f"a damaged split file ({printable(problem)})", path) from None


def _assemble(header: dict[str, Any], arrays: Arrays, train: MultiplexGraph) -> Split:
    marked, unit, links = arrays["marked"], arrays["marked.unit"], arrays["marked.links"]
    intra, inter = arrays["intra.positives"], arrays["inter.positives"]
    _check(marked, (len(marked),), train.n_nodes)
    _check(unit, marked.shape, np.iinfo(np.int32).max)
    for pairs, bound in ((links, len(marked)), (intra, train.n_nodes), (inter, train.n_nodes)):
        _check(pairs, (len(pairs), 2), bound)
        if (pairs[:, 0] >= pairs[:, 1]).any():
            raise GraphError("the ends of a link are out of order")
    if (np.diff(marked) <= 0).any():
        raise GraphError("the marked nodes are out of order")
    protocol, share = str(header["protocol"]), float(header["intra_share"])
    seed, intra_seed = int(header["seed"]), int(header["intra_seed"])
    if protocol not in PROTOCOLS or not 0 <= share <= 1 or not all(0 <= s < MAX_SEED for s in (seed, intra_seed)):
        raise GraphError("the protocol, seed or share of the split is not one that a split has")
    layer = train.node_layer[marked]
    negatives = IntraNegatives(marked, layer, links, share, intra_seed)
    return Split(
        protocol=protocol,
        seed=seed,
        train=train,
        intra=IntraTargets(intra, negatives),
        inter=InterTargets(inter, InterNegatives(marked, layer, unit)),
    )


def _check(numbers: NDArray[Any], shape: tuple[int, ...], bound: int) -> None:
    fits = numbers.dtype == np.int32 and numbers.shape == shape
    if not fits or (numbers < 0).any() or (numbers >= bound).any():
        raise GraphError("the targets of the split do not fit its training graph")
