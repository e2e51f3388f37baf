"""Training of the anchored model on inner splits: hide links again as a protocol hides them, and find them.

The views of a split are computed with its links hidden, so no link is evidence for itself. A split keeps the views of
its marked nodes only: they are the ends of its links and of its non-links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mpxgat.graph import MultiplexGraph
from mpxgat.metrics import auc
from mpxgat.nn.anchored import AnchoredNet, ordering_loss, ranking_loss
from mpxgat.pairs import pair_keys
from mpxgat.splits import held_out_units, marked_nodes
from mpxgat.training.links import Stream

if TYPE_CHECKING:
    from mpxgat.models.anchored import AnchoredSettings, Views

_FEWEST_LINKS = 5  # hidden ones of a kind that a split is trained or validated on
_NON_LINKS = 1024  # a step's links are told from so many
_VALIDATION_NON_LINKS = 20_000
_PROTOCOLS = (held_out_units, marked_nodes)
Pairs = NDArray[np.int64]
See = Callable[[MultiplexGraph, NDArray[np.int64]], "Views"]
"""The views of some nodes of a graph."""


@dataclass(frozen=True, eq=False)
class Task:
    """A inner split. Nodes are numbered 0…k-1: the marked ones.

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
    validated = [_task(graph, number, see, rng, _none(), _none()) for number in range(len(_PROTOCOLS))]
    kept_intra, kept_inter = (
        np.concatenate([getattr(keys, kind) for _, keys in validated]) for kind in ("intra", "inter")
    )
    trained = [_task(graph, number, see, rng, kept_intra, kept_inter)[0] for number in range(count)]
    return trained, [task for task, _ in validated]


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
        validated: Sequence[Task],
        settings: AnchoredSettings,
        stream: Stream,
        device: torch.device,
    ):
        self.module: nn.Module = net
        self._net = net
        self._tasks = [task for task in tasks if _enough(task.intra) or _enough(task.inter)]
        self._validated = validated
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
        found = [value for number, task in enumerate(self._validated) for value in self._aucs(task, number)]
        return float(np.mean(found)) if found else None

    def readings(self) -> dict[str, float]:
        """The β learned so far."""
        return {"beta": float(self._net.beta[0])}

    def _inter_loss(self, task: Task, rng: np.random.Generator) -> Tensor | None:
        batch = self._batch(task, rng, intra=False)
        if batch is None:
            return None
        z = task.views.take(batch.nodes).vertical(self._net, self._device)
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
        h = task.views.take(batch.nodes).horizontal(self._net, self._device)
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
            (False, task.inter, task.views.vertical),
            (True, task.intra, task.views.horizontal),
        )
        for intra, links, embed in embedders:
            if not _enough(links):
                continue
            rng = self._stream.at(1, number, int(intra)).numpy()
            non_links = task.non_links(np.arange(len(task.layer)), _VALIDATION_NON_LINKS, rng, intra=intra)
            if not len(non_links):
                continue
            z = embed(self._net, self._device).cpu().numpy()
            yield auc(*(np.einsum("ij,ij->i", z[pairs[:, 0]], z[pairs[:, 1]]) for pairs in (links, non_links)))


def full_batch_bytes(tasks: Sequence[Task]) -> int:
    """About how much memory a step takes that learns from all inter links of a task: its nodes' scores, all pairs."""
    nodes = max((2 * (len(task.inter) + _NON_LINKS) for task in tasks), default=0)
    return 6 * 4 * nodes**2  # scores, their gradients, and the candidates of each side


def _enough(links: Pairs) -> bool:
    return len(links) >= _FEWEST_LINKS


def _none() -> NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)
