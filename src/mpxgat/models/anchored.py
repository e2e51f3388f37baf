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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mpxgat.errors import SettingError
from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import Arrays
from mpxgat.metrics import auc
from mpxgat.models.anchored_views import Background, Floats, Nodes, Views, identity_rows, n_heads, see
from mpxgat.models.base import FULL, EmbeddingModel, Settings, Vectors
from mpxgat.nn.anchored import AnchoredNet, ordering_loss, ranking_loss
from mpxgat.pairs import pair_keys
from mpxgat.splits import held_out_units, marked_nodes
from mpxgat.system import check_fits
from mpxgat.training.links import Stream, chosen_device
from mpxgat.training.loop import Schedule, train
from mpxgat.training.parallel import Session

_BATCH = 256  # links
_FEWEST = 32  # dimensions
_MOST_NODES = 100_000  # with all of them


_TASKS, _START, _EPOCHS = range(3)  # what random numbers are for
_PART, _FILE = "self-made splits", "self-made-splits"
_NODES_AT_ONCE = 4096
_LEAST_DEVIATION = 1e-3
_NET, _BACKGROUND = "net.", "background."
_FEWEST_LINKS = 5  # hidden ones of a kind that a split is trained or judged on
_NON_LINKS = 1024  # a step's links are told from so many
_JUDGED_NON_LINKS = 20_000
_PROTOCOLS = (held_out_units, marked_nodes)
Pairs = NDArray[np.int64]
See = Callable[[MultiplexGraph, NDArray[np.int64]], Views]
"""The views of some nodes of a graph."""


@dataclass(frozen=True)
class AnchoredSettings(Settings):
    """Settings of `Anchored`, chosen on fftwyt, drosophila and arxiv, seeds 100 and above.

    dimensions      of identity rows, and so of what attention over them gives; see `dimensions_for`
    hops            steps of the longest walk to a neighbour's identity
    hidden          of the function of a node's degree, layer and the like
    terms           columns of the vertical embedding that hold such terms
    splits          self-made splits trained on, at least 2; half dissolve whole units, half detach single nodes
    steps           of the optimiser in an epoch
    batch           hidden links of each kind in a step: a whole number, "auto" (256), or "full" (all of a split's)
    ranking         weight of the softmax over candidates, beside the loss that orders all pairs
    lr, weight_decay, epochs    Adam, and its largest number of epochs
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
        self._born: Nodes | None = None

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
        self._check_features(graph)
        assert self._born is not None
        return self._embed(self._see(graph, self._born, None)[0])

    def extend(self, graph: MultiplexGraph) -> Self:
        """A model of a graph with further nodes, units or links, fitted without training.

        Nodes are known again by id and layer. Nodes with nothing new within ``hops`` steps keep their embeddings,
        but for rounding. SettingError if the layers or the features are not those of the fitted graph.
        """
        if graph.layers != self.graph.layers:
            raise SettingError(f"the graph has the layers {list(graph.layers)}, expected {list(self.graph.layers)}")
        self._check_features(graph)
        assert self._born is not None
        extended = type(self)(seed=self.seed, **self.settings)
        extended._net, extended._outcomes, extended._background = self._net, self._outcomes, self._background
        extended._born = _births(self.graph, self._born, graph)
        views, _ = extended._see(graph, extended._born, self._background)
        extended._horizontal, extended._vertical = extended._embed(views)
        extended._graph = graph
        return extended

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        settings, device = self._settings, chosen_device(self._settings.device)
        self._born = np.arange(graph.n_nodes)
        rows = identity_rows(self.seed, graph.n_nodes, settings.dimensions_for(graph.n_nodes))

        def views_of(hidden: MultiplexGraph, nodes: Nodes) -> Views:
            return see(hidden, np.arange(hidden.n_nodes), rows, settings.hops, nodes=nodes)[0]

        tasks, judged = make_tasks(graph, settings.splits, views_of, self._stream(_TASKS))
        if settings.links_in_a_step is None:
            check_fits(full_batch_bytes(tasks), "a step with all links of a split", "batch = auto needs less")
        numbers = _numbers_of(tasks)
        if not len(numbers):
            numbers = views_of(graph, self._born).numbers
        net = self._new_net(graph.n_layers, numbers).to(device)
        trainee = AnchoredTrainee(net, tasks, judged, settings, self._stream(_EPOCHS), device)
        report = partial(session.report, _PART)
        self._outcomes[_PART] = train(trainee, settings.schedule, session.checkpoint(_FILE), report)
        self._net = net
        del tasks, judged, trainee  # their views are as large as those of the graph
        views, self._background = see(graph, self._born, rows, settings.hops)
        self._horizontal, self._vertical = self._embed(views)

    def _new_net(self, n_layers: int, numbers: Floats) -> AnchoredNet:
        """With its initial parameters; ``numbers`` (m, p) are nodes' numbers of which mean and deviation are taken."""
        numbers = numbers if len(numbers) else np.zeros((1, numbers.shape[1]), dtype=np.float32)
        mean, deviation = numbers.mean(axis=0, dtype=np.float64), numbers.std(axis=0, dtype=np.float64)
        return AnchoredNet(
            n_heads(self._settings.hops),
            n_layers,
            self._settings.hidden,
            self._settings.terms,
            torch.from_numpy(mean.astype(np.float32)),
            torch.from_numpy(np.maximum(deviation, _LEAST_DEVIATION).astype(np.float32)),
            self._stream(_START).torch(),
        )

    def _see(self, graph: MultiplexGraph, born: Nodes, background: Background | None) -> tuple[Views, Background]:
        assert self._background is not None
        dimensions = self._background.union.shape[-1]  # as fitted, whatever the graph's size
        rows = identity_rows(self.seed, int(born.max(initial=-1)) + 1, dimensions)
        return see(graph, born, rows, self._settings.hops, background)

    @torch.no_grad()
    def _embed(self, views: Views) -> tuple[Vectors, Vectors]:
        assert self._net is not None
        device = chosen_device(self._settings.device)
        horizontal, vertical = [], []
        for part in views.chunks(_NODES_AT_ONCE):
            horizontal.append(horizontal_of(self._net, part, device).cpu().numpy())
            vertical.append(vertical_of(self._net, part, device).cpu().numpy())
        return np.concatenate(horizontal), np.concatenate(vertical)

    def _check_features(self, graph: MultiplexGraph) -> None:
        found, expected = _feature_names(graph), _feature_names(self.graph)
        if found != expected:
            raise SettingError(f"the graph has the features {found}, expected {expected} as in the fitted graph")

    # ---- saving ----------------------------------------------------------------------------------------

    def _state(self) -> Arrays:
        assert self._net is not None
        assert self._background is not None
        assert self._born is not None
        arrays = super()._state() | {"numbers": self._born}
        arrays |= {_BACKGROUND + name: getattr(self._background, name) for name in ("anchored", "union")}
        arrays |= {_NET + name: tensor.cpu().numpy() for name, tensor in self._net.state_dict().items()}
        return arrays

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        super()._restore(graph, state, notes)
        self._born = state["numbers"]
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


