"""How MPXGAT's defaults compare with settings near them, on validation links.

    python -m benchmarks.defaults --dataset ckm --dataset celegans --seed 100 --json

Every candidate is trained on the training graph of a split of the marked protocol. What is told is the AUC of the links
that training itself sets aside for validation, within layers (mean over the layers, weighted by their links) and
between them: test links are not looked at. Seeds from 100 on.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

FIRST_TUNING_SEED = 100
_BETWEEN = "between layers"

# By name; what is not said is the default.
CANDIDATES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "Glorot's start": {"one_hot_scale": 0.0, "vertical_one_hot_scale": 0.0},
    "rows start at 1, 1": {"one_hot_scale": 1.0, "vertical_one_hot_scale": 1.0},
    "no warm-up": {"warm_up": 0},
    "half the rate": {"lr": 5e-3},
    "dropout 0.6": {"dropout": 0.6},
    "weight decay 5e-5": {"weight_decay": 5e-5},
    "former defaults": {
        "hidden": 64, "dropout": 0.6, "lr": 5e-3, "weight_decay": 5e-5, "warm_up": 0, "epochs": 1500, "patience": 50,
        "one_hot_scale": 0.0, "vertical_one_hot_scale": 0.0,
    },
}  # fmt: skip


def measure(dataset: str, seed: int, name: str) -> dict[str, Any]:
    """Validation AUC of one candidate, its epochs and seconds."""
    from mpxgat import datasets
    from mpxgat.models.mpxgat import MPXGAT
    from mpxgat.splits import make_split

    graph = make_split(datasets.load(dataset), "marked", seed).train
    began = time.perf_counter()
    model = MPXGAT(seed=seed, **CANDIDATES[name]).fit(graph)
    seconds = time.perf_counter() - began
    parts = model.training_summary()["parts"]
    layers = [part for label, part in parts.items() if label != _BETWEEN]
    links = [int((graph.node_layer[graph.intra[:, 0]] == number).sum()) for number in range(graph.n_layers)]
    known = [(part["best"], n) for part, n in zip(layers, links, strict=True) if part["best"]]
    return {
        "dataset": dataset,
        "seed": seed,
        "candidate": name,
        "intra": sum(value * n for value, n in known) / sum(n for _, n in known),
        "inter": parts[_BETWEEN]["best"],
        "epochs": [part["epochs"] for part in parts.values()],
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Measure and print, a line for each training."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", action="append", required=True, help="a data set's name; may be repeated")
    parser.add_argument("--seed", action="append", type=int, help=f"from {FIRST_TUNING_SEED} on; may be repeated")
    parser.add_argument("--candidate", action="append", choices=CANDIDATES, help="only this one; may be repeated")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    arguments = parser.parse_args()
    seeds = arguments.seed or [FIRST_TUNING_SEED]
    if min(seeds) < FIRST_TUNING_SEED:
        parser.error(f"a seed is {min(seeds)}, expected {FIRST_TUNING_SEED} or more: smaller ones are for reporting")
    for dataset in arguments.dataset:
        for seed in seeds:
            for name in arguments.candidate or CANDIDATES:
                found = measure(dataset, seed, name)
                if arguments.json:
                    print(json.dumps(found), flush=True)
                    continue
                figures = f"intra {found['intra']:.3f}  inter {found['inter']:.3f}  {found['seconds']:6.1f} s"
                print(f"{dataset:12} {seed} {name:20} {figures}", flush=True)


if __name__ == "__main__":
    main()
