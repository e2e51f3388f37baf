"""Learning in rounds: what each fold's view hides stays hidden in all of them, and what is learned can be kept."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from mpxgat import system
from mpxgat.build import with_apart, with_inter_links
from mpxgat.models.evidence import linear as linear_module
from mpxgat.models.evidence import rounds as rounds_module
from mpxgat.models.evidence.features import PLAIN
from mpxgat.models.evidence.inter_features import InterFeatures, layer_prior
from mpxgat.models.evidence.model import EvidenceSettings
from mpxgat.models.evidence.rounds import (
    Joint,
    Look,
    Round,
    View,
    apply_rounds,
    learn_inter,
    make_views,
    soft_matching,
)
from mpxgat.models.evidence.scale import Scale
from mpxgat.models.evidence.surroundings import Surroundings
from mpxgat.pairs import KnownUnits, PairGrid, PairList
from mpxgat.synthetic import social
from mpxgat.training.parallel import Processes
from tests.examples import graph_of
from tests.matching.doubles import is_open
from tests.models.evidence.graphs import GRAPHS

pytestmark = pytest.mark.usefixtures("one_thread")
every_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
QUICK = EvidenceSettings(embeddings="none", rounds=3, splits=3, trees=20, candidates=10)


def learn(graph, settings=QUICK, engine=None, seed=0):
    surroundings, prior = Surroundings.of(graph), layer_prior(graph)
    return learn_inter(graph, surroundings, prior, settings, seed, engine or Processes())


def pairs_in(array):
    return {tuple(pair) for pair in array.tolist()}


def parted_in(view):
    """(k, 2) all pairs of one unit that a view hides."""
    return np.concatenate([view.positives, view.barred])


def pairs_of_units(graph):
    """All (i < j) known to be one unit."""
    unit = graph.unit.tolist()
    return {(i, j) for i in range(graph.n_nodes) for j in range(i + 1, graph.n_nodes) if unit[i] == unit[j]}


@pytest.fixture(scope="module")
def graph():
    return social(people=150, layers=3, seed=100, overlap=0.7, known=0.5)


@pytest.fixture(scope="module")
def learned(graph):
    found = learn(graph)
    assert len(found.rounds) > 1  # so that a soft matching was read
    return found


# ---- views -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("detached", [0.0, 0.5, 0.99])
@every_graph
def test_every_known_unit_of_two_or_more_nodes_loses_links_in_exactly_one_view(graph, detached):
    for seed in range(3):
        views = make_views(graph, 3, detached, np.random.default_rng(seed))
        assert len(views) == 3
        hit = [set(graph.unit[parted_in(view)].ravel().tolist()) for view in views]
        size = np.bincount(graph.unit, minlength=graph.n_units)
        assert sorted(unit for units in hit for unit in units) == np.flatnonzero(size > 1).tolist()


@pytest.mark.parametrize("detached", [0.0, 0.5, 0.99])
@every_graph
def test_positives_and_barred_are_exactly_the_pairs_of_one_unit_that_are_now_apart(graph, detached):
    for view in make_views(graph, 2, detached, np.random.default_rng(1)):
        assert view.graph.layers == graph.layers
        assert view.graph.ids.equals(graph.ids)
        assert np.array_equal(view.graph.intra, graph.intra)
        assert pairs_in(view.graph.inter) <= pairs_in(graph.inter)
        parted = parted_in(view)
        assert len(pairs_in(parted)) == len(parted)  # so none is both
        assert pairs_in(parted) == pairs_of_units(graph) - pairs_of_units(view.graph)
        gone = pairs_in(graph.inter) - pairs_in(view.graph.inter)
        units = {int(graph.unit[node]) for pair in gone for node in pair}
        assert np.flatnonzero(view.touched).tolist() == np.flatnonzero(np.isin(graph.unit, sorted(units))).tolist()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("detached", [0.0, 0.5])
@every_graph
def test_barred_are_the_pairs_of_bereaved_units(graph, detached, share, monkeypatch):
    monkeypatch.setattr(rounds_module, "_BEREAVED", share)
    for view in make_views(graph, 2, detached, np.random.default_rng(2)):
        assert not view.bereaved[~view.touched].any()
        units = set(graph.unit[view.bereaved].tolist())
        assert np.flatnonzero(view.bereaved).tolist() == np.flatnonzero(np.isin(graph.unit, sorted(units))).tolist()
        assert set(graph.unit[view.barred].ravel().tolist()) == units
        assert not view.bereaved[view.positives].any()
        if share in (0, 1):
            assert np.array_equal(view.bereaved, view.touched & (share == 1))


def test_some_of_the_units_are_bereaved():
    graph = social(people=1500, layers=2, seed=4)
    views = make_views(graph, 2, 0.0, np.random.default_rng(0))
    touched, bereaved = (sum(getattr(view, name).sum() for view in views) for name in ("touched", "bereaved"))
    assert bereaved / touched == pytest.approx(0.15, abs=0.03)


def test_units_are_dissolved():
    graph = social(people=100, layers=4, seed=1)
    for view in make_views(graph, 4, 0.0, np.random.default_rng(0)):
        alone = np.bincount(view.graph.unit)[view.graph.unit] == 1
        assert alone[view.touched].all()
        assert np.array_equal(view.graph.inter, graph.inter[~view.touched[graph.inter[:, 0]]])


def test_a_share_of_the_larger_units_loses_one_node():
    graph = social(people=300, layers=4, seed=2)
    size = np.bincount(graph.unit)
    detached, layers = [], set()
    for view in make_views(graph, 2, 0.4, np.random.default_rng(0)):
        for unit in np.unique(graph.unit[view.touched]):
            nodes = np.flatnonzero(graph.unit == unit)
            parts = np.unique(view.graph.unit[nodes], return_inverse=True, return_counts=True)
            if size[unit] > 2:
                detached.append(sorted(parts[2].tolist()) == [1, len(nodes) - 1])
                assert detached[-1] or len(parts[0]) == len(nodes)
                if detached[-1]:
                    layers.add(int(graph.node_layer[nodes[parts[2][parts[1]] == 1][0]]))
            else:
                assert len(parts[0]) == 2
    assert np.mean(detached) == pytest.approx(0.4, abs=0.1)
    assert layers == {0, 1, 2, 3}  # any of its nodes may leave


def test_the_middle_of_an_unclosed_unit_takes_the_ends_apart():
    graph = graph_of("x.a y.a", "y.a z.a", layers="xyz")
    found = [make_views(graph, 1, 0.99, np.random.default_rng(seed))[0] for seed in range(20)]
    assert {len(parted_in(view)) for view in found} == {2, 3}
    for view in found:
        assert (len(parted_in(view)) == 3) == (view.graph.n_inter == 0)
        assert not len(view.positives) or not len(view.barred)  # a unit is bereaved as a whole
        assert view.touched.all()


def test_the_same_generator_makes_the_same_views():
    graph = GRAPHS["three layers"]
    one, again, other = (make_views(graph, 2, 0.5, np.random.default_rng(seed))[0] for seed in (7, 7, 8))
    assert one.graph == again.graph
    assert all(np.array_equal(getattr(one, name), getattr(again, name)) for name in ("positives", "barred", "bereaved"))
    assert one.graph != other.graph


# ---- no link is evidence for itself ----------------------------------------------------------------------


@pytest.fixture
def looked(monkeypatch):
    """Every look at a graph: (graph, matching, features), as `rounds` asks for them."""
    found = []

    class Spy(InterFeatures):
        def __init__(self, graph, surroundings, prior, matching, *rest, **further):
            super().__init__(graph, surroundings, prior, matching, *rest, **further)
            found.append((graph, matching, self))

    monkeypatch.setattr(rounds_module, "InterFeatures", Spy)
    monkeypatch.setattr(system, "threads", lambda: 1)  # one look after the other
    return found


def by_round(looked, views):
    """The looks of each round: at the views in their order, and last at the whole graph."""
    assert len(looked) % (len(views) + 1) == 0
    return [looked[start : start + len(views) + 1] for start in range(0, len(looked), len(views) + 1)]


@pytest.fixture
def made_views(monkeypatch):
    """The views of the last learning."""
    found = []

    def spy(*given):
        found[:] = make_views(*given)
        return list(found)

    monkeypatch.setattr(rounds_module, "make_views", spy)
    return found


def test_in_every_round_a_fold_is_looked_at_without_its_links(graph, looked, made_views):
    settings = replace(QUICK, detached=0.3)
    learn(graph, settings)
    every = by_round(looked, made_views)
    assert len(every) > 1
    for looks in every:
        assert looks[-1][0] is graph
        for view, (seen, matching, features) in zip(made_views, looks, strict=False):
            assert seen is view.graph
            first, second = parted_in(view).T
            assert (seen.unit[first] != seen.unit[second]).all()
            assert all(is_open(seen, *pair) for pair in features.pairs.tolist())
            hidden = view.positives
            if matching is None:
                assert looks is every[0]
            else:  # what is hidden was guessed, and not all of it rightly
                guessed = matching[hidden[:, 0], hidden[:, 1]]
                assert ((guessed >= 0) & (guessed < 1)).all()
                assert (guessed < 0.5).any()


def test_in_every_round_links_of_bereaved_units_are_no_candidates(graph, looked, made_views, monkeypatch):
    """Nor are they handed on, so that these nodes have no counterpart; elsewhere they would have been found."""
    monkeypatch.setattr(rounds_module, "_BEREAVED", 0.5)
    monkeypatch.setattr(rounds_module, "likelihood", _better_and_better())
    learn(graph, replace(QUICK, detached=0.3))
    every = by_round(looked, made_views)
    assert len(every) == 3
    for number, looks in enumerate(every):
        for view, (seen, matching, features) in zip(made_views, looks, strict=False):
            assert len(view.barred) > 10
            assert not pairs_in(features.pairs) & pairs_in(view.barred)
            assert pairs_in(features.pairs) & pairs_in(view.positives)
            assert (matching is None) == (number == 0)
            assert matching is None or not matching[view.barred[:, 0], view.barred[:, 1]].any()
            free = InterFeatures(seen, Surroundings.of(seen), layer_prior(graph), matching, QUICK.candidates)
            assert pairs_in(free.pairs) & pairs_in(view.barred)
            assert pairs_in(free.pairs) - pairs_in(view.barred) == pairs_in(features.pairs)


def test_a_fold_reads_what_its_own_view_led_to(graph, looked, made_views, monkeypatch):
    """The matching handed to a view is the plan of candidates that were found in the same view, and in no other."""
    handed = []

    def spy(pairs, probability, n_nodes):
        handed.append((pairs, soft_matching(pairs, probability, n_nodes)))
        return handed[-1][1]

    monkeypatch.setattr(rounds_module, "soft_matching", spy)
    learn(graph)
    every = by_round(looked, made_views)
    count = len(made_views) + 1
    assert len(every) > 1
    for number in range(1, len(every)):
        for place in range(count):
            pairs, matching = handed[(number - 1) * count + place]
            assert every[number][place][1] is matching
            assert pairs is every[number - 1][place][2].pairs


class ByWalks:
    """A classifier that has learned nothing: surer the more similar two nodes are."""

    @classmethod
    def fit(cls, *given):
        return cls()

    def score(self, features):
        return 8.0 * features[:, 18].astype(np.float64) + features[:, 27] - 5.0

    def contributions(self, features):
        raise NotImplementedError


def rewired(graph, fold):
    """The links (k, 2) of a fold between two layers led to each other's ends."""
    others = np.array([link for link in graph.inter.tolist() if link not in fold.tolist()])
    turned = np.stack([fold[:, 0], np.roll(fold[:, 1], 1)], axis=1)
    return with_inter_links(graph, np.concatenate([others, turned]))


