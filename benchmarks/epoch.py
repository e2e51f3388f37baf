"""Time and memory of one training epoch, as ratios to the usual way of writing it, in one run.

    python -m benchmarks.epoch --dataset fftwyt --json

*Reference style* is a dense one-hot input, PyTorch Geometric's GATConv of the same widths, heads, dropout and blocks,
and a decoder that indexes both ends of every edge in both directions. Horizontal phase: all layers, one after the
other. Vertical phase: all nodes; ours also reads the horizontal embeddings, the reference does not. Times are medians
of interleaved runs; peak memory is taken in a process of its own for each; the floor is the dense products alone.
The process keeps freed memory (`mpxgat.training.allocator`), as the command line does; both sides profit.

    ratio_vs_reference_style    reference seconds / our seconds        (larger is better)
    rss_ratio                   our peak memory / reference's          (smaller is better)
    percent_of_matmul_floor     100 * floor seconds / our seconds      (100 would be nothing but products)
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from benchmarks import epoch_works
from benchmarks.epoch_works import Epoch, Network
from benchmarks.measure import interleaved_medians
from mpxgat.models.mpxgat_settings import PUBLISHED, MPXGATSettings
from mpxgat.nn import PRESETS, Widths
from mpxgat.training.allocator import keep_freed_memory

PHASES = ("horizontal", "vertical")
EPOCHS_FOR_MEMORY = 3


def networks_of(dataset: str) -> dict[str, list[Network]]:
    """The networks of both phases."""
    from mpxgat import datasets  # here: the processes that measure memory do not need it

    graph = datasets.load(dataset)
    layers = []
    for start, stop in zip(graph.layer_start[:-1], graph.layer_start[1:], strict=True):
        inside = (graph.intra[:, 0] >= start) & (graph.intra[:, 0] < stop)
        layers.append(Network(int(stop - start), graph.intra[inside].astype(np.int64) - start))
    return {"horizontal": layers, "vertical": [Network(graph.n_nodes, graph.inter.astype(np.int64))]}


def widths_of(dataset: str, phase: str) -> Widths:
    """The published ones."""
    settings = MPXGATSettings.of(**PUBLISHED[dataset])
    return settings.horizontal_widths if phase == "horizontal" else settings.vertical_widths


def make(work: str, phase: str, networks: list[Network], widths: Widths, preset: str) -> Epoch:
    """The epoch called ``work`` (ours, reference, floor) of a phase."""
    vertical = phase == "vertical"
    if work == "ours":
        return epoch_works.ours(networks, widths, vertical=vertical, preset_name=preset)
    if work == "reference":
        return epoch_works.reference(networks, widths)
    return epoch_works.floor(networks, widths, vertical=vertical)


def seconds(phase: str, networks: list[Network], widths: Widths, preset: str, repeats: int) -> dict[str, float]:
    """Median seconds of each work; the first, untimed turn warms up."""
    works: dict[str, Callable[[], object]] = {
        work: make(work, phase, networks, widths, preset) for work in ("ours", "reference", "floor")
    }
    interleaved_medians(works, 1)
    return interleaved_medians(works, repeats)


def peak_mb(work: str, options: argparse.Namespace, phase: str, networks: list[Network]) -> float:
    """Peak resident memory of a fresh process that runs a few epochs of one work."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "networks.npz"
        arrays = {f"links{k}": network.links for k, network in enumerate(networks)}
        np.savez(path, allow_pickle=False, sizes=[network.n_nodes for network in networks], **arrays)
        arguments = ["--dataset", options.dataset, "--preset", options.preset, "--peak-of", work, phase, str(path)]
        run = [sys.executable, "-m", "benchmarks.epoch", *arguments]
        return float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


def print_own_peak(options: argparse.Namespace) -> None:
    """What `peak_mb` starts."""
    work, phase, path = options.peak_of
    with np.load(path) as arrays:
        networks = [Network(int(n), arrays[f"links{k}"]) for k, n in enumerate(arrays["sizes"])]
    epoch = make(work, phase, networks, widths_of(options.dataset, phase), options.preset)
    for _ in range(EPOCHS_FOR_MEMORY):
        epoch()
    print(_own_peak_mb())


def _own_peak_mb() -> float:
    # Not getrusage: a child process inherits its parent's peak there.
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/status has no line VmHWM, expected the peak resident memory of this process")


def measure(options: argparse.Namespace) -> dict[str, object]:
    """Both phases."""
    record: dict[str, object] = {
        "dataset": options.dataset,
        "preset": options.preset,
        "threads": torch.get_num_threads(),
        "repeats": options.repeats,
    }
    for phase, networks in networks_of(options.dataset).items():
        if phase not in options.phases:
            continue
        times = seconds(phase, networks, widths_of(options.dataset, phase), options.preset, options.repeats)
        peaks = {work: peak_mb(work, options, phase, networks) for work in ("ours", "reference")}
        record[phase] = {
            "ratio_vs_reference_style": round(times["reference"] / times["ours"], 2),
            "rss_ratio": round(peaks["ours"] / peaks["reference"], 3),
            "percent_of_matmul_floor": round(100 * times["floor"] / times["ours"], 1),
            "seconds": {name: round(value, 4) for name, value in times.items()},
            "peak_rss_mb": {name: round(value, 1) for name, value in peaks.items()},
        }
    return record


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", choices=list(PUBLISHED), default="fftwyt")
    parser.add_argument("--preset", choices=list(PRESETS), default="paper")
    parser.add_argument("--phases", choices=PHASES, nargs="+", default=list(PHASES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--peak-of", nargs=3, metavar=("WORK", "PHASE", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    keep_freed_memory()  # as the command line does; both sides profit
    if options.peak_of:
        print_own_peak(options)
        return
    record = measure(options)
    if options.json:
        print(json.dumps(record))
        return
    for name, value in record.items():
        print(f"{name:>12}  {value}")


if __name__ == "__main__":
    main()
