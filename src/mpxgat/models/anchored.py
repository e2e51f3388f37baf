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

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import torch

from mpxgat.arrays import Arrays
from mpxgat.errors import SettingError
from mpxgat.graph import MultiplexGraph
from mpxgat.models.anchored_settings import AnchoredSettings
from mpxgat.models.anchored_training import (
    AnchoredTrainee,
    Task,
    full_batch_bytes,
    horizontal_of,
    make_tasks,
    vertical_of,
)
from mpxgat.models.anchored_views import Background, Floats, Nodes, Views, identity_rows, n_heads, see
from mpxgat.models.embedding import Vectors
from mpxgat.models.part import chosen_device
from mpxgat.models.trained_embedding import TrainedEmbedding
from mpxgat.nn.anchored import AnchoredNet
from mpxgat.training.loop import Outcome, train
from mpxgat.training.memory import check_fits
from mpxgat.training.session import Session

_TASKS, _START, _EPOCHS = range(3)  # what random numbers are for
_PART, _FILE = "self-made splits", "self-made-splits"
_NODES_AT_ONCE = 4096
_LEAST_DEVIATION = 1e-3
_NET, _BACKGROUND = "net.", "background."


class Anchored(TrainedEmbedding):
    """Settings by name: see `AnchoredSettings`."""

    name = "anchored"
    description = "attention over the identities of neighbours, shared by all layers; embeds new nodes untrained"
    _part = _PART
    _settings: AnchoredSettings

    def __init__(self, /, *, seed: int = 0, **settings: Any):
        super().__init__(seed=seed)
        self._settings = AnchoredSettings.of(**settings)
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
        extended._net, extended._outcome, extended._background = self._net, self._outcome, self._background
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
        self._outcome = train(trainee, settings.schedule, session.checkpoint(_FILE), partial(session.report, _PART))
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
        arrays: Arrays = {"horizontal": self.horizontal, "vertical": self.vertical, "born": self._born}
        arrays |= {_BACKGROUND + name: getattr(self._background, name) for name in ("anchored", "union")}
        arrays |= {_NET + name: tensor.cpu().numpy() for name, tensor in self._net.state_dict().items()}
        return arrays

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        self._horizontal, self._vertical = state["horizontal"], state["vertical"]
        self._born = state["born"]
        self._background = Background(*(state[_BACKGROUND + name] for name in ("anchored", "union")))
        self._check_shapes(state)
        self._net = self._new_net(graph.n_layers, state[_NET + "mean"][None])
        names = self._net.state_dict()
        self._net.load_state_dict({name: torch.from_numpy(state[_NET + name].copy()) for name in names})
        self._net.to(chosen_device(self._settings.device)).eval()
        self._outcome = Outcome(**notes["outcome"])

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
