"""Computing a cell: make the split, fit the model on its training graph, evaluate, and put the result on record."""

from __future__ import annotations

import time
from typing import Any

from mpxgat.evaluation import Progress, evaluate
from mpxgat.experiments.records import CellKey, CellRecord, made_with, measures_of
from mpxgat.graph import MultiplexGraph
from mpxgat.models import Model, make_model
from mpxgat.process import peak_rss_mb
from mpxgat.splits import make_split
from mpxgat.training.session import Session


def cell_key(dataset: str, protocol: str, model: str, settings: dict[str, Any], seed: int) -> CellKey:
    """The key of a cell; the model fills in its default settings."""
    return CellKey(dataset, protocol, model, make_model(model, seed=seed, **settings).settings, seed)


def run_cell(
    key: CellKey, graph: MultiplexGraph, session: Session | None = None, progress: Progress | None = None
) -> CellRecord:
    """Compute one cell."""
    split = make_split(graph, key.protocol, key.seed)
    model: Model = make_model(key.model, seed=key.seed, **key.settings)
    start = time.perf_counter()
    model.fit(split.train, session)
    fitted = time.perf_counter()
    evaluation = evaluate(model, split, progress)
    seconds = {"fit": round(fitted - start, 2), "score": round(time.perf_counter() - fitted, 2)}
    return CellRecord(key, measures_of(evaluation), model.training_summary(), seconds, peak_rss_mb(), made_with())