def _numbers_of(tasks: Sequence[Task]) -> Floats:
    """(m, p) numbers of the nodes whose links are hidden."""
    return np.concatenate([task.views.numbers for task in tasks])


def _births(old: MultiplexGraph, born: Nodes, new: MultiplexGraph) -> Nodes:
    """(n,) for every node of the new graph: its number in the old one, or the next free number."""
    known = {node: int(number) for node, number in zip(old.nodes, born, strict=True)}
    births = np.array([known.get(node, -1) for node in new.nodes], dtype=np.int64)
    fresh = births < 0
    births[fresh] = born.max(initial=-1) + 1 + np.arange(fresh.sum())
    return births


def _feature_names(graph: MultiplexGraph) -> list[list[str]]:
    parts = (graph.horizontal_features, graph.vertical_features)
    return [[] if part is None else list(part.names) for part in parts]


# ---- training ------------------------------------------------------------------------------------------------------
#
# On self-made splits: hide links again as a protocol hides them, and find them.
#
# The views of a split are computed with its links hidden, so no link is evidence for itself. A split keeps the views of
# its marked nodes only: they are the ends of its links and of its non-links.


@dataclass(frozen=True, eq=False)
class Task:
    """A self-made split. Nodes are numbered 0…k-1: the marked ones.

    views           of the marked nodes, with the links hidden
    intra, inter    (·, 2) hidden links
    unit, layer     (k,) known units, hidden links included
    links           sorted keys of all intra links among the marked nodes, hidden ones included
    """

    views: Views
    intra: Pairs
    inter: Pairs
    unit: NDArray[np.int64]
    layer: NDArray[np.int64]
    links: NDArray[np.int64]

    def non_links(self, among: NDArray[np.int64], count: int, rng: np.random.Generator, *, intra: bool) -> Pairs:
        """(at most count, 2) pairs of nodes ``among``: of one layer without a link, or of two layers and two units."""
        pairs = among[rng.integers(len(among), size=(4 * count, 2))]
        same_layer = self.layer[pairs[:, 0]] == self.layer[pairs[:, 1]]
        if intra:
            free = same_layer & (pairs[:, 0] != pairs[:, 1])
            free &= ~np.isin(pair_keys(pairs, len(self.layer)), self.links)
        else:
            free = ~same_layer & (self.unit[pairs[:, 0]] != self.unit[pairs[:, 1]])
        chosen: Pairs = pairs[free][:count]
        return chosen


