"""Exams of the judges of inter links: what they say of candidates whose truth is known, and the curve that follows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mpxgat.graph import MultiplexGraph
from mpxgat.matching.calibration import Isotonic
from mpxgat.metrics import auc
from mpxgat.models.anchored import Anchored
from mpxgat.models.evidence.candidates import Wanted, against_rivals
from mpxgat.models.evidence.classifier import Evidence, Growth, Judge, Jury
from mpxgat.models.evidence.features import PairList, matrix_of
from mpxgat.models.evidence.inter_features import InterEvidence
from mpxgat.models.evidence.intra_features import IntraEvidence
from mpxgat.models.evidence.walks import walk_profiles
from mpxgat.models.rules import Rules, unit_clash
from mpxgat.pairs import pair_keys, unit_matrix, unit_sizes
from mpxgat.training.links import BetweenLayers, WithinLayer
from mpxgat.training.parallel import Engine, results

if TYPE_CHECKING:
    from mpxgat.models.evidence.model import EvidenceSettings

Labels = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Exam:
    """Candidates of a self-made split, judged as in matching.

    pairs       (m, 2) of all layer pairs
    evidence    (m, f)
    truth       (m,) whether they are one unit
    certain     (m,) whether that is known
    recall      share of the hidden links that were candidates, before some of these were drawn; None if none was hidden
    """

    pairs: NDArray[np.int64]
    evidence: Evidence
    truth: Labels
    certain: Labels
    recall: float | None


def examine(
    graph: MultiplexGraph,
    hidden: HiddenInter,
    evidence: InterEvidence,
    wanted: Wanted,
    most: float,
    rng: np.random.Generator,
) -> Exam:
    """The exam of a split: all candidates of the graph with links hidden, or what a sample of ``most`` takes."""
    layers = range(graph.n_layers)
    pairs = np.concatenate([evidence.candidates_between(a, b, wanted) for a in layers for b in layers if a < b])
    # A node without any known link may belong to somebody all the same: the truth is known where a unit was.
    size = unit_sizes(graph)[graph.unit]
    known = np.zeros(graph.n_nodes, dtype=bool)
    known[hidden.touched] = size[hidden.touched] > 1
    certain = known[pairs].any(axis=1)
    found = np.isin(pair_keys(hidden.positives, graph.n_nodes), pair_keys(pairs, graph.n_nodes))
    recall = float(found.mean()) if len(found) else None
    if certain.sum() > most:
        pairs, certain = _sampled(pairs, certain, int(most), graph.n_nodes, rng)
    truth = graph.unit[pairs[:, 0]] == graph.unit[pairs[:, 1]]
    return Exam(pairs, matrix_of(evidence.columns, pairs), truth, certain, recall)


def _sampled(
    pairs: NDArray[np.int64], certain: Labels, count: int, n_nodes: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Labels]:
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


def calibrated(graph: MultiplexGraph, exams: Sequence[Exam], judges: Sequence[Judge]) -> Isotonic:
    """Each exam is judged by a judge that has not seen its split (unless there is only one)."""
    scores, truths = [], []
    for exam, judge in zip(exams, judges, strict=True):
        relative = _relative_scores(graph, exam, judge)
        scores.append(relative[exam.certain])
        truths.append(exam.truth[exam.certain])
    score, truth = np.concatenate(scores), np.concatenate(truths).astype(np.float64)
    if not len(score):  # nobody is similar to anybody: no candidate will ever ask
        score, truth = np.zeros(1), np.zeros(1)
    return Isotonic.fit(score, truth)


def _relative_scores(graph: MultiplexGraph, exam: Exam, judge: Judge) -> NDArray[np.float64]:
    """Scores against rivals, layer pair by layer pair as in matching."""
    score = judge.score(exam.evidence)
    layers = graph.node_layer[exam.pairs]
    relative = np.empty(len(score))
    for a, b in np.unique(layers, axis=0):
        here = (layers == (a, b)).all(axis=1)
        relative[here] = against_rivals(exam.pairs[here], score[here])
    return relative


# Self-made splits: known links of a training graph hidden again, so that a judge can learn on them.
#
# Evidence is computed with them hidden, so no link is ever evidence for itself.


Pairs64 = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class HiddenInter:
    """A graph with fewer known inter links, and what was hidden.

    graph       the same nodes without the hidden links
    positives   (p, 2) pairs of one unit whose nodes now lie in different known units
    touched     (k,) nodes of units that lost a link or, having none to lose, were chosen as well
    """

    graph: MultiplexGraph
    positives: Pairs64
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
    positives: Pairs64


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


def _parted(graph: MultiplexGraph, hidden: MultiplexGraph) -> Pairs64:
    """Pairs (i < j) that are one unit in ``graph`` and not in ``hidden``."""
    unit = unit_matrix(graph)
    first, second = sparse.coo_array(sparse.triu(unit @ unit.T, k=1)).coords
    apart = hidden.unit[first] != hidden.unit[second]
    return np.stack([first[apart], second[apart]], axis=1).astype(np.int64)


# How the judges of the evidence model learn: on links of the training graph that are hidden again.


JUDGE = "evidence"
FEWEST_LINKS = 30  # hidden links, over all splits: with fewer there is nothing to learn from
# Splits are added until about so many links are hidden in all. Within layers the judge goes on getting better for long
# (Drosophila, 800 in a split: +.003 of AUC from 4 to 8 splits, +.001 from 8 to 12).
_WANTED_INTER, _WANTED_INTRA, _MOST_SPLITS = 100, 6000, 20
_JURORS = 4  # judges of inter links, at most; each is examined on a split that it has not learned from
# A split of a large network hides more links than there is to learn. So many of them are judged, and two such splits,
# each the exam of the other, are enough. (The three networks of the paper hide 4,100 at most.)
_PLENTY, _FEWEST_SPLITS = 10_000, 2
_ASKED = 5  # times as many candidates are then judged to calibrate probabilities
_NODE_BYTES, _MOST_BYTES = 1 << 18, 8 << 30  # of a split: 2.6 GB were measured with 11,827 nodes, 7.1 GB with a million
_LEARNED = "learned from hidden links"
_TOUCHED_SHARE = 2 / 3  # of the non-links are pairs of touched nodes, the others of any nodes

Scores = NDArray[np.float64]
Vectors = NDArray[np.float32] | None
Embedder = Callable[[MultiplexGraph], tuple[Vectors, Vectors]]
"""Horizontal and vertical embeddings of a graph on the same nodes; None where there are none."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """Pairs of one self-made split.

    evidence    (k, f)
    label       (k,) whether they are linked
    offset      log of the share of non-links drawn
    simpler     by the name of a model that judges without learning from lessons: its scores (k,) of the same pairs
    """

    evidence: Evidence
    label: Labels
    offset: float
    simpler: Mapping[str, Scores]


@dataclass(frozen=True, eq=False)
class LearnedInter:
    """The judges of inter links and the calibration of their scores.

    validation      see `LearnedIntra`
    recall          see `Exam`; the mean over all
    """

    jury: Jury
    calibration: Isotonic
    validation: Mapping[str, float]
    recall: float | None


@dataclass(frozen=True, eq=False)
class LearnedIntra:
    """The judge of intra links.

    validation      by the name of a model: AUC on self-made splits that its judge had not learned from; empty if there
                    was only one
    """

    judge: Judge
    validation: Mapping[str, float]


def learn_inter(
    graph: MultiplexGraph,
    prior: NDArray[np.float64],
    settings: EvidenceSettings,
    seed: int,
    embed: Embedder,
    engine: Engine,
) -> LearnedInter | None:
    """From hidden inter links; None if too few links are known. The splits are made side by side by the engine."""
    splits = _splits_needed(settings.dissolved * len(graph.inter), _WANTED_INTER, settings.splits)
    rngs = np.random.default_rng([seed, 1]).spawn(splits)
    hidden = [hide_inter(graph, rng, settings.dissolved, settings.detached) for rng in rngs]
    if sum(len(each.positives) for each in hidden) < FEWEST_LINKS:
        return None
    splits_made = [
        _Inter(*each, examined=number < _JURORS) for number, each in enumerate(zip(hidden, rngs, strict=True))
    ]
    work = partial(_inter_split, graph, prior, settings, embed)
    lessons, exams = [], []
    for lesson, exam in results(engine, work, splits_made, _split_bytes(graph), _LEARNED):
        lessons.append(lesson)
        exams += exam
    growth = settings.inter_growth.among(len(exams))
    jury = Jury([_learn_without(number, len(exams), lessons, seed, growth) for number in range(len(exams))])
    recalls = [exam.recall for exam in exams if exam.recall is not None]
    recall = float(np.mean(recalls)) if recalls else None
    return LearnedInter(jury, calibrated(graph, exams, jury.judges), _validation(lessons, jury.judges), recall)


@dataclass(frozen=True, eq=False)
class _Inter:
    """A self-made split between layers, the generator for what is drawn of it, and whether it is an exam too."""

    hidden: HiddenInter
    rng: np.random.Generator
    examined: bool


def _inter_split(
    graph: MultiplexGraph, prior: NDArray[np.float64], settings: EvidenceSettings, embed: Embedder, split: _Inter
) -> tuple[Lesson, list[Exam]]:
    """What a self-made split teaches, and its exam if it is to be one; its evidence, which is large, does not stay."""
    hidden, rng = split.hidden, split.rng
    vectors = embed(hidden.graph)[1]
    evidence = InterEvidence(hidden.graph, walk_profiles(hidden.graph), prior, vectors)
    pairs, label, offset = _inter_pairs(graph, replace(hidden, positives=_some(hidden.positives, rng)), settings, rng)
    simpler = _simpler(hidden.graph, pairs, vectors)
    lesson = Lesson(matrix_of(evidence.columns, pairs), label, offset, simpler)
    if not split.examined:
        return lesson, []
    most = _ASKED * _PLENTY if len(hidden.positives) > _PLENTY else math.inf
    return lesson, [examine(graph, hidden, evidence, settings.wanted, most, rng)]


def _some(links: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """All links, or as many as are plenty."""
    return links if len(links) <= _PLENTY else links[rng.choice(len(links), _PLENTY, replace=False)]


def _splits_needed(expected: float, wanted: int, least: int) -> int:
    """As many as it takes to hide ``wanted`` links, ``expected`` at a time, within bounds."""
    if expected >= _PLENTY:
        return min(least, _FEWEST_SPLITS)
    return min(max(least, math.ceil(wanted / max(expected, 1))), max(_MOST_SPLITS, least))


def _validation(lessons: Sequence[Lesson], judges: Sequence[Judge]) -> dict[str, float]:
    """Mean AUC of the first lessons by judges that have not seen them, and by simpler models."""
    if len(lessons) < 2:
        return {}
    found: dict[str, list[float]] = {}
    for lesson, judge in zip(lessons, judges, strict=False):
        if lesson.label.any() and not lesson.label.all():
            for name, score in {JUDGE: judge.score(lesson.evidence), **lesson.simpler}.items():
                found.setdefault(name, []).append(auc(score[lesson.label], score[~lesson.label]))
    return {name: float(np.mean(values)) for name, values in found.items()}


def learn_intra(
    graph: MultiplexGraph, settings: EvidenceSettings, seed: int, embed: Embedder, engine: Engine
) -> LearnedIntra | None:
    """From hidden intra links; None if there are too few. The splits are made side by side by the engine."""
    splits = _splits_needed(settings.hidden_intra * len(graph.intra), _WANTED_INTRA, settings.splits)
    rngs = np.random.default_rng([seed, 2]).spawn(splits)
    hidden = [hide_intra(graph, rng, settings.hidden_intra, settings.hidden_inter) for rng in rngs]
    if sum(len(each.positives) for each in hidden) < FEWEST_LINKS:
        return None
    work = partial(_intra_split, graph, settings, embed)
    splits_made = list(zip(hidden, rngs, strict=True))
    lessons = list(results(engine, work, splits_made, _split_bytes(graph), _LEARNED))
    growth = settings.intra_growth
    return LearnedIntra(
        _learn(lessons, seed, growth), _validation(lessons, [_learn_without(0, len(lessons), lessons, seed, growth)])
    )


def _intra_split(
    graph: MultiplexGraph,
    settings: EvidenceSettings,
    embed: Embedder,
    split: tuple[HiddenIntra, np.random.Generator],
) -> Lesson:
    """What a self-made split within layers teaches."""
    hidden, rng = split
    links = _some(hidden.positives, rng)
    non_links = _non_links_within(graph, settings.non_links * len(links) // 3, rng)
    pairs = np.concatenate([links, non_links])
    label = np.arange(len(pairs)) < len(links)
    vectors = embed(hidden.graph)[0]
    evidence = matrix_of(IntraEvidence(hidden.graph, walk_profiles(hidden.graph), vectors).columns, pairs)
    return Lesson(evidence, label, 0.0, _simpler(hidden.graph, pairs, vectors))


def _split_bytes(graph: MultiplexGraph) -> int:
    """About what the evidence of a split takes at most; in large networks it is cut so that it hardly grows."""
    return min(graph.n_nodes * _NODE_BYTES, _MOST_BYTES)


def _inter_pairs(
    graph: MultiplexGraph, hidden: HiddenInter, settings: EvidenceSettings, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Labels, float]:
    """Hidden links and random non-links (k, 2), decided pairs left out; labels (k,); see `Lesson.offset`."""
    wanted = settings.non_links * len(hidden.positives)
    touched = round(_TOUCHED_SHARE * wanted)
    parts = [
        hidden.positives,
        _non_links_between(graph, hidden.touched, touched, rng),
        _non_links_between(graph, np.arange(graph.n_nodes), wanted - touched, rng),
    ]
    pairs = np.concatenate(parts)
    label = np.arange(len(pairs)) < len(hidden.positives)
    open_ = unit_clash(hidden.graph).pairs(pairs[:, 0], pairs[:, 1]) == 0
    pairs, label = pairs[open_], label[open_]
    size = np.bincount(graph.node_layer[hidden.touched]).astype(np.float64)
    all_pairs = max((size.sum() ** 2 - (size**2).sum()) / 2, 1)
    offset = float(np.log(min(max(touched, 1) / all_pairs, 1)))
    return pairs, label, offset


def _simpler(graph: MultiplexGraph, pairs: NDArray[np.int64], vectors: Vectors) -> dict[str, Scores]:
    """Scores (k,) by models that see the graph with links hidden, and learn nothing from them."""
    scores = {Rules.name: Rules().fit(graph).score(pairs)}
    return scores if vectors is None else {Anchored.name: PairList(pairs).dots(vectors), **scores}


def _learn_without(number: int, parts: int, lessons: Sequence[Lesson], seed: int, growth: Growth) -> Judge:
    """A judge that has not seen every ``parts``-th lesson from ``number`` on, unless there is no other."""
    others = [lesson for place, lesson in enumerate(lessons) if place % parts != number]
    return _learn(others or lessons, seed + number, growth)


def _learn(lessons: Sequence[Lesson], seed: int, growth: Growth) -> Judge:
    evidence = np.concatenate([lesson.evidence for lesson in lessons])
    label = np.concatenate([lesson.label for lesson in lessons])
    offset = float(np.mean([lesson.offset for lesson in lessons]))
    return Judge.learn(evidence, label, offset, seed, growth)


def _non_links_between(
    graph: MultiplexGraph, nodes: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """(k, 2) random pairs of ``nodes``, of different layers, not known to be one unit."""
    drawn = BetweenLayers(graph.node_layer[nodes], graph.unit[nodes]).draw(count, rng)
    return np.sort(nodes[drawn], axis=1)


def _non_links_within(graph: MultiplexGraph, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(k, 2) random pairs of one layer that are no known link, in every layer as many as it has pairs for."""
    size: NDArray[Any] = np.diff(graph.layer_start).astype(np.float64)
    pairs = size * (size - 1)
    shares = rng.multinomial(count, pairs / max(pairs.sum(), 1)) if pairs.sum() else np.zeros(len(size), dtype=int)
    found = [np.empty((0, 2), dtype=np.int64)]
    for layer, share in enumerate(shares):
        start, stop = graph.layer_start[layer : layer + 2]
        links = graph.intra[(graph.intra[:, 0] >= start) & (graph.intra[:, 0] < stop)] - start
        found.append(WithinLayer.of(int(stop - start), links.astype(np.int32)).draw(int(share), rng) + start)
    return np.concatenate(found)
