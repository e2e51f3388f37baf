"""Pairs of networks as the literature on network alignment has them, NumPy's ``.npz`` and MATLAB's ``.mat``; read only.

.npz    edge_index1, edge_index2    (2, m) or (m, 2) links of either network, nodes numbered from 0
        pos_pairs                   (k, 2) known pairs; test_pairs (h, 2): those that are to be found
        x1, x2                      (n, d) features of the nodes
.mat    A1, A2                      (n, n) adjacency matrices, dense or sparse; entries are weights
        gnd                         (k, 2) who is who, numbered from 1
        N1, N2                      (n, d) features of the nodes
        H                           a prior guess of who is who: passed over, with a note

The networks become the layers ``a`` and ``b``, nodes are called by their numbers. Pairs that are to be found
(test_pairs) are no part of a network: they are left out, with a note, and `read_pairs_of` gives them. Links have no
direction unless that is asked for. Nothing in these files is executed: arrays of objects (pickles) are refused. A .mat
file is read by a process of its own, `mpxgat.io.mat_reader`.

``columns`` names the arrays where a file calls them otherwise (A1=online,A2=offline,gnd=ground_truth).
"""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.build import EdgeTable, NodeTable, RowError, build
from mpxgat.errors import InputError, listed, printable, quoted, warn_of_data
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io.files import check_filled, most_unpacked, read_bytes
from mpxgat.io.registry import Format, Names, check_roles, no_encoding

LAYERS = ("a", "b")
NPZ_ROLES = ("edge_index1", "edge_index2", "pos_pairs", "test_pairs", "x1", "x2")
MAT_ROLES = ("A1", "A2", "gnd", "N1", "N2", "H")
_READER = Path(__file__).with_name("mat_reader.py")
_HIDDEN, _PRIOR = "test_pairs", "H"
_MOST_ARRAYS = 1000
# Nodes may be without links; but a single large number must not fill the memory with nodes that nobody named.
_NODES_FOR_A_LINK, _LEAST_NODES = 100, 1 << 21
_MAT_HEADER, _COMPRESSED = 128, 15


def read_npz(
    path: Path, *, columns: Names | None = None, encoding: str | None = None, directed: bool = False
) -> MultiplexGraph:
    """The two networks in an .npz file, with the known pairs as inter links."""
    no_encoding("a .npz file", encoding)
    arrays = _npz_arrays(path, columns or {})
    arrays.say_what_is_passed_over(NPZ_ROLES)
    hidden = _pairs(arrays.get(_HIDDEN), _HIDDEN, path)
    if len(hidden):
        warn_of_data(f"{_HIDDEN} left out: {len(hidden)} pair(s) that are to be found are no part of a network", path)
    networks = []
    for name, of_nodes in (("edge_index1", "x1"), ("edge_index2", "x2")):
        features = _matrix(arrays.get(of_nodes), of_nodes, path)
        ends = _edge_index(arrays.required(name), name, path)
        networks.append(_Network(name, ends, None, features, None if features is None else len(features)))
    known = _Known("pos_pairs", _pairs(arrays.get("pos_pairs"), "pos_pairs", path))
    return _graph(path, networks, known, first_number=0, directed=directed)


def read_pairs_of(path: Path, name: str = _HIDDEN) -> NDArray[np.int64]:
    """(h, 2) pairs of numbers in an .npz file, of the first and of the second network; ids are these numbers."""
    return _pairs(_npz_arrays(path, {}).required(name), name, path)


def read_mat(
    path: Path, *, columns: Names | None = None, encoding: str | None = None, directed: bool = False
) -> MultiplexGraph:
    """The two networks in a .mat file, with who is who as inter links."""
    no_encoding("a .mat file", encoding)
    arrays = _mat_arrays(path, columns or {})
    arrays.say_what_is_passed_over(MAT_ROLES)
    if _PRIOR in arrays.of_role:
        warn_of_data(f"{_PRIOR} is passed over: a prior guess of who is who is no known pair", path)
    networks = []
    for name, of_nodes in (("A1", "N1"), ("A2", "N2")):
        matrix = _adjacency(arrays.required(name), name, path, directed=directed)
        features = _matrix(arrays.get(of_nodes), of_nodes, path)
        ends = np.stack([matrix.row, matrix.col], axis=1).astype(np.int64)
        networks.append(_Network(name, ends, matrix.data, features, matrix.shape[0]))
    known = _Known("gnd", _pairs(arrays.get("gnd"), "gnd", path) - 1)
    return _graph(path, networks, known, first_number=1, directed=directed)


