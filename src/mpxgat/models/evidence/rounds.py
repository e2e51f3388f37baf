"""Who is who is one question: classifiers of inter links learn in rounds, each of which reads what the last decided.

Links are one to one, and neighbours of matched nodes match, so every decision is evidence for the next. A round

1. looks at candidates through a soft matching (none at first; see `surroundings` and `inter_features`),
2. learns logistic regressions on known links that are hidden again, cross-fitted over folds,
3. scales their log-odds so that the one-to-one plan they make (`mpxgat.matching.plan`) is right as often as it says,
4. and hands that plan to the next round as its soft matching.

The known units are shared out over folds. Each fold has its own view of the graph, in which its units' links are hidden
in *every* round: nothing that a fold's soft matching holds was made with them, and the classifier that decides in a
fold has learned from the others only. In the view of the whole graph the mean of all classifiers decides. Rounds end
when the plan of the hidden links gets no better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit
from threadpoolctl import threadpool_limits

from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import Arrays
from mpxgat.matching.plan import Plan, Rivals
from mpxgat.metrics import auc
from mpxgat.models.evidence.attributes import NO_ATTRIBUTES, Attributes
from mpxgat.models.evidence.classifier import Classifier, Hyperparameters, Scores
from mpxgat.models.evidence.features import Features, LinkDetails, matrix
from mpxgat.models.evidence.inter_features import InterFeatures, PairArray, entries_at
from mpxgat.models.evidence.linear import Exercise, Linear, column_sizes, mean_of, scores
from mpxgat.models.evidence.scale import ANY_SHARE, Judged, Reading, Scale, fit_scale, likelihood, lonely_share
from mpxgat.models.evidence.surroundings import Surroundings
from mpxgat.models.rules import Rules
from mpxgat.pairs import KnownUnits, PairList, Pairs, pair_keys, unit_matrix, unit_sizes
from mpxgat.system import side_by_side
from mpxgat.training.parallel import Engine, results

if TYPE_CHECKING:
    from mpxgat.models.evidence.model import EvidenceSettings

EVIDENCE, ANCHORED = "evidence", "anchored"  # not by their classes: one needs this module, the other torch
FEWEST_LINKS = 30  # known: with fewer there is nothing to learn from
_FEWEST_MISSED = 20  # links that are no candidates: the same
_PLENTY, _FEWEST_FOLDS = 10_000, 2  # hidden links of a fold after which no more are learned from; folds are then fewer
_BEREAVED = 0.15  # of a fold's units, see `scale`
_LEAST = 0.02  # probability that is handed to the next round
_SMALLEST = 1e-12  # probability whose log-odds are asked for
_WORTH, _DOUBT = 0.02, 0.5
"""By which share a round must better the likelihood of the hidden links' plan: the first, less the second over the root
of their number. Of few links it is too uncertain to end by, and there rounds help most."""
_MOST_NUMBERS = 1 << 25  # of candidates that are kept; more are computed when they are asked for
_ROWS_AT_ONCE = 1 << 18
_MOST_NON_LINKS = 60_000  # that a classifier learns from; more say hardly more
_NODE_BYTES, _MOST_BYTES = 1 << 17, 8 << 30  # of a view
_LEARNED = "learned from hidden links"

Labels = NDArray[np.bool_]
Numbers = NDArray[np.float64]
Embedder = Callable[[MultiplexGraph], NDArray[np.float32] | None]
"""Vertical embeddings of a graph on the same nodes; None where there are none."""


def no_vectors(graph: MultiplexGraph) -> None:
    """No embeddings of any graph."""


# ---- what a round leaves ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Round:
    """What is learned in a round: the mean of the folds' classifiers, and the scale on which its log-odds make a plan.

    The scale of each is learned on a fold that it has not seen, and what that says is true of these classifiers only:
    one that has learned from everything is surer of itself, without being right as often.
    """

    classifier: Linear | Classifier
    scale: Scale

    def log_odds(self, features: Features) -> Scores:
        """(k,) of pairs, each for itself."""
        return self.scale.apply(self.classifier.score(features))

    def contributions(self, features: Features) -> Numbers:
        """(k, f + 1) what each column adds to the log-odds, and last the base; a row's sum is its log-odds."""
        parts = self.scale.slope * self.classifier.contributions(features)
        parts[:, -1] += self.scale.shift
        return parts

    def to_arrays(self) -> Arrays:
        """To be saved."""
        return {"scale": np.array([self.scale.shift, self.scale.slope]), **self.classifier.to_arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Round:
        """What `to_arrays` gave; ValueError if it is not."""
        scale = arrays["scale"]
        if scale.shape != (2,) or not np.isfinite(scale).all() or scale[1] <= 0:
            raise ValueError(f"the scale of a round is {scale.tolist()}, expected a shift and a slope above 0")
        learned = {name: array for name, array in arrays.items() if name != "scale"}
        kind = Classifier if "trees" in learned else Linear
        return cls(kind.from_arrays(learned), Scale(*scale.tolist()))


class Joint:
    """What all rounds say about a graph.

    pairs       (m, 2) the candidates
    layer       (n,) of every node
    last        the last round
    others      for pairs that are no candidates; None for the last round's own
    log_odds    (m,) of the candidates, each for itself
    features    as the last round sees them: made by ``make_features`` when they are asked for
    """

    def __init__(
        self,
        pairs: PairArray,
        layer: NDArray[np.int32],
        last: Round,
        others: Round | None,
        log_odds: Scores,
        make_features: Callable[[], InterFeatures],
    ):
        self.pairs, self.layer, self.log_odds = pairs, layer, log_odds
        self.last, self.others = last, others or last
        self._make_features = make_features

    @classmethod
    def of(cls, features: InterFeatures, last: Round, others: Round | None, log_odds: Scores) -> Joint:
        """With features that are there already."""
        return cls(features.pairs, features.layer, last, others, log_odds, partial(_themselves, features))

    @cached_property
    def features(self) -> InterFeatures:
        """As the last round sees them."""
        return self._make_features()

    @cached_property
    def plan(self) -> Plan:
        """Of the candidates."""
        return Rivals(self.pairs, self.layer).plan(self.log_odds)

    @cached_property
    def alone(self) -> Numbers:
        """(n, L) the probability that a node has none of its candidates in a layer; 1 where there is none."""
        alone = np.ones((len(self.layer), int(self.layer.max(initial=0)) + 1))
        for side, value in enumerate(self.plan.alone):
            alone[self.pairs[:, side], self.layer[self.pairs[:, 1 - side]]] = value
        return alone

    def planned(self, pairs: Pairs) -> Scores:
        """Log-odds, in the shape of the pairs, that take rivals into account: the plan's where it has the pair.

        The nodes of any other pair would have to be free of all their candidates.
        """
        score, candidate, plan = self._parts(pairs)
        score[candidate] = plan
        return score

    def score(self, pairs: Pairs) -> Scores:
        """The same to compare pairs by: a candidate is at least as probable as if it were none."""
        score, candidate, plan = self._parts(pairs)
        score[candidate] = np.maximum(plan, score[candidate]) if self.others is not self.last else plan
        return score

    def _parts(self, pairs: Pairs) -> tuple[Scores, Labels, Scores]:
        """In the shape of the pairs, log-odds as if none were a candidate and which are; and the plan's of these."""
        here, there = self.layer[pairs.first], self.layer[pairs.second]
        odds = self.others.log_odds(matrix(self.features.columns(pairs))).reshape(pairs.shape)
        score = odds + np.log(self.alone[pairs.first, there]) + np.log(self.alone[pairs.second, here])
        place = entries_at(self._places, pairs).astype(np.int64)
        candidate = place > 0
        return score, candidate, logit(np.clip(self.plan.probability, _SMALLEST, 1 - _SMALLEST))[place[candidate] - 1]

    def to_arrays(self) -> Arrays:
        """To be saved: with what was found, nothing has to be searched for again."""
        before = sparse.triu(self.features.matching).tocoo()
        return {
            "pairs": self.pairs.astype(np.int32),
            "log_odds": self.log_odds,
            "before.pairs": np.stack([before.row, before.col], axis=1).astype(np.int32),
            "before.probability": before.data,
        }

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        graph: MultiplexGraph,
        details: LinkDetails,
        prior: Numbers,
        last: Round,
        others: Round | None,
        attributes: Attributes = NO_ATTRIBUTES,
    ) -> Joint:
        """What `to_arrays` gave; ValueError if it is not. Candidates and their plan need no features."""
        pairs, log_odds = arrays["pairs"].astype(np.int64), arrays["log_odds"]
        before, probability = arrays["before.pairs"], arrays["before.probability"]
        units = KnownUnits.of(graph)
        for named, numbers in ((pairs, log_odds), (before, probability)):
            if named.shape != (len(numbers), 2) or numbers.ndim != 1 or not np.isfinite(numbers).all():
                raise ValueError("the saved candidates are damaged, expected pairs with a finite number each")
            if len(named) and not 0 <= named.min() <= named.max() < graph.n_nodes:
                raise ValueError("a saved candidate names a node that is not there")
            if units.decided(named[:, 0], named[:, 1]).any() or (named[:, 0] >= named[:, 1]).any():
                raise ValueError("a saved candidate is no open pair")
            if len(np.unique(pair_keys(named, graph.n_nodes))) != len(named):
                raise ValueError("a saved candidate stands there twice")
        if ((probability < 0) | (probability > 1)).any():
            raise ValueError("a probability of the round before lies outside 0 to 1")
        matching = _both_ways(before.astype(np.int64), probability, graph.n_nodes) if len(before) else None
        make = partial(_features_again, graph, details, prior, matching, pairs, attributes)
        return cls(pairs, graph.node_layer, last, others, log_odds, make)

    @cached_property
    def _places(self) -> sparse.csr_array:
        """(n, n) where a candidate stands in the list, counted from 1."""
        n = len(self.layer)
        return sparse.csr_array((np.arange(1, len(self.pairs) + 1), tuple(self.pairs.T)), shape=(n, n))


