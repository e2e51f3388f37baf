"""What all trainings on links share: random streams, validation links, full-batch steps, fresh non-links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.metrics import auc
from mpxgat.nn.attention import Neighbourhood
from mpxgat.nn.ops import link_loss, pair_scores
from mpxgat.nn.projection import Input
from mpxgat.pairs import PairList, found_among, pair_keys

_VALIDATION_NON_LINKS = 10  # for each validation link: a steadier AUC than one for each
_FEWEST_VALIDATION_LINKS = 5
_MAX_ROUNDS = 200  # of drawing non-links where hardly any pair is free
_Candidates = Callable[[int, np.random.Generator], NDArray[np.int64]]


class NegativeSampler(Protocol):
    """Non-links, fresh at every call."""

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """(count, 2) pairs, or fewer if hardly any is free."""


@dataclass(frozen=True)
class Stream:
    """A stream of random numbers of its own, told by whole numbers: seed, part of the model, purpose, epoch."""

    key: tuple[int, ...]

    def at(self, *more: int) -> Stream:
        """A stream within this one."""
        return Stream((*self.key, *more))

    def numpy(self) -> np.random.Generator:
        """A generator for numpy."""
        return np.random.default_rng(self.key)

    def torch(self, device: torch.device | str = "cpu") -> torch.Generator:
        """A generator for torch."""
        state = np.random.SeedSequence(self.key).generate_state(1, np.uint64)[0]
        return torch.Generator(device).manual_seed(int(state >> np.uint64(1)))


@dataclass(frozen=True)
class ValidationLinks:
    """Links to train on, and links and non-links to stop on (None if there are too few links for that)."""

    training: NDArray[np.integer]
    training_rows: NDArray[np.int64]
    links: NDArray[np.integer] | None
    non_links: NDArray[np.int64] | None

    def scores(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        """(v,) dot products of the vectors (n, d) of the ends of the links to stop on; none if there are none."""
        return np.zeros(0) if self.links is None else PairList(self.links).dots(vectors)


def cut_validation(
    links: NDArray[np.integer], share: float, sampler: NegativeSampler, rng: np.random.Generator
) -> ValidationLinks:
    """Part a layer's (or the vertical network's) training links; the non-links are drawn once and stay."""
    count = round(share * len(links))
    everything = np.arange(len(links))
    if count < _FEWEST_VALIDATION_LINKS:
        return ValidationLinks(links, everything, None, None)
    held = np.sort(rng.choice(len(links), count, replace=False))
    rest = np.delete(everything, held)
    non_links = sampler.draw(_VALIDATION_NON_LINKS * count, rng)
    if not len(non_links):
        return ValidationLinks(links, everything, None, None)
    return ValidationLinks(links[rest], rest, links[held], non_links)


@dataclass(frozen=True, eq=False)
class Network:
    """The links that carry messages, and what the nodes are known by; tensors are on one device.

    inputs      what a net is given besides the neighbourhood, one row for each node
    links       (m, 2)
    weights     (m,) or None
    """

    n_nodes: int
    inputs: tuple[Input, ...]
    links: NDArray[np.int32]
    weights: Tensor | None
    device: torch.device

    def whole(self) -> Neighbourhood:
        """Who sends to whom."""
        links = torch.from_numpy(self.links.astype(np.int64)).to(self.device)
        return Neighbourhood.from_links(self.n_nodes, links, self.weights)


class LinkTrainee:
    """A `Trainee` for `mpxgat.training.loop.train`: one full-batch step for each epoch.

    encode      embeddings (n, d) with dropout drawn from the given generator, or without dropout in eval mode
    """

    def __init__(
        self,
        module: nn.Module,
        encode: Callable[[torch.Generator | None], Tensor],
        parts: ValidationLinks,
        sampler: NegativeSampler,
        stream: Stream,
        device: torch.device,
    ):
        self.module = module
        self._encode = encode
        self._links = as_tensor(parts.training, device)
        self._validation = None
        if parts.links is not None and parts.non_links is not None:
            self._validation = as_tensor(parts.links, device), as_tensor(parts.non_links, device)
        self._sampler = sampler
        self._stream = stream
        self._device = device

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """As many fresh non-links as links; chance comes from the epoch's own stream."""
        stream = self._stream.at(epoch)
        non_links = as_tensor(self._sampler.draw(len(self._links), stream.at(0).numpy()), self._device)
        embeddings = self._encode(stream.at(1).torch(self._device))
        yield link_loss(embeddings, self._links, non_links)

    def validate(self) -> float | None:
        """AUC of validation links against their non-links, dropout off."""
        if self._validation is None:
            return None
        embeddings = self._encode(None)
        positive, negative = (pair_scores(embeddings, pairs).cpu().numpy() for pairs in self._validation)
        return auc(positive, negative)

    def readings(self) -> dict[str, float]:
        """Mean β of every block, where the module has one."""
        betas = getattr(self.module, "beta", ())
        return {f"beta_{number}": float(beta.mean()) for number, beta in enumerate(betas, 1) if beta is not None}


