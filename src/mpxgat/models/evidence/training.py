"""How the classifiers learn: on known links of the training graph that are hidden again, in folds.

A fold hides some links and computes features without them, so no link is ever evidence for itself. Between layers,
classifiers are cross-fitted: each learns from all folds but its own, is measured on that one, and calibrated on the
candidates that matching would find there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.matching.calibration import Isotonic
from mpxgat.metrics import auc
from mpxgat.models.anchored import Anchored
from mpxgat.models.evidence.candidates import CandidateSearch, PairArray, against_competitors
from mpxgat.models.evidence.classifier import Classifier, Ensemble, Hyperparameters, Scores
from mpxgat.models.evidence.features import Features, InterFeatures, IntraFeatures, matrix_of
from mpxgat.models.evidence.walks import short_walks
from mpxgat.models.rules import Rules
from mpxgat.pairs import KnownUnits, PairList, pair_keys, unit_matrix, unit_sizes
from mpxgat.training.links import BetweenLayers, WithinLayers
from mpxgat.training.parallel import Engine, results

if TYPE_CHECKING:
    from mpxgat.models.evidence.model import EvidenceSettings

EVIDENCE = "evidence"
FEWEST_LINKS = 30  # hidden links, over all folds: with fewer there is nothing to learn from
# Folds are added until about so many links are hidden in all. Within layers the classifier goes on getting better for
# long (Drosophila, 800 in a fold: +.003 of AUC from 4 to 8 folds, +.001 from 8 to 12).
_WANTED_INTER, _WANTED_INTRA, _MOST_FOLDS = 100, 6000, 20
_MOST_CLASSIFIERS = 4  # of inter links; each is calibrated on a fold that it has not learned from
# A fold of a large network hides more links than there is to learn. So many of them are scored, and two such folds,
# each the test of the other, are enough. (The three networks of the paper hide 4,100 at most.)
_PLENTY, _FEWEST_FOLDS = 10_000, 2
_CALIBRATION_TIMES = 5  # as many candidates are then scored to calibrate probabilities
_NODE_BYTES, _MOST_BYTES = 1 << 18, 8 << 30  # of a fold: 2.6 GB were measured with 11,827 nodes, 7.1 GB with a million
_LEARNED = "learned from hidden links"
_TOUCHED_SHARE = 2 / 3  # of the non-links are pairs of touched nodes, the others of any nodes

Labels = NDArray[np.bool_]
Vectors = NDArray[np.float32] | None
Embedder = Callable[[MultiplexGraph], tuple[Vectors, Vectors]]
"""Horizontal and vertical embeddings of a graph on the same nodes; None where there are none."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Pairs of one fold.

    features    (k, f)
    label       (k,) whether they are linked
    offset      log of the share of non-links drawn
    baselines   by the name of a model that learns nothing from folds: its scores (k,) of the same pairs
    """

    features: Features
    label: Labels
    offset: float
    baselines: Mapping[str, Scores]


@dataclass(frozen=True, eq=False)
class LearnedInter:
    """The classifiers of inter links and the calibration of their scores.

    validation      see `LearnedIntra`
    recall          see `FoldCandidates`; the mean over all
    """

    ensemble: Ensemble
    calibration: Isotonic
    validation: Mapping[str, float]
    recall: float | None


@dataclass(frozen=True, eq=False)
class LearnedIntra:
    """The classifier of intra links.

    validation      by the name of a model: AUC on folds that its classifier had not learned from; empty if there was
                    only one
    """

    classifier: Classifier
    validation: Mapping[str, float]


# ---- between layers --------------------------------------------------------------------------------------


def learn_inter(
    graph: MultiplexGraph, prior: Scores, settings: EvidenceSettings, seed: int, embed: Embedder, engine: Engine
) -> LearnedInter | None:
    """From hidden inter links; None if too few links are known. The folds are made side by side by the engine."""
    count = _number_of_folds(settings.dissolved * len(graph.inter), _WANTED_INTER, settings.splits)
    rngs = np.random.default_rng([seed, 1]).spawn(count)
    hidden = [hide_inter(graph, rng, settings.dissolved, settings.detached) for rng in rngs]
    if sum(len(each.positives) for each in hidden) < FEWEST_LINKS:
        return None
    tasks = [
        _InterTask(*each, calibrates=number < _MOST_CLASSIFIERS)
        for number, each in enumerate(zip(hidden, rngs, strict=True))
    ]
    work = partial(_inter_fold, graph, prior, settings, embed)
    folds: list[Fold] = []
    candidates: list[FoldCandidates] = []
    for fold, found in results(engine, work, tasks, _fold_bytes(graph), _LEARNED):
        folds.append(fold)
        candidates += found
    size = len(candidates)
    parameters = settings.inter_hyperparameters.in_ensemble(size)
    ensemble = Ensemble([_fit_without(number, size, folds, seed, parameters) for number in range(size)])
    recalls = [found.recall for found in candidates if found.recall is not None]
    return LearnedInter(
        ensemble,
        cross_calibrated(graph, candidates, ensemble.classifiers),
        _validation(folds, ensemble.classifiers),
        float(np.mean(recalls)) if recalls else None,
    )


@dataclass(frozen=True, eq=False)
class _InterTask:
    """What a fold hides, the generator for what is drawn of it, and whether a classifier is calibrated on it."""

    hidden: HiddenInter
    rng: np.random.Generator
    calibrates: bool


def _inter_fold(
    graph: MultiplexGraph, prior: Scores, settings: EvidenceSettings, embed: Embedder, task: _InterTask
) -> tuple[Fold, list[FoldCandidates]]:
    """A fold, and its candidates if they are to calibrate; its walks, which are large, do not stay."""
    hidden, rng = task.hidden, task.rng
    vectors = embed(hidden.graph)[1]
    features = InterFeatures(hidden.graph, short_walks(hidden.graph), prior, vectors)
    pairs, label, offset = _inter_pairs(graph, replace(hidden, positives=_some(hidden.positives, rng)), settings, rng)
    baselines = _baselines(hidden.graph, pairs, vectors)
    fold = Fold(matrix_of(features.columns, pairs), label, offset, baselines)
    if not task.calibrates:
        return fold, []
    most = _CALIBRATION_TIMES * _PLENTY if len(hidden.positives) > _PLENTY else math.inf
    return fold, [fold_candidates(graph, hidden, features, settings.candidate_search, most, rng)]


def _inter_pairs(
    graph: MultiplexGraph, hidden: HiddenInter, settings: EvidenceSettings, rng: np.random.Generator
) -> tuple[PairArray, Labels, float]:
    """Hidden links and random non-links (k, 2), decided pairs left out; labels (k,); see `Fold.offset`."""
    wanted = settings.non_links * len(hidden.positives)
    touched = round(_TOUCHED_SHARE * wanted)
    parts = [
        hidden.positives,
        _non_links_between(graph, hidden.touched, touched, rng),
        _non_links_between(graph, np.arange(graph.n_nodes), wanted - touched, rng),
    ]
    pairs = np.concatenate(parts)
    label = np.arange(len(pairs)) < len(hidden.positives)
    possible = ~KnownUnits.of(hidden.graph).clash(pairs[:, 0], pairs[:, 1])
    size = np.bincount(graph.node_layer[hidden.touched]).astype(np.float64)
    all_pairs = max((size.sum() ** 2 - (size**2).sum()) / 2, 1)
    offset = float(np.log(min(max(touched, 1) / all_pairs, 1)))
    return pairs[possible], label[possible], offset


def _non_links_between(
    graph: MultiplexGraph, nodes: NDArray[np.int64], count: int, rng: np.random.Generator
) -> PairArray:
    """(k, 2) random pairs of ``nodes``, of different layers, not known to be one unit."""
    drawn = BetweenLayers(graph.node_layer[nodes], graph.unit[nodes]).draw(count, rng)
    return np.sort(nodes[drawn], axis=1)


# ---- within layers ---------------------------------------------------------------------------------------


def learn_intra(
    graph: MultiplexGraph, settings: EvidenceSettings, seed: int, embed: Embedder, engine: Engine
) -> LearnedIntra | None:
    """From hidden intra links; None if there are too few. The folds are made side by side by the engine."""
    count = _number_of_folds(settings.hidden_intra * len(graph.intra), _WANTED_INTRA, settings.splits)
    rngs = np.random.default_rng([seed, 2]).spawn(count)
    hidden = [hide_intra(graph, rng, settings.hidden_intra, settings.hidden_inter) for rng in rngs]
    if sum(len(each.positives) for each in hidden) < FEWEST_LINKS:
        return None
    work = partial(_intra_fold, graph, settings, embed)
    tasks = list(zip(hidden, rngs, strict=True))
    folds = list(results(engine, work, tasks, _fold_bytes(graph), _LEARNED))
    parameters = settings.intra_hyperparameters
    held_out = _fit_without(0, len(folds), folds, seed, parameters)
    return LearnedIntra(_fit(folds, seed, parameters), _validation(folds, [held_out]))


def _intra_fold(
    graph: MultiplexGraph, settings: EvidenceSettings, embed: Embedder, task: tuple[HiddenIntra, np.random.Generator]
) -> Fold:
    """What was hidden, and non-links of the same layers."""
    hidden, rng = task
    links = _some(hidden.positives, rng)
    non_links = WithinLayers.of(graph).draw(settings.non_links * len(links) // 3, rng)
    pairs = np.concatenate([links, non_links])
    label = np.arange(len(pairs)) < len(links)
    vectors = embed(hidden.graph)[0]
    features = IntraFeatures(hidden.graph, short_walks(hidden.graph), vectors)
    return Fold(matrix_of(features.columns, pairs), label, 0.0, _baselines(hidden.graph, pairs, vectors))


# ---- folds -----------------------------------------------------------------------------------------------


def _number_of_folds(expected: float, wanted: int, least: int) -> int:
    """As many as it takes to hide ``wanted`` links, ``expected`` at a time, within bounds."""
    if expected >= _PLENTY:
        return min(least, _FEWEST_FOLDS)
    return min(max(least, math.ceil(wanted / max(expected, 1))), max(_MOST_FOLDS, least))


def _fold_bytes(graph: MultiplexGraph) -> int:
    """About what the features of a fold take at most; in large networks walks are cut so that it hardly grows."""
    return min(graph.n_nodes * _NODE_BYTES, _MOST_BYTES)


def _some(links: PairArray, rng: np.random.Generator) -> PairArray:
    """All links, or as many as are plenty."""
    return links if len(links) <= _PLENTY else links[rng.choice(len(links), _PLENTY, replace=False)]


def _baselines(graph: MultiplexGraph, pairs: PairArray, vectors: Vectors) -> dict[str, Scores]:
    """Scores (k,) by models that see the graph with links hidden, and learn nothing from them."""
    scores = {Rules.name: Rules().fit(graph).score(pairs)}
    return scores if vectors is None else {Anchored.name: PairList(pairs).dots(vectors), **scores}


def _fit_without(number: int, size: int, folds: Sequence[Fold], seed: int, parameters: Hyperparameters) -> Classifier:
    """A classifier that has not seen every ``size``-th fold from ``number`` on, unless there is no other."""
    others = [fold for place, fold in enumerate(folds) if place % size != number]
    return _fit(others or folds, seed + number, parameters)


def _fit(folds: Sequence[Fold], seed: int, parameters: Hyperparameters) -> Classifier:
    features = np.concatenate([fold.features for fold in folds])
    label = np.concatenate([fold.label for fold in folds])
    offset = float(np.mean([fold.offset for fold in folds]))
    return Classifier.fit(features, label, offset, seed, parameters)


def _validation(folds: Sequence[Fold], classifiers: Sequence[Classifier]) -> dict[str, float]:
    """Mean AUC on the first folds by classifiers that have not seen them, and by the baselines."""
    if len(folds) < 2:
        return {}
    found: dict[str, list[float]] = {}
    for fold, classifier in zip(folds, classifiers, strict=False):
        if fold.label.any() and not fold.label.all():
            for name, score in {EVIDENCE: classifier.score(fold.features), **fold.baselines}.items():
                found.setdefault(name, []).append(auc(score[fold.label], score[~fold.label]))
    return {name: float(np.mean(values)) for name, values in found.items()}


# ---- calibration -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FoldCandidates:
    """Candidates of a fold, found as in matching.

    pairs       (m, 2) of all layer pairs
    features    (m, f)
    label       (m,) whether they are one unit
    certain     (m,) whether that is known
    recall      share of the hidden links that were candidates, before some of these were drawn; None if none was hidden
    """

    pairs: PairArray
    features: Features
    label: Labels
    certain: Labels
    recall: float | None


def fold_candidates(
    graph: MultiplexGraph,
    hidden: HiddenInter,
    features: InterFeatures,
    search: CandidateSearch,
    most: float,
    rng: np.random.Generator,
) -> FoldCandidates:
    """All candidates of the graph with links hidden, or what a sample of ``most`` takes."""
    layers = range(graph.n_layers)
    pairs = np.concatenate([features.candidates_between(a, b, search) for a in layers for b in layers if a < b])
    # A node without any known link may belong to somebody all the same: the truth is known where a unit was.
    size = unit_sizes(graph)[graph.unit]
    known = np.zeros(graph.n_nodes, dtype=bool)
    known[hidden.touched] = size[hidden.touched] > 1
    certain = known[pairs].any(axis=1)
    found = np.isin(pair_keys(hidden.positives, graph.n_nodes), pair_keys(pairs, graph.n_nodes))
    recall = float(found.mean()) if len(found) else None
    if certain.sum() > most:
        pairs, certain = _sampled(pairs, certain, int(most), graph.n_nodes, rng)
    label = graph.unit[pairs[:, 0]] == graph.unit[pairs[:, 1]]
    return FoldCandidates(pairs, matrix_of(features.columns, pairs), label, certain, recall)


def _sampled(
    pairs: PairArray, certain: Labels, count: int, n_nodes: int, rng: np.random.Generator
) -> tuple[PairArray, Labels]:
    """``count`` of the certain pairs, and of all others those that compete with them.

    Pairs are drawn, not nodes: a true pair has two ends whose truth is known and would be drawn twice as often.
    """
    drawn = np.zeros(len(pairs), dtype=bool)
    rows = np.flatnonzero(certain)
    drawn[rng.choice(rows, count, replace=False)] = True
    involved = np.zeros(n_nodes, dtype=bool)
    involved[pairs[drawn]] = True
    competing = involved[pairs].any(axis=1)
    return pairs[competing], drawn[competing]


def cross_calibrated(
    graph: MultiplexGraph, candidates: Sequence[FoldCandidates], classifiers: Sequence[Classifier]
) -> Isotonic:
    """Each fold's candidates are scored by a classifier that has not seen the fold (unless there is only one)."""
    scores, labels = [], []
    for found, classifier in zip(candidates, classifiers, strict=True):
        relative = _relative_scores(graph, found, classifier)
        scores.append(relative[found.certain])
        labels.append(found.label[found.certain])
    score, label = np.concatenate(scores), np.concatenate(labels).astype(np.float64)
    if not len(score):  # nobody is similar to anybody: no candidate will ever ask
        score, label = np.zeros(1), np.zeros(1)
    return Isotonic.fit(score, label)