# ---- to a graph ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Network:
    """One of the two: (m, 2) links of nodes counted from 0, their weights, (n, d) features, and n if it is stated."""

    name: str
    ends: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    features: NDArray[np.float32] | None
    size: int | None


@dataclass(frozen=True)
class _Known:
    """(k, 2) pairs of a node of the first and one of the second network, counted from 0."""

    name: str
    pairs: NDArray[np.int64]


def _graph(
    path: Path, networks: Sequence[_Network], known: _Known, *, first_number: int, directed: bool
) -> MultiplexGraph:
    """The graph of two networks; ids are numbers from ``first_number``."""
    sizes = [_size(path, network, known, side, first_number) for side, network in enumerate(networks)]
    features = _features([network.features for network in networks], path)
    nodes = NodeTable(
        pa.concat_arrays([_ids(np.arange(size), first_number) for size in sizes]),
        np.repeat([0, 1], sizes),
        features,
        features,
    )
    parts = [*(network.ends for network in networks), known.pairs]
    rows = [len(ends) for ends in parts]
    weights = [network.weight if network.weight is not None else np.ones(len(network.ends)) for network in networks]
    ends = np.concatenate(parts)
    edges = EdgeTable(
        _ids(ends[:, 0], first_number),
        np.repeat([0, 1, 0], rows),
        _ids(ends[:, 1], first_number),
        np.repeat([0, 1, 1], rows),
        np.concatenate([*weights, np.ones(rows[2])]),
        np.repeat([True, True, False], rows) if directed else None,
    )
    try:
        return build(LAYERS, edges, nodes)
    except RowError as problem:
        row = problem.row - sum(rows[:2]) + 1
        raise InputError(f"{known.name}, row {row}: {problem.message}", path) from None


def _size(path: Path, network: _Network, known: _Known, side: int, first_number: int) -> int:
    """The number of nodes of a network: as stated, or as many as the highest number says; InputError beyond it."""
    of_pairs = known.pairs[:, side]
    highest = int(max(network.ends.max(initial=-1), of_pairs.max(initial=-1)))
    size = highest + 1 if network.size is None else network.size
    most = max(_LEAST_NODES, _NODES_FOR_A_LINK * (len(network.ends) + len(of_pairs)))
    if size > most:
        raise InputError(
            f"{network.name} has nodes up to number {size}, expected at most {most} for {len(network.ends)} links: "
            "they are numbered without gaps",
            path,
        )
    if network.features is not None and len(network.features) != size:
        raise InputError(f"{len(network.features)} rows of features for the {size} nodes of {network.name}", path)
    for numbers, name in ((network.ends, network.name), (of_pairs, known.name)):
        wrong = numbers[(numbers < 0) | (numbers >= size)]
        if len(wrong):
            raise InputError(
                f"{name} names node {int(wrong[0]) + first_number}, expected numbers from {first_number} to "
                f"{size - 1 + first_number}",
                path,
            )
    return size


def _ids(numbers: NDArray[np.int64], first_number: int) -> pa.LargeStringArray:
    return pa.array(numbers + first_number).cast(pa.large_string())


def _features(features: Sequence[NDArray[np.float32] | None], path: Path) -> Features | None:
    first, second = features
    if first is None and second is None:
        return None
    if first is None or second is None or first.shape[1] != second.shape[1]:
        found = " and ".join("none" if each is None else str(each.shape[1]) for each in features)
        warn_of_data(f"features passed over: {found} of the two networks, expected as many of both", path)
        return None
    return Features(tuple(str(number) for number in range(1, first.shape[1] + 1)), np.concatenate([first, second]))


# ---- what the arrays must be ---------------------------------------------------------------------------


def _edge_index(array: NDArray[Any], name: str, path: Path) -> NDArray[np.int64]:
    """(m, 2) links of a list that lies or stands; two rows and two columns lie, as in PyTorch Geometric."""
    if array.ndim != 2 or 2 not in array.shape:
        raise InputError(f"{name} has the shape {array.shape}, expected (2, links)", path)
    return _whole(array.T if array.shape[0] == 2 else array, name, path)


def _pairs(array: Any, name: str, path: Path) -> NDArray[np.int64]:
    """(k, 2) pairs, which may lie on their side if that cannot be mistaken; none if there is no array."""
    array = np.zeros((0, 2)) if array is None else np.asarray(array)
    if not array.size:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim == 2 and array.shape[0] == 2 and array.shape[1] != 2:
        array = array.T
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f"{name} has the shape {array.shape}, expected (pairs, 2)", path)
    return _whole(array, name, path)


