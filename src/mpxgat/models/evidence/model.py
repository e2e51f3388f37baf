"""The settings of the evidence model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import Arrays
from mpxgat.matching.calibration import Calibration, calibration_from_arrays
from mpxgat.matching.match import Candidates, Explanation, Matches, Reason, match_all, match_layers
from mpxgat.models.anchored import Anchored
from mpxgat.models.base import Model, Positions, Scores, Settings, Vectors
from mpxgat.models.evidence.candidates import APPROXIMATE, AUTO, SEARCHES, Wanted, search_library
from mpxgat.models.evidence.classifier import Growth, Judge, Jury
from mpxgat.models.evidence.features import PairGrid, PairList, Pairs, matrix, row_parts
from mpxgat.models.evidence.inter_features import InterEvidence, layer_prior
from mpxgat.models.evidence.intra_features import IntraEvidence
from mpxgat.models.evidence.matching import EvidenceMatching
from mpxgat.models.evidence.training import learn_inter, learn_intra
from mpxgat.models.evidence.walks import walk_profiles
from mpxgat.models.rules import Rules, same_unit, unit_clash
from mpxgat.training.parallel import Session

_MOST_LEAVES = 1000  # far more than helps


@dataclass(frozen=True)
class EvidenceSettings(Settings):
    """How the judge of pairs learns; defaults chosen on ff-tw-yt and Drosophila, seeds 100 and above.

    embeddings          "anchored", whose scores are evidence as well, or "none"
    splits              self-made splits it learns on, at least; more where few links are known
    dissolved           share of the known units whose links are all hidden in one
    detached            share of the units with three nodes or more that lose one node; a judgement: the protocols
                        detach none, where .04 costs a little, but users will ask about such nodes
    hidden_intra, hidden_inter      shares of links hidden for the judge of intra links
    non_links           non-links drawn for each link
    trees, leaves, rate of the boosted trees; of one judge: where four decide together, each has half as many
    candidates          most similar nodes of a layer that are judged for each node, when matching
    nearest             nodes of a layer with the nearest embeddings that are judged as well, 0 for none
    search              how these are found: "exact", "approximate" (extra ann), or "auto": approximate in layers
                        of 20,000 nodes and more if the extra is there
    """

    embeddings: str = "anchored"
    splits: int = 4
    dissolved: float = 0.2
    detached: float = 0.01
    hidden_intra: float = 0.02
    hidden_inter: float = 0.04
    non_links: int = 60
    trees: int = 300
    leaves: int = 15
    rate: float = 0.05
    candidates: int = 5
    nearest: int = 5
    search: str = AUTO

    def __post_init__(self) -> None:
        if self.embeddings not in ("anchored", "none"):
            raise SettingError(f"embeddings is {quoted(self.embeddings)}, expected anchored or none")
        self.check_at_least(1, "splits", "non_links", "trees", "candidates")
        self.check_at_least(0, "nearest")
        if self.search not in SEARCHES:
            raise SettingError(f"search is {quoted(self.search)}, expected {' or '.join(SEARCHES)}")
        if self.search == APPROXIMATE:
            search_library()
        self.check_at_least(2, "leaves")
        if self.leaves > _MOST_LEAVES:
            raise SettingError(f"leaves is {self.leaves}, expected at most {_MOST_LEAVES}")
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise SettingError(f"rate is {self.rate}, expected a number above 0")
        self.check_share("dissolved", "detached", "hidden_intra", "hidden_inter")

    @property
    def inter_growth(self) -> Growth:
        """Trees for pairs of different layers."""
        return Growth(trees=self.trees, leaves=self.leaves, rate=self.rate)

    @property
    def intra_growth(self) -> Growth:
        """Trees for pairs of one layer: there are more links to learn from."""
        return Growth(trees=self.trees, leaves=self.leaves, rate=self.rate, columns=0.5, random=False)

    @property
    def wanted(self) -> Wanted:
        """Candidates when matching."""
        return Wanted(similar=self.candidates, nearest=self.nearest, search=self.search)


# The learned judge: structural evidence about a pair, weighed by what was learned on links hidden again.
#
# Between layers, transitivity and uniqueness decide first; every other pair gets log-odds from evidence about shared
# neighbours, surroundings, rivals and degrees. Within a layer, evidence comes from the layer and from the union of all.


DECIDED = 1000.0  # log-odds of what transitivity says, and minus that of what uniqueness forbids
_CELLS = 1 << 17
_UNKNOWN = 1e-6  # the probability of a pair about which nothing could be learned
_UNKNOWN_ODDS = float(np.log(_UNKNOWN / (1 - _UNKNOWN)))
_ANCHORED = "anchored."


class Evidence(Model):
    """Structural evidence weighed by boosted trees. Settings by name: see `EvidenceSettings`.

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
    _settings: EvidenceSettings

    def __init__(self, /, *, seed: int = 0, **settings: Any):
        super().__init__(seed=seed)
        self._settings = EvidenceSettings.of(**settings)
        self._anchored: Anchored | None = None
        self._jury: Jury | None = None
        self._intra_judge: Judge | None = None
        self._calibration: Calibration | None = None
        self._validation: dict[str, dict[str, float]] = {}
        self._recall: float | None = None
        self._matching: EvidenceMatching | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, defaults included."""
        return self._settings.to_dict()

    @property
    def anchored(self) -> Anchored | None:
        """The fitted embeddings whose scores are evidence, if there are any."""
        _ = self.graph  # says so if the model is not fitted
        return self._anchored

    @property
    def rules(self) -> Rules:
        """The rules of thumb on the same graph."""
        _ = self.graph
        return self._rules

    @property
    def validation(self) -> dict[str, dict[str, float]]:
        """By kind of link, "intra" and "inter", and by model, "evidence", "anchored" and "rules": AUC on hidden links.

        They were hidden again from the training links. The judges that are measured here have not learned from them;
        the few weights of `anchored`, which belong to no node, have. Empty where too few links are known.
        """
        return {kind: dict(values) for kind, values in self._validation.items()}

    @property
    def candidate_recall(self) -> float | None:
        """Share of the links between layers, hidden again from the training links, that were among the candidates.

        What is no candidate is never matched. None where too few links are known.
        """
        return self._recall

    def training_summary(self) -> dict[str, Any]:
        """See `validation` and `candidate_recall`."""
        return {"validation": self.validation, "candidate_recall": self.candidate_recall}

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        self._prior = layer_prior(graph)
        self._anchored = Anchored(seed=self.seed).fit(graph, session) if self._settings.embeddings != "none" else None
        inter = learn_inter(graph, self._prior, self._settings, self.seed, self._embed, session.engine)
        self._jury, self._calibration = (inter.jury, inter.calibration) if inter else (None, None)
        self._recall = inter.recall if inter else None
        intra = learn_intra(graph, self._settings, self.seed, self._embed, session.engine)
        self._intra_judge = intra.judge if intra else None
        self._validation = {
            kind: dict(learned.validation) for kind, learned in (("intra", intra), ("inter", inter)) if learned
        }
        self._look_at(graph)

    def extend(self, graph: MultiplexGraph) -> Self:
        """The same judges for another graph (new nodes, units, links), without learning again; a new model.

        Its layers must be those of the graph that was learned on. Pairs whose surroundings are as they were keep their
        inter scores.
        """
        _check_same_layers(self.graph, graph)
        model = type(self)(seed=self.seed, **self.settings)
        model._prior = self._prior
        model._jury, model._intra_judge = self._jury, self._intra_judge
        model._calibration, model._validation = self._calibration, self._validation
        model._recall = self._recall
        model._anchored = self._anchored.extend(graph) if self._anchored else None
        model._look_at(graph)
        model._graph = graph
        return model

    def _look_at(self, graph: MultiplexGraph) -> None:
        """Compute the evidence of a graph."""
        horizontal = self._anchored.horizontal if self._anchored else None
        vertical = self._anchored.vertical if self._anchored else None
        walks = walk_profiles(graph)
        self._inter = InterEvidence(graph, walks, self._prior, vertical)
        self._intra = IntraEvidence(graph, walks, horizontal)
        self._same, self._clash = same_unit(graph), unit_clash(graph)
        self._rules = Rules().fit(graph)
        self._matching = None
        if self._jury is not None and self._calibration is not None:
            self._matching = EvidenceMatching(
                graph, self._inter, self._jury, self._calibration, self._score_inter, self._settings.wanted
            )

    def _embed(self, graph: MultiplexGraph) -> tuple[Vectors | None, Vectors | None]:
        """Embeddings of a graph with more links hidden."""
        return self._anchored.embed_graph(graph) if self._anchored else (None, None)

    # ---- scores ----------------------------------------------------------------------------------------

    def score_block(self, rows: Positions, cols: Positions) -> Scores:
        """Evidence by sparse products, a bounded number of pairs at a time."""
        score = self._intra_scores if self._is_intra(rows, cols) else self._inter_scores
        found = np.empty((len(rows), len(cols)))
        for part in row_parts(rows if len(cols) else rows[:0], len(cols), _CELLS):
            found[part] = score(PairGrid(rows[part], cols)).reshape(-1, len(cols))
        return found

    def _score_intra(self, pairs: NDArray[np.int64]) -> Scores:
        return self._in_parts(self._intra_scores, pairs)

    def _score_inter(self, pairs: NDArray[np.int64]) -> Scores:
        return self._in_parts(self._inter_scores, pairs)

    def _in_parts(self, score: Callable[[Pairs], Scores], pairs: NDArray[np.int64]) -> Scores:
        parts = [score(PairList(pairs[start : start + _CELLS])) for start in range(0, len(pairs), _CELLS)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _intra_scores(self, pairs: Pairs) -> Scores:
        if self._intra_judge is None:
            return self._rules.score(np.stack([pairs.first, pairs.second], axis=1))
        return self._intra_judge.score(matrix(self._intra.columns(pairs)))

    def _inter_scores(self, pairs: Pairs) -> Scores:
        if self._jury is None:
            return self._rules.score(np.stack([pairs.first, pairs.second], axis=1))
        score = self._jury.score(matrix(self._inter.columns(pairs)))
        score[self._clash.pairs(pairs.first, pairs.second) > 0] = -DECIDED
        score[self._same.pairs(pairs.first, pairs.second) > 0] = DECIDED
        return score

    # ---- matching --------------------------------------------------------------------------------------

    def match(self, layer_a: str, layer_b: str, k: int = 5) -> Matches:
        """The best candidates of every open node of two layers, at most those judged (settings ``candidates``
        and ``nearest``, from both sides); see `mpxgat.matching`.
        """
        return match_layers(self, self.graph.layer_index(layer_a), self.graph.layer_index(layer_b), k)

    def match_all(self, threshold: float = 0.9, k: int = 5) -> Matches:
        """Who is who over all layers: one to one, consistent, none below the threshold; see `mpxgat.matching`."""
        return match_all(self, threshold, k)

    def candidates(self, layer_a: int, layer_b: int, k: int) -> Candidates:
        """The best k partners of every open node, from both sides, best first."""
        if self._matching is None:
            known = f"{len(self.graph.inter)} links between layers are known"
            silence = f"{known}, too few to learn who is who: nothing is matched"
            return Candidates(np.empty((0, 2), dtype=np.int32), np.empty(0), silence)
        return self._matching.candidates(layer_a, layer_b, k)

    def explain(self, first: int, second: int) -> Explanation:
        """Why the pair has its probability; reasons are sums over related pieces of evidence.

        SettingError if both nodes are in one layer.
        """
        (found,) = self.explain_many(np.array([[first, second]], dtype=np.int64))
        return found if self._matching is None else self._matching.with_names(found)

    def explain_many(self, pairs: NDArray[np.integer[Any]]) -> list[Explanation]:
        """As `explain`, for (k, 2) pairs at once, which is far quicker; shared neighbours are counted, not named.

        SettingError if both nodes of a pair are in one layer.
        """
        layers = self.graph.node_layer[pairs]
        for first, second in pairs[layers[:, 0] == layers[:, 1]].tolist():
            raise SettingError(f"the nodes {first} and {second} are in one layer, expected nodes of two layers")
        if self._matching is None:
            nothing = (Reason("too few known links", "nothing could be learned", 0.0),)
            return [Explanation(u, v, _UNKNOWN, _UNKNOWN_ODDS, nothing, _UNKNOWN_ODDS) for u, v in pairs.tolist()]
        return self._matching.explain(pairs)

    # ---- saving ----------------------------------------------------------------------------------------

    def _state(self) -> Arrays:
        state: Arrays = {"prior": self._prior}
        if self._anchored:
            state |= {_ANCHORED + key: array for key, array in self._anchored._state().items()}
        for name, part in (
            ("inter.", self._jury),
            ("intra.", self._intra_judge),
            ("calibration.", self._calibration),
        ):
            if part is not None:
                state |= {name + key: array for key, array in part.to_arrays().items()}
        return state

    def _notes(self) -> dict[str, Any]:
        notes: dict[str, Any] = {"validation": self._validation, "candidate_recall": self._recall}
        return {**notes, "anchored": self._anchored._notes()} if self._anchored else notes

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        self._prior = state["prior"]
        if self._prior.shape != (graph.n_layers, graph.n_layers):
            raise ValueError(f"the layers' prior has the shape {self._prior.shape}")
        if self._settings.embeddings != "none":
            self._anchored = Anchored(seed=self.seed).restore(graph, _part(state, _ANCHORED), notes["anchored"])
        inter, intra, calibration = (_part(state, name) for name in ("inter.", "intra.", "calibration."))
        self._jury = Jury.from_arrays(inter) if inter else None
        self._intra_judge = Judge.from_arrays(intra) if intra else None
        self._calibration = calibration_from_arrays(calibration) if calibration else None
        self._validation, self._recall = notes["validation"], notes["candidate_recall"]
        self._look_at(graph)
        self._check_columns()

    def _check_columns(self) -> None:
        """ValueError if the judges learned from other evidence than this version computes."""
        none = PairList(np.empty((0, 2), dtype=np.int64))
        for judge, evidence in ((self._jury, self._inter), (self._intra_judge, self._intra)):
            if judge is not None and judge.n_columns != len(evidence.columns(none)):
                raise ValueError(f"a judge of {judge.n_columns} columns, made by another version")


def _part(state: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}


def _check_same_layers(known: MultiplexGraph, graph: MultiplexGraph) -> None:
    if graph.layers != known.layers:
        raise SettingError(
            f"the layers {', '.join(map(quoted, graph.layers[:20]))}, expected those that were learned on: "
            f"{', '.join(map(quoted, known.layers[:20]))}"
        )
