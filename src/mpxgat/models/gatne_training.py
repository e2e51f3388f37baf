"""Training of GATNE: random walks over each type of link, and skip-gram with negative sampling.

A skip-gram library (gensim) does not fit: it trains one free vector for every word, and GATNE's are composed, by
attention, of parameters that nodes share. So the gradient goes on from the vectors to these.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mpxgat.metrics import auc
from mpxgat.models.gatne_settings import GATNESettings
from mpxgat.models.link_training import Stream
from mpxgat.models.sage_training import ByDegree, SageLinks
from mpxgat.nn.decoder import pair_scores
from mpxgat.nn.gatne import GATNENet, Means, SkipGramBatch, skip_gram_loss
from mpxgat.nn.stack import unit_rows
from mpxgat.sampling.neighbours import Neighbours
from mpxgat.sampling.walks import random_walks, skip_gram_pairs

_PAIRS_AT_ONCE = 1 << 20  # of an epoch that are in memory together
_FEWEST_STEPS = 20  # for them: a graph of a few hundred nodes would have one, and hardly learn
Pairs = NDArray[np.int64]


class SkipGramTrainee:
    """A `Trainee` for `mpxgat.training.loop.train`: a step for each batch of pairs of one type.

    links   both kinds, parted: only training links are walked on and carry messages
    """

    def __init__(
        self,
        net: GATNENet,
        n_nodes: int,
        links: SageLinks,
        settings: GATNESettings,
        stream: Stream,
        device: torch.device,
    ):
        self.module: nn.Module = net
        self._net = net
        self._types = [Neighbours.of(n_nodes, part.training) for part in (links.intra, links.inter)]
        self._all_means = [means_of(neighbours, device) for neighbours in self._types]
        self._noise = ByDegree.of(np.sum([neighbours.sizes for neighbours in self._types], axis=0))
        self._judged = [
            (kind, _tensor(part.links, device), _tensor(part.non_links, device))
            for kind, part in enumerate((links.intra, links.inter))
            if part.links is not None and part.non_links is not None
        ]
        self._nodes = np.arange(n_nodes)
        self._settings = settings
        self._stream = stream
        self._device = device

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Fresh walks from all nodes and fresh neighbours; chance comes from the epoch's own stream."""
        rng = self._stream.at(epoch).numpy()
        settings = self._settings
        drawn = [types.draw(self._nodes, settings.samples, rng) for types in self._types]
        means = [means_of(neighbours, self._device) for neighbours in drawn]
        starts = rng.permutation(np.tile(self._nodes, settings.walks))
        most_pairs = 2 * len(self._types) * settings.walk_length * min(settings.window, settings.walk_length)
        for part in np.array_split(starts, 1 + len(starts) * most_pairs // _PAIRS_AT_ONCE):
            for kind, pairs in self._batches(part, rng):
                batch = self._with_negatives(pairs, rng)
                yield skip_gram_loss(self._net(kind, means), self._net.context, batch)

    def validate(self) -> float | None:
        """AUC of validation links against their non-links: the mean of both kinds', where both are there."""
        if not self._judged:
            return None
        found = []
        for kind, *two in self._judged:
            vectors = unit_rows(self._net(kind, self._all_means))
            found.append(auc(*(pair_scores(vectors, pairs).cpu().numpy() for pairs in two)))
        return float(np.mean(found))

    def readings(self) -> dict[str, float]:
        """None."""
        return {}

    def _batches(self, starts: NDArray[np.int64], rng: np.random.Generator) -> list[tuple[int, Pairs]]:
        """Pairs from walks of each type, in batches of one type each, both shuffled."""
        length, window = self._settings.walk_length, self._settings.window
        by_type = [
            rng.permutation(skip_gram_pairs(random_walks(neighbours, starts, length, rng), window))
            for neighbours in self._types
        ]
        size = min(self._settings.batch, -(-sum(map(len, by_type)) // _FEWEST_STEPS))
        batches = [
            (kind, batch)
            for kind, pairs in enumerate(by_type)
            if len(pairs)
            for batch in np.array_split(pairs, -(-len(pairs) // size))
        ]
        return [batches[place] for place in rng.permutation(len(batches))]

    def _with_negatives(self, pairs: Pairs, rng: np.random.Generator) -> SkipGramBatch:
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        count = self._settings.negatives
        negatives = self._noise.draw(len(pairs) * count, rng).reshape(-1, count)
        offsets = np.searchsorted(pairs[:, 0], np.arange(len(self._nodes) + 1))
        contexts = np.concatenate([pairs[:, 1:], negatives], axis=1)
        return SkipGramBatch(_tensor(offsets, self._device), _tensor(contexts, self._device))


def means_of(neighbours: Neighbours, device: torch.device) -> Means:
    """Means over these neighbours."""
    return Means.of(_tensor(neighbours.offsets, device), _tensor(neighbours.members, device))


def _tensor(values: NDArray[np.integer], device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64)).to(device)