def _whole(array: NDArray[Any], name: str, path: Path) -> NDArray[np.int64]:
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} is of type {printable(array.dtype)}, expected whole numbers", path)
    with np.errstate(invalid="ignore"):
        whole: NDArray[np.int64] = array.astype(np.int64)
    if not (whole == array).all() or np.abs(whole).max(initial=0) >= np.iinfo(np.int32).max:
        raise InputError(f"{name} holds numbers that number no node, expected whole numbers below 2^31", path)
    return whole


def _matrix(array: Any, name: str, path: Path) -> NDArray[np.float32] | None:
    """(n, d) features as an array, None for none."""
    if array is None:
        return None
    if array.ndim != 2 or array.dtype.kind not in "iufb":
        found = f"the shape {array.shape} and the type {printable(array.dtype)}"
        raise InputError(f"{name} has {found}, expected (nodes, features) of numbers", path)
    if sparse.issparse(array):
        check_filled(array.shape[0], array.shape[1], array.nnz * 8, path)
        array = array.toarray()
    with np.errstate(over="ignore"):
        matrix: NDArray[np.float32] = np.asarray(array, dtype=np.float32)
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise InputError(f"{name} is {matrix[row, column]} in row {row + 1}, column {column + 1}, not finite", path)
    return matrix


def _adjacency(matrix: Any, name: str, path: Path, *, directed: bool) -> sparse.coo_array:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "iufb":
        found = f"the shape {matrix.shape} and the type {printable(matrix.dtype)}"
        raise InputError(f"{name} has {found}, expected a square matrix of numbers", path)
    if sparse.issparse(matrix):
        check_filled(matrix.shape[0], 1, matrix.nnz * 8, path)
    entries = sparse.coo_array(sparse.csr_array(matrix).astype(np.float64))
    if not np.isfinite(entries.data).all():
        raise InputError(f"{name} holds an entry that is not finite, expected weights", path)
    if not directed and (sparse.csr_array(entries) != sparse.csr_array(entries.T)).nnz:
        warn_of_data(f"{name} is not symmetric: read as undirected, the larger weight stays; --directed keeps it", path)
    entries.eliminate_zeros()
    return entries


# ---- files ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Arrays:
    """The names of the arrays in a file, those that have a role, and the names of the others."""

    path: Path
    found: Sequence[str]
    of_role: Mapping[str, Any]
    others: Sequence[str]

    def get(self, role: str) -> Any:
        """The array of a role, None if there is none; InputError for something else of this name."""
        array = self.of_role.get(role)
        if not (array is None or isinstance(array, np.ndarray) or sparse.issparse(array)):
            raise InputError(f"{role} is a {type(array).__name__}, expected an array", self.path)
        return array

    def required(self, role: str) -> Any:
        """The array of a role; InputError if there is none."""
        if role not in self.of_role:
            raise InputError(f"no array {quoted(role)}; the arrays are {listed(self.found) or 'none'}", self.path)
        return self.get(role)

    def say_what_is_passed_over(self, roles: Sequence[str]) -> None:
        """A note if there are arrays without a role."""
        if self.others:
            warn_of_data(f"arrays passed over: {listed(self.others)}; {', '.join(roles)} are read", self.path)


def _chosen(found: Sequence[str], roles: Sequence[str], columns: Names, path: Path) -> dict[str, str]:
    """For each role the array that has it."""
    check_roles(columns, roles)
    chosen = {}
    for role in roles:
        names = columns.get(role, (role,))
        name = next((name for name in names if name in found), None)
        if name is not None:
            chosen[role] = name
        elif role in columns:
            raise InputError(f"no array {listed(names)} ({role}); the arrays are {listed(found) or 'none'}", path)
    return chosen


def _npz_arrays(path: Path, columns: Names) -> _Arrays:
    content = read_bytes(path)
    expected = "an .npz file of plain arrays"
    parts = _guarded(lambda: zipfile.ZipFile(io.BytesIO(content)).infolist(), path, expected)
    total, most = sum(part.file_size for part in parts), most_unpacked(len(content))
    if total > most or len(parts) > _MOST_ARRAYS:
        raise InputError(
            f"{len(content)} bytes unpack to {len(parts)} arrays of {total} bytes, expected at most {most}", path
        )
    file = _guarded(lambda: np.load(io.BytesIO(content), allow_pickle=False), path, expected)
    found = _guarded(lambda: list(file.files), path, expected)
    chosen = _chosen(found, NPZ_ROLES, columns, path)
    arrays = _guarded(lambda: {role: file[name] for role, name in chosen.items()}, path, expected)
    return _Arrays(path, found, arrays, [name for name in found if name not in chosen.values()])