def make_tasks(graph: MultiplexGraph, count: int, see: See, stream: Stream) -> tuple[list[Task], list[Task]]:
    """Tasks to train on and tasks to stop on, one of each protocol. What is hidden in the latter is no target of the
    former.
    """
    rng = stream.numpy()
    judged = [_task(graph, number, see, rng, _none(), _none()) for number in range(len(_PROTOCOLS))]
    kept_intra, kept_inter = (
        np.concatenate([getattr(keys, kind) for _, keys in judged]) for kind in ("intra", "inter")
    )
    trained = [_task(graph, number, see, rng, kept_intra, kept_inter)[0] for number in range(count)]
    return trained, [task for task, _ in judged]


@dataclass(frozen=True, eq=False)
class _Hidden:
    """Keys of the links that a task hides, in the numbers of the graph."""

    intra: NDArray[np.int64]
    inter: NDArray[np.int64]


def _task(
    graph: MultiplexGraph,
    number: int,
    see: See,
    rng: np.random.Generator,
    kept_intra: NDArray[np.int64],
    kept_inter: NDArray[np.int64],
) -> tuple[Task, _Hidden]:
    split = _PROTOCOLS[number % len(_PROTOCOLS)](graph, int(rng.integers(2**31)))
    marked = split.inter.negatives.nodes.astype(np.int64)
    place = np.full(graph.n_nodes, -1, dtype=np.int64)
    place[marked] = np.arange(len(marked))
    hidden = _Hidden(*(pair_keys(part.positives, graph.n_nodes) for part in (split.intra, split.inter)))
    among = place[graph.intra]
    among = among[(among >= 0).all(axis=1)]
    task = Task(
        views=see(split.train, marked),
        intra=place[split.intra.positives[~np.isin(hidden.intra, kept_intra)]],
        inter=place[split.inter.positives[~np.isin(hidden.inter, kept_inter)]],
        unit=graph.unit[marked].astype(np.int64),
        layer=graph.node_layer[marked].astype(np.int64),
        links=np.sort(pair_keys(among, len(marked))),
    )
    return task, hidden


@dataclass(frozen=True, eq=False)
class _Batch:
    """``pairs`` (·, 2) of places in ``nodes`` (k,): first ``links`` links, then non-links."""

    nodes: NDArray[np.int64]
    pairs: Pairs
    links: int