def _relative_scores(graph: MultiplexGraph, found: FoldCandidates, classifier: Classifier) -> Scores:
    """Scores against competitors, layer pair by layer pair as in matching."""
    score = classifier.score(found.features)
    layers = graph.node_layer[found.pairs]
    relative = np.empty(len(score))
    for a, b in np.unique(layers, axis=0):
        here = (layers == (a, b)).all(axis=1)
        relative[here] = against_competitors(found.pairs[here], score[here])
    return relative


# ---- hidden links ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HiddenInter:
    """A graph with fewer known inter links, and what was hidden.

    graph       the same nodes without the hidden links
    positives   (p, 2) pairs of one unit whose nodes now lie in different known units
    touched     (k,) nodes of units that lost a link or, having none to lose, were chosen as well
    """

    graph: MultiplexGraph
    positives: PairArray
    touched: NDArray[np.int64]


def hide_inter(graph: MultiplexGraph, rng: np.random.Generator, units: float, detached: float) -> HiddenInter:
    """Dissolve a share of all known units (single nodes among them), and detach one node of a share of the larger ones.

    units       share of the units whose links are all hidden, as for accounts nobody has linked yet
    detached    share of the units with three nodes or more that lose a single node, as for a new account of somebody
                whose others are known
    """
    size = unit_sizes(graph)
    dissolved = _chosen(np.arange(graph.n_units), units, graph.n_units, rng)
    loosened = _chosen(np.flatnonzero((size > 2) & ~dissolved), detached, graph.n_units, rng)
    leaving = np.zeros(graph.n_nodes, dtype=bool)
    nodes = rng.permutation(np.flatnonzero(loosened[graph.unit]))
    leaving[nodes[np.unique(graph.unit[nodes], return_index=True)[1]]] = True
    gone = dissolved[graph.unit[graph.inter[:, 0]]] | leaving[graph.inter].any(axis=1)
    hidden = graph.without(inter=graph.inter[gone])
    touched = np.flatnonzero(dissolved[graph.unit] | loosened[graph.unit])
    return HiddenInter(hidden, _parted(graph, hidden), touched)


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


def _chosen(units: NDArray[np.int64], share: float, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(count,) which units were drawn."""
    chosen = np.zeros(count, dtype=bool)
    chosen[rng.choice(units, size=round(share * len(units)), replace=False)] = True
    return chosen


def _parted(graph: MultiplexGraph, hidden: MultiplexGraph) -> PairArray:
    """Pairs (i < j) that are one unit in ``graph`` and not in ``hidden``."""
    unit = unit_matrix(graph)
    first, second = sparse.coo_array(sparse.triu(unit @ unit.T, k=1)).coords
    apart = hidden.unit[first] != hidden.unit[second]
    return np.stack([first[apart], second[apart]], axis=1).astype(np.int64)