def _themselves(features: InterFeatures) -> InterFeatures:
    """A function of this module, as models are sent to workers."""
    return features


def _features_again(
    graph: MultiplexGraph,
    details: LinkDetails,
    prior: Numbers,
    matching: sparse.csr_array | None,
    pairs: PairArray,
    attributes: Attributes,
) -> InterFeatures:
    """Of candidates that were found before."""
    around = Surroundings.of(graph, details)
    return InterFeatures(graph, around, prior, matching, pairs, attributes=attributes)


@dataclass(frozen=True, eq=False)
class LearnedInter:
    """The rounds, in their order, and what came of them.

    others          for pairs that are no candidates in the last; None for that round's own
    joint           what they say about the graph that was learned on
    validation      by the name of a model: AUC on hidden links by classifiers that had not learned from them
    recall          share of the hidden links that were candidates in the last round
    recall_by       the same by what proposed them
    likelihood      of the last round's plan of the hidden links, see `mpxgat.models.evidence.scale`
    """

    rounds: tuple[Round, ...]
    others: Round | None
    joint: Joint
    validation: Mapping[str, float]
    recall: float
    recall_by: Mapping[str, float]
    likelihood: float


def apply_rounds(
    graph: MultiplexGraph,
    surroundings: Surroundings,
    prior: Numbers,
    rounds: Sequence[Round],
    others: Round | None,
    candidates: int,
    attributes: Attributes = NO_ATTRIBUTES,
    matching: sparse.csr_array | None = None,
) -> Joint:
    """What rounds that were learned elsewhere say about a graph, or about a soft matching of it to begin with."""
    for each in rounds:
        features = InterFeatures(graph, surroundings, prior, matching, candidates, attributes=attributes)
        log_odds = each.scale.apply(Look(features).score(each.classifier.score))
        joint = Joint.of(features, each, others, log_odds)
        matching = soft_matching(joint.pairs, joint.plan.probability, graph.n_nodes)
    return joint


