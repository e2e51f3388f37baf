"""From a network to matches with the default model: seconds, where they go, and peak memory.

    python -m benchmarks.end_to_end --dataset fftwyt --json

Each part is timed in one process: reading, choosing a model by validation, training it, finding and assigning matches.
The links that the data set knows are all given, so the matches are those of nodes without a known counterpart.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from benchmarks.measure import peak_rss_mb

T = TypeVar("T")


def measure(dataset: str, seed: int, threshold: float) -> dict[str, Any]:
    """Seconds of every part, peak memory in MB, and what came out."""
    from mpxgat import datasets
    from mpxgat.models import make_model
    from mpxgat.models.auto import choose
    from mpxgat.models.evidence import Evidence

    seconds: dict[str, float] = {}

    def timed(part: str, work: Callable[[], T]) -> T:
        start = time.perf_counter()
        result = work()
        seconds[part] = round(time.perf_counter() - start, 2)
        return result

    graph = timed("read", lambda: datasets.load(dataset))
    chosen, trials = timed("choose", lambda: choose(graph, seed))
    if chosen != Evidence.name:
        timed(f"train {chosen}", lambda: make_model(chosen, seed=seed).fit(graph))
    model = timed("train", lambda: Evidence(seed=seed).fit(graph))  # what matches, whatever was chosen
    matches = timed("match", lambda: model.match_all(threshold))
    return {
        "dataset": dataset,
        "chosen": chosen,
        "trials": {name: round(value, 4) for name, value in trials.items()},
        "matches": matches.to_table().num_rows,
        "seconds": seconds,
        "total_seconds": round(sum(seconds.values()), 2),
        "peak_rss_mb": peak_rss_mb(),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="fftwyt", help="a data set's name")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    record = measure(options.dataset, options.seed, options.threshold)
    if options.json:
        print(json.dumps(record))
        return
    for name, value in record.items():
        print(f"{name:>14}  {value}")


if __name__ == "__main__":
    main()
