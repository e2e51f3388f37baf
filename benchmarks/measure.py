"""Time and memory of a piece of work, for benchmarks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from mpxgat.system import peak_rss_mb

__all__ = ["interleaved_medians", "peak_rss_mb"]


def interleaved_medians(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each work; they take turns, so that a noisy machine disturbs them alike."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}
