"""Training of GraphSAGE and MultiplexSAGE: links in minibatches, neighbours drawn for each, negatives by degree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mpxgat.graph import MultiplexGraph
from mpxgat.links import pair_keys
from mpxgat.metrics import auc
from mpxgat.models.link_training import Stream, ValidationLinks, cut_validation
from mpxgat.nn.decoder import pair_scores
from mpxgat.nn.sage import Hop, SageNet, contrast_loss
from mpxgat.sampling.negatives import BetweenLayers
from mpxgat.sampling.neighbours import Neighbours

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
        intra = cut_validation(graph.intra, share, _SameLayer(graph), rng)
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


class _SameLayer:
    """Pairs of nodes of one layer, whichever, that are no link."""

    def __init__(self, graph: MultiplexGraph):
        self._start = graph.layer_start
        self._layer = graph.node_layer
        self._keys = pair_keys(graph.intra, graph.n_nodes)

    def draw(self, count: int, rng: np.random.Generator) -> Links:
        """About (count, 2) pairs, uniform over all pairs of one layer that are free."""
        size = np.diff(self._start)
        layer = rng.choice(len(size), size=2 * count, p=size**2 / (size**2).sum())
        pairs = self._start[layer, None] + (rng.random((len(layer), 2)) * size[layer, None]).astype(np.int64)
        free = (pairs[:, 0] != pairs[:, 1]) & ~np.isin(pair_keys(pairs, len(self._layer)), self._keys)
        drawn: Links = pairs[free][:count]
        return drawn