def soft_matching(pairs: PairArray, probability: Numbers, n_nodes: int) -> sparse.csr_array:
    """(n, n) float32, both ways: the probabilities worth handing on."""
    kept = probability > _LEAST
    return _both_ways(pairs[kept], probability[kept], n_nodes)


def _both_ways(pairs: PairArray, probability: Numbers, n_nodes: int) -> sparse.csr_array:
    one_way = sparse.csr_array((probability.astype(np.float32), tuple(pairs.T)), shape=(n_nodes, n_nodes))
    return sparse.csr_array(one_way + one_way.T)


# ---- views of the graph ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class View:
    """The graph with the links of a fold's units hidden.

    positives   (p, 2) pairs of one unit whose nodes now lie in different known units
    barred      (b, 2) such pairs of the bereaved units: no candidates, so that these nodes have no counterpart
    touched     (n,) nodes of the units that lost a link: of their pairs the truth is known
    bereaved    (n,) those of bereaved units
    """

    graph: MultiplexGraph
    positives: PairArray
    barred: PairArray
    touched: Labels
    bereaved: Labels

    @classmethod
    def of(cls, graph: MultiplexGraph) -> View:
        """Of the whole graph: nothing is hidden."""
        pairs, nodes = np.empty((0, 2), dtype=np.int64), np.zeros(graph.n_nodes, dtype=bool)
        return cls(graph, pairs, pairs, nodes, nodes)


