"""GraphSAGE (Hamilton et al. 2017), as the paper compares with it, and MultiplexSAGE (Gallo et al. 2023).

A node's vector comes from a trainable identity embedding of its own, the mean of drawn neighbours' vectors, and the
mean of theirs; it has length 1. Vectors are trained so that the ends of a link are near each other and far from nodes
drawn in proportion to degree^0.75. Weights of links are not read: the mean aggregator has no place for them.

To GraphSAGE all links are alike. MultiplexSAGE's aggregator has three matrices: for the node itself, for the mean of
drawn intra neighbours and for the mean of drawn inter neighbours.

Once trained, all nodes are embedded with *all* neighbours instead of drawn ones: that is the mean which drawing
estimates, it needs no chance, and it predicts held-out links better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mpxgat.graph import MultiplexGraph
from mpxgat.metrics import auc
from mpxgat.models.base import EmbeddingModel, Settings
from mpxgat.nn.ops import pair_scores
from mpxgat.nn.sage import Hop, SageNet, contrast_loss
from mpxgat.training.links import (
    BetweenLayers,
    Stream,
    ValidationLinks,
    WithinLayers,
    chosen_device,
    cut_validation,
    standardised_features,
)
from mpxgat.training.loop import Schedule, train
from mpxgat.training.parallel import Session
from mpxgat.training.walks import Neighbours

_CUT, _START, _EPOCHS = range(3)  # what random numbers are for
_PART, _FILE = "all links", "all-links"
_Links = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class SageSettings(Settings):
    """Settings of GraphSAGE and, with links = "separate", of MultiplexSAGE.

    Dimensions, samples and negatives are the paper's. The others were chosen by the validation AUC on ckm, celegans
    (seeds 100 and 101) and ff-tw-yt (seed 100).

    links           "alike", or "separate": one mean over intra and one over inter neighbours
    dimensions      of identity embeddings, of the hidden and of the last block
    samples_1       neighbours drawn for the first block (for the neighbours of a node)
    samples_2       neighbours drawn for the second block (for the node itself)
    negatives       nodes drawn for each minibatch that its links are told from
    batch           links in a minibatch
    lr, weight_decay, epochs    Adam's learning rate and weight decay; epochs at most
    check_every, patience       epochs between validations; validations without a better one before stopping
    validation      share of the training links of both kinds kept out of training to stop on
    device          where to compute: "cpu", "cuda", …
    """

    dimensions: int = 128
    samples_1: int = 25
    samples_2: int = 10
    negatives: int = 20
    batch: int = 512
    lr: float = 5e-4
    weight_decay: float = 0.0
    epochs: int = 300
    check_every: int = 1
    patience: int = 20
    validation: float = 0.1
    device: str = "cpu"
    links: str = "alike"

    def __post_init__(self) -> None:
        self.check_choice("links", "alike", "separate")
        self.check_at_least(1, "dimensions", "samples_1", "samples_2", "negatives", "batch")
        self.check_share("validation")
        _ = self.schedule  # checks its own ranges

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``links`` only where they are not alike, as in results on record."""
        return {name: value for name, value in super().to_dict().items() if (name, value) != ("links", "alike")}

    @property
    def schedule(self) -> Schedule:
        """How long to train, and how."""
        return Schedule(self.epochs, self.check_every, self.patience, self.lr, self.weight_decay)


