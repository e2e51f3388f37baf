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

Links = tuple[NDArray[np.int64], NDArray[np.float64] | None]

LAYERS = ("a", "b")
NPZ_ROLES = ("edge_index1", "edge_index2", "pos_pairs", "test_pairs", "x1", "x2")
MAT_ROLES = ("A1", "A2", "gnd", "N1", "N2", "H")
_READER = Path(__file__).with_name("mat_reader.py")
_HIDDEN, _PRIOR = "test_pairs", "H"
_MOST_ARRAYS = 1000
_MAT_HEADER, _COMPRESSED = 128, 15


def read_npz(
    path: Path, *, columns: Names | None = None, encoding: str | None = None, directed: bool = False
) -> MultiplexGraph:
    """The two networks in an .npz file, with the known pairs as inter links."""
    no_encoding("a .npz file", encoding)
    arrays = _npz_arrays(path, columns or {})
    arrays.say_what_is_passed_over(NPZ_ROLES)
    first, second = (_edge_index(arrays.required(name), name, path) for name in NPZ_ROLES[:2])
    hidden = _pairs(arrays.get(_HIDDEN), _HIDDEN, path)
    if len(hidden):
        warn_of_data(f"{_HIDDEN} left out: {len(hidden)} pair(s) that are to be found are no part of a network", path)
    known = _pairs(arrays.get("pos_pairs"), "pos_pairs", path)
    features = [_matrix(arrays.get(name), name, path) for name in ("x1", "x2")]
    return _graph(path, ((first, None), (second, None)), NPZ_ROLES[:2], (known, "pos_pairs"), features, 0, directed)


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
    matrices = [_adjacency(arrays.required(name), name, path, directed=directed) for name in MAT_ROLES[:2]]
    known = _pairs(arrays.get("gnd"), "gnd", path) - 1
    features = [_matrix(arrays.get(name), name, path) for name in ("N1", "N2")]
    sizes = [matrix.shape[0] for matrix in matrices]
    links = [_entries(matrix) for matrix in matrices]
    return _graph(path, links, MAT_ROLES[:2], (known, "gnd"), features, 1, directed, sizes)


# ---- to a graph ----------------------------------------------------------------------------------------


def _graph(
    path: Path,
    links: Sequence[Links],
    names: Sequence[str],
    known: tuple[NDArray[np.int64], str],
    features: Sequence[NDArray[np.float32] | None],
    first_number: int,
    directed: bool,
    sizes: Sequence[int] | None = None,
) -> MultiplexGraph:
    """The graph of two lists of (m, 2) links and (k, 2) known pairs, all counted from 0; ids from ``first_number``."""
    pairs, of_pairs = known
    counts = []
    for side, (ends, _) in enumerate(links):
        highest = max(ends.max(initial=-1), pairs[:, side].max(initial=-1)) + 1
        matrix = features[side]
        size = sizes[side] if sizes is not None else len(matrix) if matrix is not None else int(highest)
        if matrix is not None and len(matrix) != size:
            raise InputError(f"{len(matrix)} rows of features for the {size} nodes of {names[side]}", path)
        for array, what in ((ends, names[side]), (pairs[:, side], of_pairs)):
            if array.min(initial=0) < 0 or array.max(initial=-1) >= size:
                wrong = int(array.min() if array.min() < 0 else array.max()) + first_number
                last = size - 1 + first_number
                raise InputError(f"{what} names node {wrong}, expected numbers from {first_number} to {last}", path)
        counts.append(size)
    table = NodeTable(
        pa.concat_arrays([_ids(np.arange(count), first_number) for count in counts]),
        np.repeat([0, 1], counts),
        *2 * (_features(features, path),),
    )
    sources = [ends[:, 0] for ends, _ in links] + [pairs[:, 0]]
    targets = [ends[:, 1] for ends, _ in links] + [pairs[:, 1]]
    rows = [len(part) for part in sources]
    weights = [np.ones(count) if weight is None else weight for count, (_, weight) in zip(rows, links, strict=False)]
    edges = EdgeTable(
        _ids(np.concatenate(sources), first_number),
        np.repeat([0, 1, 0], rows),
        _ids(np.concatenate(targets), first_number),
        np.repeat([0, 1, 1], rows),
        np.concatenate([*weights, np.ones(rows[2])]),
        np.repeat([True, True, False], rows) if directed else None,
    )
    try:
        return build(LAYERS, edges, table)
    except RowError as problem:
        raise InputError(f"{of_pairs}, row {problem.row - sum(rows[:2]) + 1}: {problem.message}", path) from None


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
    return entries


def _entries(matrix: sparse.coo_array) -> Links:
    some = matrix.data != 0
    ends = np.stack([matrix.row[some], matrix.col[some]], axis=1).astype(np.int64)
    return ends, matrix.data[some]


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
    wanted = [name for role in MAT_ROLES for name in columns.get(role, (role,))]
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
