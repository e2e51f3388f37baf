"""The evidence model: structural features of a pair, weighed by what was learned on links hidden again.

Between layers, transitivity and uniqueness decide first; every other pair gets log-odds from features of shared
neighbours, surroundings, competitors and degrees, in rounds that read what the last decided (see `rounds`). Within a
layer, features come from the layer and from the union of all, and there are no rounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from mpxgat import __version__
from mpxgat.build import with_inter_links
from mpxgat.compare import Comparison, Kind
from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph, NodeLike
from mpxgat.io.arrays import Arrays
from mpxgat.matching.match import Candidates, MatchesLayers, check_two_layers, no_candidates
from mpxgat.matching.reasons import Explanation, unexplained
from mpxgat.models.base import Model, Positions, Scores, Settings, Vectors
from mpxgat.models.evidence import inter_features, linear, surroundings, walks
from mpxgat.models.evidence.attributes import NO_ATTRIBUTES, Attributes, canonical
from mpxgat.models.evidence.classifier import Classifier, Hyperparameters
from mpxgat.models.evidence.cold_start import likely_by_attributes
from mpxgat.models.evidence.features import PLAIN, LinkDetails, matrix
from mpxgat.models.evidence.inter_features import layer_prior
from mpxgat.models.evidence.intra_features import IntraFeatures
from mpxgat.models.evidence.linear import Linear
from mpxgat.models.evidence.on_demand import Embedded, Structure, inter_column_names, intra_column_names
from mpxgat.models.evidence.rounds import (
    ANCHORED,
    FEWEST_LINKS,
    Embedder,
    Joint,
    LearnedInter,
    Round,
    apply_rounds,
    learn_inter,
    soft_matching,
)
from mpxgat.models.evidence.surroundings import Surroundings
from mpxgat.models.evidence.training import learn_intra
from mpxgat.models.evidence.usefulness import useful_attributes, useful_surroundings
from mpxgat.models.link_curve import LinkCurve
from mpxgat.models.open_pairs import open_sample
from mpxgat.models.rules import Rules
from mpxgat.pairs import PairGrid, PairList, Pairs, row_parts
from mpxgat.system import side_by_side
from mpxgat.training.parallel import Engine, Session

if TYPE_CHECKING:  # it needs torch
    from mpxgat.models.anchored import Anchored

_LIBRARIES = ("lightgbm", "scipy")  # grow the trees and read them; compute the features
_AGAIN = "train the model again"
_MOST = {"rounds": 100, "splits": 1000, "non_links": 100_000, "trees": 100_000, "leaves": 1000}  # far more than helps
_INTRA_TREES = 1.5  # times as many: there are far more links to learn from
DECIDED = 1000.0  # log-odds of what transitivity says, and minus that of what uniqueness forbids
_CELLS = 1 << 17
_ANCHORED = f"{ANCHORED}."
_OPEN_PAIRS, _CALIBRATION = 80_000, 3  # whose scores are compared with those of hidden links; purpose of chance


@dataclass(frozen=True)
class EvidenceSettings(Settings):
    """How pairs are classified; defaults chosen on ff-tw-yt and Drosophila, seeds 100 and above.

    embeddings          "anchored", whose scores are features of pairs within a layer, or "none"
    rounds              of learning who is who, at most: it ends when the plan of hidden links gets no better
    splits              folds over which the known units are shared out; also of hidden intra links, at least
    detached            share of a fold's units with three nodes or more that lose one node only; a matter of judgement:
                        the protocols detach none, but users will ask about such nodes
    hidden_intra, hidden_inter      shares of links hidden for the classifier of intra links
    non_links           non-links drawn for each link
    trees, leaves, rate  of the boosted trees that classify intra links, of which there are half as many again, and
                        pairs of two layers that are no candidates; candidates are judged by logistic regression
    candidates          most similar nodes of a layer that are looked at for each node, by each of two kinds of walk, at
                        most: fewer, down to 5, the more nodes lack a counterpart (2,300 over the root of their number)
    compare             columns of the nodes that are compared, and how: "username:text, city:category"; or "all" for a
                        guess; see `mpxgat.compare`. No other column is read
    """

    embeddings: str = "anchored"
    rounds: int = 8
    splits: int = 4
    detached: float = 0.05
    hidden_intra: float = 0.02
    hidden_inter: float = 0.04
    non_links: int = 20
    trees: int = 200
    leaves: int = 15
    rate: float = 0.05
    candidates: int = 40
    compare: str = ""

    def __post_init__(self) -> None:
        if self.embeddings not in ("anchored", "none"):
            raise SettingError(f"embeddings is {quoted(self.embeddings)}, expected anchored or none")
        self.check_at_least(1, "rounds", "splits", "non_links", "trees", "candidates")
        self.check_at_least(2, "leaves")
        for name, most in _MOST.items():
            if getattr(self, name) > most:
                raise SettingError(f"{name} is {getattr(self, name)}, expected at most {most}")
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise SettingError(f"rate is {self.rate}, expected a number above 0")
        self.check_share("detached", "hidden_intra", "hidden_inter")

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``compare`` only where something is compared."""
        return {name: value for name, value in super().to_dict().items() if name != "compare" or value}

    @property
    def inter_hyperparameters(self) -> Hyperparameters:
        """For pairs of different layers."""
        return Hyperparameters(trees=self.trees, leaves=self.leaves, learning_rate=self.rate)

    @property
    def intra_hyperparameters(self) -> Hyperparameters:
        """For pairs of one layer: there are more links to learn from."""
        trees = math.ceil(_INTRA_TREES * self.trees)
        plain = replace(self.inter_hyperparameters, trees=trees, smallest_leaf=100, bins=255)
        return replace(plain, feature_fraction=0.5, random_thresholds=False)