def _mat_arrays(path: Path, columns: Names) -> _Arrays:
    content = read_bytes(path)
    _check_mat(content, path)
    wanted = [name for role in MAT_ROLES if role != _PRIOR for name in columns.get(role, (role,))]
    read = _read_by_child(content, wanted, path)
    found = [str(name) for name in read["names"]]
    chosen = _chosen(found, MAT_ROLES, columns, path)
    arrays = {
        role: None if role == _PRIOR else _array_of(read, wanted.index(name), name, path)
        for role, name in chosen.items()
    }
    return _Arrays(path, found, arrays, [name for name in found if name not in chosen.values()])


def _read_by_child(content: bytes, wanted: Sequence[str], path: Path) -> Mapping[str, NDArray[Any]]:
    """What `mpxgat.io.mat_reader` finds; InputError if it gives up, or the file ends its process."""
    child = subprocess.run(
        [sys.executable, "-P", str(_READER), *wanted], input=content, capture_output=True, check=False
    )
    if child.returncode:
        said = child.stderr.decode(errors="replace") if child.returncode > 0 else "it ends the process that reads it"
        raise InputError(f"cannot be read as a .mat file ({printable(said, 200)})", path)

    def load() -> dict[str, NDArray[Any]]:
        with np.load(io.BytesIO(child.stdout), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    arrays: dict[str, NDArray[Any]] = _guarded(load, path, "a .mat file")
    return arrays


def _array_of(read: Mapping[str, NDArray[Any]], number: int, name: str, path: Path) -> Any:
    """The array, dense or sparse, with this number."""
    parts = {part: read.get(f"{number}.{part}") for part in ("dense", "data", "indices", "indptr", "shape", "type")}
    if parts["dense"] is not None:
        return parts["dense"]
    if parts["data"] is None or parts["shape"] is None:
        raise InputError(
            f"{quoted(name)} is of the type {printable(parts['type'])}, expected a matrix of numbers", path
        )
    try:
        matrix = sparse.csc_array(
            (parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"].tolist())
        )
        matrix.check_format(full_check=True)  # compiled code trusts the indices
    except (ValueError, TypeError) as problem:
        raise InputError(f"{quoted(name)} is a damaged sparse matrix ({printable(problem)})", path) from None
    return matrix


def _guarded(load: Callable[[], Any], path: Path, expected: str) -> Any:
    try:
        return load()
    except Exception as problem:  # whatever a file from strangers does to the library; also a size it only claims
        raise InputError(f"cannot be read as {expected} ({printable(problem, 200)})", path) from None


def _check_mat(content: bytes, path: Path) -> None:
    """InputError unless this is a MAT-file of level 5 whose compressed parts unpack to a bounded size."""
    if content[:10] == b"MATLAB 7.3" or content[:4] == b"\x89HDF":
        raise InputError("a .mat file of MATLAB 7.3 (HDF5); save it with save(…, '-v7')", path)
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128])
    if order is None:
        raise InputError("no MAT-file of level 5, expected one as save(…, '-v7') writes it", path)
    place, total, most = _MAT_HEADER, 0, most_unpacked(len(content))
    while place + 8 <= len(content):
        kind, size = struct.unpack_from(f"{order}II", content, place)
        place += 8
        if place + size > len(content):
            raise InputError("the .mat file is cut off", path)
        if kind == _COMPRESSED:
            total += _unpacked_size(content[place : place + size], most, path)
        else:
            total += size
            size += -size % 8
        if total > most:
            raise InputError(f"the file of {len(content)} bytes unpacks to more than {most}", path)
        place += size


def _unpacked_size(packed: bytes, most: int, path: Path) -> int:
    stream, total = zlib.decompressobj(), 0
    try:
        piece = stream.decompress(packed, 1 << 20)
        while piece and total <= most:
            total += len(piece)
            piece = stream.decompress(stream.unconsumed_tail, 1 << 20)
    except zlib.error as problem:
        raise InputError(f"the compressed data are damaged ({printable(problem)})", path) from None
    return total


NPZ = Format(
    name="npz",
    suffixes=(".npz",),
    description="two networks to be aligned, NumPy arrays edge_index1, edge_index2, pos_pairs (read only)",
    read=read_npz,
    read_directed=partial(read_npz, directed=True),
    read_named=read_npz,
)
MAT = Format(
    name="mat",
    suffixes=(".mat",),
    description="two networks to be aligned, MATLAB matrices A1, A2, gnd (read only)",
    read=read_mat,
    read_directed=partial(read_mat, directed=True),
    read_named=read_mat,
)