def make_views(graph: MultiplexGraph, count: int, detached: float, rng: np.random.Generator) -> list[View]:
    """One for each fold; every known unit of two nodes or more loses links in one of them.

    detached    share of the units with three nodes or more that lose a single node, as for a new account of somebody
                whose others are known; the others are dissolved
    """
    size = unit_sizes(graph)
    several = rng.permutation(np.flatnonzero(size > 1))
    return [_view(graph, several[number::count], detached, rng) for number in range(count)]


def _view(graph: MultiplexGraph, units: NDArray[np.int64], detached: float, rng: np.random.Generator) -> View:
    size = unit_sizes(graph)
    chosen = np.zeros((2, graph.n_units), dtype=bool)
    loosened = units[(size[units] > 2) & (rng.random(len(units)) < detached)]
    chosen[0, units] = True
    chosen[1, loosened] = True
    touched, loose = chosen[:, graph.unit]
    leaving = np.zeros(graph.n_nodes, dtype=bool)
    nodes = rng.permutation(np.flatnonzero(loose))
    leaving[nodes[np.unique(graph.unit[nodes], return_index=True)[1]]] = True
    ends = graph.inter
    gone = (touched & ~loose)[ends[:, 0]] | leaving[ends].any(axis=1)
    hidden = graph.without(inter=ends[gone])
    parted = _parted(graph, hidden)
    bereaved = np.isin(graph.unit, units[rng.random(len(units)) < _BEREAVED])
    barred = bereaved[parted[:, 0]]
    return View(hidden, parted[~barred], parted[barred], touched, bereaved)


def _parted(graph: MultiplexGraph, hidden: MultiplexGraph) -> PairArray:
    """Pairs (i < j) that are one unit in ``graph`` and not in ``hidden``."""
    unit = unit_matrix(graph)
    first, second = sparse.coo_array(sparse.triu(unit @ unit.T, k=1)).coords
    apart = hidden.unit[first] != hidden.unit[second]
    return np.stack([first[apart], second[apart]], axis=1).astype(np.int64)