class AnchoredTrainee:
    """A `Trainee` for `mpxgat.training.loop.train`: steps go round the tasks, one task each."""

    def __init__(
        self,
        net: AnchoredNet,
        tasks: Sequence[Task],
        judged: Sequence[Task],
        settings: AnchoredSettings,
        stream: Stream,
        device: torch.device,
    ):
        self.module: nn.Module = net
        self._net = net
        self._tasks = [task for task in tasks if _enough(task.intra) or _enough(task.inter)]
        self._judged = judged
        self._settings = settings
        self._stream = stream
        self._device = device

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Fresh links, candidates and non-links; chance comes from the epoch's own stream."""
        rng = self._stream.at(0, epoch).numpy()
        for step in range(self._settings.steps if self._tasks else 0):
            task = self._tasks[(epoch * self._settings.steps + step) % len(self._tasks)]
            losses = [loss for loss in (self._inter_loss(task, rng), self._intra_loss(task, rng)) if loss is not None]
            if losses:
                yield torch.stack(losses).sum()

    def validate(self) -> float | None:
        """Mean AUC of the hidden links, over protocols and both kinds of link."""
        found = [value for number, task in enumerate(self._judged) for value in self._aucs(task, number)]
        return float(np.mean(found)) if found else None

    def readings(self) -> dict[str, float]:
        """The β learned so far."""
        return {"beta": float(self._net.beta[0])}

    def _inter_loss(self, task: Task, rng: np.random.Generator) -> Tensor | None:
        batch = self._batch(task, rng, intra=False)
        if batch is None:
            return None
        z = vertical_of(self._net, task.views.take(batch.nodes), self._device)
        scores = z @ z.T
        first, second = self._tensor(batch.pairs).unbind(1)
        picked = scores.flatten().index_select(0, first * len(z) + second)
        links = picked[: batch.links]
        loss = ordering_loss(links, picked[batch.links :])
        if not self._settings.ranking:
            return loss
        unit, layer = task.unit[batch.nodes], task.layer[batch.nodes]
        for one, other in (batch.pairs[: batch.links].T, batch.pairs[: batch.links, ::-1].T):
            wrong = (layer[None, :] != layer[other][:, None]) | (unit[None, :] == unit[one][:, None])
            rows = scores.index_select(0, self._tensor(one)).masked_fill(self._tensor(wrong), -torch.inf)
            loss = loss + self._settings.ranking * ranking_loss(links, rows)
        return loss

    def _intra_loss(self, task: Task, rng: np.random.Generator) -> Tensor | None:
        batch = self._batch(task, rng, intra=True)
        if batch is None:
            return None
        h = horizontal_of(self._net, task.views.take(batch.nodes), self._device)
        first, second = self._tensor(batch.pairs).unbind(1)
        scores = (h.index_select(0, first) * h.index_select(0, second)).sum(1)
        return ordering_loss(scores[: batch.links], scores[batch.links :])

    def _batch(self, task: Task, rng: np.random.Generator, *, intra: bool) -> _Batch | None:
        """Some hidden links of a task, and non-links of some nodes; None where there are too few of either."""
        links = task.intra if intra else task.inter
        if not _enough(links):
            return None
        size = self._settings.links_in_a_step
        if size is not None:
            links = links[rng.integers(len(links), size=min(size, len(links)))]
        among = rng.integers(len(task.layer), size=len(task.layer) if size is None else size)
        non_links = task.non_links(among, _NON_LINKS, rng, intra=intra)
        if not len(non_links):
            return None
        pairs = np.concatenate([links, non_links])
        nodes, places = np.unique(pairs, return_inverse=True)
        return _Batch(nodes, places.reshape(pairs.shape), len(links))

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _aucs(self, task: Task, number: int) -> Iterator[float]:
        embedders: tuple[tuple[bool, Pairs, Any], ...] = (
            (False, task.inter, vertical_of),
            (True, task.intra, horizontal_of),
        )
        for intra, links, embed in embedders:
            if not _enough(links):
                continue
            rng = self._stream.at(1, number, int(intra)).numpy()
            non_links = task.non_links(np.arange(len(task.layer)), _JUDGED_NON_LINKS, rng, intra=intra)
            if not len(non_links):
                continue
            z = embed(self._net, task.views, self._device).cpu().numpy()
            yield auc(*(np.einsum("ij,ij->i", z[pairs[:, 0]], z[pairs[:, 1]]) for pairs in (links, non_links)))


def full_batch_bytes(tasks: Sequence[Task]) -> int:
    """About how much memory a step takes that learns from all inter links of a task: its nodes' scores, all pairs."""
    nodes = max((2 * (len(task.inter) + _NON_LINKS) for task in tasks), default=0)
    return 6 * 4 * nodes**2  # scores, their gradients, and the candidates of each side


def vertical_of(net: AnchoredNet, views: Views, device: torch.device) -> Tensor:
    """(k, columns) vertical embeddings of the nodes seen."""
    arrays = (views.anchored, views.identity, views.presence, views.numbers, views.layer)
    return net.vertical(*(torch.from_numpy(array).to(device) for array in arrays))


def horizontal_of(net: AnchoredNet, views: Views, device: torch.device) -> Tensor:
    """(k, columns) horizontal embeddings of the nodes seen."""
    arrays = (views.union, views.numbers, views.layer)
    return net.horizontal(*(torch.from_numpy(array).to(device) for array in arrays))


def _enough(links: Pairs) -> bool:
    return len(links) >= _FEWEST_LINKS


def _none() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)
