"""Whether probabilities come true, on links that were hidden: of matches, or of links within layers.

    python -m benchmarks.calibration --dataset fftwyt --seed 100 --json
    python -m benchmarks.calibration --kind intra --dataset fftwyt --protocol marked --seed 100 --json

The model is fitted on the training graph of a split, by default of held-out units. Candidates of matches are all that
matching looks at, of every pair of layers; they are right if the whole data set knows the two as one unit. Within
layers all pairs count that the training graph does not link: those that the whole data set links, and of the others a
sample in which every pair stands for as many as it should.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.models.link_curve import MISSING

_OPEN_PAIRS = 500_000
_OTHER_SEED = 10_000  # other pairs than those that a model was calibrated on


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


def measure_intra(dataset: str, protocol: str, seed: int, name: str, above: float, missing: float) -> dict[str, Any]:
    """Expected calibration error over all open pairs of one layer, if so large a share of the links is missing."""
    from mpxgat import datasets
    from mpxgat.matching.calibration import expected_calibration_error
    from mpxgat.models import make_model
    from mpxgat.models.open_pairs import open_sample
    from mpxgat.pairs import found_among, pair_keys
    from mpxgat.splits import make_split

    split = make_split(datasets.load(dataset), protocol, seed)
    links, n_nodes = split.intra.positives, split.train.n_nodes
    model = make_model(name, seed=seed).fit(split.train)
    sample = open_sample(split.train, _OPEN_PAIRS, np.random.default_rng(_OTHER_SEED + seed))
    others = ~found_among(pair_keys(sample.pairs, n_nodes), pair_keys(links, n_nodes))
    pairs = np.concatenate([links, sample.pairs[others]])
    weight = np.concatenate([np.ones(len(links)), sample.weight[others]])
    truth = np.arange(len(pairs)) < len(links)
    probability = model.link_probability(pairs, missing=missing)
    told = probability > above
    return {
        "dataset": dataset,
        "protocol": protocol,
        "seed": seed,
        "model": name,
        "calibration_error": expected_calibration_error(probability, truth, weight, above=above),
        "pairs": round(weight[told].sum()),
        "links expected": round(float((weight * probability)[told].sum()), 1),
        "links found": int(truth[told].sum()),
        "links hidden": len(links),
        "share hidden": len(links) / len(split.train.intra),
        "share assumed": missing,
    }


def _share(right: NDArray[np.bool_]) -> dict[str, float | int | None]:
    return {"count": len(right), "right": float(right.mean()) if len(right) else None}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("inter", "intra"), default="inter", help="matches, or links within layers")
    parser.add_argument("--dataset", default="fftwyt", help="a data set's name")
    parser.add_argument("--protocol", default="units", help="units, marked or 'anchors 0.2' (share known)")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--threshold", type=float, default=0.9, help="of matches")
    parser.add_argument("--above", type=float, default=0.01, help="leave out candidates less probable than this")
    parser.add_argument("--model", default="evidence", help="within layers: whose probabilities")
    parser.add_argument("--missing", type=float, default=MISSING, help="within layers: share of links assumed missing")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    split = options.dataset, options.protocol, options.seed
    if options.kind == "intra":
        record = measure_intra(*split, options.model, options.above, options.missing)
    else:
        record = measure(*split, options.threshold, options.above)
    if options.json:
        print(json.dumps(record))
        return
    for name, value in record.items():
        print(f"{name:>18}  {value}")


if __name__ == "__main__":
    main()
