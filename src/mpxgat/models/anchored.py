"""MPXGAT with anchored identities: nodes known to be one unit share an identity, and neighbours' identities say who
a node is.

A node's horizontal part is attention over the identities around it, its own left out; so two copies of one unit with
matching neighbourhoods come out alike even if no link between them is known. Its vertical part holds its own unit's
identity, the layers in which the unit has a node already, and terms for degree and layer. As in MPXGAT every node has
two embeddings, and β balances horizontal and vertical part. What is learned are few functions shared by all nodes and
layers (see `mpxgat.nn.anchored`), on links hidden from the views in which they are targets; so the model embeds other
graphs of the same layers at once. Weights of links are not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from mpxgat.errors import SettingError
from mpxgat.features import check_same_features
from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import Arrays
from mpxgat.models.anchored_training import AnchoredTrainee, Task, full_batch_bytes, make_tasks
from mpxgat.models.base import FULL, EmbeddingModel, Scores, Settings, Vectors
from mpxgat.nn.anchored import AnchoredNet
from mpxgat.pairs import PairList, unit_matrix, unit_presence, unit_sizes
from mpxgat.system import check_fits
from mpxgat.training.links import chosen_device
from mpxgat.training.loop import Schedule, train
from mpxgat.training.parallel import Session

Floats = NDArray[np.float32]
Nodes = NDArray[np.int64]
_BATCH = 256  # links
_FEWEST = 32  # dimensions
_MOST_NODES = 100_000  # with all of them
_TASKS, _START, _EPOCHS = range(3)  # what random numbers are for
_PART, _FILE = "inner splits", "inner-splits"
_NODES_AT_ONCE = 4096
_LEAST_DEVIATION = 1e-3
_PLENTY = 200  # hidden links that probabilities are learned from
_NET, _BACKGROUND = "net.", "background."
_RARITIES = (0.2, 0.8)  # of the two heads of one step; their mixture is learned
_FAR_RARITY = 0.5  # of heads of more steps
_TINY = 1e-6


@dataclass(frozen=True)
class AnchoredSettings(Settings):
    """Settings of `Anchored`, chosen on fftwyt, drosophila and arxiv, seeds 100 and above.

    dimensions      of identity rows, and so of what attention over them gives; see `dimensions_for`
    hops            steps of the longest walk to a neighbour's identity
    hidden          of the function of a node's degree, layer and the like
    terms           columns of the vertical embedding that hold such terms
    splits          inner splits trained on, at least 2; half dissolve whole units, half detach single nodes
    steps           of the optimiser in an epoch
    batch           hidden links of each kind in a step: a whole number, "auto" (256), or "full" (all of a split's)
    ranking         weight of the softmax over candidates, beside the loss that orders all pairs
    lr, weight_decay, epochs    Adam's learning rate and weight decay; epochs at most
    check_every, patience       epochs between validations; validations without a better one before stopping
    device          where to compute: "cpu", "cuda", …
    """

    dimensions: int = 256
    hops: int = 4
    hidden: int = 32
    terms: int = 16
    splits: int = 4
    steps: int = 20
    batch: int | str = _BATCH
    ranking: float = 0.1
    lr: float = 3e-3
    weight_decay: float = 0.0
    epochs: int = 20
    check_every: int = 1
    patience: int = 5
    device: str = "cpu"

    def __post_init__(self) -> None:
        self.check_at_least(1, "dimensions", "hops", "hidden", "terms", "steps")
        self.check_batch()
        self.check_at_least(2, "splits")  # without one of each protocol, nodes with known copies are never ranked
        self.check_at_least(0, "ranking")
        _ = self.schedule  # checks its own ranges

    @property
    def schedule(self) -> Schedule:
        """How long to train, and how."""
        return Schedule(self.epochs, self.check_every, self.patience, self.lr, self.weight_decay)

    @property
    def links_in_a_step(self) -> int | None:
        """Of each kind; None for all."""
        if self.batch == FULL:
            return None
        return _BATCH if isinstance(self.batch, str) else self.batch

    def dimensions_for(self, n_nodes: int) -> int:
        """In networks of more than 100,000 nodes fewer than set, so that views take no more memory, but 32 at least.

        128 instead of 256 cost .003 of overall AUC on ff-tw-yt and .005 on a planted network of 10,000 nodes, 64 cost
        .010 and .007 (held-out units, seed 100).
        """
        return min(self.dimensions, max(_FEWEST, self.dimensions * _MOST_NODES // max(n_nodes, 1)))


class Anchored(EmbeddingModel):
    """The model of this file's head. The arguments are described by `AnchoredSettings`."""

    name = "anchored"
    description = "attention over the identities of neighbours, shared by all layers; embeds new nodes untrained"
    reads = frozenset({"features"})
    _settings: AnchoredSettings

    def __init__(
        self,
        *,
        dimensions: int = AnchoredSettings.dimensions,
        hops: int = AnchoredSettings.hops,
        hidden: int = AnchoredSettings.hidden,
        terms: int = AnchoredSettings.terms,
        splits: int = AnchoredSettings.splits,
        steps: int = AnchoredSettings.steps,
        batch: int | str = AnchoredSettings.batch,
        ranking: float = AnchoredSettings.ranking,
        lr: float = AnchoredSettings.lr,
        weight_decay: float = AnchoredSettings.weight_decay,
        epochs: int = AnchoredSettings.epochs,
        check_every: int = AnchoredSettings.check_every,
        patience: int = AnchoredSettings.patience,
        device: str = AnchoredSettings.device,
        seed: int = 0,
    ):
        super().__init__(seed=seed)
        self._settings = AnchoredSettings.among(locals())
        self._net: AnchoredNet | None = None
        self._background: Background | None = None
        self._identity: Nodes | None = None

    # ---- other graphs ----------------------------------------------------------------------------------

    def embed_graph(self, graph: MultiplexGraph) -> tuple[Vectors, Vectors]:
        """(n, d) horizontal and (n, e) vertical embeddings of another graph on the same nodes, without training.

        For a graph with more links hidden, or with further ones: all that the model was told by links is computed
        anew from the graph given. SettingError if the nodes are not as many as in the fitted graph, layer by layer.
        """
        if not np.array_equal(graph.layer_start, self.graph.layer_start):
            raise SettingError(
                f"the graph has {np.diff(graph.layer_start).tolist()} nodes in its layers, expected "
                f"{np.diff(self.graph.layer_start).tolist()}; use extend(graph) for a graph with other nodes"
            )
        check_same_features(graph, self.graph)
        assert self._identity is not None
        return self._embed(self._see(graph, self._identity, None)[0])

    def extend(self, graph: MultiplexGraph) -> Self:
        """A model of a graph with further nodes, units or links, fitted without training.

        Nodes are known again by id and layer. Nodes with nothing new within ``hops`` steps keep their embeddings,
        but for rounding. SettingError if the layers or the features are not those of the fitted graph.
        """
        if graph.layers != self.graph.layers:
            raise SettingError(f"the graph has the layers {list(graph.layers)}, expected {list(self.graph.layers)}")
        check_same_features(graph, self.graph)
        assert self._identity is not None
        extended = type(self)(seed=self.seed, **self.settings)
        extended._net, extended._outcomes, extended._background = self._net, self._outcomes, self._background
        extended._link_curve = self._link_curve
        extended._identity = _identities(self.graph, self._identity, graph)
        views, _ = extended._see(graph, extended._identity, self._background)
        extended._horizontal, extended._vertical = extended._embed(views)
        extended._graph = graph
        return extended

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        settings, device = self._settings, chosen_device(self._settings.device)
        self._identity = np.arange(graph.n_nodes)
        rows = identity_rows(self.seed, graph.n_nodes, settings.dimensions_for(graph.n_nodes))

        def views_of(hidden: MultiplexGraph, nodes: Nodes) -> Views:
            return see(hidden, np.arange(hidden.n_nodes), rows, settings.hops, nodes=nodes)[0]

        tasks, validated = make_tasks(graph, settings.splits, views_of, self._stream(_TASKS))
        if settings.links_in_a_step is None:
            check_fits(full_batch_bytes(tasks), "a step with all links of a split", "batch = auto needs less")
        numbers = np.concatenate([task.views.numbers for task in tasks])  # of nodes whose links are hidden
        if not len(numbers):
            numbers = views_of(graph, self._identity).numbers
        net = self._new_net(graph.n_layers, numbers, _features(graph)).to(device)
        trainee = AnchoredTrainee(net, tasks, validated, settings, self._stream(_EPOCHS), device)
        report = partial(session.report, _PART)
        self._outcomes[_PART] = train(trainee, settings.schedule, session.checkpoint(_FILE), report)
        self._net = net
        hidden = self._hidden_scores(validated)
        if len(hidden) < _PLENTY:  # the weights belong to no node, so they hardly know the links that they learned from
            hidden = np.concatenate([hidden, self._hidden_scores(tasks)])
        del tasks, validated, trainee  # their views are as large as those of the graph
        views, self._background = see(graph, self._identity, rows, settings.hops)
        self._horizontal, self._vertical = self._embed(views)
        self._calibrate(graph, self._horizontal, hidden)

    @torch.no_grad()
    def _hidden_scores(self, tasks: Sequence[Task]) -> Scores:
        """(h,) of the hidden intra links of tasks."""
        assert self._net is not None
        net, device = self._net, chosen_device(self._settings.device)
        vectors = [task.views.horizontal(net, device).cpu().numpy() for task in tasks]
        found = [PairList(task.intra).dots(each) for task, each in zip(tasks, vectors, strict=True)]
        return np.concatenate([np.zeros(0), *found])

    def _new_net(self, n_layers: int, numbers: Floats, features: Floats | None = None) -> AnchoredNet:
        """With its initial parameters; ``numbers`` (m, p) are nodes' numbers of which mean and deviation are taken.

        features    (n, q) of all nodes, the last of the numbers: deviation of those that are the same in these nodes
        """
        numbers = numbers if len(numbers) else np.zeros((1, numbers.shape[1]), dtype=np.float32)
        mean, deviation = numbers.mean(axis=0, dtype=np.float64), numbers.std(axis=0, dtype=np.float64)
        if features is not None and len(features):
            found = deviation[len(deviation) - features.shape[1] :]
            np.copyto(found, features.std(axis=0, dtype=np.float64), where=found < _LEAST_DEVIATION)
        return AnchoredNet(
            n_heads(self._settings.hops),
            n_layers,
            self._settings.hidden,
            self._settings.terms,
            torch.from_numpy(mean.astype(np.float32)),
            torch.from_numpy(np.maximum(deviation, _LEAST_DEVIATION).astype(np.float32)),
            self._stream(_START).torch(),
        )

    def _see(
        self, graph: MultiplexGraph, identity_of: Nodes, background: Background | None
    ) -> tuple[Views, Background]:
        assert self._background is not None
        dimensions = self._background.union.shape[-1]  # as fitted, whatever the graph's size
        rows = identity_rows(self.seed, int(identity_of.max(initial=-1)) + 1, dimensions)
        return see(graph, identity_of, rows, self._settings.hops, background)

    @torch.no_grad()
    def _embed(self, views: Views) -> tuple[Vectors, Vectors]:
        assert self._net is not None
        device = chosen_device(self._settings.device)
        horizontal, vertical = [], []
        for part in views.chunks(_NODES_AT_ONCE):
            horizontal.append(part.horizontal(self._net, device).cpu().numpy())
            vertical.append(part.vertical(self._net, device).cpu().numpy())
        return np.concatenate(horizontal), np.concatenate(vertical)

    # ---- saving ----------------------------------------------------------------------------------------

    def _state(self) -> Arrays:
        assert self._net is not None
        assert self._background is not None
        assert self._identity is not None
        arrays = super()._state() | {"identity": self._identity}
        arrays |= {_BACKGROUND + name: getattr(self._background, name) for name in ("anchored", "union")}
        arrays |= {_NET + name: tensor.cpu().numpy() for name, tensor in self._net.state_dict().items()}
        return arrays

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        super()._restore(graph, state, notes)
        self._identity = state["identity"]
        self._background = Background(*(state[_BACKGROUND + name] for name in ("anchored", "union")))
        self._check_shapes(state)
        self._net = self._new_net(graph.n_layers, state[_NET + "mean"][None])
        names = self._net.state_dict()
        self._net.load_state_dict({name: torch.from_numpy(state[_NET + name].copy()) for name in names})
        self._net.to(chosen_device(self._settings.device)).eval()

    def _check_shapes(self, state: Arrays) -> None:
        """ValueError if the network in a file is not of the settings in it: one of those could take any memory."""
        hidden = self._settings.hidden
        expected = (hidden, n_heads(self._settings.hops) + 2), (hidden, self._settings.terms)
        found = tuple(state[f"{_NET}vertical_terms.{name}"].shape for name in ("G", "T"))
        if found != expected:
            raise ValueError(f"a network with tables of the shapes {found}, expected {expected} by its settings")


def _identities(old: MultiplexGraph, identity_of: Nodes, new: MultiplexGraph) -> Nodes:
    """(n,) for every node of the new graph: its number in the old one, or the next free number."""
    known = {node: int(number) for node, number in zip(old.nodes, identity_of, strict=True)}
    numbers = np.array([known.get(node, -1) for node in new.nodes], dtype=np.int64)
    fresh = numbers < 0
    numbers[fresh] = identity_of.max(initial=-1) + 1 + np.arange(fresh.sum())
    return numbers


# ---- what the model sees of every node -----------------------------------------------------------------------------
#
# Every known unit has one *identity row*, shared by its nodes in all layers: a random row, so that a sum of rows is a
# random projection of the exact profile over units. A node's view by a head is the sum of the rows that walks of k
# steps from the node end at, the step from a unit to its other copies being free. Two nodes with matching
# neighbourhoods get like views, whether or not a link between them is known; a node whose inter links are hidden has
# no anchored row of its own, so its view cannot hold its own identity.


@dataclass(frozen=True, eq=False)
class Background:
    """(heads, layers, d) what the views of all nodes of a layer have in common: the direction of their mean.

    Long walks end at the same few hubs wherever they start. Taken out of the views, so that the rest can be compared.
    """

    anchored: Floats
    union: Floats


@dataclass(frozen=True, eq=False)
class Views:
    """What is seen of n nodes. Rows of views have length 1, or 0 where nothing is seen.

    anchored    (heads, n, d) over units known in two layers or more: only those tell nodes of two layers apart
    union       (heads + 1, n, d) over all units and from all copies of the node; the first is the unit's own row
    identity    (n, d) row of the node's unit, 0 if no other node of it is known
    numbers     (n, p) degrees and the like, and features of the nodes
    presence    (n, layers) 1 where the node's unit has a node
    layer       (n,)
    """

    anchored: Floats
    union: Floats
    identity: Floats
    numbers: Floats
    presence: Floats
    layer: NDArray[np.int64]

    def horizontal(self, net: AnchoredNet, device: torch.device) -> Tensor:
        """(n, columns) horizontal embeddings of the nodes."""
        arrays = (self.union, self.numbers, self.layer)
        return net.horizontal(*(torch.from_numpy(array).to(device) for array in arrays))

    def vertical(self, net: AnchoredNet, device: torch.device) -> Tensor:
        """(n, columns) vertical embeddings of the nodes."""
        arrays = (self.anchored, self.identity, self.presence, self.numbers, self.layer)
        return net.vertical(*(torch.from_numpy(array).to(device) for array in arrays))

    def take(self, nodes: Nodes) -> Views:
        """The rows of ``nodes``, in that order."""
        return Views(
            self.anchored[:, nodes],
            self.union[:, nodes],
            self.identity[nodes],
            self.numbers[nodes],
            self.presence[nodes],
            self.layer[nodes],
        )

    def chunks(self, size: int) -> Iterator[Views]:
        """The same in parts of at most ``size`` nodes; one empty part if there are no nodes."""
        for start in range(0, max(len(self.layer), 1), size):
            yield self.take(np.arange(start, min(start + size, len(self.layer))))


def n_heads(hops: int) -> int:
    """Heads of views: two of one step, one of every longer walk."""
    return len(_RARITIES) + hops - 1


def identity_rows(seed: int, count: int, dimensions: int) -> Floats:
    """(count, d) random rows of length about 1. More rows begin with the same rows, so new nodes change no old one."""
    rng = np.random.default_rng((seed, 1))
    rows = rng.standard_normal((count, dimensions), dtype=np.float32)
    rows /= np.float32(np.sqrt(dimensions))
    return rows


def see(
    graph: MultiplexGraph,
    identity_of: Nodes,
    rows: Floats,
    hops: int,
    background: Background | None = None,
    nodes: Nodes | None = None,
) -> tuple[Views, Background]:
    """Views of all nodes of a graph, and the background that was taken out of them.

    identity_of        (n,) every node's place in ``rows``; a unit has the row of its node with the smallest
    background  one to take out instead of the graph's own: views of nodes far from a change then stay as they were
    nodes       whose views are kept, in that order; None for all. The others' never take memory all at once.
    """
    kept = np.arange(graph.n_nodes) if nodes is None else nodes
    walk = _Walk(graph, rows[_unit_identities(graph, identity_of)])
    anchored, lengths, common = walk.views(
        walk.anchored, hops, None if background is None else background.anchored, kept
    )
    union, _, common_union = walk.views(walk.all_units, hops, None if background is None else background.union, kept)
    own = union[0]
    own[:] = walk.rows[graph.unit[kept]]
    views = Views(
        anchored=anchored[1:],
        union=union,
        identity=own * walk.anchored[graph.unit[kept]][:, None],
        numbers=np.concatenate([_numbers(graph, walk)[kept], lengths, _features(graph)[kept]], axis=1),
        presence=walk.presence[kept],
        layer=graph.node_layer[kept].astype(np.int64),
    )
    return views, Background(common, common_union)


class _Walk:
    """Walks on one graph."""

    def __init__(self, graph: MultiplexGraph, unit_rows: Floats):
        self.rows = unit_rows
        self._graph = graph
        self._to_unit = unit_matrix(graph).astype(np.float32)  # (n, units)
        self.size = unit_sizes(graph)
        self.anchored = (self.size > 1).astype(np.float32)
        self.all_units = np.ones(graph.n_units, dtype=np.float32)
        self.unit_degree = np.bincount(graph.unit, weights=graph.degree, minlength=graph.n_units)
        self.presence = unit_presence(graph)[graph.unit]
        self._inverse_degree = (1 / np.maximum(graph.degree, 1)).astype(np.float32)
        self._layers = sparse.csr_array(  # (layers, n) means
            (np.ones(graph.n_nodes, dtype=np.float32), (graph.node_layer, np.arange(graph.n_nodes))),
            shape=(graph.n_layers, graph.n_nodes),
        )

    def mean(self, values: Floats) -> Floats:
        """Mean over the neighbours in the layer: (n, …) -> (n, …)."""
        sums = self._graph.adjacency @ values
        scale = self._inverse_degree if values.ndim == 1 else self._inverse_degree[:, None]
        return np.asarray(sums * scale, dtype=np.float32)

    def over_copies(self, values: Floats) -> Floats:
        """Mean over all nodes of the unit: (n, d) -> (n, d)."""
        sums = np.asarray(self._to_unit.T @ values, dtype=np.float32)
        sums /= self.size[:, None].astype(np.float32)
        found: Floats = sums[self._graph.unit]
        return found

    def views(self, weight: Floats, hops: int, background: Floats | None, kept: Nodes) -> tuple[Floats, Floats, Floats]:
        """(1 + heads, k, d) views over units with these weights, (k, heads) logarithms of their lengths, and the
        background taken out. The first view is left open, for the own row.
        """
        pooled = weight is self.all_units  # nodes of one unit see what any of them sees
        found = np.empty((1 + n_heads(hops), len(kept), self.rows.shape[1]), dtype=np.float32)
        lengths, common = [], []
        for head, seen in enumerate(self._heads(weight, hops)):
            view = self.over_copies(seen) if pooled else seen
            lengths.append(np.log(_lengths(view) + 1e-3)[kept])
            direction = self._common_direction(view) if background is None else background[head]
            common.append(direction)
            view = view[kept]
            if head >= len(_RARITIES):
                along = direction[self._graph.node_layer[kept]]
                view -= np.einsum("ij,ij->i", view, along)[:, None] * along
            np.divide(view, (_lengths(view) + _TINY)[:, None], out=found[1 + head])
        return found, np.stack(lengths, axis=1), np.stack(common)

    def _heads(self, weight: Floats, hops: int) -> Iterator[Floats]:
        """A unit's row weighs degree^-rarity: a neighbour that many have tells little."""
        rare = np.maximum(self.unit_degree, 1)
        for rarity in _RARITIES:
            yield self._one_step((weight * rare**-rarity).astype(np.float32))
        seen = self._one_step((weight * rare**-_FAR_RARITY).astype(np.float32))
        for _ in range(hops - 1):
            seen = self.mean(self.over_copies(seen))
            yield seen

    def _one_step(self, weight: Floats) -> Floats:
        return self.mean((self.rows * weight[:, None])[self._graph.unit])

    def _common_direction(self, view: Floats) -> Floats:
        sums = np.asarray(self._layers @ view, dtype=np.float32)
        return np.asarray(sums / (_lengths(sums) + _TINY)[:, None], dtype=np.float32)


def _numbers(graph: MultiplexGraph, walk: _Walk) -> Floats:
    """(n, p) what the degrees of a node, its unit and its neighbours say."""
    degree = np.log1p(graph.degree).astype(np.float32)
    unit_degree = np.log1p(walk.unit_degree[graph.unit]).astype(np.float32)
    share = walk.mean(walk.anchored[graph.unit])
    around = walk.mean(degree)
    layers = walk.presence.sum(1)
    columns = [
        degree,
        unit_degree,
        around,
        walk.mean(around),
        walk.mean(unit_degree),
        share,
        np.log1p(share * graph.degree),
        layers,
        layers > 1,
        graph.degree == 0,
    ]
    return np.stack([np.asarray(column, dtype=np.float32) for column in columns], axis=1)


def _features(graph: MultiplexGraph) -> Floats:
    parts = [part.values for part in (graph.horizontal_features, graph.vertical_features) if part is not None]
    return np.concatenate([np.empty((graph.n_nodes, 0), dtype=np.float32), *parts], axis=1)


def _unit_identities(graph: MultiplexGraph, identity_of: Nodes) -> Nodes:
    first = np.full(graph.n_units, np.iinfo(np.int64).max)
    np.minimum.at(first, graph.unit, identity_of)
    return first


def _lengths(rows: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)), dtype=np.float32)