class Look:
    """The candidates of a view as a round sees them; their numbers are put together once, if they are not too many."""

    def __init__(self, features: InterFeatures):
        self.features = features
        self.pairs = features.pairs
        few = len(self.pairs) * len(features.names) <= _MOST_NUMBERS
        self._kept = features.of_candidates() if few else None

    def rows(self, places: NDArray[np.int64] | slice) -> Features:
        """(k, f) the numbers of some candidates."""
        return self.features.of_candidates(places) if self._kept is None else self._kept[places]

    def score_by_all(self, classifiers: Sequence[Linear]) -> list[Scores]:
        """(m,) of all candidates by every classifier, all of which learned from columns of one size."""
        starts = range(0, len(self.pairs), _ROWS_AT_ONCE)
        parts = [scores(classifiers, self.rows(slice(start, start + _ROWS_AT_ONCE))) for start in starts]
        return list(np.concatenate([np.zeros((len(classifiers), 0)), *parts], axis=1))

    def score(self, score: Callable[[Features], Scores]) -> Scores:
        """(m,) of all candidates."""
        starts = range(0, len(self.pairs), _ROWS_AT_ONCE)
        parts = [score(self.rows(slice(start, start + _ROWS_AT_ONCE))) for start in starts]
        return np.concatenate([np.zeros(0), *parts])


# ---- learning --------------------------------------------------------------------------------------------


def learn_inter(
    graph: MultiplexGraph,
    surroundings: Surroundings,
    prior: Numbers,
    settings: EvidenceSettings,
    seed: int,
    engine: Engine,
    embed: Embedder = no_vectors,
    attributes: Attributes = NO_ATTRIBUTES,
) -> LearnedInter | None:
    """None if too few links are known, or hardly any is a candidate once they are hidden again.

    ``embed`` gives the vectors of a graph whose dot products are measured beside. The views are looked at side by
    side by the engine.
    """
    if len(graph.inter) < FEWEST_LINKS:
        return None
    rng = np.random.default_rng([seed, 1])
    views = _views_of(graph, settings, rng)
    further = [_further_pairs(graph, view, settings.non_links, rng) for view in views]
    look = partial(_look, surroundings, prior, settings.candidates, attributes)
    matchings: list[sparse.csr_array | None] = [None] * (len(views) + 1)
    worth = _WORTH - _DOUBT / np.sqrt(max(sum(len(view.positives) for view in views), 1))
    rounds: list[Round] = []
    last: _Learned | None = None
    for number in range(settings.rounds):
        known = [*((view.graph, view.barred) for view in views), (graph, None)]
        tasks = [(*each, matching) for each, matching in zip(known, matchings, strict=True)]
        looks = results(engine, look, tasks, _view_bytes(graph), _LEARNED, in_threads=True)
        lessons = [Lesson.of(graph, view, seen, len(views)) for view, seen in zip(views, looks, strict=False)]
        if sum(len(lesson.label) > 0 for lesson in lessons) < _FEWEST_FOLDS:
            break  # some fold's classifier would have nothing to learn from
        found = _Learned.of(graph, looks, lessons, seed + 1000 * number, last)
        if last is not None and found.likelihood < last.likelihood + worth * abs(last.likelihood):
            break
        last = found
        rounds.append(found.round)
        matchings = found.matchings()
    if last is None:
        return None
    others = _learn_others(graph, views, further, last.looks, seed, settings.inter_hyperparameters)
    joint = Joint.of(last.looks[-1].features, rounds[-1], others, last.log_odds[-1])
    validation = last.validation(views, further, others, embed)
    return LearnedInter(tuple(rounds), others, joint, validation, last.recall, last.recall_by, last.likelihood)