def test_other_hidden_links_would_change_nothing_in_their_views(looked, monkeypatch):
    """Two graphs that differ only in the links of one fold: whatever is found in its view is the same to the bit.

    Classifiers are kept from learning, as they may learn from other folds, whose views know this fold's links.
    """
    true = social(people=200, layers=2, seed=101, overlap=0.8, known=0.6)
    folds = [true.inter[number::2] for number in range(2)]
    false = rewired(true, folds[0])
    monkeypatch.setattr(rounds_module, "Linear", ByWalks)
    monkeypatch.setattr(
        rounds_module, "scores", lambda classifiers, rows: np.stack([each.score(rows) for each in classifiers])
    )
    monkeypatch.setattr(rounds_module, "mean_of", lambda classifiers: classifiers[0])
    monkeypatch.setattr(rounds_module, "fit_scale", lambda *given: Scale())
    monkeypatch.setattr(rounds_module, "likelihood", _better_and_better())
    monkeypatch.setattr(rounds_module, "_learn_others", lambda *given: None)

    def views(graph, *rest):
        found = []
        for number in range(2):
            nodes = np.unique(folds[number])
            links = graph.inter[np.isin(graph.inter, nodes).all(axis=1)]
            touched = np.isin(np.arange(graph.n_nodes), nodes)
            # None is bereaved: to bar a link tells that it is one.
            none = np.empty((0, 2), dtype=np.int64), np.zeros(graph.n_nodes, dtype=bool)
            found.append(View(graph.without(inter=links), links.astype(np.int64), none[0], touched, none[1]))
        return found

    monkeypatch.setattr(rounds_module, "make_views", views)
    found = []
    for graph in (true, false):
        looked.clear()
        learn(graph, replace(QUICK, splits=2, rounds=3))
        found.append(by_round(looked, folds))
    assert len(found[0]) == len(found[1]) == 3
    for one, other in zip(*found, strict=True):
        (seen, matching, features), (seen_too, matching_too, features_too) = one[0], other[0]
        assert seen == seen_too
        assert np.array_equal(features.pairs, features_too.pairs)
        assert features.of_candidates().tobytes() == features_too.of_candidates().tobytes()
        assert (matching is None) == (matching_too is None)
        if matching is not None:
            assert matching.nnz > 50
            assert (matching != matching_too).nnz == 0
    for place in (1, 2):  # the other views know the links, so it would have shown
        assert found[0][-1][place][2].of_candidates().tobytes() != found[1][-1][place][2].of_candidates().tobytes()


