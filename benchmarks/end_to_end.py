"""From a network to matches with the default model: seconds, where they go, and peak memory.

    python -m benchmarks.end_to_end --dataset fftwyt --json

Each part is timed in one process: reading, training (embeddings, judges of both kinds of link, evidence of the whole
network), finding and assigning matches.
The links that the data set knows are all given, so the matches are those of nodes without a known counterpart.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar
from unittest.mock import patch

from benchmarks.measure import peak_rss_mb

P = ParamSpec("P")
T = TypeVar("T")


def measure(dataset: str, seed: int, threshold: float) -> dict[str, Any]:
    """Seconds of every part, peak memory in MB, and what came out."""
    from mpxgat import datasets
    from mpxgat.models.anchored import Anchored
    from mpxgat.models.auto import Auto
    from mpxgat.models.evidence import model as evidence
    from mpxgat.models.evidence import rounds, training

    seconds: dict[str, float] = {}

    def timed(part: str, work: Callable[P, T]) -> Callable[P, T]:
        def timed_work(*arguments: P.args, **named: P.kwargs) -> T:
            start = time.perf_counter()
            result = work(*arguments, **named)
            seconds[part] = round(time.perf_counter() - start, 2)
            return result

        return timed_work

    with (
        patch.object(Anchored, "fit", timed("train: embeddings", Anchored.fit)),
        patch.object(evidence, "learn_inter", timed("train: inter links", rounds.learn_inter)),
        patch.object(evidence, "learn_intra", timed("train: intra links", training.learn_intra)),
    ):
        graph = timed("read", datasets.load)(dataset)
        model = timed("train", Auto(seed=seed).fit)(graph)
    matches = timed("match", model.match_all)(threshold)
    return {
        "dataset": dataset,
        "chosen": model.chosen.name,
        "trials": {name: round(value, 4) for name, value in model.trials.items()},
        "matches": len(matches),
        "seconds": seconds,
        "total_seconds": round(sum(seconds[part] for part in ("read", "train", "match")), 2),
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