def first_lessons(
    graph: MultiplexGraph,
    surroundings: Surroundings,
    prior: Numbers,
    settings: EvidenceSettings,
    seed: int,
    engine: Engine,
    attributes: Attributes,
) -> tuple[list[Lesson], list[str]]:
    """What the folds of `learn_inter` teach in the first round, and the names of the columns."""
    views = _views_of(graph, settings, np.random.default_rng([seed, 1]))
    look = partial(_look, surroundings, prior, settings.candidates, attributes)
    tasks = [(view.graph, view.barred, None) for view in views]
    looks = results(engine, look, tasks, _view_bytes(graph), _LEARNED, in_threads=True)
    lessons = [Lesson.of(graph, view, seen, len(views)) for view, seen in zip(views, looks, strict=True)]
    return lessons, looks[0].features.names


def _views_of(graph: MultiplexGraph, settings: EvidenceSettings, rng: np.random.Generator) -> list[View]:
    folds = _FEWEST_FOLDS if len(graph.inter) > _PLENTY * settings.splits else settings.splits
    unaware = graph.without(apart=graph.apart)  # what is known to be different may be a candidate there: a lesson
    return make_views(unaware, max(folds, _FEWEST_FOLDS), settings.detached, rng)  # one alone would hide all links


@dataclass(frozen=True, eq=False)
class _Learned:
    """A round as it was learned.

    looks       at the views of the folds, and last at the whole graph
    lessons     of the folds
    classifiers     of the folds, each of which has learned from the lessons of the others
    round       what is kept of it
    log_odds    (m,) of every look's candidates, by classifiers that have not learned from its fold
    likelihood  see `mpxgat.models.evidence.scale`
    lonely      the share of nodes without a counterpart, as read off in this round and those before
    """

    graph: MultiplexGraph
    looks: Sequence[Look]
    lessons: Sequence[Lesson]
    classifiers: Sequence[Linear]
    round: Round
    log_odds: Sequence[Scores]
    likelihood: float
    lonely: Reading

    @classmethod
    def of(
        cls,
        graph: MultiplexGraph,
        looks: Sequence[Look],
        lessons: Sequence[Lesson],
        seed: int,
        before: _Learned | None,
    ) -> _Learned:
        """Learn from the lessons: for every fold from those of the others. ``before`` is what the last round was."""
        classifiers = learn_folds(lessons, seed, before.classifiers if before else None)
        found = side_by_side(lambda each: each[0].score(each[1].score), list(zip(looks, classifiers, strict=False)))
        told = zip(lessons, looks, found, strict=False)
        judged = [lesson.judged(look, score) for lesson, look, score in told]
        nothing = Lesson.of(graph, View.of(graph), looks[-1])
        whole = looks[-1].score_by_all(classifiers)
        reading = lonely_share(judged, [nothing.judged(looks[-1], score) for score in whole])
        lonely = Reading.pooled([before.lonely if before else ANY_SHARE, reading])
        scale = fit_scale(judged, lonely.value, before.round.scale if before else None)
        mean = mean_of(classifiers)
        log_odds = [scale.apply(score) for score in (*found, looks[-1].score(mean.score))]
        likely = likelihood(judged, scale)
        return cls(graph, looks, lessons, classifiers, Round(mean, scale), log_odds, likely, lonely)

    @cached_property
    def _plans(self) -> list[Plan]:
        given = list(zip(self.looks, self.log_odds, strict=True))
        return side_by_side(lambda each: Rivals(each[0].pairs, self.graph.node_layer).plan(each[1]), given)

    def matchings(self) -> list[sparse.csr_array | None]:
        """What every view hands to the next round."""
        return [
            soft_matching(look.pairs, plan.probability, self.graph.n_nodes)
            for look, plan in zip(self.looks, self._plans, strict=True)
        ]

    @property
    def recall(self) -> float:
        """Share of the hidden links that are candidates."""
        return self._share_of_hidden([each.is_link for each in self.lessons])

    @property
    def recall_by(self) -> dict[str, float]:
        """The same, by the name of what proposed them."""
        sources = [look.features.sources for look in self.looks]
        return {
            name: self._share_of_hidden(
                [each.is_link & found[name] for each, found in zip(self.lessons, sources, strict=False)]
            )
            for name in sources[0]
        }

    def _share_of_hidden(self, found: Sequence[Labels]) -> float:
        hidden = sum(len(each.view.positives) for each in self.lessons)
        return float(sum(each.sum() for each in found) / max(hidden, 1))

    def validation(
        self, views: Sequence[View], further: Sequence[PairArray], others: Round | None, embed: Embedder
    ) -> dict[str, float]:
        """Mean AUC of hidden links against random pairs, by what has not learned from them, by embeddings and by rules.

        (But for the one classifier of pairs that are no candidates, which has learned from a part of them.)
        """
        found: dict[str, list[float]] = {EVIDENCE: [], ANCHORED: [], Rules.name: []}
        parts = zip(views, further, self.looks, self.classifiers, self.log_odds, strict=False)
        for view, non_links, look, classifier, log_odds in parts:
            if len(view.positives) and len(non_links):
                alone = Round(classifier, self.round.scale)
                ours, rules = Joint.of(look.features, alone, others, log_odds), Rules().fit(view.graph)
                both, vectors = (view.positives, non_links), embed(view.graph)
                found[EVIDENCE].append(auc(*(ours.score(PairList(pairs)) for pairs in both)))
                if vectors is not None:
                    found[ANCHORED].append(auc(*(PairList(pairs).dots(vectors) for pairs in both)))
                found[Rules.name].append(auc(*(rules.score(pairs) for pairs in both)))
        return {name: float(np.mean(values)) for name, values in found.items() if values and len(views) > 1}


