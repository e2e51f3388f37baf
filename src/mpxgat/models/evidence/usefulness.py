"""Is what one could look at of any use? Columns of no use cost: where few links are known, regressions find something.

So what is looked at beside the links, between layers, must earn its place on links that are hidden again, in the first
round: direction and weights of links by the plan, compared attributes by what classifiers say of a fold that they have
not learned from.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.models.evidence.attributes import Attributes
from mpxgat.models.evidence.features import PLAIN, LinkDetails
from mpxgat.models.evidence.rounds import EVIDENCE, FEWEST_LINKS, Lesson, first_lessons, learn_folds, learn_inter
from mpxgat.models.evidence.surroundings import Surroundings
from mpxgat.training.parallel import Engine

if TYPE_CHECKING:
    from mpxgat.models.evidence.model import EvidenceSettings

_CHANCE, _CHANCE_AUC = 0.2, 0.1
"""What further columns must gain, over the root of the number of links: a share of the likelihood, or in AUC. Random
weights and ways gained -.6 to .25 and -.1 to 0, planted direction 0 to 1 of the likelihood, ff-tw-yt's .3 in AUC."""
_CHANCE_OF_COLUMNS = 0.5
"""What a comparison must gain in log-likelihood, times the root of the number of links. On planted networks of 600 and
1,500 people usernames gained 12 to 20, cities 2 to 7, dates that are hardly alike -.5 to .1, and shuffled columns -1.1
to .24 (three seeds each)."""
Numbers = NDArray[np.float64]


def useful_surroundings(
    graph: MultiplexGraph, details: LinkDetails, prior: Numbers, settings: EvidenceSettings, seed: int, engine: Engine
) -> Surroundings:
    """Surroundings that look at direction, and at weights, if hidden links are told better so in the first round.

    Columns of no use cost: where few links are known, regressions find something in them. So either the likelihood of
    the plan or the AUC must gain more than chance would bring, see `_CHANCE` and `_CHANCE_AUC`.
    """
    found = Surroundings.of(graph)
    if details == PLAIN:
        return found
    given = (prior, replace(settings, rounds=1), seed, engine)
    best = learn_inter(graph, found, *given)
    for name in (each.name for each in fields(details) if getattr(details, each.name)):
        more = Surroundings.of(graph, replace(found.details, **{name: True}))
        learned = learn_inter(graph, more, *given)
        if best is None or learned is None:
            break
        gain = (learned.likelihood - best.likelihood) / abs(best.likelihood)
        gain_auc = learned.validation.get(EVIDENCE, 0) - best.validation.get(EVIDENCE, 0)
        if max(gain / _CHANCE, gain_auc / _CHANCE_AUC) * np.sqrt(graph.n_inter) > 1:
            found, best = more, learned
    return found


def useful_attributes(
    graph: MultiplexGraph,
    surroundings: Surroundings,
    attributes: Attributes,
    prior: Numbers,
    settings: EvidenceSettings,
    seed: int,
    engine: Engine,
) -> Attributes:
    """The comparisons without which hidden links would be told worse; all where there is too little to hide.

    The least useful one goes first: of two that say the same, one stays.
    """
    if not attributes.compared or len(graph.inter) < FEWEST_LINKS:
        return attributes
    lessons, names = first_lessons(graph, surroundings, prior, settings, seed, engine, attributes)
    if not all(len(lesson.label) for lesson in lessons):
        return attributes
    least = _CHANCE_OF_COLUMNS * np.sqrt(sum(lesson.label.sum() for lesson in lessons))
    declared_as = map(str, attributes.comparisons)
    every = {declared: each.names for declared, each in zip(declared_as, attributes.compared, strict=True)}

    def loss(without: Collection[str]) -> float:
        gone = tuple(name for declared, each in every.items() if declared in without for name in each)
        columns = np.array([not name.startswith(gone) for name in names])
        return _held_out_loss([replace(lesson, features=lesson.features[:, columns]) for lesson in lessons], seed)

    kept, now = dict(every), loss(())
    while kept:
        dropped = every.keys() - kept.keys()
        losses = {declared: loss({*dropped, declared}) for declared in kept}
        weakest = min(losses, key=losses.__getitem__)
        if losses[weakest] - now > least:
            break
        del kept[weakest]
        now = losses[weakest]
    return attributes.only(kept.keys())


def _held_out_loss(lessons: Sequence[Lesson], seed: int) -> float:
    """Minus the log-likelihood of all folds' lessons, by classifiers that have learned from the other folds."""
    total = 0.0
    for lesson, classifier in zip(lessons, learn_folds(lessons, seed, None), strict=True):
        odds = classifier.score(lesson.features)
        total += float((lesson.weight * (np.logaddexp(0, odds) - lesson.label * odds)).sum())
    return total
