"""How fast a large `.edges` file becomes a graph: ``python -m benchmarks.load [--json] [--edges N]``.

The file is synthetic: four layers, a fifth as many units as edges, ends drawn uniformly, weights of four digits.
That is a hard case: there is no locality, and hardly a duplicate. The time is that of `mpxgat.io.read`, from the
file to the validated graph with its inter links.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from mpxgat.graph import MultiplexGraph
from mpxgat.io import read

LAYERS = 4
EDGES_PER_UNIT = 5


def write_edges(path: Path, edges: int, seed: int = 0) -> None:
    """Write a random file of ``edges`` lines ``layer node node weight``."""
    random = np.random.default_rng(seed)
    units = max(edges // EDGES_PER_UNIT, 2)
    table = pa.table(
        {
            "layer": random.integers(1, LAYERS + 1, edges),
            "source": random.integers(1, units + 1, edges),
            "target": random.integers(1, units + 1, edges),
            "weight": random.integers(1, 10_000, edges) / 10_000,
        }
    )
    csv.write_csv(table, path, csv.WriteOptions(include_header=False, delimiter=" "))


def graph_bytes(graph: MultiplexGraph) -> int:
    """Memory of a graph's arrays."""
    arrays = (graph.layer_start, graph.intra, graph.inter, graph.intra_weight, graph.inter_weight)
    return int(graph.ids.nbytes) + sum(array.nbytes for array in arrays if array is not None)


def measure(edges: int) -> dict[str, float]:
    """Write, read once, and report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "synthetic.edges"
        write_edges(path, edges)
        start = time.perf_counter()
        graph = read(path)
        seconds = time.perf_counter() - start
    return {
        "edges": edges,
        "seconds": round(seconds, 3),
        "edges_per_second": round(edges / seconds),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "graph_mb": round(graph_bytes(graph) / 1e6, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--edges", type=int, default=5_000_000, help="lines of the synthetic file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.edges < 1:
        parser.error(f"--edges is {options.edges}, expected at least 1")
    result = measure(options.edges)
    if options.json:
        print(json.dumps(result))
    else:
        print(
            f"{result['edges']:,} edges in {result['seconds']} s: {result['edges_per_second']:,} edges/s, "
            f"peak {result['peak_rss_mb']} MB, graph {result['graph_mb']} MB"
        )


if __name__ == "__main__":
    main()
