"""How the classifier of intra links learns: on known links of the training graph that are hidden again, in folds.

A fold hides some links and computes features without them, so no link is ever evidence for itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.metrics import auc
from mpxgat.models.evidence.attributes import NO_ATTRIBUTES, Attributes
from mpxgat.models.evidence.classifier import Classifier, Hyperparameters, Scores
from mpxgat.models.evidence.features import Features, LinkDetails, matrix_of
from mpxgat.models.evidence.intra_features import IntraFeatures
from mpxgat.models.evidence.rounds import ANCHORED, EVIDENCE, FEWEST_LINKS
from mpxgat.models.evidence.walks import short_walks
from mpxgat.models.rules import Rules
from mpxgat.pairs import PairList
from mpxgat.training.parallel import Engine, results

if TYPE_CHECKING:
    from mpxgat.models.evidence.model import EvidenceSettings

# Folds are added until about so many links are hidden in all: the classifier goes on getting better for long
# (Drosophila, 800 in a fold: +.003 of AUC from 4 to 8 folds, +.001 from 8 to 12).
_WANTED, _MOST_FOLDS = 6000, 20
# A fold of a large network hides more links than there is to learn. So many are learned from, and two such folds are
# enough.
_PLENTY, _FEWEST_FOLDS = 10_000, 2
_NODE_BYTES, _MOST_BYTES = 1 << 18, 8 << 30  # of a fold: 2.6 GB were measured with 11,827 nodes, 7.1 GB with a million
_LEARNED = "learned from hidden links"

PairArray = NDArray[np.int64]
Labels = NDArray[np.bool_]
Vectors = NDArray[np.float32] | None
Embedder = Callable[[MultiplexGraph], Vectors]
"""Horizontal embeddings of a graph on the same nodes; None where there are none."""


@dataclass(frozen=True, eq=False)
class LearnedIntra:
    """The classifier of intra links.

    validation      by the name of a model: AUC on a fold that its classifier had not learned from; empty if there was
                    only one
    hidden          (h,) log-odds of the hidden links, by classifiers of the other half of the folds; likewise
    """

    classifier: Classifier
    validation: Mapping[str, float]
    hidden: Scores


def learn_intra(
    graph: MultiplexGraph,
    settings: EvidenceSettings,
    seed: int,
    embed: Embedder,
    engine: Engine,
    attributes: Attributes = NO_ATTRIBUTES,
) -> LearnedIntra | None:
    """From hidden intra links; None if there are too few. The folds are made side by side by the engine."""
    count = _number_of_folds(settings.hidden_intra * len(graph.intra), settings.splits)
    rngs = np.random.default_rng([seed, 2]).spawn(count)
    hidden = [hide_intra(graph, rng, settings.hidden_intra, settings.hidden_inter) for rng in rngs]
    if sum(len(each.positives) for each in hidden) < FEWEST_LINKS:
        return None
    work = partial(_intra_fold, graph, settings, embed, attributes)
    tasks = list(zip(hidden, rngs, strict=True))
    folds = list(results(engine, work, tasks, _fold_bytes(graph), _LEARNED))
    parameters = settings.intra_hyperparameters
    validation = _validation(folds[0], _fit(folds[1:], seed, parameters)) if len(folds) > 1 else {}
    hidden_scores = _hidden_scores(folds, seed, parameters)
    return LearnedIntra(_fit(folds, seed, parameters), validation, hidden_scores)


# ---- folds -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Fold:
    """Pairs of one fold.

    features    (k, f)
    label       (k,) whether they are linked
    baselines   by the name of a model that learns nothing from folds: its scores (k,) of the same pairs
    """

    features: Features
    label: Labels
    baselines: Mapping[str, Scores]


@dataclass(frozen=True, eq=False)
class HiddenIntra:
    """A graph with fewer links of both kinds, and the intra links (p, 2) that were hidden."""

    graph: MultiplexGraph
    positives: PairArray


def hide_intra(graph: MultiplexGraph, rng: np.random.Generator, intra: float, inter: float) -> HiddenIntra:
    """Hide a random share of the intra links, and of the inter links with them."""
    within = graph.intra[rng.random(len(graph.intra)) < intra]
    across = graph.inter[rng.random(len(graph.inter)) < inter]
    return HiddenIntra(graph.without(intra=within, inter=across), within.astype(np.int64))


def _intra_fold(
    graph: MultiplexGraph,
    settings: EvidenceSettings,
    embed: Embedder,
    attributes: Attributes,
    task: tuple[HiddenIntra, np.random.Generator],
) -> Fold:
    """What was hidden, and non-links of the same layers."""
    from mpxgat.training.links import WithinLayers  # which imports torch: not to read a model

    hidden, rng = task
    links = _some(hidden.positives, rng)
    non_links = WithinLayers.of(graph).draw(settings.non_links * len(links), rng)
    pairs = np.concatenate([links, non_links])
    label = np.arange(len(pairs)) < len(links)
    vectors = embed(hidden.graph)
    details = LinkDetails.of(graph)
    features = IntraFeatures(hidden.graph, short_walks(hidden.graph), vectors, attributes, details)
    baselines = {Rules.name: Rules().fit(hidden.graph).score(pairs)}
    if vectors is not None:
        baselines = {ANCHORED: PairList(pairs).dots(vectors), **baselines}
    return Fold(matrix_of(features.columns, pairs), label, baselines)


def _number_of_folds(expected: float, least: int) -> int:
    """As many as it takes to hide enough links, ``expected`` at a time, within bounds."""
    if expected >= _PLENTY:
        return min(least, _FEWEST_FOLDS)
    return min(max(least, math.ceil(_WANTED / max(expected, 1))), max(_MOST_FOLDS, least))


def _fold_bytes(graph: MultiplexGraph) -> int:
    """About what the features of a fold take at most; in large networks walks are cut so that it hardly grows."""
    return min(graph.n_nodes * _NODE_BYTES, _MOST_BYTES)


def _some(links: PairArray, rng: np.random.Generator) -> PairArray:
    """All links, or as many as are plenty."""
    return links if len(links) <= _PLENTY else links[rng.choice(len(links), _PLENTY, replace=False)]


def _fit(folds: Sequence[Fold], seed: int, parameters: Hyperparameters) -> Classifier:
    features = np.concatenate([fold.features for fold in folds])
    label = np.concatenate([fold.label for fold in folds])
    return Classifier.fit(features, label, seed, parameters)


def _validation(fold: Fold, classifier: Classifier) -> dict[str, float]:
    """AUC on a fold by a classifier that has not seen it, and by the baselines."""
    if not fold.label.any() or fold.label.all():
        return {}
    scores = {EVIDENCE: classifier.score(fold.features), **fold.baselines}
    return {name: auc(score[fold.label], score[~fold.label]) for name, score in scores.items()}


def _hidden_scores(folds: Sequence[Fold], seed: int, parameters: Hyperparameters) -> Scores:
    """(h,) of all hidden links, each by the classifier of the half of the folds that does not have it."""
    halves = folds[::2], folds[1::2]
    if not all(any(fold.label.any() for fold in half) for half in halves):
        return np.zeros(0)
    scores = []
    for half, other in (halves, halves[::-1]):
        classifier = _fit(other, seed, parameters)
        scores += [classifier.score(fold.features[fold.label]) for fold in half]
    return np.concatenate(scores)
