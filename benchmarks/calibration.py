"""Whether the probabilities of matches come true, on links that were hidden.

    python -m benchmarks.calibration --dataset fftwyt --seed 100 --json

The model is fitted on the training graph of a split, by default of held-out units. Candidates are all that matching
looks at, of every pair of layers; they are right if the whole data set knows the two as one unit.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def measure(dataset: str, protocol: str, seed: int, threshold: float, above: float) -> dict[str, Any]:
    """Expected calibration error over candidates, and the share of matches that are right."""
    from mpxgat import datasets
    from mpxgat.matching.calibration import expected_calibration_error
    from mpxgat.matching.match import DEFAULT_K, layer_pairs
    from mpxgat.models.evidence.model import Evidence
    from mpxgat.splits import make_split

    graph = datasets.load(dataset)

    def right(pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
        same: NDArray[np.bool_] = graph.unit[pairs[:, 0]] == graph.unit[pairs[:, 1]]
        return same

    model = Evidence(seed=seed).fit(make_split(graph, protocol, seed).train)
    found = [model.candidates(a, b, DEFAULT_K) for a, b in layer_pairs(graph)]
    probability = np.concatenate([each.probability for each in found])
    truth = np.concatenate([right(each.pairs) for each in found])
    matches = model.match_all(threshold)
    own = (matches.joined_by == matches.pairs).all(axis=1)
    return {
        "dataset": dataset,
        "protocol": protocol,
        "seed": seed,
        "calibration_error": expected_calibration_error(probability, truth, above=above),
        "candidates": int((probability > above).sum()),
        "matches": {
            "all": _share(right(matches.pairs)),
            "by themselves": _share(right(matches.pairs[own])),
            "by transitivity": _share(right(matches.pairs[~own])),
        },
    }


def _share(right: NDArray[np.bool_]) -> dict[str, float | int | None]:
    return {"count": len(right), "right": float(right.mean()) if len(right) else None}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="fftwyt", help="a data set's name")
    parser.add_argument("--protocol", default="units", help="units, marked or 'anchors 0.2' (share known)")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--threshold", type=float, default=0.9, help="of matches")
    parser.add_argument("--above", type=float, default=0.01, help="leave out candidates less probable than this")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    record = measure(options.dataset, options.protocol, options.seed, options.threshold, options.above)
    if options.json:
        print(json.dumps(record))
        return
    for name, value in record.items():
        print(f"{name:>18}  {value}")


if __name__ == "__main__":
    main()
