"""Models on the data and splits of the network-alignment literature: ranks of hidden counterparts, and seconds.

    python -m benchmarks.alignment --data phone_email --model rules --model evidence --json
    python -m benchmarks.alignment --data acm_dblp --attributes --model evidence --model parrot --model final

Reads $MPXGAT_DATA/alignment/NAME: a.txt and b.txt (links), a.nodes.csv and b.nodes.csv (all nodes), known_20.csv and
hidden_80.csv (pairs, columns a and b). Each hidden node's true counterpart is ranked among all nodes of the other
network, ties averaged; hits@k and MRR from a to b (forward), from b to a (backward) and their mean.

With --attributes the numbers of a.attributes.csv and b.attributes.csv are the nodes' features: final and parrot read
them, evidence compares them as vectors.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.measure import peak_rss_mb
from mpxgat.errors import MpxgatError

if TYPE_CHECKING:
    from mpxgat.graph import MultiplexGraph
    from mpxgat.splits import Split

_SHOWN = ("hits@1", "hits@5", "hits@10", "hits@30", "mrr")


def read_split(folder: Path, known: str, hidden: str, seed: int, *, attributes: bool = False) -> Split:
    """The two networks of a folder, with the pairs of two of its lists known and hidden."""
    from mpxgat.io import read_layers
    from mpxgat.io.link_files import read_anchors
    from mpxgat.splits import anchored_split

    graph = read_layers([folder / "a.txt", folder / "b.txt"], nodes=[folder / "a.nodes.csv", folder / "b.nodes.csv"])
    if attributes:
        graph = with_features(graph, [folder / "a.attributes.csv", folder / "b.attributes.csv"])
    return anchored_split(graph, *read_anchors(folder / known, folder / hidden, graph), seed)


def with_features(graph: MultiplexGraph, paths: list[Path]) -> MultiplexGraph:
    """The graph with the numbers of one file for each layer (a column id, then numbers) as vertical features."""
    from mpxgat.graph import Features

    tables = [
        csv.read_csv(path, convert_options=csv.ConvertOptions(column_types={"id": pa.string()})) for path in paths
    ]
    names = tables[0].column_names[1:]
    values = np.zeros((graph.n_nodes, len(names)), dtype=np.float32)
    for layer, table in zip(graph.layers, tables, strict=True):
        places = graph.positions([(node, layer) for node in table["id"].to_pylist()])
        values[places] = np.stack([table[name].to_numpy() for name in names], axis=1)
    return replace(graph, vertical_features=Features(tuple(names), values))


def measure(name: str, split: Split, **settings: Any) -> dict[str, Any]:
    """Ranks that a model reaches, and the seconds of its fit and of scoring both ways."""
    from mpxgat.evaluation import rank_counterparts
    from mpxgat.models import make_model

    start = time.perf_counter()
    model = make_model(name, seed=split.seed, **settings).fit(split.train)
    fitted = time.perf_counter()
    ranks = rank_counterparts(model, split).measures()
    seconds = {"fit": round(fitted - start, 2), "score": round(time.perf_counter() - fitted, 2)}
    return {"model": name, "ranks": ranks, "seconds": seconds}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="phone_email", help="a folder in $MPXGAT_DATA/alignment")
    parser.add_argument("--known", default="known_20.csv", help="a file in it")
    parser.add_argument("--hidden", default="hidden_80.csv", help="a file in it")
    parser.add_argument("--model", action="append", help="may be given several times; rules by default")
    parser.add_argument("--attributes", action="store_true", help="with the nodes' attributes")
    parser.add_argument("--seed", type=int, default=0, help="of the models")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    folder = Path(os.environ.get("MPXGAT_DATA", ".")) / "alignment" / options.data
    try:
        split = read_split(folder, options.known, options.hidden, options.seed, attributes=options.attributes)
        compared = {"evidence": {"compare": "v:*:vector"}} if options.attributes else {}
        found = [measure(name, split, **compared.get(name, {})) for name in options.model or ["rules"]]
    except MpxgatError as problem:
        parser.error(str(problem))
    if options.json:
        given = {name: getattr(options, name) for name in ("data", "known", "hidden", "attributes", "seed")}
        print(json.dumps({**given, "models": found, "peak_rss_mb": peak_rss_mb()}))
        return
    print(f"{'model':>16} {'':>9}" + "".join(f"{name:>9}" for name in _SHOWN) + f"{'fit s':>10}{'score s':>9}")
    for each in found:
        for way, values in each["ranks"].items():
            figures = "".join(f"{values[name]:9.3f}" for name in _SHOWN)
            print(f"{each['model']:>16} {way:>9}{figures}{each['seconds']['fit']:10.1f}{each['seconds']['score']:9.1f}")


if __name__ == "__main__":
    main()
