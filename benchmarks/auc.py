"""Exact AUC over 6.5 million pairs: our streamed ranking against scikit-learn, in one run.

    python -m benchmarks.auc --json

The size is that of the arXiv network's inter-layer test pairs; scores have ties, as real ones do.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.measure import interleaved_medians, peak_rss_mb
from mpxgat.metrics import StreamedRanking

BLOCK = 1 << 20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=6_500_000)
    parser.add_argument("--positives", type=int, default=877)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    # Rounded scores: many exact ties between positives and negatives, and among negatives.
    negatives = np.round(rng.normal(0.0, 1.0, options.pairs), 4)
    positives = np.round(rng.normal(1.0, 1.0, options.positives), 4)
    ours_peak = {}

    def streamed() -> float:
        ranking = StreamedRanking(positives)
        for start in range(0, len(negatives), BLOCK):
            ranking.add(negatives[start : start + BLOCK])
        return ranking.auc()

    ours = streamed()
    ours_peak["mb"] = peak_rss_mb()  # before scikit-learn's arrays raise it
    truth = np.concatenate([np.zeros(len(negatives), dtype=np.int8), np.ones(len(positives), dtype=np.int8)])
    scores = np.concatenate([negatives, positives])
    seconds = interleaved_medians(
        {"streamed": streamed, "sklearn": lambda: roc_auc_score(truth, scores)}, options.repeats
    )
    record = {
        "pairs": options.pairs + options.positives,
        "auc": ours,
        "difference_to_sklearn": abs(ours - float(roc_auc_score(truth, scores))),
        "seconds_streamed": round(seconds["streamed"], 4),
        "seconds_sklearn": round(seconds["sklearn"], 4),
        "ratio_vs_sklearn": round(seconds["sklearn"] / seconds["streamed"], 2),
        "peak_rss_mb": ours_peak["mb"],
        "peak_rss_mb_with_sklearn": peak_rss_mb(),
    }
    if options.json:
        print(json.dumps(record))
    else:
        for name, value in record.items():
            print(f"{name:>26}  {value}")


if __name__ == "__main__":
    main()
