"""GATNE (Cen et al. 2019): a base embedding and embeddings for each type of link, combined by attention.

The types are two, intra links of all layers and inter links. Every node gets one vector for each type, trained by
skip-gram over random walks along links of that type. A graph with features is learned by GATNE-I, whose vectors are
functions of the features, others by GATNE-T. Weights of links are not read: walks are uniform.

Vectors are scaled to length 1 where pairs are scored, so a score is a cosine, as in the original. The original scales
them in training, too; here they train unscaled under weight decay, which predicts held-out links better. Unscaled
scores are worse: hubs, whose contexts are many, have short vectors, and nodes with few links long ones. Once trained,
nodes are embedded with all neighbours instead of drawn ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mpxgat.graph import MultiplexGraph
from mpxgat.metrics import auc
from mpxgat.models.base import EmbeddingModel, Settings
from mpxgat.models.sage import ByDegree, SageLinks
from mpxgat.nn.gatne import FeatureMaps, GATNENet, Means, NodeTables, SkipGramBatch, skip_gram_loss
from mpxgat.nn.mpxgat import unit_rows
from mpxgat.nn.ops import pair_scores
from mpxgat.training.links import Stream, chosen_device, standardised_features
from mpxgat.training.loop import Schedule, train
from mpxgat.training.parallel import Session
from mpxgat.training.walks import Neighbours, random_walks, skip_gram_pairs

_CUT, _START, _EPOCHS = range(3)  # what random numbers are for
_PART, _FILE = "all links", "all-links"
_TYPES = 2  # intra, inter
_PAIRS_AT_ONCE = 1 << 20  # of an epoch that are in memory together
_FEWEST_STEPS = 20  # for them: a graph of a few hundred nodes would have one, and hardly learn
Pairs = NDArray[np.int64]


@dataclass(frozen=True)
class GATNESettings(Settings):
    """Settings of GATNE-T and GATNE-I. Widths, walks and negatives are as published (Cen et al. 2019).

    Published are also 20 walks from every node, drawn once, batches of 64 pairs and a learning rate of 0.001. Here
    walks are drawn anew for every epoch, so an epoch needs only one from every node. A step composes all vectors and
    moves all parameters, whatever its batch, so batches are large and the learning rate is higher in turn. Those and
    the weight decay, which the original does without, were chosen on fftwyt, drosophila and arxiv, seeds 100 and 101.

    dimensions              of the embeddings
    edge_dimensions         of the edge embeddings, one for each node and type of link
    attention_dimensions    of the attention over types
    alpha, beta             weight of what neighbours add; weight of D^T x (GATNE-I)
    walks, walk_length      walks from every node in an epoch; nodes in a walk
    window                  steps between the two nodes of a pair, at most
    negatives               nodes drawn for each pair, in proportion to degree^0.75
    samples                 neighbours of each type drawn for every node and epoch
    batch                   pairs in a step, at most: a small graph takes fewer, for at least 20 steps in an epoch
    lr, epochs              Adam's learning rate; epochs at most
    weight_decay            divided by the number of nodes, as is every node's share of the loss: so it weighs the same
                            in a small graph and in a large one
    check_every, patience   epochs between validations; validations without a better one before stopping
    validation              share of the training links of both kinds kept out of training to stop on
    device                  where to compute: "cpu", "cuda", …
    """

    dimensions: int = 200
    edge_dimensions: int = 10
    attention_dimensions: int = 20
    alpha: float = 1.0
    beta: float = 1.0
    walks: int = 1
    walk_length: int = 10
    window: int = 5
    negatives: int = 5
    samples: int = 10
    batch: int = 16384
    lr: float = 0.02
    weight_decay: float = 0.5
    epochs: int = 50
    check_every: int = 1
    patience: int = 5
    validation: float = 0.1
    device: str = "cpu"

    def __post_init__(self) -> None:
        self.check_at_least(1, "dimensions", "edge_dimensions", "attention_dimensions")
        self.check_at_least(1, "walks", "window", "negatives", "samples", "batch")
        self.check_at_least(2, "walk_length")
        self.check_at_least(0, "alpha", "beta")
        self.check_share("validation")
        self.schedule(1)  # checks its own ranges

    def schedule(self, n_nodes: int) -> Schedule:
        """Training on a graph of that size."""
        return Schedule(self.epochs, self.check_every, self.patience, self.lr, self.weight_decay / max(n_nodes, 1))


class GATNE(EmbeddingModel):
    """Horizontal vectors are those of type intra, vertical ones those of type inter. Arguments: `GATNESettings`."""

    name = "gatne"
    description = "skip-gram over random walks; a vector for each type of link, from a base and what neighbours add"
    reads = frozenset({"features"})
    _settings: GATNESettings

    def __init__(
        self,
        *,
        dimensions: int = GATNESettings.dimensions,
        edge_dimensions: int = GATNESettings.edge_dimensions,
        attention_dimensions: int = GATNESettings.attention_dimensions,
        alpha: float = GATNESettings.alpha,
        beta: float = GATNESettings.beta,
        walks: int = GATNESettings.walks,
        walk_length: int = GATNESettings.walk_length,
        window: int = GATNESettings.window,
        negatives: int = GATNESettings.negatives,
        samples: int = GATNESettings.samples,
        batch: int = GATNESettings.batch,
        lr: float = GATNESettings.lr,
        weight_decay: float = GATNESettings.weight_decay,
        epochs: int = GATNESettings.epochs,
        check_every: int = GATNESettings.check_every,
        patience: int = GATNESettings.patience,
        validation: float = GATNESettings.validation,
        device: str = GATNESettings.device,
        seed: int = 0,
    ):
        super().__init__(seed=seed)
        self._settings = GATNESettings.among(locals())

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        device = chosen_device(self._settings.device)
        links = SageLinks.cut(graph, self._settings.validation, self._stream(_CUT).numpy())
        net = self._new_net(graph).to(device)
        trainee = SkipGramTrainee(net, graph.n_nodes, links, self._settings, self._stream(_EPOCHS), device)
        schedule = self._settings.schedule(graph.n_nodes)
        report = partial(session.report, _PART)
        self._outcomes[_PART] = train(trainee, schedule, session.checkpoint(_FILE), report)
        means = [means_of(Neighbours.of(graph.n_nodes, part), device) for part in (graph.intra, graph.inter)]
        with torch.no_grad():
            self._horizontal, self._vertical = (unit_rows(net(kind, means)).cpu().numpy() for kind in range(_TYPES))
            validated = trainee.horizontal().cpu().numpy()
        self._calibrate(graph, self._horizontal, links.intra.scores(validated))

    def _new_net(self, graph: MultiplexGraph) -> GATNENet:
        settings, start = self._settings, self._stream(_START).torch()
        widths = settings.dimensions, settings.edge_dimensions
        x = standardised_features(graph)
        nodes = (
            NodeTables(graph.n_nodes, *widths, _TYPES, start)
            if x is None
            else FeatureMaps(x, *widths, _TYPES, beta=settings.beta, generator=start)
        )
        return GATNENet(nodes, settings.attention_dimensions, alpha=settings.alpha, generator=start)


# ---- training ------------------------------------------------------------------------------------------------------
#
# Training of GATNE: random walks over each type of link, and skip-gram with negative sampling.
#
# A skip-gram library (gensim) does not fit: it trains one free vector for every word, and GATNE's are composed, by
# attention, of parameters that nodes share. So the gradient goes on from the vectors to these.


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

    def horizontal(self) -> Tensor:
        """(n, d) of type intra, while only training links carry messages."""
        return unit_rows(self._net(0, self._all_means))

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