def learn_folds(lessons: Sequence[Lesson], seed: int, before: Sequence[Linear] | None) -> list[Linear]:
    """For every fold a classifier from the lessons of all others; ``before`` are those of the last round."""
    size = column_sizes([lesson.features for lesson in lessons])
    most = _MOST_NON_LINKS // max(len(lessons) - 1, 1)
    rngs = np.random.default_rng([seed, 3]).spawn(len(lessons))

    def exercise(number: int) -> Exercise:
        lesson = lessons[number]
        return Exercise.of(lesson.features, lesson.label, lesson.weight, size, most, rngs[number])

    def learn(fold: int) -> Linear:
        others = [each for number, each in enumerate(exercises) if number != fold]
        return Linear.fit(others, size, before[fold] if before else None)

    exercises = side_by_side(exercise, range(len(lessons)))
    with threadpool_limits(1, user_api="blas"):  # several threads would add in another order
        return side_by_side(learn, range(len(lessons)))


def _look(
    surroundings: Surroundings,
    prior: Numbers,
    candidates: int,
    attributes: Attributes,
    task: tuple[MultiplexGraph, PairArray | None, sparse.csr_array | None],
) -> Look:
    graph, barred, matching = task
    return Look(InterFeatures(graph, surroundings, prior, matching, candidates, barred, attributes))


def _view_bytes(graph: MultiplexGraph) -> int:
    """About what a look takes at most."""
    return min(graph.n_nodes * _NODE_BYTES, _MOST_BYTES)


