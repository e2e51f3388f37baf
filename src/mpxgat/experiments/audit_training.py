"""HOW THE AUTHORS' CODE TRAINS, for the audit alone: nobody else may import this (a check of the import rules).

It differs from the training of `mpxgat.models.mpxgat` in what follows. No test link is seen here: what leaks in the
authors' code leaks when they score, and when they stop, which is not repeated here.

    messages        along each link one way, from the lower node to the higher, and from every node to itself
    negatives       as many as links, drawn once, uniformly over all pairs of nodes (of the layer; between layers over
                    all nodes, whatever their layers); only the training links are avoided
    validation      none: all training links are trained on, for a fixed number of epochs, and the last weights are kept
                    (the authors stop laxly on the test loss, which is not looked at here)
    H to V          the horizontal embeddings are handed to MPXGAT-V as one forward pass with dropout gives them
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.graph import MultiplexGraph
from mpxgat.models.base import FULL
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.models.mpxgat_parts import LayerPart, Part, Trained, VerticalPart, batch_sizes, learn_parts, sizes_text
from mpxgat.nn.attention import Neighbourhood
from mpxgat.nn.mpxgat import Net
from mpxgat.training.checkpoint import Checkpoint
from mpxgat.training.links import LinkTrainee, Stream, ValidationLinks, WithinLayer, chosen_device
from mpxgat.training.loop import EpochReport, Outcome, train
from mpxgat.training.parallel import Session

if TYPE_CHECKING:
    from mpxgat.distributed.group import Group

_AUTHORS = 2**31 + 2  # a stream of random numbers that no part of the model has
_NEGATIVES, _EPOCHS, _HANDED = range(3)  # what its numbers are for


class AuthorsWay(MPXGAT):
    """The preset `reference`, trained as the authors' code does. It embeds and scores as every MPXGAT: leak-free, all
    training links carrying messages both ways, dropout off.
    """

    def __init__(self, *, seed: int = 0, **settings: Any):
        super().__init__(seed=seed, **{**settings, "preset": "reference", "batch": FULL, "shares": 1})

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        layers = [_LayerOneWay.of(graph, number, self._settings, self.seed) for number in range(graph.n_layers)]
        empty = np.empty((graph.n_nodes, self._settings.out), dtype=np.float32)
        between = _BetweenOneWay.of(graph, empty, self._settings, self.seed)
        batches = sizes_text(batch_sizes([*layers, between], session))
        trained = learn_parts(layers, session, batches)
        nets = [part.net(each.parameters) for part, each in zip(layers, trained, strict=True)]
        handed = [_handed_on(part, net) for part, net in zip(layers, nets, strict=True)]
        between = replace(between, horizontal=np.concatenate(handed))
        trained += learn_parts([between], session, batches)
        self._parts, self._parameters = [*layers, between], [each.parameters for each in trained]
        self._outcomes = {part.label: each.outcome for part, each in zip(self._parts, trained, strict=True)}
        self._horizontal = np.concatenate([part.embed(net) for part, net in zip(layers, nets, strict=True)])
        leak_free = replace(between, horizontal=self._horizontal)
        self._vertical = leak_free.embed(leak_free.net(self._parameters[-1]))


class _OneWay(Part):
    """A part that learns as the authors' code does."""

    def learn(
        self, checkpoint: Checkpoint | None, report: Callable[[EpochReport], None], group: Group | None = None
    ) -> Trained:
        """A fixed number of epochs in full batch; a layer without links has nothing to learn from and stays as is."""
        device = chosen_device(self.settings.device)
        net = self.new_net().to(device)
        outcome = Outcome(0, 0, None, [])
        if len(self.links):
            everything = ValidationLinks(self.links, np.arange(len(self.links)), None, None)
            encode = partial(_encode, net, self.network(None, device).inputs, one_way(self.n_nodes, self.links, device))
            stream = Stream((self.seed, _AUTHORS, self.key))
            drawn = DrawnOnce(any_pairs(self.n_nodes, self.links, stream.at(_NEGATIVES).numpy()))
            trainee = LinkTrainee(net, encode, everything, drawn, stream.at(_EPOCHS), device)
            outcome = train(trainee, self.schedule, checkpoint, report)
        return Trained({name: tensor.cpu() for name, tensor in net.state_dict().items()}, outcome)


class _LayerOneWay(_OneWay, LayerPart):
    pass


class _BetweenOneWay(_OneWay, VerticalPart):
    pass


@dataclass(frozen=True, eq=False)
class DrawnOnce:
    """A sampler whose every draw is the same."""

    pairs: NDArray[np.int64]

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """The pairs, whatever is asked for."""
        return self.pairs


def any_pairs(n_nodes: int, links: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
    """As many pairs as links (fewer if hardly any is free): any two of the nodes, only the links given are avoided."""
    return WithinLayer.of(n_nodes, links.astype(np.int32)).draw(len(links), rng)


def one_way(n_nodes: int, links: NDArray[np.integer], device: torch.device | str = "cpu") -> Neighbourhood:
    """Every link sends from its lower node to its higher one, every node to itself."""
    edges = torch.from_numpy(np.sort(links.astype(np.int64), axis=1))
    return Neighbourhood.directed(n_nodes, edges).to(device)


def _encode(net: Net, inputs: tuple[Any, ...], around: Neighbourhood, generator: torch.Generator | None) -> Tensor:
    embeddings: Tensor = net(*inputs, around, generator=generator)
    return embeddings


@torch.no_grad()
def _handed_on(part: Part, net: Net) -> NDArray[np.float32]:
    """(n, out) embeddings of a layer as the authors' code hands them to MPXGAT-V: it never calls eval()."""
    generator = Stream((part.seed, _AUTHORS, part.key, _HANDED)).torch()
    around = one_way(part.n_nodes, part.links)
    embeddings: NDArray[np.float32] = _encode(net.train(), part.inputs(), around, generator).numpy()
    net.eval()
    return embeddings