def _better_and_better():
    numbers = iter(2.0**-n for n in range(1000))
    return lambda *given: -next(numbers)


def test_one_and_two_threads_learn_the_same():
    rng = np.random.default_rng(0)
    lessons = [
        SimpleNamespace(
            features=rng.gamma(1, size=(8000, 50)).astype(np.float32),
            label=rng.random(8000) < 0.02,
            weight=np.ones(8000),
        )
        for _ in range(3)
    ]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append([each.weight.tobytes() for each in rounds_module.learn_folds(lessons, 0, None)])
    assert found[0] == found[1]


def test_the_classifier_that_decides_in_a_fold_has_not_learned_from_it(graph, monkeypatch):
    lessons, fitted, asked = [], [], []
    of, score = rounds_module.Lesson.of, Look.score

    class SpyLesson(rounds_module.Lesson):
        @classmethod
        def of(cls, *given):
            lesson = of(*given)
            if lesson.told.any():  # not of the whole graph, which hides nothing
                lessons.append((given[2], lesson))
            return lesson

    class SpyLinear(rounds_module.Linear):
        @classmethod
        def fit(cls, exercises, *rest):
            found = super().fit(exercises, *rest)
            fitted.append((found, exercises))
            return found

    monkeypatch.setattr(rounds_module, "Lesson", SpyLesson)
    monkeypatch.setattr(rounds_module, "Linear", SpyLinear)
    monkeypatch.setattr(Look, "score", lambda look, by: asked.append((look, by.__self__)) or score(look, by))
    learn(graph, replace(QUICK, rounds=2))
    learned_from = {id(classifier): exercises for classifier, exercises in fitted}
    decided = 0
    for look, lesson in lessons:
        (classifier,) = (by for other, by in asked if other is look)
        same_round = [each for _, each in lessons[decided // 3 * 3 :][:3]]
        size = linear_module.column_sizes([each.features for each in same_round])
        others = [linear_module._terms(each.features, size) for each in same_round if each is not lesson]
        given = [each.terms for each in learned_from[id(classifier)]]
        assert [each.tobytes() for each in given] == [each.tobytes() for each in others]
        decided += 1
    assert decided == 6


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_lessons_are_the_candidates_of_which_the_truth_is_known(graph, share, monkeypatch):
    monkeypatch.setattr(rounds_module, "_BEREAVED", share)
    (view,) = make_views(graph, 3, 0.3, np.random.default_rng(0))[:1]
    features = InterFeatures(view.graph, Surroundings.of(graph), layer_prior(graph), None, 10, view.barred)
    lesson = rounds_module.Lesson.of(graph, view, Look(features))
    positives = pairs_in(view.positives)
    pairs = features.pairs.tolist()
    ends = np.array([sum(bool(view.touched[node]) for node in pair) for pair in pairs])
    bereaved = np.array([sum(bool(view.bereaved[node]) for node in pair) for pair in pairs])
    told, links = ends > 0, np.array([tuple(pair) in positives for pair in pairs])
    assert lesson.told.tolist() == told.tolist()
    assert lesson.is_link.tolist() == links.tolist()
    assert lesson.ends.tolist() == ends.tolist()
    assert lesson.bereaved.tolist() == bereaved.tolist()
    assert bereaved.any() == (share > 0)
    assert lesson.view is view
    assert lesson.features.tobytes() == features.of_candidates()[told].tobytes()
    assert lesson.label.tolist() == links[told].tolist()
    assert lesson.weight.tolist() == np.where(links, 1.0, ends / 2)[told].tolist()
    judged = lesson.judged(Look(features), np.zeros(len(pairs)))
    assert judged.is_link.tolist() == links.tolist()
    assert judged.weight.tolist() == np.where(links, 0, ends / 2).tolist()
    assert judged.bereaved.tolist() == np.where(links, 0, bereaved / 2).tolist()
    assert judged.missed == len(positives - pairs_in(features.pairs))
    assert (judged.hidden is view.positives, judged.barred is view.barred) == (True, True)


def test_what_hides_nothing_teaches_nothing(graph):
    look = Look(InterFeatures(graph, Surroundings.of(graph), layer_prior(graph), None, 10))
    lesson = rounds_module.Lesson.of(graph, rounds_module.View.of(graph), look)
    assert lesson.told.shape == lesson.is_link.shape == (len(look.pairs),)
    assert len(lesson.label) == len(lesson.weight) == len(lesson.features) == 0
    judged = lesson.judged(look, np.zeros(len(look.pairs)))
    assert not judged.is_link.any()
    assert not judged.weight.any()
    assert not judged.bereaved.any()
    assert judged.missed == len(judged.hidden) == len(judged.barred) == 0


# ---- pairs known to be different -------------------------------------------------------------------------


def strangers(graph, count):
    """(count, 2) candidates that are not one unit, and no known link says so."""
    features = InterFeatures(graph, Surroundings.of(graph), layer_prior(graph), None, 10)
    person = np.array(graph.attributes["person"].to_pylist())
    return features.pairs[person[features.pairs[:, 0]] != person[features.pairs[:, 1]]][:: len(features.pairs) // count]


def test_what_is_different_is_a_non_link_to_learn_from(graph, monkeypatch):
    pairs = strangers(graph, 100)
    lessons, of = [], rounds_module.Lesson.of

    def noted(*given):
        lessons.append((*given, of(*given)))
        return lessons[-1][-1]

    monkeypatch.setattr(rounds_module.Lesson, "of", noted)
    learn(apart := with_apart(graph, pairs), replace(QUICK, rounds=1))
    *of_folds, of_whole = lessons
    assert (len(of_folds), len(of_whole[-1].features)) == (3, 0)
    for _, view, look, _, lesson in of_folds:
        different = KnownUnits.of(apart).apart(*look.pairs.T)
        assert different.sum() > 50
        assert lesson.told.tolist() == (different | view.touched[look.pairs].any(axis=1)).tolist()
        assert not lesson.is_link[different].any()
        ends = view.touched[look.pairs].sum(axis=1)
        expected = np.where(lesson.is_link, 1, np.where(different, np.maximum(ends / 2, 1 / 3), ends / 2))
        assert lesson.weight.tolist() == expected[lesson.told].tolist()
        # The scale hears of no more than before: people say so of the surest matches first.
        assert (lesson.judged(look, np.zeros(len(ends))).weight == np.where(lesson.is_link, 0, ends / 2)).all()


def test_rounds_hand_on_no_pair_that_is_different(graph):
    pairs = strangers(graph, 100)
    joint = learn(with_apart(graph, pairs)).joint
    assert not pairs_in(joint.pairs) & pairs_in(pairs)
    assert pairs_in(learn(graph).joint.pairs) & pairs_in(pairs)
    first, second = joint.features.matching.nonzero()
    assert not pairs_in(np.stack([first, second], axis=1)) & pairs_in(pairs)


# ---- rounds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("likelihoods", "most", "expected"),
    [
        ([-10.0, -8.0, -7.99, -1.0], 9, 2),  # .1 % better is not worth a round
        ([-10.0, -11.0, -1.0], 9, 1),
        ([-10.0, -8.0, -6.0, -5.0], 3, 3),
        ([-10.0], 1, 1),
    ],
)
def test_rounds_end_when_the_plan_gets_no_better(graph, monkeypatch, likelihoods, most, expected):
    said = iter(likelihoods)
    monkeypatch.setattr(rounds_module, "_DOUBT", 0)  # as if of very many links
    monkeypatch.setattr(rounds_module, "likelihood", lambda *given: next(said))
    found = learn(graph, replace(QUICK, rounds=most, trees=5))
    assert len(found.rounds) == expected
    assert found.joint.last is found.rounds[-1]
    assert (found.joint.features.matching.nnz > 0) == (expected > 1)


@pytest.mark.parametrize(("more", "expected"), [(1e-6, 2), (-1e-6, 1)])
def test_of_few_links_a_round_may_seem_a_little_worse(graph, made_views, monkeypatch, more, expected):
    """By .5 over the root of the number of hidden links, less the .02 that it should be better."""
    calls = []

    def said(*given):
        calls.append(given)
        hidden = sum(len(view.positives) for view in made_views)
        worse = 0.5 / np.sqrt(hidden) - 0.02
        assert worse > 0
        return -10.0 if len(calls) == 1 else -10 * (1 + worse) + more

    monkeypatch.setattr(rounds_module, "likelihood", said)
    assert len(learn(graph, replace(QUICK, rounds=2, trees=5)).rounds) == expected
    assert len(calls) == 2


def test_a_round_learns_anew(learned):
    one, other = (each.classifier.to_arrays()["weight"].tobytes() for each in learned.rounds[:2])
    assert one != other


def test_too_few_links_teach_nothing():
    whole = social(people=60, layers=2, seed=3)
    assert learn(with_inter_links(whole, whole.inter[:29])) is None


def test_links_that_are_never_candidates_teach_nothing():
    """Without any link within layers there are no surroundings to compare."""
    nodes = [f"{layer}.{i:02d} {layer}.{i:02d}" for layer in "xy" for i in range(60)]
    assert learn(graph_of(*nodes, *(f"x.{i:02d} y.{i:02d}" for i in range(40)), layers="xy")) is None


def test_one_fold_alone_would_hide_every_link(graph, made_views):
    found = learn(graph, replace(QUICK, rounds=1, trees=5, splits=1))
    assert len(made_views) == 2
    assert found.recall > 0.5


def test_large_networks_have_fewer_folds(graph, made_views, monkeypatch):
    monkeypatch.setattr(rounds_module, "_PLENTY", 10)
    learn(graph, replace(QUICK, rounds=1, trees=5))
    assert len(made_views) == 2


def test_numbers_that_are_not_kept_are_computed_again(graph, learned, monkeypatch):
    monkeypatch.setattr(rounds_module, "_MOST_NUMBERS", 0)
    monkeypatch.setattr(rounds_module, "_ROWS_AT_ONCE", 100)
    assert same_rounds(learn(graph), learned)


def test_validation_and_recall_are_shares(learned):
    assert learned.validation.keys() == {"evidence", "rules"}
    assert learned.validation["evidence"] > 0.8
    assert 0.5 < learned.recall <= 1


def same_rounds(one, other):
    """Whether all that was learned and found is the same to the last bit."""
    parts = [
        [each.to_arrays() for each in (*found.rounds, *([found.others] if found.others else []), found.joint)]
        for found in (one, other)
    ]
    return len(parts[0]) == len(parts[1]) and all(
        mine.keys() == theirs.keys() and all(mine[name].tobytes() == theirs[name].tobytes() for name in mine)
        for mine, theirs in zip(*parts, strict=True)
    )


def test_the_same_seed_learns_the_same_and_another_does_not(graph, learned):
    assert same_rounds(learn(graph), learned)
    assert not same_rounds(learn(graph, seed=1), learned)


def test_processes_learn_the_same(graph):
    settings = replace(QUICK, rounds=2)
    assert same_rounds(learn(graph, settings, Processes(2)), learn(graph, settings))


def test_applied_to_the_graph_they_were_learned_on_rounds_say_the_same(graph, learned):
    found = apply_rounds(
        graph, Surroundings.of(graph), layer_prior(graph), learned.rounds, learned.others, QUICK.candidates
    )
    assert np.array_equal(found.pairs, learned.joint.pairs)
    assert found.log_odds.tobytes() == learned.joint.log_odds.tobytes()
    assert found.plan.probability.tobytes() == learned.joint.plan.probability.tobytes()
    pairs = PairList(np.argwhere(graph.node_layer[:, None] < graph.node_layer)[::31])
    assert found.score(pairs).tobytes() == learned.joint.score(pairs).tobytes()


# ---- what they say ---------------------------------------------------------------------------------------


def test_candidates_have_the_log_odds_of_their_probability_in_the_plan(learned):
    joint = learned.joint
    p = joint.plan.probability
    assert joint.score(PairList(joint.pairs)) == pytest.approx(np.log(p / (1 - p)), rel=1e-6, abs=1e-6)


def test_nodes_of_other_pairs_would_have_to_be_free(graph, learned):
    joint = learned.joint
    known = pairs_in(joint.pairs)
    every = np.argwhere(graph.node_layer[:, None] < graph.node_layer)[::97]
    others = np.array([pair for pair in every.tolist() if tuple(pair) not in known])
    alone = {}
    for side in (0, 1):
        for pair, chance in zip(joint.pairs.tolist(), joint.plan.alone[side].tolist(), strict=True):
            alone[pair[side], int(graph.node_layer[pair[1 - side]])] = chance
    odds = joint.others.log_odds(joint.features.matrix(others))
    expected = [
        each
        + np.log(alone.get((i, int(graph.node_layer[j])), 1.0))
        + np.log(alone.get((j, int(graph.node_layer[i])), 1.0))
        for each, (i, j) in zip(odds.tolist(), others.tolist(), strict=True)
    ]
    assert joint.score(PairList(others)) == pytest.approx(expected, abs=1e-9)


def test_a_grid_has_the_scores_of_the_list(graph, learned):
    grid = PairGrid(graph.layer_nodes(0)[:20], graph.layer_nodes(1)[:30])
    listed = PairList(np.stack([end.ravel() for end in np.broadcast_arrays(grid.first, grid.second)], axis=1))
    found = learned.joint.score(grid)
    assert found.shape == (20, 30)
    assert found.ravel() == pytest.approx(learned.joint.score(listed), abs=1e-5)


def test_a_soft_matching_holds_what_is_worth_handing_on():
    pairs, probability = np.array([[0, 2], [0, 3], [1, 3]]), np.array([0.5, 0.001, 0.9])
    found = soft_matching(pairs, probability, 4)
    assert found.dtype == np.float32
    expected = np.zeros((4, 4))
    expected[0, 2] = expected[2, 0] = 0.5
    expected[1, 3] = expected[3, 1] = 0.9
    assert found.toarray() == pytest.approx(expected)
    assert found.nnz == 4
    assert soft_matching(pairs[:0], probability[:0], 4).nnz == 0


def test_contributions_add_up_to_the_log_odds(learned):
    features = learned.joint.features.of_candidates(slice(0, 50))
    parts = learned.rounds[-1].contributions(features)
    assert parts.sum(axis=1) == pytest.approx(learned.rounds[-1].log_odds(features), abs=1e-9)
    assert learned.rounds[-1].log_odds(features) == pytest.approx(learned.joint.log_odds[:50], abs=1e-9)


# ---- saving ----------------------------------------------------------------------------------------------


def restored(arrays, graph, learned):
    return Joint.from_arrays(arrays, graph, PLAIN, layer_prior(graph), learned.rounds[-1], learned.others)


def test_saved_and_loaded_a_round_says_the_same(learned):
    features = learned.joint.features.of_candidates(slice(0, 50))
    for each in learned.rounds:
        loaded = Round.from_arrays(each.to_arrays())
        assert loaded.scale == each.scale
        assert loaded.log_odds(features).tobytes() == each.log_odds(features).tobytes()


def test_saved_and_loaded_they_say_the_same(graph, learned):
    loaded = restored(learned.joint.to_arrays(), graph, learned)
    assert np.array_equal(loaded.pairs, learned.joint.pairs)
    assert loaded.plan.probability.tobytes() == learned.joint.plan.probability.tobytes()
    pairs = PairList(np.argwhere(graph.node_layer[:, None] < graph.node_layer)[::31])
    assert loaded.score(pairs).tobytes() == learned.joint.score(pairs).tobytes()


@pytest.mark.parametrize(
    "scale", [np.zeros(0), np.ones(3), np.ones((1, 2)), np.array([np.nan, 1]), np.array([0.0, 0]), np.array([0.0, -1])]
)
def test_a_damaged_scale_is_told(learned, scale):
    with pytest.raises(ValueError, match="the scale of a round"):
        Round.from_arrays(learned.rounds[0].to_arrays() | {"scale": scale})


def changed(array, where, value):
    array = array.copy()
    array[where] = value
    return array


def cut(name):
    return lambda arrays: {name: arrays[name][:-1]}


DAMAGES = {
    "fewer pairs": (cut("pairs"), "candidates are damaged"),
    "fewer log-odds": (cut("log_odds"), "candidates are damaged"),
    "fewer pairs before": (cut("before.pairs"), "candidates are damaged"),
    "three ends": (lambda old: {"pairs": np.repeat(old["pairs"], 2, axis=1)[:, :3]}, "candidates are damaged"),
    "flat pairs": (lambda old: {"pairs": old["pairs"].ravel()}, "candidates are damaged"),
    "no number": (lambda old: {"log_odds": changed(old["log_odds"], 3, np.nan)}, "candidates are damaged"),
    "infinite": (lambda old: {"log_odds": changed(old["log_odds"], 3, np.inf)}, "candidates are damaged"),
    "a stranger": (lambda old: {"pairs": changed(old["pairs"], (2, 1), 10**6)}, "names a node that is not there"),
    "below nought": (lambda old: {"before.pairs": changed(old["before.pairs"], (0, 0), -1)}, "node that is not there"),
    "turned round": (lambda old: {"pairs": old["pairs"][:, ::-1]}, "no open pair"),
    "one layer": (lambda old: {"pairs": changed(old["pairs"], 0, [0, 1])}, "no open pair"),
    "above one": (
        lambda old: {"before.probability": changed(old["before.probability"], 0, 1.5)},
        "lies outside 0 to 1",
    ),
    "twice": (lambda old: {"pairs": changed(old["pairs"], 1, old["pairs"][0])}, "twice"),
    "twice before": (
        lambda old: {"before.pairs": changed(old["before.pairs"], 1, old["before.pairs"][0])},
        "twice",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGES.values(), ids=DAMAGES)
def test_damaged_candidates_are_told(graph, learned, damage, message):
    arrays = learned.joint.to_arrays()
    with pytest.raises(ValueError, match=message):
        restored(arrays | damage(arrays), graph, learned)


def test_a_known_link_is_no_candidate(graph, learned):
    arrays = learned.joint.to_arrays()
    link = np.sort(graph.inter[0])
    with pytest.raises(ValueError, match="no open pair"):
        restored(arrays | {"pairs": changed(arrays["pairs"], 0, link)}, graph, learned)


def test_rounds_without_a_candidate_can_be_kept(graph, learned):
    nothing = {
        "pairs": np.empty((0, 2), dtype=np.int32),
        "log_odds": np.zeros(0),
        "before.pairs": np.empty((0, 2), dtype=np.int32),
        "before.probability": np.zeros(0, dtype=np.float32),
    }
    found = restored(nothing, graph, learned)
    assert found.plan.probability.shape == (0,)
    assert np.isfinite(found.score(PairList(learned.joint.pairs[:5]))).all()
    assert (found.alone == 1).all()
    again = found.to_arrays()
    assert all(again[name].shape == nothing[name].shape for name in nothing)
    assert isinstance(found.features.matching, sparse.csr_array)