class GraphSAGE(EmbeddingModel):
    """One embedding for both kinds of link. The arguments are described by `SageSettings`."""

    name = "graphsage"
    description = "means of neighbours' vectors; intra and inter links count alike"
    reads = frozenset({"features"})
    _settings: SageSettings

    def __init__(
        self,
        *,
        dimensions: int = SageSettings.dimensions,
        samples_1: int = SageSettings.samples_1,
        samples_2: int = SageSettings.samples_2,
        negatives: int = SageSettings.negatives,
        batch: int = SageSettings.batch,
        lr: float = SageSettings.lr,
        weight_decay: float = SageSettings.weight_decay,
        epochs: int = SageSettings.epochs,
        check_every: int = SageSettings.check_every,
        patience: int = SageSettings.patience,
        validation: float = SageSettings.validation,
        device: str = SageSettings.device,
        links: str = SageSettings.links,
        seed: int = 0,
    ):
        super().__init__(seed=seed)
        self._settings = SageSettings.among(locals())

    def _kinds(self, n_nodes: int, n_layers: int, intra: _Links, inter: _Links) -> list[Kind]:
        """The ways of messages: all links alike, or intra and inter links separately.

        A node has at most one counterpart in each other layer: no more than these are drawn.
        """
        samples = self._settings.samples_1, self._settings.samples_2
        if self._settings.links == "alike":
            return [Kind(Neighbours.of(n_nodes, np.concatenate([intra, inter])), samples)]
        most = max(n_layers - 1, 1)
        return [
            Kind(Neighbours.of(n_nodes, intra), samples),
            Kind(Neighbours.of(n_nodes, inter), (min(samples[0], most), min(samples[1], most))),
        ]

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        device = chosen_device(self._settings.device)
        links = SageLinks.cut(graph, self._settings.validation, self._stream(_CUT).numpy())
        kinds = self._kinds(graph.n_nodes, graph.n_layers, links.intra.training, links.inter.training)
        start = self._stream(_START).torch()
        net = SageNet(graph.n_nodes, self._settings.dimensions, len(kinds), standardised_features(graph), start).to(
            device
        )
        trainee = SageTrainee(
            net, links, kinds, self._settings.batch, self._settings.negatives, self._stream(_EPOCHS), device
        )
        report = partial(session.report, _PART)
        self._outcomes[_PART] = train(trainee, self._settings.schedule, session.checkpoint(_FILE), report)
        everyone = all_hops(self._kinds(graph.n_nodes, graph.n_layers, graph.intra, graph.inter))
        with torch.no_grad():
            self._horizontal = net.cpu()(everyone).numpy()
            validated = net(all_hops(kinds)).numpy()  # by training links only
        self._vertical = self._horizontal
        self._calibrate(graph, self._horizontal, links.intra.scores(validated))


# ---- training: links in minibatches, neighbours drawn for each, negatives by degree --------------------------------


_DISTORTION = 0.75  # negatives are drawn in proportion to degree to this power
Nodes = NDArray[np.int64]
Links = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Kind:
    """Links of one kind as ways of messages, and how many neighbours each of the two blocks draws over them."""

    neighbours: Neighbours
    samples: tuple[int, int]


@dataclass(frozen=True, eq=False)
class SageLinks:
    """The links of both kinds, parted: some to train on, some to stop on."""

    intra: ValidationLinks
    inter: ValidationLinks

    @classmethod
    def cut(cls, graph: MultiplexGraph, share: float, rng: np.random.Generator) -> SageLinks:
        """Keep a share of both kinds out of training, with non-links of the same layer and of different layers."""
        intra = cut_validation(graph.intra, share, WithinLayers.of(graph), rng)
        inter = cut_validation(graph.inter, share, BetweenLayers(graph.node_layer, graph.unit), rng)
        return cls(intra, inter)


@dataclass(frozen=True, eq=False)
class ByDegree:
    """Nodes drawn in proportion to degree^0.75, whatever they are linked to, as the method does."""

    running_total: NDArray[np.float64]  # (n,) of degree^0.75

    @classmethod
    def of(cls, degree: NDArray[np.int64]) -> ByDegree:
        """Degrees (n,), not all of them 0."""
        return cls(np.cumsum(degree**_DISTORTION))

    def draw(self, count: int, rng: np.random.Generator) -> Nodes:
        """(count,) nodes, independent of each other."""
        point = rng.random(count) * self.running_total[-1]
        nodes: Nodes = np.searchsorted(self.running_total, point, side="right")
        return nodes