def as_tensor(pairs: NDArray[np.integer], device: torch.device) -> Tensor:
    """Pairs (m, 2) for torch."""
    return torch.from_numpy(np.ascontiguousarray(pairs, dtype=np.int64)).to(device)


def standardised_features(graph: MultiplexGraph) -> Tensor | None:
    """(n, p) float32, all features of the nodes, each with mean 0 and standard deviation 1; None if there are none."""
    parts = [part.values for part in (graph.horizontal_features, graph.vertical_features) if part is not None]
    if not parts:
        return None
    values = np.concatenate(parts, axis=1).astype(np.float64)
    values -= values.mean(axis=0)
    spread = values.std(axis=0)
    return torch.from_numpy((values / np.where(spread > 0, spread, 1)).astype(np.float32))


# ---- fresh non-links: valid pairs, never a known link, drawn without a Python loop ---------------------------------


@dataclass(frozen=True, eq=False)
class WithinLayer:
    """Pairs of different nodes 0…n-1 of one layer that are no link; ``links`` (m, 2)."""

    n_nodes: int
    keys: NDArray[np.int64]

    @classmethod
    def of(cls, n_nodes: int, links: NDArray[np.int32]) -> WithinLayer:
        """A sampler that avoids the given links."""
        return cls(n_nodes, np.sort(pair_keys(links, n_nodes)))

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """(k, 2) pairs, uniformly and independently; fewer than ``count`` (even none) if hardly any pair is free."""
        return _draw(count, self._candidates, rng)

    def _candidates(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        pairs = rng.integers(self.n_nodes, size=(count, 2)) if self.n_nodes else np.empty((0, 2), dtype=np.int64)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        free: NDArray[np.int64] = pairs[~found_among(pair_keys(pairs, self.n_nodes), self.keys)]
        return free


@dataclass(frozen=True, eq=False)
class WithinLayers:
    """Pairs of nodes of one layer, whichever, that are no link."""

    layers: tuple[WithinLayer, ...]
    start: NDArray[np.int64]  # (layers + 1,) where each layer's nodes begin

    @classmethod
    def of(cls, graph: MultiplexGraph) -> WithinLayers:
        """A sampler that avoids the links of a graph."""
        start, first = graph.layer_start.astype(np.int64), graph.intra[:, 0]
        samplers = []
        for begin, end in pairwise(start.tolist()):
            links = graph.intra[(first >= begin) & (first < end)] - begin
            samplers.append(WithinLayer.of(end - begin, links.astype(np.int32)))
        return cls(tuple(samplers), start)

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """(k, 2) pairs, in every layer as many as it has pairs for; fewer than ``count`` if hardly any pair is free."""
        size = np.diff(self.start).astype(np.float64)
        pairs = size * (size - 1)
        shares = rng.multinomial(count, pairs / pairs.sum()) if pairs.sum() else np.zeros(len(size), dtype=int)
        parts = zip(self.layers, self.start.tolist(), shares.tolist(), strict=False)
        return np.concatenate(
            [np.empty((0, 2), dtype=np.int64), *(layer.draw(share, rng) + begin for layer, begin, share in parts)]
        )


@dataclass(frozen=True, eq=False)
class BetweenLayers:
    """Pairs of nodes of different layers that are not known to be one unit.

    layer, unit     (n,) of every node; copies of a known unit, linked or implied, are never drawn
    """

    layer: NDArray[np.int32]
    unit: NDArray[np.int32]

    def draw(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """(k, 2) pairs, uniformly and independently; fewer than ``count`` (even none) if hardly any pair is free."""
        return _draw(count, self._candidates, rng)

    def _candidates(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        n = len(self.layer)
        first, second = rng.integers(n, size=(2, count)) if n else np.empty((2, 0), dtype=np.int64)
        valid = (self.layer[first] != self.layer[second]) & (self.unit[first] != self.unit[second])
        return np.stack([first[valid], second[valid]], axis=1)


def _draw(count: int, candidates: _Candidates, rng: np.random.Generator) -> NDArray[np.int64]:
    """Candidates of round after round until there are enough; a fixed number of rounds if they are rare."""
    found = [candidates(count + count // 8 + 16, rng)] if count else [np.empty((0, 2), dtype=np.int64)]
    have = len(found[0])
    for _ in range(_MAX_ROUNDS):
        if have >= count:
            break
        found.append(candidates(2 * (count - have) + 16, rng))
        have += len(found[-1])
    return np.concatenate(found)[:count]


def chosen_device(name: str) -> torch.device:
    """The device of that name; SettingError if there is none on this machine."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise SettingError(f"device is {quoted(name)}, expected one that is there, such as cpu") from None
    return device
