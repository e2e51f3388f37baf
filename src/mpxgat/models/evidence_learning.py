"""How the judges of the evidence model learn: on links of the training graph that are hidden again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.evidence.columns import matrix_of
from mpxgat.evidence.hiding import HiddenInter, HiddenIntra, hide_inter, hide_intra
from mpxgat.evidence.inter import InterEvidence
from mpxgat.evidence.intra import IntraEvidence
from mpxgat.evidence.judge import Growth, Judge
from mpxgat.evidence.jury import Jury
from mpxgat.evidence.pairs import PairList
from mpxgat.evidence.profiles import walk_profiles
from mpxgat.graph import MultiplexGraph
from mpxgat.matching.calibration import Isotonic
from mpxgat.metrics import auc
from mpxgat.models.anchored import Anchored
from mpxgat.models.evidence_exams import Exam, calibrated, examine
from mpxgat.models.evidence_settings import EvidenceSettings
from mpxgat.models.signals import unit_clash
from mpxgat.models.structural import Rules
from mpxgat.sampling.negatives import BetweenLayers, WithinLayer
from mpxgat.training.engines import Engine
from mpxgat.training.side_by_side import results

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

Evidence = NDArray[np.float32]
Labels = NDArray[np.bool_]
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