class SageTrainee:
    """A `Trainee` for `mpxgat.training.loop.train`: a step for each minibatch of links.

    kinds       ways of messages, made of training links only
    batch       links in a minibatch
    negatives   nodes that all of them are told from
    """

    def __init__(
        self,
        net: SageNet,
        links: SageLinks,
        kinds: Sequence[Kind],
        batch: int,
        negatives: int,
        stream: Stream,
        device: torch.device,
    ):
        self.module: nn.Module = net
        self._links = np.concatenate([links.intra.training, links.inter.training]).astype(np.int64)
        self._judged = [_judged(part, device) for part in (links.intra, links.inter) if part.links is not None]
        self._kinds = kinds
        self._batch = batch
        self._negatives = negatives
        self._stream = stream
        self._device = device
        self._popular = ByDegree.of(np.sum([kind.neighbours.sizes for kind in kinds], axis=0))
        self._everyone = [hop.to(device) for hop in all_hops(kinds)]

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Every training link once, in random order and direction; chance comes from the epoch's own stream."""
        rng = self._stream.at(epoch).numpy()
        links = rng.permuted(rng.permutation(self._links), axis=1)
        for start in range(0, len(links), self._batch):
            yield self._loss(links[start : start + self._batch], rng)

    def validate(self) -> float | None:
        """AUC of validation links against their non-links: the mean of both kinds', where both are there."""
        if not self._judged:
            return None
        z = self.module(self._everyone)
        return float(np.mean([auc(*(pair_scores(z, pairs).cpu().numpy() for pairs in two)) for two in self._judged]))

    def readings(self) -> dict[str, float]:
        """None."""
        return {}

    def _loss(self, links: Links, rng: np.random.Generator) -> Tensor:
        negatives = self._popular.draw(self._negatives, rng)
        nodes, place = np.unique(np.concatenate([links.T.ravel(), negatives]), return_inverse=True)
        z = self.module([hop.to(self._device) for hop in draw_hops(self._kinds, nodes, rng)])
        rows = torch.from_numpy(place).to(self._device)
        both, others = rows[: links.size].view(2, -1), rows[links.size :]
        return contrast_loss(z.index_select(0, both[0]), z.index_select(0, both[1]), z.index_select(0, others))


def draw_hops(kinds: Sequence[Kind], nodes: Nodes, rng: np.random.Generator) -> list[Hop]:
    """Drawn neighbours of distinct ``nodes``, and drawn neighbours of all these.

    A node's neighbours are drawn once for each block, however many need them (Hamilton et al. 2017, algorithm 2).
    """
    near = [kind.neighbours.draw(nodes, kind.samples[1], rng) for kind in kinds]
    needed = np.unique(np.concatenate([nodes, *(drawn.members for drawn in near)]))
    far = [kind.neighbours.draw(needed, kind.samples[0], rng) for kind in kinds]
    near = [Neighbours(drawn.offsets, np.searchsorted(needed, drawn.members)) for drawn in near]
    return [_hop(needed, far), _hop(np.searchsorted(needed, nodes), near)]


def all_hops(kinds: Sequence[Kind]) -> list[Hop]:
    """All neighbours of all nodes, for both blocks: the mean that drawing estimates."""
    neighbours = [kind.neighbours for kind in kinds]
    return [_hop(np.arange(len(neighbours[0].sizes)), neighbours)] * 2


def _hop(receivers: Nodes, neighbours: Sequence[Neighbours]) -> Hop:
    """The receivers themselves, then their neighbours of each kind."""
    sizes = np.concatenate([np.ones_like(receivers), *(each.sizes for each in neighbours)])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.concatenate([receivers, *(each.members for each in neighbours)])
    return Hop(len(receivers), torch.from_numpy(rows), torch.from_numpy(offsets))


def _judged(part: ValidationLinks, device: torch.device) -> list[Tensor]:
    assert part.links is not None
    assert part.non_links is not None
    return [torch.from_numpy(pairs.astype(np.int64)).to(device) for pairs in (part.links, part.non_links)]
