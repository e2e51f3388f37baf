"""`MultiplexGraph`: an immutable network with several layers.

A *node* is one unit in one layer; it is known outside by its id (a string) and its layer's name, inside
by its position 0…n-1. Nodes are sorted by layer, then by id, so two graphs that hold the same network
hold the same arrays. Intra links join two nodes of one layer, inter links two nodes of one unit in two
layers. Only inter links say who is who: equal ids in two layers mean nothing by themselves, so a graph
whose inter links are partly hidden does not give them away to a model.

Build one with `mpxgat.build`, or read one with `mpxgat.io`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from mpxgat.errors import GraphError, listed, quoted
from mpxgat.pairs import (
    BOTH_WAYS,
    NODE_DTYPE,
    arcs_of,
    label_components,
    links_among,
    no_pairs,
    pair_keys,
    pick_weight,
    symmetric_matrix,
)
from mpxgat.stats import GraphStats, graph_stats
from mpxgat.tabular import html_table

_Scalar = TypeVar("_Scalar", bound=np.generic)
_SHOWN_LAYERS = 20


class Node(NamedTuple):
    """A node as people know it: its id and the name of its layer."""

    id: str
    layer: str


LayerLike = str | int | np.integer[Any]
"""A layer by its name, or by its number from 0."""
NodeLike = tuple[str | int, LayerLike] | str | int | np.integer[Any]
"""A node as (id, layer), by an id that one layer only has, or by its position."""


def describe(node: Node) -> str:
    """A node in an error message."""
    return f"{quoted(node.id)} (layer {quoted(node.layer)})"


class NodeView(Sequence[Node]):
    """The nodes of a graph in order, as (id, layer); made when asked for, never all at once."""

    def __init__(self, graph: MultiplexGraph):
        self._graph = graph

    def __len__(self) -> int:
        return self._graph.n_nodes

    @overload
    def __getitem__(self, position: int) -> Node: ...
    @overload
    def __getitem__(self, position: slice) -> list[Node]: ...
    def __getitem__(self, position: int | slice) -> Node | list[Node]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        if position < 0:
            position += len(self)
        if not 0 <= position < len(self):
            raise IndexError(f"node {position} of {len(self)}")
        graph = self._graph
        return Node(graph.ids[position].as_py(), graph.layers[graph.node_layer[position]])

    def __iter__(self) -> Iterator[Node]:
        graph = self._graph
        for name, start, stop in zip(graph.layers, graph.layer_start, graph.layer_start[1:], strict=False):
            for node_id in graph.ids.slice(start, stop - start).to_pylist():
                yield Node(node_id, name)


@dataclass(frozen=True, eq=False)
class Features:
    """Numeric node features: ``values[i, p]`` is feature ``names[p]`` of node ``i``; float32, finite."""

    names: tuple[str, ...]
    values: NDArray[np.float32]  # (n, p)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(np.asarray(self.values, dtype=np.float32)))
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise GraphError(
                f"features have shape {self.values.shape}, expected one column for each of {len(self.names)} names"
            )
        if not np.isfinite(self.values).all():
            row, column = np.argwhere(~np.isfinite(self.values))[0]
            raise GraphError(
                f"feature {quoted(self.names[column])} of node {row} is {self.values[row, column]}, expected a number"
            )

    def take(self, nodes: NDArray[np.integer[Any]]) -> Features:
        """The rows of ``nodes``, in that order."""
        return Features(self.names, self.values[nodes])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and self.names == other.names and np.array_equal(self.values, other.values)


@dataclass(frozen=True, eq=False)
class MultiplexGraph:
    """A validated, immutable multiplex. Use `mpxgat.build` to make one: this constructor trusts its input.

    layers          names, one for each layer; every layer has at least one node
    layer_start     (L+1,) nodes of layer l are layer_start[l] … layer_start[l+1]-1
    ids             (n,) node ids, sorted within each layer
    intra, inter    (m, 2) and (q, 2) links as node positions; first < second, rows sorted, no duplicates
    *_weight        (m,) and (q,) finite weights, or None where every link weighs 1
    intra_arcs      (m,) which way each intra link goes: 1 from its first node to its second, 2 from its second to its
                    first, 3 both ways; or None where all go both ways. Everything but `arcs` passes over it
    *_features      features of the nodes for MPXGAT's horizontal and vertical part
    attributes      further columns of text about the nodes (names and the like); models read those that a user names
    apart           (a, 2) pairs of nodes of two layers that are known to be different units, as they were said: in the
                    order of links. What follows for other nodes of their units, `mpxgat.pairs.KnownUnits` tells
    """

    layers: tuple[str, ...]
    layer_start: NDArray[np.int64]
    ids: pa.LargeStringArray
    intra: NDArray[np.int32]
    inter: NDArray[np.int32]
    intra_weight: NDArray[np.float64] | None = None
    inter_weight: NDArray[np.float64] | None = None
    horizontal_features: Features | None = None
    vertical_features: Features | None = None
    attributes: Mapping[str, pa.LargeStringArray] = field(default_factory=dict)
    intra_arcs: NDArray[np.uint8] | None = None
    apart: NDArray[np.int32] = field(default_factory=no_pairs)

    def __post_init__(self) -> None:
        if self.intra_arcs is not None and (self.intra_arcs == BOTH_WAYS).all():
            object.__setattr__(self, "intra_arcs", None)
        for name in ("intra_weight", "inter_weight"):
            weight = getattr(self, name)
            if weight is not None and (weight == 1).all():
                object.__setattr__(self, name, None)
        for name in ("layer_start", "intra", "inter", "intra_weight", "inter_weight", "intra_arcs", "apart"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, frozen(value))

    # ---- sizes -------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        return int(self.layer_start[-1])

    @property
    def n_layers(self) -> int:
        return len(self.layers)

    @property
    def n_intra(self) -> int:
        return len(self.intra)

    @property
    def n_inter(self) -> int:
        return len(self.inter)

    @property
    def nodes(self) -> NodeView:
        """All nodes in order; ``graph.nodes[i]`` is (id, layer) of node i."""
        return NodeView(self)

    def __repr__(self) -> str:
        return (
            f"<MultiplexGraph: {self.n_layers} layers, {self.n_nodes:,} nodes, "
            f"{self.n_intra:,} intra links, {self.n_inter:,} inter links>"
        )

    def _repr_html_(self) -> str:
        nodes = np.diff(self.layer_start).tolist()
        links = np.bincount(self.node_layer[self.intra[:, 0]], minlength=self.n_layers).tolist()
        rows = zip(self.layers[:_SHOWN_LAYERS], nodes, links, strict=False)
        return html_table(repr(self), ("layer", "nodes", "intra links"), rows, self.n_layers)

    # ---- looking up --------------------------------------------------------------------------------

    @cached_property
    def node_layer(self) -> NDArray[np.int32]:
        """(n,) the layer of every node."""
        return frozen(np.repeat(np.arange(self.n_layers, dtype=np.int32), np.diff(self.layer_start)))

    @property
    def layer_names(self) -> pa.LargeStringArray:
        """(n,) the name of every node's layer; made anew each time."""
        return pa.array(self.layers, pa.large_string()).take(pa.array(self.node_layer))

    def layer_index(self, layer: LayerLike) -> int:
        """Number, from 0, of a layer given by its name or by that number; GraphError if there is none."""
        if not isinstance(layer, str):
            return self._checked(layer, self.n_layers, "layer")
        try:
            return self.layers.index(layer)
        except ValueError:
            known = ", ".join(quoted(name) for name in self.layers[:20])
            raise GraphError(f"no layer {quoted(layer)}; the layers are {known}") from None

    def layer_nodes(self, layer: LayerLike) -> NDArray[np.int32]:
        """Positions of all nodes of a layer."""
        number = self.layer_index(layer)
        return np.arange(self.layer_start[number], self.layer_start[number + 1], dtype=NODE_DTYPE)

    def index(self, node: NodeLike, layer: LayerLike | None = None) -> int:
        """Position of a node, however it is told; GraphError if there is none, or more than one.

        It is an id and a layer, ``("ann", "work")`` or ``"ann", "work"``; an id alone, if one layer only has it; or a
        position already. Ids are text: beside a layer, 17 is the id "17".
        """
        if isinstance(node, tuple) and layer is None and len(node) == 2:
            node, layer = node
        if layer is not None:
            return self._index_in(str(node), self.layer_index(layer))
        if not isinstance(node, str):
            return self._checked(node, self.n_nodes, "node")
        found = [position for number in range(self.n_layers) if (position := self._find(node, number)) is not None]
        if len(found) != 1:
            where = listed(self.layers[self.node_layer[position]] for position in found)
            told = f"is in the layers {where}, expected it with one of them: (id, layer)" if found else "is in no layer"
            raise GraphError(f"node {quoted(node)} {told}")
        return found[0]

    def positions(self, nodes: Iterable[NodeLike]) -> NDArray[np.int32]:
        """(k,) positions of nodes, each told as in `index`."""
        return np.array([self.index(node) for node in nodes], dtype=NODE_DTYPE)

    def pair_positions(self, pairs: ArrayLike | Sequence[Sequence[NodeLike]]) -> NDArray[np.int64]:
        """(k, 2) positions of pairs of nodes: an array, which holds them already, or pairs whose nodes are told as in
        `index`. GraphError names a pair that is not one of two nodes.
        """
        if hasattr(pairs, "__array__"):
            array = np.asarray(pairs)
            if array.size and array.dtype.kind not in "iu":
                raise GraphError(f"an array of the type {array.dtype}, expected positions of nodes: whole numbers")
            return array.astype(np.int64).reshape(-1, 2)
        rows = list(cast(Iterable[Any], pairs))
        found = np.empty((len(rows), 2), dtype=np.int64)
        for number, pair in enumerate(rows):
            if not isinstance(pair, (Sequence, np.ndarray)) or isinstance(pair, str) or len(pair) != 2:
                raise GraphError(f"pair {number + 1} is {quoted(pair)}, expected two nodes")
            found[number] = self.positions(pair)
        return found

    def _index_in(self, node_id: str, number: int) -> int:
        position = self._find(node_id, number)
        if position is None:
            raise GraphError(f"no node {quoted(node_id)} in layer {quoted(self.layers[number])}")
        return position

    def _find(self, node_id: str, number: int) -> int | None:
        """Position of the node in a layer; None if it has none."""
        start, stop = int(self.layer_start[number]), int(self.layer_start[number + 1])
        # Ids are sorted bytewise within a layer, as pyarrow sorts: bisect without making a dictionary.
        wanted = node_id.encode(errors="surrogatepass")
        low, high = start, stop
        while low < high:
            middle = (low + high) // 2
            if self.ids[middle].as_py().encode() < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < stop and self.ids[low].as_py() == node_id else None

    def _checked(self, number: Any, count: int, what: str) -> int:
        """A number of a node or layer; GraphError if it is something else."""
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
            expected = "its name or number" if what == "layer" else "a position, an id or (id, layer)"
            raise GraphError(f"{quoted(number)} is no {what}, expected {expected}")
        if not 0 <= number < count:
            raise GraphError(f"no {what} {number}, expected 0 to {count - 1}")
        return int(number)

    def nbytes(self) -> int:
        """Bytes held in arrays, matrices made so far included."""
        return sum(_nbytes(part) for part in self.__dict__.values())

    # ---- matrices and components -------------------------------------------------------------------

    @cached_property
    def adjacency(self) -> sparse.csr_array:
        """(n, n) symmetric 0/1 matrix of the intra links (block-diagonal over layers), float32 CSR."""
        return symmetric_matrix(self.intra, None, self.n_nodes)

    @cached_property
    def weighted_adjacency(self) -> sparse.csr_array:
        """As `adjacency`, with the links' weights."""
        return symmetric_matrix(self.intra, self.intra_weight, self.n_nodes)

    @cached_property
    def arcs(self) -> sparse.csr_array:
        """(n, n) 0/1 matrix of the intra links as they go, from row to column (mutual ones both ways), float32 CSR."""
        ends, _ = arcs_of(self.intra, self.intra_arcs)
        ones = np.ones(len(ends), dtype=np.float32)
        matrix = sparse.csr_array((ones, (ends[:, 0], ends[:, 1])), shape=(self.n_nodes, self.n_nodes))
        matrix.sort_indices()
        return matrix

    @cached_property
    def directed_layers(self) -> NDArray[np.bool_]:
        """(L,) which layers have a link that goes one way only."""
        found = np.zeros(self.n_layers, dtype=bool)
        if self.intra_arcs is not None:
            found[self.node_layer[self.intra[self.intra_arcs != BOTH_WAYS, 0]]] = True
        return frozen(found)

    @cached_property
    def vertical(self) -> sparse.csr_array:
        """(n, n) symmetric 0/1 matrix of the inter links: the vertical network, float32 CSR."""
        return symmetric_matrix(self.inter, None, self.n_nodes)

    @cached_property
    def degree(self) -> NDArray[np.int64]:
        """(n,) number of intra links of every node."""
        return frozen(np.bincount(self.intra.ravel(), minlength=self.n_nodes))

    @cached_property
    def unit(self) -> NDArray[np.int32]:
        """(n,) known unit of every node: its connected component in the vertical network.

        Counterparts are transitive, so nodes with one number are copies of one unit. Units are numbered
        by their first node; a node without inter links is a unit of its own.
        """
        return frozen(label_components(self.inter, self.n_nodes))

    @property
    def n_units(self) -> int:
        """Number of known units (components of the vertical network)."""
        return int(self.unit.max(initial=-1)) + 1

    def component_labels(self) -> NDArray[np.int32]:
        """(n,) connected component over intra and inter links together, numbered by first node."""
        return label_components(np.concatenate([self.intra, self.inter]), self.n_nodes)

    def stats(self) -> GraphStats:
        """Sizes, densities, degrees, overlap between layers, presence of units."""
        return graph_stats(self)

    # ---- other graphs made from this one -----------------------------------------------------------

    def subgraph(self, nodes: ArrayLike) -> MultiplexGraph:
        """The graph on ``nodes`` (positions or a mask) with the links among them; empty layers vanish.

        Of what is known to be one unit or different, what was said of two nodes that stay is kept.
        """
        keep = np.zeros(self.n_nodes, dtype=bool)
        wanted = np.asarray(nodes)
        if wanted.size:  # an empty list has no type that could index
            keep[wanted] = True
        kept = np.flatnonzero(keep)
        position = np.cumsum(keep, dtype=np.int64) - 1
        counts = np.bincount(self.node_layer[kept], minlength=self.n_layers)
        intra, intra_weight = links_among(self.intra, self.intra_weight, keep, position)
        inter, inter_weight = links_among(self.inter, self.inter_weight, keep, position)
        within = keep[self.intra[:, 0]] & keep[self.intra[:, 1]]  # nodes keep their order, and links their ends'
        apart, _ = links_among(self.apart, None, keep, position)
        return MultiplexGraph(
            layers=tuple(name for name, count in zip(self.layers, counts, strict=True) if count),
            layer_start=np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int64),
            ids=self.ids.take(pa.array(kept)),
            intra=intra,
            inter=inter,
            intra_weight=intra_weight,
            inter_weight=inter_weight,
            horizontal_features=self.horizontal_features and self.horizontal_features.take(kept),
            vertical_features=self.vertical_features and self.vertical_features.take(kept),
            attributes={name: column.take(pa.array(kept)) for name, column in self.attributes.items()},
            intra_arcs=pick_weight(self.intra_arcs, within),
            apart=apart,
        )

    def layer(self, layer: LayerLike) -> MultiplexGraph:
        """One layer alone."""
        return self.subgraph(self.layer_nodes(layer))

    def largest_component(self) -> MultiplexGraph:
        """The largest connected component over intra and inter links (the first one among equals)."""
        if self.n_nodes == 0:
            return self
        labels = self.component_labels()
        return self.subgraph(labels == np.bincount(labels).argmax())

    def without(
        self, *, intra: ArrayLike | None = None, inter: ArrayLike | None = None, apart: ArrayLike | None = None
    ) -> MultiplexGraph:
        """The same nodes without the given links, and pairs known to be different; the rest stays.

        Each is a (k, 2) array of pairs; GraphError if one is not there.
        """
        changes: dict[str, Any] = {}
        if apart is not None:
            changes["apart"] = np.delete(self.apart, self.link_rows("apart", apart), axis=0)
        for kind, pairs in (("intra", intra), ("inter", inter)):
            if pairs is None:
                continue
            links = getattr(self, kind)
            keep = np.ones(len(links), dtype=bool)
            keep[self.link_rows(kind, pairs)] = False
            weight = getattr(self, f"{kind}_weight")
            changes[kind] = links[keep]
            changes[f"{kind}_weight"] = pick_weight(weight, keep)
            if kind == "intra":
                changes["intra_arcs"] = pick_weight(self.intra_arcs, keep)
        return replace(self, **changes)

    def unweighted(self) -> MultiplexGraph:
        """The same links, each of weight 1."""
        return replace(self, intra_weight=None, inter_weight=None)

    def undirected(self) -> MultiplexGraph:
        """The same links, all of them both ways."""
        return self if self.intra_arcs is None else replace(self, intra_arcs=None)

    def link_rows(self, kind: str, pairs: ArrayLike) -> NDArray[np.int64]:
        """(k,) the rows of ``intra``, ``inter`` or ``apart`` (say which) that hold (k, 2) pairs.

        GraphError if one is not there.
        """
        pairs = np.asarray(pairs).reshape(-1, 2)
        outside = np.flatnonzero(((pairs < 0) | (pairs >= self.n_nodes)).any(axis=1))
        if len(outside):
            pair = pairs[outside[0]].tolist()
            raise GraphError(f"a pair names the nodes {pair[0]} and {pair[1]}, expected 0 to {self.n_nodes - 1}")
        wanted = pair_keys(pairs, self.n_nodes)
        known = pair_keys(getattr(self, kind), self.n_nodes)
        rows = np.searchsorted(known, wanted)
        found = rows < len(known)
        found[found] = known[rows[found]] == wanted[found]
        if not found.all():
            first, second = (self.nodes[int(i)] for i in pairs[np.flatnonzero(~found)[0]])
            if kind == "apart":
                raise GraphError(f"{describe(first)} and {describe(second)} are not said to be different")
            raise GraphError(f"no {kind} link joins {describe(first)} and {describe(second)}")
        return rows

    # ---- identity ----------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Same network in every respect: nodes, links and all that is known of them."""
        if not isinstance(other, MultiplexGraph):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]  # compared by content, which is too large to hash at every use

    def node_fingerprint(self) -> str:
        """SHA-256 over the nodes, layers in order: graphs that agree in it have the same node at every position."""
        digest = hashlib.sha256(self.layer_start.tobytes())
        for texts in (pa.array(self.layers, pa.large_string()), self.ids):
            # Lengths before texts: "a" and "bc" are not "ab" and "c", and a NUL in an id is a character like others.
            digest.update(pc.binary_length(texts).to_numpy(zero_copy_only=False).astype(np.int64).tobytes())
            digest.update("".join(texts.to_pylist()).encode())
        return digest.hexdigest()

    def fingerprint(self) -> str:
        """SHA-256 over layers, nodes, links, weights, direction, features and pairs known to be different.

        The same network gives the same text.
        """
        digest = hashlib.sha256(self.node_fingerprint().encode())
        for part in (self.horizontal_features, self.vertical_features):
            digest.update(b"-" if part is None else repr(part.names).encode() + part.values.tobytes())
        for array in (self.intra, self.inter, self.intra_weight, self.inter_weight):
            digest.update(b"-" if array is None else str(array.shape).encode() + array.tobytes())
        if self.intra_arcs is not None:
            digest.update(b"arcs" + self.intra_arcs.tobytes())
        if len(self.apart):
            digest.update(b"apart" + str(self.apart.shape).encode() + self.apart.tobytes())
        return digest.hexdigest()


def frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """A read-only view of ``array``; no copy, so whoever holds the array itself can still change it."""
    view = array.view()
    view.flags.writeable = False
    return view


def _nbytes(part: Any) -> int:
    if isinstance(part, Features):
        return part.values.nbytes
    if isinstance(part, Mapping):
        return sum(_nbytes(value) for value in part.values())
    if isinstance(part, sparse.csr_array):
        return int(part.data.nbytes + part.indices.nbytes + part.indptr.nbytes)
    return int(getattr(part, "nbytes", 0))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, pa.Array) and isinstance(other, pa.Array):
        return bool(one.equals(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)