def _further_pairs(graph: MultiplexGraph, view: View, non_links: int, rng: np.random.Generator) -> PairArray:
    """(k, 2) random open pairs of a view, at least one end touched, that are no links: most pairs are no candidates."""
    from mpxgat.training.links import BetweenLayers  # which imports torch: not to read a model

    nodes = np.flatnonzero(view.touched)
    drawn = BetweenLayers(graph.node_layer[nodes], graph.unit[nodes]).draw(non_links * len(view.positives), rng)
    pairs = np.sort(nodes[drawn], axis=1)
    return pairs[~KnownUnits.of(view.graph).decided(pairs[:, 0], pairs[:, 1])]


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a view teaches: the candidates of which the truth is known.

    told        (m,) which candidates these are
    is_link     (m,) which of them are one unit
    ends        (m,) how many ends of theirs lie in the fold
    bereaved    (m,) and of these in bereaved units
    least       (m,) what a non-link counts at least: of those known to be different every view tells its share
    view        that teaches
    features    (k, f) of those told
    """

    told: Labels
    is_link: Labels
    ends: NDArray[np.int64]
    bereaved: NDArray[np.int64]
    least: Numbers
    view: View
    features: Features

    @property
    def label(self) -> Labels:
        """(k,) whether those told are one unit."""
        return self.is_link[self.told]

    @property
    def weight(self) -> Numbers:
        """(k,) how much those told count: a non-link for each end that tells it, as links are told by both."""
        return np.where(self.is_link, 1.0, np.maximum(self.ends / 2, self.least))[self.told]

    def judged(self, look: Look, score: Scores) -> Judged:
        """With the scores of the candidates."""
        weight, bereaved = (np.where(self.is_link, 0.0, ends / 2) for ends in (self.ends, self.bereaved))
        truth = (self.is_link, weight, bereaved, self.view.positives, self.view.barred)
        return Judged(look.pairs, look.features.layer, score, *truth)

    @classmethod
    def of(cls, graph: MultiplexGraph, view: View, look: Look, views: int = 1) -> Lesson:
        """``graph`` knows the truth; ``views`` are how many there are."""
        ends, bereaved = (nodes[look.pairs].sum(axis=1) for nodes in (view.touched, view.bereaved))
        least = KnownUnits.of(graph).apart(look.pairs[:, 0], look.pairs[:, 1]) / views
        told = (ends > 0) | (least > 0)
        is_link = told & (graph.unit[look.pairs[:, 0]] == graph.unit[look.pairs[:, 1]])
        return cls(told, is_link, ends, bereaved, least, view, look.rows(np.flatnonzero(told)))


# ---- pairs that are no candidates ------------------------------------------------------------------------


def _learn_others(
    graph: MultiplexGraph,
    views: Sequence[View],
    further: Sequence[PairArray],
    looks: Sequence[Look],
    seed: int,
    parameters: Hyperparameters,
) -> Round | None:
    """A classifier of pairs that are no candidates, from links that were missed; None if there are too few.

    Hardly anything speaks for these pairs, but they are nearly all there are: the candidates' classifiers, had they to
    learn from them as well, would tell candidates apart less well.
    """
    features, label, drawn, pairs_in_all = [], [], 0, 0.0
    for view, non_links, look in zip(views, further, looks, strict=False):
        known = pair_keys(look.pairs, graph.n_nodes)
        missed, more = (
            pairs[~np.isin(pair_keys(pairs, graph.n_nodes), known)] for pairs in (view.positives, non_links)
        )
        features.append(look.features.matrix(np.concatenate([missed, more])))
        label.append(np.repeat([True, False], [len(missed), len(more)]))
        kept = len(view.positives) / max(len(view.positives) + len(view.barred), 1)
        drawn, pairs_in_all = drawn + len(non_links), pairs_in_all + kept * _pairs_of_touched(graph, view)
    labels = np.concatenate(label)
    if labels.sum() < _FEWEST_MISSED or labels.all():
        return None
    classifier = Classifier.fit(np.concatenate(features), labels, seed, parameters)
    return Round(classifier, Scale(float(np.log(min(drawn / pairs_in_all, 1)))))


def _pairs_of_touched(graph: MultiplexGraph, view: View) -> float:
    """How many pairs of touched nodes of two layers there are."""
    size = np.bincount(graph.node_layer[view.touched], minlength=graph.n_layers).astype(np.float64)
    return float((size.sum() ** 2 - (size**2).sum()) / 2)
