"""Exams of the judges of inter links: what they say of candidates whose truth is known, and the curve that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.evidence.candidates import Wanted, against_rivals
from mpxgat.evidence.columns import matrix_of
from mpxgat.evidence.hiding import HiddenInter
from mpxgat.evidence.inter import InterEvidence
from mpxgat.evidence.judge import Evidence, Judge
from mpxgat.graph import MultiplexGraph
from mpxgat.links import pair_keys
from mpxgat.matching.calibration import Isotonic
from mpxgat.units import unit_sizes

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
