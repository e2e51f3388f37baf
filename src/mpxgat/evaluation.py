"""A fitted model and a split in, measures out; and the same on several seeds of one protocol."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.metrics import HITS_AT, StreamedRanking, hits_at, mean_reciprocal_rank, overall_auc, ranks
from mpxgat.models.base import Model
from mpxgat.pairs import KnownUnits, pair_keys
from mpxgat.plots import measures_by_layer, pair_label
from mpxgat.splits import Negatives, PairBlock, Split
from mpxgat.tabular import Tabular
from mpxgat.training.parallel import Engine, Session, result_of
from mpxgat.training.progress import counting

if TYPE_CHECKING:
    import altair as alt

_CANDIDATES_AT_ONCE = 1 << 20
_SHOWN_PAIRS = 60  # of layers, in a chart
_TITLES = {"auc": ("AUC", 0.5), "ap": ("average precision", 0.0)}  # with the least that a model without any sense has
Progress = Callable[[int], None]
"""Called with the number of pairs scored since the last call."""


@dataclass(frozen=True)
class Measures:
    """How well links were ranked above non-links: ``values`` by name (``auc``, ``ap``, …; NaN where undefined)."""

    positives: int
    negatives: int
    values: dict[str, float]


@dataclass(frozen=True, eq=False)
class CounterpartRanks(Tabular):
    """Ranks, from 1, of true counterparts among all nodes of their layer; ties averaged.

    forward     (p,) from the node in the layer that comes first in the graph to its counterpart in the later one
    backward    (p,) the other way round, in the same order
    """

    forward: NDArray[np.float64]
    backward: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"<CounterpartRanks: of {len(self.forward):,} links, MRR {self.measures()['mean']['mrr']:.3f}>"

    def to_table(self) -> pa.Table:
        """Columns forward and backward, a row for each link."""
        return pa.table({"forward": self.forward, "backward": self.backward})

    def measures(self) -> dict[str, dict[str, float]]:
        """hits@k and MRR ``forward``, ``backward`` and their ``mean``; NaN without ranks."""
        found = {way: _of_ranks(getattr(self, way)) for way in ("forward", "backward")}
        return found | {"mean": _of_ranks(np.concatenate([self.forward, self.backward]))}  # as many each way


@dataclass(frozen=True)
class Evaluation(Tabular):
    """What a model reached on a split; ``by_layer`` is keyed (a,) for intra and (a, b) for inter pairs.

    ranks       of true counterparts: `CounterpartRanks.measures`, whose ``mean`` is also among those of ``inter``
    layers      the names of all layers, in the graph's order
    """

    intra: Measures
    inter: Measures
    ranks: dict[str, dict[str, float]]
    overall_auc: float
    intra_by_layer: dict[tuple[str, ...], Measures]
    inter_by_layer: dict[tuple[str, ...], Measures]
    layers: tuple[str, ...]

    def __repr__(self) -> str:
        parts = ((self.intra, "within"), (self.inter, "between"))
        reached = (f"{kind} layers {found.values['auc']:.3f} ({found.positives:,} links)" for found, kind in parts)
        return f"<Evaluation: AUC {', '.join(reached)}>"

    def to_table(self) -> pa.Table:
        """A row for all intra pairs and one for all inter pairs, whose layers are null; then one for each layer, and
        one for each pair of layers.

        Columns kind, layer_a, layer_b, positives, negatives, and the measures; null where a measure is of other pairs.
        """
        rows: list[tuple[str, tuple[str | None, ...], Measures]] = [
            ("intra", (None, None), self.intra),
            ("inter", (None, None), self.inter),
            *(("intra", (layer, layer), found) for (layer,), found in self.intra_by_layer.items()),
            *(("inter", layers, found) for layers, found in self.inter_by_layer.items()),
        ]
        text = pa.large_string()
        columns: dict[str, Any] = {
            "kind": pa.array([kind for kind, _, _ in rows], text),
            "layer_a": pa.array([layers[0] for _, layers, _ in rows], text),
            "layer_b": pa.array([layers[-1] for _, layers, _ in rows], text),
            "positives": pa.array([found.positives for *_, found in rows], pa.int64()),
            "negatives": pa.array([found.negatives for *_, found in rows], pa.int64()),
        }
        for name in self.inter.values:  # those of intra pairs are among them
            columns[name] = pa.array([found.values.get(name) for *_, found in rows], pa.float64())
        return pa.table(columns)

    def plot(self, measure: str = "auc") -> alt.VConcatChart:
        """A chart of AUC, or of average precision (``"ap"``), in every layer and between any two; those with the most
        hidden links where there are many. It shows in Jupyter, and ``chart.save("name.svg")`` writes it.
        """
        if measure not in _TITLES:
            raise SettingError(f"no chart of {quoted(measure)}, expected {' or '.join(_TITLES)}")
        parts = (_plotted(found, measure) for found in (self.intra_by_layer, self.inter_by_layer))
        return measures_by_layer(self.layers, *_TITLES[measure], *parts)


def _plotted(found: dict[tuple[str, ...], Measures], measure: str) -> list[dict[str, Any]]:
    """The rows of a chart, where there is a number; at most so many, those with the most links, in their order."""
    known = [layers for layers, one in found.items() if not math.isnan(one.values[measure])]
    shown = set(sorted(known, key=lambda layers: -found[layers].positives)[:_SHOWN_PAIRS])
    return [
        {
            "label": pair_label(*layers),
            "first": layers[0],
            "second": layers[-1],
            "value": found[layers].values[measure],
            "links": found[layers].positives,
        }
        for layers in known
        if layers in shown
    ]


def evaluate(model: Model, split: Split, progress: Progress | bool | None = None) -> Evaluation:
    """Score every target of a split with a model fitted on ``split.train``; ``progress=True`` shows a bar.

    AUC and average precision are exact over all pairs. For inter links also: ``auc_hard`` over the pairs
    that neither transitivity nor uniqueness decides on the training graph, and the rank of the true
    counterpart among all nodes of the other layer, from both ends (``mrr``, ``hits@k``; ties averaged).
    """
    _check_fitted_without_targets(model, split)
    if progress is True:
        with counting("scoring", pairs_to_score(split)) as advance:
            return _evaluated(model, split, advance)
    return _evaluated(model, split, progress or (lambda pairs: None))


def _evaluated(model: Model, split: Split, report: Progress) -> Evaluation:
    intra, intra_by_layer = _tell_apart(model, split.intra.positives, split.intra.negatives, None, report)
    hard = _HardPairs(split.train)
    inter, inter_by_layer = _tell_apart(model, split.inter.positives, split.inter.negatives, hard, report)
    found = _counterpart_ranks(model, split.inter.positives, report).measures()
    return Evaluation(
        intra=intra,
        inter=replace(inter, values=inter.values | found["mean"]),
        ranks=found,
        overall_auc=overall_auc(intra.values["auc"], intra.positives, inter.values["auc"], inter.positives),
        intra_by_layer=intra_by_layer,
        inter_by_layer=inter_by_layer,
        layers=model.graph.layers,
    )


def rank_counterparts(model: Model, split: Split) -> CounterpartRanks:
    """The ranks alone, for a model fitted on ``split.train``: no other pairs are scored than those they need."""
    _check_fitted_without_targets(model, split)
    return _counterpart_ranks(model, split.inter.positives, lambda pairs: None)


def pairs_to_score(split: Split) -> int:
    """About how many pairs `evaluate` scores, for a progress bar."""
    candidates = np.diff(split.train.layer_start)[split.train.node_layer[split.inter.positives]]
    return split.intra.negatives.cells() + split.inter.negatives.cells() + int(candidates.sum())


class _HardPairs:
    """Which inter pairs neither transitivity nor uniqueness decides, on the training graph."""

    def __init__(self, train: MultiplexGraph):
        self._units = KnownUnits.of(train)

    def pairs(self, pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
        return ~self._units.decided(pairs[:, 0], pairs[:, 1])

    def block(self, block: PairBlock) -> NDArray[np.bool_]:
        return ~self._units.decided(block.rows[:, None], block.cols[None, :])


def _tell_apart(
    model: Model,
    positives: NDArray[np.int32],
    negatives: Negatives,
    hard: _HardPairs | None,
    report: Progress,
) -> tuple[Measures, dict[tuple[str, ...], Measures]]:
    """Measures over all pairs and over those of each layer (pair); with ``hard``, also AUC over hard pairs."""
    graph = model.graph
    scores = model.score(positives)
    pooled = StreamedRanking(scores)
    hard_ranking = StreamedRanking(scores[hard.pairs(positives)] if hard else [])
    rows_of = dict(_by_layers(graph, positives))
    found: dict[tuple[int, int], Measures] = {}
    # One ranking at a time, as blocks come layer pair by layer pair: with many layers all of them would fill memory.
    for layers, blocks in groupby(negatives.blocks(), key=attrgetter("layers")):
        ranking = StreamedRanking(scores[rows_of.pop(layers)] if layers in rows_of else [])
        for block in blocks:
            block_scores = model.score_block(block.rows, block.cols)
            negative_scores = block_scores[block.mask]
            pooled.add(negative_scores)
            ranking.add(negative_scores)
            if hard:
                hard_ranking.add(block_scores[block.mask & hard.block(block)])
            report(block.mask.size)
        found[layers] = _measures(ranking, {})
    for layers, rows in rows_of.items():  # hidden links in layers without any non-link
        found[layers] = _measures(StreamedRanking(scores[rows]), {})
    of_hard = {"auc_hard": hard_ranking.auc()} if hard else {}
    by_layer = {tuple(graph.layers[x] for x in sorted({*layers})): found[layers] for layers in sorted(found)}
    return _measures(pooled, of_hard), by_layer


def _measures(ranking: StreamedRanking, more: dict[str, float]) -> Measures:
    values = {"auc": ranking.auc(), "ap": ranking.average_precision()} | more
    return Measures(ranking.n_positives, ranking.n_negatives, values)


def _by_layers(graph: MultiplexGraph, pairs: NDArray[np.int32]) -> Iterator[tuple[tuple[int, int], NDArray[np.int64]]]:
    """Rows of ``pairs`` for every pair of layers (a <= b) that occurs; pairs are ordered, so a comes first."""
    layer = graph.node_layer[pairs]
    for a, b in np.unique(layer, axis=0):
        yield (int(a), int(b)), np.flatnonzero((layer[:, 0] == a) & (layer[:, 1] == b))


def _counterpart_ranks(model: Model, positives: NDArray[np.int32], report: Progress) -> CounterpartRanks:
    """From both ends of (p, 2) links, whose first end is in the earlier layer; some rows of candidates at a time."""
    return CounterpartRanks(*(_ranks_of_second(model, pairs, report) for pairs in (positives, positives[:, ::-1])))


def _ranks_of_second(model: Model, pairs: NDArray[np.int32], report: Progress) -> NDArray[np.float64]:
    """(p,) rank of every pair's second node among all nodes of its layer, by their scores with the first."""
    graph = model.graph
    found = np.empty(len(pairs))
    for (_, b), rows in _by_layers(graph, pairs):
        candidates = graph.layer_nodes(b)
        step = max(1, _CANDIDATES_AT_ONCE // len(candidates))
        for part in (rows[start : start + step] for start in range(0, len(rows), step)):
            scores = model.score_block(pairs[part, 0], candidates)
            found[part] = ranks(scores, pairs[part, 1] - candidates[0])
            report(scores.size)
    return found


def _of_ranks(rank: NDArray[np.float64]) -> dict[str, float]:
    return {"mrr": mean_reciprocal_rank(rank)} | {f"hits@{k}": hits_at(rank, k) for k in HITS_AT}


def _check_fitted_without_targets(model: Model, split: Split) -> None:
    graph = model.graph
    if graph.n_nodes != split.train.n_nodes:
        raise SettingError(
            f"the model was fitted on a graph of {graph.n_nodes} nodes, the split has {split.train.n_nodes}"
        )
    if graph.node_fingerprint() != split.train.node_fingerprint():
        raise SettingError(
            "the model was fitted on a graph with other nodes, or its layers in another order; fit it on split.train"
        )
    for links, positives in ((graph.intra, split.intra.positives), (graph.inter, split.inter.positives)):
        leaked = np.isin(pair_keys(positives, graph.n_nodes), pair_keys(links, graph.n_nodes)).sum()
        if leaked:
            raise SettingError(
                f"the model was fitted on a graph that holds {leaked} of the test links; fit it on split.train"
            )


@dataclass(frozen=True)
class Summary:
    """A measure over several seeds: mean, sample standard deviation (0 for one seed), and the values."""

    mean: float
    std: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, values: list[float]) -> Summary:
        """Summary of at least one value; NaN if one is NaN."""
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        return cls(float(np.mean(values)), spread, tuple(values))

    def to_record(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {"mean": self.mean, "std": self.std, "values": list(self.values)}


@dataclass(frozen=True)
class Repetitions:
    """Evaluations of one model, one for each seed, and the seconds they took together."""

    seeds: tuple[int, ...]
    evaluations: tuple[Evaluation, ...]
    fit_seconds: float
    score_seconds: float

    def to_record(self) -> dict[str, Any]:
        """Plain nested values: each measure as mean, std and values, pooled and by layer."""
        intra, inter = [e.intra for e in self.evaluations], [e.inter for e in self.evaluations]
        overall = Summary.of([e.overall_auc for e in self.evaluations])
        return {
            "seeds": list(self.seeds),
            "intra": _summaries(intra) | {"by_layer": _by_layer([e.intra_by_layer for e in self.evaluations])},
            "inter": _summaries(inter) | {"by_layer_pair": _by_layer([e.inter_by_layer for e in self.evaluations])},
            "ranks": _rank_summaries([e.ranks for e in self.evaluations]),
            "overall": {"auc": overall.to_record()},
            "seconds": {"fit": round(self.fit_seconds, 3), "score": round(self.score_seconds, 3)},
        }


@dataclass(frozen=True)
class _Repetition:
    seed: int
    evaluation: Evaluation
    fit_seconds: float
    score_seconds: float


def repeat(
    splits: Iterable[Split],
    new_model: Callable[[int], Model],
    progress: Progress | None = None,
    session: Session | None = None,
) -> Repetitions:
    """Fit a new model (made with the split's seed) on every split's training graph and evaluate it."""
    return _together([_once(split, new_model, progress, session) for split in splits])


def repeat_on(
    engine: Engine, splits: Iterable[Split], new_model: Callable[[int], Model], progress: Progress | None = None
) -> Repetitions:
    """As `repeat`, split by split by the engine's workers, which must be able to unpickle ``new_model``."""
    done = []
    with engine.workers() as pool:
        futures = [(split, pool.submit(_once, split, new_model, None)) for split in splits]
        for split, future in futures:
            done.append(result_of(future, f"seed {split.seed}: its process died"))
            if progress is not None:
                progress(pairs_to_score(split))
    return _together(done)


def _once(
    split: Split, new_model: Callable[[int], Model], progress: Progress | None, session: Session | None = None
) -> _Repetition:
    start = time.perf_counter()
    model = new_model(split.seed).fit(split.train, session)
    fitted = time.perf_counter()
    evaluation = evaluate(model, split, progress)
    return _Repetition(split.seed, evaluation, fitted - start, time.perf_counter() - fitted)


def _together(done: Sequence[_Repetition]) -> Repetitions:
    return Repetitions(
        tuple(one.seed for one in done),
        tuple(one.evaluation for one in done),
        sum(one.fit_seconds for one in done),
        sum(one.score_seconds for one in done),
    )


def _summaries(measures: list[Measures]) -> dict[str, Any]:
    record: dict[str, Any] = {
        name: Summary.of([m.values[name] for m in measures]).to_record() for name in measures[0].values
    }
    record["positives"] = [m.positives for m in measures]
    record["negatives"] = [m.negatives for m in measures]
    return record


def _rank_summaries(found: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, Any]]:
    return {
        way: {name: Summary.of([one[way][name] for one in found]).to_record() for name in values}
        for way, values in found[0].items()
    }


def _by_layer(by_layer: list[dict[tuple[str, ...], Measures]]) -> list[dict[str, Any]]:
    """One row for each layer (pair); a seed in which it has no pairs counts as NaN."""
    missing = Measures(0, 0, {"auc": math.nan, "ap": math.nan})
    keys = sorted({key for one in by_layer for key in one})
    return [{"layers": list(key)} | _summaries([one.get(key, missing) for one in by_layer]) for key in keys]
