"""A model evaluated on several seeds of one protocol, and the summary of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpxgat.errors import TrainingError, printable
from mpxgat.evaluation import Evaluation, Measures, Progress, evaluate, pairs_to_score
from mpxgat.models.base import Model
from mpxgat.splits import Split
from mpxgat.training.engines import Engine
from mpxgat.training.session import Session


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
            try:
                done.append(future.result())
            except BrokenExecutor as problem:
                raise TrainingError(
                    f"seed {split.seed}: its process died ({printable(problem, 300)}); was it out of memory?"
                ) from None
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


def _by_layer(by_layer: list[dict[tuple[str, ...], Measures]]) -> list[dict[str, Any]]:
    """One row for each layer (pair); a seed in which it has no pairs counts as NaN."""
    missing = Measures(0, 0, {"auc": math.nan, "ap": math.nan})
    keys = sorted({key for one in by_layer for key in one})
    return [{"layers": list(key)} | _summaries([one.get(key, missing) for one in by_layer]) for key in keys]