class Evidence(MatchesLayers, Model):
    """Structural features weighed by boosted trees. The settings are those of `EvidenceSettings`.

    >>> import mpxgat as mx
    >>> graph = mx.synthetic.social(people=150, layers=2, seed=0)
    >>> model = mx.Evidence(seed=0, splits=2, trees=20).fit(graph)
    >>> model.match_all().to_table().num_rows >= 0
    True
    """

    name = "evidence"
    description = (
        "structural evidence about a pair, weighed by what was learned on links hidden again; matches with reasons"
    )
    reads = frozenset({"features", "direction", "weights"})  # features by way of `anchored`
    _settings: EvidenceSettings

    def __init__(
        self,
        *,
        seed: int = 0,
        embeddings: str = EvidenceSettings.embeddings,
        rounds: int = EvidenceSettings.rounds,
        splits: int = EvidenceSettings.splits,
        detached: float = EvidenceSettings.detached,
        hidden_intra: float = EvidenceSettings.hidden_intra,
        hidden_inter: float = EvidenceSettings.hidden_inter,
        non_links: int = EvidenceSettings.non_links,
        trees: int = EvidenceSettings.trees,
        leaves: int = EvidenceSettings.leaves,
        rate: float = EvidenceSettings.rate,
        candidates: int = EvidenceSettings.candidates,
        compare: str | Sequence[str] | Mapping[str, Kind] = EvidenceSettings.compare,
    ):
        super().__init__(seed=seed)
        self._settings = EvidenceSettings.of(
            embeddings=embeddings,
            rounds=rounds,
            splits=splits,
            detached=detached,
            hidden_intra=hidden_intra,
            hidden_inter=hidden_inter,
            non_links=non_links,
            trees=trees,
            leaves=leaves,
            rate=rate,
            candidates=candidates,
            compare=canonical(compare),
        )
        self._attributes = NO_ATTRIBUTES
        self._inter_attributes = NO_ATTRIBUTES  # those of use between layers
        self._embedded: Embedded | None = None
        self._rounds: tuple[Round, ...] = ()
        self._others: Round | None = None
        self._joint: Joint | None = None
        self._intra_classifier: Classifier | None = None
        self._validation: dict[str, dict[str, float]] = {}
        self._recall: float | None = None
        self._recall_by: dict[str, float] = {}
        self._structure: Structure | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, defaults included."""
        return self._settings.to_dict()

    @property
    def anchored(self) -> Anchored | None:
        """The fitted embeddings whose scores are features within layers, if there are any."""
        _ = self.graph  # says so if the model is not fitted
        return self._embedded.model if self._embedded else None

    @property
    def rules(self) -> Rules:
        """The rules of thumb on the same graph."""
        _ = self.graph
        return self._seen.rules

    @property
    def embedding(self) -> Anchored | None:
        """See `anchored`."""
        return self.anchored

    def embeddings(self) -> tuple[Vectors, Vectors]:
        """(n, d) horizontal and vertical vectors of the embeddings inside; SettingError if there are none."""
        if self.anchored is None:
            raise SettingError("a model trained with embeddings none has no vectors; train it with embeddings anchored")
        return self.anchored.horizontal, self.anchored.vertical

    @property
    def horizontal(self) -> Vectors:
        """(n, d) where every node stands within its layer; see `embeddings`."""
        return self.embeddings()[0]

    @property
    def vertical(self) -> Vectors:
        """(n, d) where every node stands across layers; see `embeddings`."""
        return self.embeddings()[1]

    @property
    def validation(self) -> dict[str, dict[str, float]]:
        """By kind of link, "intra" and "inter", and by model, "evidence", "anchored" and "rules": AUC on hidden links.

        They were hidden again from the training links. The classifiers that are measured here have not learned from
        them; the few weights of `anchored`, which belong to no node, have. Empty where too few links are known.
        """
        return {kind: dict(values) for kind, values in self._validation.items()}

    @property
    def candidate_recall(self) -> float | None:
        """Share of the links between layers, hidden again from the training links, that were among the candidates.

        What is no candidate is never matched. None where too few links are known.
        """
        return self._recall

    @property
    def compared(self) -> tuple[Comparison, ...]:
        """The attributes that are compared; guessed ones too."""
        _ = self.graph
        return self._attributes.comparisons

    def attributes_of(self, pairs: NDArray[np.integer[Any]]) -> dict[str, list[str]]:
        """What (k, 2) pairs have in the columns that are compared, in words, by column."""
        _ = self.graph
        return {
            each.label: [each.describe(first, second) for first, second in pairs.tolist()]
            for each in self._attributes.compared
        }

    def training_summary(self) -> dict[str, Any]:
        """See `validation` and `candidate_recall`; what of direction, weights and attributes was read besides."""
        found: dict[str, Any] = {"validation": self.validation, "candidate_recall": self.candidate_recall}
        if self._details != PLAIN:
            found["used_between_layers"] = [name for name, used in asdict(self._inter_details).items() if used]
        if self._attributes.comparisons:
            found |= {
                "compared": [str(each) for each in self.compared],
                "compared_between_layers": [str(each) for each in self._inter_attributes.comparisons],
                "candidate_recall_by": dict(self._recall_by),
            }
        return found

    def unread(self, graph: MultiplexGraph) -> list[str]:
        """As of any model; walks do not go along links of negative weight."""
        signed = graph.intra_weight is not None and bool((graph.intra_weight < 0).any())
        return [*super().unread(graph), *(["negative weights"] if signed else [])]

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        self._details = LinkDetails.of(graph)
        anchored = self._learn_embeddings(graph, session)
        self._embedded = Embedded.of(anchored) if anchored else None
        within, across = (partial(_vectors, anchored, number) for number in (0, 1))  # workers need no more of us
        self._attributes = Attributes.of(graph, self._settings.compare)
        session.stage("who is who")
        inter = self._learn_inter(graph, across, session.engine)
        self._rounds, self._others = (inter.rounds, inter.others) if inter else ((), None)
        self._joint = inter.joint if inter else None
        self._recall = inter.recall if inter else None
        self._recall_by = dict(inter.recall_by) if inter else {}
        session.stage("links within layers")
        intra = learn_intra(graph, self._settings, self.seed, within, session.engine, self._attributes)
        self._intra_classifier = intra.classifier if intra else None
        self._validation = {
            kind: dict(learned.validation)
            for kind, learned in (("intra", intra), ("inter", inter))
            if learned and learned.validation
        }
        self._look_at(graph)
        if intra:
            sample = open_sample(graph, _OPEN_PAIRS, np.random.default_rng([self.seed, _CALIBRATION]))
            scores = self._score_intra(sample.pairs)
            self._link_curve = LinkCurve.fit(intra.hidden, scores, sample.weight, len(graph.intra))

    def _learn_embeddings(self, graph: MultiplexGraph, session: Session) -> Anchored | None:
        if self._settings.embeddings == "none":
            return None
        from mpxgat.models.anchored import Anchored

        return Anchored(seed=self.seed).fit(graph, session)

    def _learn_inter(self, graph: MultiplexGraph, embed: Embedder, engine: Engine) -> LearnedInter | None:
        """From known links; where there are too few, from those that attributes make likely."""
        told, start = self._begin_with(graph)
        self._prior = layer_prior(told)
        given = (self._prior, self._settings, self.seed, engine)
        around = useful_surroundings(told, self._details, *given)
        self._inter_details = around.details
        self._inter_attributes = useful_attributes(told, around, self._attributes, *given)
        inter = learn_inter(told, around, *given, embed, self._inter_attributes)
        if inter is None or start is None:
            return inter
        learned = (inter.rounds, inter.others, self._settings.candidates, self._inter_attributes)
        return replace(inter, joint=apply_rounds(graph, around, self._prior, *learned, start))

    def _begin_with(self, graph: MultiplexGraph) -> tuple[MultiplexGraph, sparse.csr_array | None]:
        """The graph with the links that there are to learn from, and the soft matching that rounds begin with.

        Where few links are known these are the attributes'; else there is none.
        """
        if len(graph.inter) >= FEWEST_LINKS or not self._attributes.compared:
            return graph, None
        likely = likely_by_attributes(graph, self._attributes, self.seed)
        told = with_inter_links(graph, np.concatenate([graph.inter, likely.sure(graph)]))
        return told, soft_matching(likely.pairs, likely.probability, graph.n_nodes)

    def extend(self, graph: MultiplexGraph) -> Self:
        """The same classifiers for another graph (new nodes, units, links), without learning again; a new model.

        Its layers must be those of the graph that was learned on. Direction and weights are read if that one had them;
        in a graph without, links go both ways and weigh 1.
        """
        _check_same_layers(self.graph, graph)
        model = type(self)(seed=self.seed, **self.settings)
        model._prior = self._prior
        model._details, model._inter_details = self._details, self._inter_details
        model._rounds, model._others = self._rounds, self._others
        model._intra_classifier = self._intra_classifier
        model._validation, model._recall, model._recall_by = self._validation, self._recall, self._recall_by
        model._attributes = Attributes.from_notes(graph, self._attributes.to_notes())
        model._inter_attributes = model._attributes.only([str(each) for each in self._inter_attributes.comparisons])
        model._link_curve = self._link_curve
        model._embedded = self._embedded.extend(self.graph, graph) if self._embedded else None
        if self._rounds:
            learned = (self._rounds, self._others, self._settings.candidates, model._inter_attributes)
            around, start = Surroundings.of(graph, self._inter_details), model._begin_with(graph)[1]
            model._joint = apply_rounds(graph, around, self._prior, *learned, start)
        model._look_at(graph)
        model._graph = graph
        return model

    def _look_at(self, graph: MultiplexGraph) -> None:
        """Say what is asked of a graph, beside what the rounds say."""
        self._structure = Structure(graph, self._joint, self._embedded, self._attributes, self._details)

    @property
    def _seen(self) -> Structure:
        assert self._structure is not None
        return self._structure

    @property
    def _intra(self) -> IntraFeatures:
        return self._seen.intra

    # ---- scores ----------------------------------------------------------------------------------------

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """Features by sparse products, a bounded number of pairs at a time."""
        is_intra = self._is_intra(rows, cols)
        self._prepare(is_intra=is_intra)
        if not is_intra and len(rows) and len(cols) and rows[0] > cols[0]:
            return self.score_block(cols, rows).T  # the lower layer comes first
        score = self._intra_scores if is_intra else self._inter_scores
        found = np.empty((len(rows), len(cols)))

        def fill(part: slice) -> None:
            found[part] = score(PairGrid(rows[part], cols))

        side_by_side(fill, list(row_parts(rows if len(cols) else rows[:0], len(cols), _CELLS)))
        return found

    def _prepare(self, *, is_intra: bool) -> None:
        """Make what scores are computed from; several threads would each make their own."""
        if self._joint is not None and not is_intra:
            _ = self._joint.features, self._joint.alone, self._seen.units
        elif self._intra_classifier is not None and is_intra:
            _ = self._intra
        else:
            _ = self._seen.rules

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        self._prepare(is_intra=True)
        return self._in_parts(self._intra_scores, pairs)

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        self._prepare(is_intra=False)
        return self._in_parts(self._inter_scores, np.sort(pairs, axis=1))

    def _in_parts(self, score: Callable[[Pairs], Scores], pairs: NDArray[np.int64]) -> Scores:
        starts = range(0, len(pairs), _CELLS)
        parts = side_by_side(lambda start: score(PairList(pairs[start : start + _CELLS])), starts)
        return np.concatenate([np.zeros(0), *parts])

    def _intra_scores(self, pairs: Pairs) -> Scores:
        if self._intra_classifier is None:
            return self._seen.rules.intra_signal(pairs)
        return self._intra_classifier.score(matrix(self._intra.columns(pairs))).reshape(pairs.shape)

    def _inter_scores(self, pairs: Pairs) -> Scores:
        if self._joint is None:
            return self._seen.rules.inter_signal(pairs)
        score = self._joint.score(pairs)
        score[self._seen.units.clash(pairs.first, pairs.second)] = -DECIDED
        score[self._seen.units.same(pairs.first, pairs.second)] = DECIDED
        return score

    def _inter_probability(self, pairs: NDArray[np.int64]) -> Scores:
        """That of the plan; 0 where uniqueness forbids a pair, NaN where nothing was learned."""
        if self._joint is None:
            return super()._inter_probability(pairs)
        self._prepare(is_intra=False)
        ordered = np.sort(pairs, axis=1)
        found = expit(self._in_parts(self._joint.planned, ordered))
        found[self._seen.units.clash(ordered[:, 0], ordered[:, 1])] = 0
        return np.asarray(found)

    # ---- matching --------------------------------------------------------------------------------------

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """The best k partners of every open node, from both sides, best first."""
        graph, matching = self.graph, self._seen.matching
        return no_candidates(graph) if matching is None else matching.candidates(layer_a, layer_b, k)

    def explain(self, first: NodeLike, second: NodeLike) -> Explanation:
        """Why the pair has its probability; reasons are sums over related features.

        SettingError if both nodes are in one layer.
        """
        (found,) = self.explain_many(self.graph.positions([first, second])[None])
        matching = self._seen.matching
        return found if matching is None else matching.with_names(found)

    def explain_many(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """As `explain`, for (k, 2) pairs at once, which is far quicker; shared neighbours are counted, not named.

        SettingError if both nodes of a pair are in one layer.
        """
        check_two_layers(self.graph, pairs)
        matching = self._seen.matching
        return unexplained(pairs) if matching is None else matching.explain(pairs)

    # ---- saving ----------------------------------------------------------------------------------------

    def _state(self) -> Arrays:
        state: Arrays = {"prior": self._prior, **self._curve_arrays()}
        if self.anchored:
            state |= {_ANCHORED + key: array for key, array in self.anchored._state().items()}
        parts: dict[str, Arrays] = {f"round.{n}.": each.to_arrays() for n, each in enumerate(self._rounds)}
        if self._others:
            parts["others."] = self._others.to_arrays()
        if self._intra_classifier:
            parts["intra."] = self._intra_classifier.to_arrays()
        if self._joint:
            parts["joint."] = self._joint.to_arrays()
        return state | {name + key: array for name, part in parts.items() for key, array in part.items()}

    def _notes(self) -> dict[str, Any]:
        notes = {
            "validation": self._validation,
            "candidate_recall": self._recall,
            "made_with": made_with(self._inter_details if self._joint else PLAIN, self._columns(self.graph)),
        }
        if self._attributes.comparisons:
            between = [str(each) for each in self._inter_attributes.comparisons]
            notes |= {"attributes": {**self._attributes.to_notes(), "between_layers": between}}
            notes["candidate_recall_by"] = self._recall_by
        if self._details != PLAIN:
            notes["link_details"] = {"intra": asdict(self._details), "inter": asdict(self._inter_details)}
        return {**notes, ANCHORED: self.anchored._notes()} if self.anchored else notes

    def _columns(self, graph: MultiplexGraph) -> dict[str, list[str]]:
        """Names of the columns of both kinds of classifier."""
        between = inter_column_names(graph, self._inter_details, self._inter_attributes) if self._joint else []
        return {
            "inter": between,
            "intra": intra_column_names(graph, self._attributes, self._details, embedded=self._embedded is not None),
        }

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        self._prior = state["prior"]
        if self._prior.shape != (graph.n_layers, graph.n_layers) or not np.isfinite(self._prior).all():
            raise ValueError(f"the layers' prior has the shape {self._prior.shape} or a number that is not finite")
        details = notes.get("link_details", {"intra": {}, "inter": {}})
        self._details, self._inter_details = (saved_details(details[kind]) for kind in ("intra", "inter"))
        baselines = {Rules.name}
        if self._settings.embeddings != "none":
            self._embedded = Embedded.from_arrays(graph, _part(state, _ANCHORED), notes[ANCHORED], self.seed)
            baselines.add(ANCHORED)
        if self._settings.compare:
            self._attributes = Attributes.from_notes(graph, notes["attributes"])
            self._inter_attributes = self._attributes.only(notes["attributes"]["between_layers"])
            by_source = dict(notes["candidate_recall_by"])
            self._recall_by = {
                str(name): checked_share(value, "candidate_recall_by") for name, value in by_source.items()
            }
        rounds = sorted({int(name.split(".")[1]) for name in state if name.startswith("round.")})
        self._rounds = tuple(Round.from_arrays(_part(state, f"round.{number}.")) for number in rounds)
        others, intra, joint = (_part(state, name) for name in ("others.", "intra.", "joint."))
        self._others = Round.from_arrays(others) if others else None
        self._intra_classifier = Classifier.from_arrays(intra) if intra else None
        if bool(rounds) != bool(joint):
            raise ValueError("rounds and what they found go together, one is missing")
        if joint:
            last = (self._rounds[-1], self._others, self._inter_attributes)
            self._joint = Joint.from_arrays(joint, graph, self._inter_details, self._prior, *last)
        self._restore_curve(state)
        self._validation = checked_validation(notes["validation"], {self.name, *baselines})
        recall = notes["candidate_recall"]
        self._recall = None if recall is None else checked_share(recall, "candidate_recall")
        self._look_at(graph)
        here = made_with(self._inter_details if self._joint else PLAIN, self._columns(graph))
        check_made_with(notes["made_with"], here)
        self._check_classifiers(here["columns"])

    def _check_classifiers(self, columns: Mapping[str, Sequence[str]]) -> None:
        """ValueError if a classifier has another number of columns, or more trees than the settings say."""
        most = {
            "inter": self._settings.inter_hyperparameters.trees,
            "intra": self._settings.intra_hyperparameters.trees,
        }
        learned = [*self._rounds, *([self._others] if self._others else [])]
        classifiers: list[tuple[str, Linear | Classifier]] = [("inter", each.classifier) for each in learned]
        classifiers += [("intra", self._intra_classifier)] if self._intra_classifier else []
        for kind, each in classifiers:
            if each.n_features != len(columns[kind]):
                raise ValueError(f"an {kind} classifier of {each.n_features} columns, expected {len(columns[kind])}")
            if each.n_trees > most[kind]:
                raise ValueError(f"an {kind} classifier of {each.n_trees} trees, expected at most {most[kind]}")


def _vectors(anchored: Anchored | None, number: int, graph: MultiplexGraph) -> Vectors | None:
    """Horizontal (0) or vertical (1) embeddings of a graph with more links hidden; None where there are none."""
    return anchored.embed_graph(graph)[number] if anchored else None


def _part(state: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}


def _check_same_layers(known: MultiplexGraph, graph: MultiplexGraph) -> None:
    if graph.layers != known.layers:
        raise SettingError(
            f"the layers {', '.join(map(quoted, graph.layers[:20]))}, expected those that were learned on: "
            f"{', '.join(map(quoted, known.layers[:20]))}"
        )


# ---- what a saved model was made with, and bounds of its numbers: what does not fit is refused by name -------------


def made_with(between: LinkDetails, columns: Mapping[str, list[str]]) -> dict[str, Any]:
    """Versions, constants that change features or candidates, and the columns of both kinds of classifier.

    between     what of the links is looked at between layers
    """
    return {
        "versions": {"mpxgat": __version__, **{name: version(name) for name in _LIBRARIES}},
        "constants": walks.constants()
        | surroundings.constants(between)
        | inter_features.constants()
        | linear.constants(),
        "columns": columns,
    }


def check_made_with(saved: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """SettingError names what of `made_with` is not as it is here; of a library only the major version counts."""
    versions = dict(saved["versions"])
    for name, current in here["versions"].items():
        used = str(versions[name])
        fits = used.split(".")[0] == current.split(".")[0] if name in _LIBRARIES else used == current
        if not fits:
            raise SettingError(f"a model made with {name} {quoted(used)}, this is {name} {current}; {_AGAIN}")
    constants = dict(saved["constants"])
    for name in {**here["constants"], **constants}:
        found, expected = constants.get(name), here["constants"].get(name)
        if found != expected:
            raise SettingError(
                f"a model made with {quoted(name)} = {quoted(found)}, this version has {expected}; {_AGAIN}"
            )
    for kind, names in here["columns"].items():
        learned = list(saved["columns"][kind])
        for number, (one, other) in enumerate(zip(learned, names, strict=False), 1):
            if one != other:
                raise SettingError(
                    f"column {number} of the {kind} classifier is {quoted(one)}, "
                    f"this version computes {quoted(other)}; {_AGAIN}"
                )
        if len(learned) != len(names):
            raise SettingError(
                f"the {kind} classifier has {len(learned)} columns, this version computes {len(names)}; {_AGAIN}"
            )


def saved_details(saved: Any) -> LinkDetails:
    """What a classifier learned from; ValueError unless these are truths by name."""
    if not isinstance(saved, Mapping) or not all(isinstance(value, bool) for value in saved.values()):
        raise ValueError(f"link_details is {quoted(saved)}, expected true or false by name")
    if unknown := saved.keys() - asdict(PLAIN).keys():
        raise ValueError(f"link_details has {quoted(min(unknown))}, expected {', '.join(asdict(PLAIN))}")
    return LinkDetails(**saved)


def checked_share(value: Any, what: str) -> float:
    """A number from 0 to 1; ValueError if it is not."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError(f"{what} is {quoted(value)}, expected a number from 0 to 1")
    return float(value)


def checked_validation(saved: Mapping[str, Any], models: Collection[str]) -> dict[str, dict[str, float]]:
    """AUC by kind of link and model; ValueError unless every kind has a number from 0 to 1 for each of the models."""
    found = {}
    for kind, values in dict(saved).items():
        if kind not in ("intra", "inter"):
            raise ValueError(f"validation of {quoted(kind)} links, expected intra or inter")
        if dict(values).keys() != set(models):
            names = ", ".join(map(str, values)) or "nothing"
            raise ValueError(f"validation.{kind} has {names}, expected {', '.join(sorted(models))}")
        found[kind] = {name: checked_share(value, f"validation.{kind}.{name}") for name, value in values.items()}
    return found
