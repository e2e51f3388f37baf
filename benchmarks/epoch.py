"""Time and memory of one training epoch, as ratios to the usual way of writing it, in one run.

    python -m benchmarks.epoch --dataset fftwyt --json

*Reference style* is a dense one-hot input, PyTorch Geometric's GATConv of the same widths, heads, dropout and blocks,
and a decoder that indexes both ends of every edge in both directions. Horizontal phase: all layers, one after the
other. Vertical phase: all nodes; ours also reads the horizontal embeddings, the reference does not. Each side is a
process of its own and they take turns; times are medians. Ours keeps freed memory (`mpxgat.system`), as the
command line does, and the reference is a plain script, which does not; the second ratio shows it with that too. Peak
memory: the reference holds the networks of all layers, ours trains layer by layer. The floor: the dense products alone.

    ratio_vs_reference_style            reference seconds / our seconds     (larger is better)
    ratio_with_memory_kept_by_both      the same with that setting for both
    rss_ratio                           our peak memory / reference's       (smaller is better)
    percent_of_matmul_floor             100 * floor seconds / our seconds   (100 would be nothing but products)
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import astuple
from functools import partial
from pathlib import Path

import numpy as np
import torch

from benchmarks import epoch_works
from benchmarks.epoch_works import Epoch, Network
from mpxgat.nn import PRESETS, Widths
from mpxgat.system import keep_freed_memory

DATASETS = ("fftwyt", "drosophila", "arxiv")
PHASES = ("horizontal", "vertical")
TIMED = ("ours", "reference", "reference, memory kept", "floor")
EPOCHS_FOR_MEMORY = 3


# The workers import no more than a training epoch needs: what reads data and settings would count as memory of both.


def networks_of(dataset: str) -> dict[str, list[Network]]:
    """The networks of both phases."""
    from mpxgat import datasets

    graph = datasets.load(dataset)
    layers = []
    for start, stop in zip(graph.layer_start[:-1], graph.layer_start[1:], strict=True):
        inside = (graph.intra[:, 0] >= start) & (graph.intra[:, 0] < stop)
        layers.append(Network(int(stop - start), graph.intra[inside].astype(np.int64) - start))
    return {"horizontal": layers, "vertical": [Network(graph.n_nodes, graph.inter.astype(np.int64))]}


def widths_of(dataset: str, phase: str) -> Widths:
    """The published ones."""
    from mpxgat.models.mpxgat import PUBLISHED, MPXGATSettings

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


class Worker:
    """A process of its own that runs epochs of one work when asked to."""

    def __init__(self, work: str, phase: str, options: argparse.Namespace, path: Path):
        arguments = ["--preset", options.preset, "--worker", work, phase, str(path)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.epoch", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ask("epoch")  # warms up

    def ask(self, what: str) -> float:
        """Seconds of an "epoch", or the "peak" memory of the process in MB."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate("")


def serve(options: argparse.Namespace) -> None:
    """What a `Worker` starts: answers each line of standard input with a number."""
    work, phase, path = options.worker
    if work in ("ours", "ours, layer by layer", "reference, memory kept", "floor"):
        keep_freed_memory()
    with np.load(path) as arrays:
        networks = [Network(int(n), arrays[f"links{k}"]) for k, n in enumerate(arrays["sizes"])]
        widths = Widths(*arrays["widths"].tolist())
    epoch: Epoch
    if work == "ours, layer by layer":
        epoch = partial(_layer_by_layer, phase, networks, widths, options.preset)
    else:
        epoch = make(work.split(",")[0], phase, networks, widths, options.preset)
    for line in sys.stdin:
        if line.strip() == "peak":
            print(_own_peak_mb(), flush=True)
            continue
        start = time.perf_counter()
        epoch()
        print(time.perf_counter() - start, flush=True)


def _layer_by_layer(phase: str, networks: list[Network], widths: Widths, preset: str) -> None:
    """As training goes: a layer's network is made, trained and put away before the next."""
    for network in networks:
        epoch = make("ours", phase, [network], widths, preset)
        for _ in range(EPOCHS_FOR_MEMORY):
            epoch()


def measured(phase: str, networks: list[Network], options: argparse.Namespace) -> dict[str, object]:
    """One phase: workers side by side, epochs in turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "networks.npz"
        arrays = {f"links{k}": network.links for k, network in enumerate(networks)}
        widths = astuple(widths_of(options.dataset, phase))
        np.savez(path, allow_pickle=False, sizes=[n.n_nodes for n in networks], widths=widths, **arrays)
        timed = {work: Worker(work, phase, options, path) for work in TIMED}
        turns: dict[str, list[float]] = {work: [] for work in TIMED}
        for _ in range(options.repeats):
            for work, worker in timed.items():
                turns[work].append(worker.ask("epoch"))
        reference_peak = timed["reference"].ask("peak")
        for worker in timed.values():
            worker.close()
        ours = Worker("ours, layer by layer", phase, options, path)
        our_peak = ours.ask("peak")
        ours.close()
    seconds = {work: statistics.median(values) for work, values in turns.items()}
    return {
        "ratio_vs_reference_style": round(seconds["reference"] / seconds["ours"], 2),
        "ratio_with_memory_kept_by_both": round(seconds["reference, memory kept"] / seconds["ours"], 2),
        "rss_ratio": round(our_peak / reference_peak, 3),
        "percent_of_matmul_floor": round(100 * seconds["floor"] / seconds["ours"], 1),
        "seconds": {work: round(value, 4) for work, value in seconds.items()},
        "peak_rss_mb": {"ours": round(our_peak, 1), "reference": round(reference_peak, 1)},
    }


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
        record[phase] = measured(phase, networks, options)
    return record


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", choices=DATASETS, default="fftwyt")
    parser.add_argument("--preset", choices=list(PRESETS), default="paper")
    parser.add_argument("--phases", choices=PHASES, nargs="+", default=list(PHASES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--worker", nargs=3, metavar=("WORK", "PHASE", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        serve(options)
        return
    record = measure(options)
    if options.json:
        print(json.dumps(record))
        return
    for name, value in record.items():
        print(f"{name:>12}  {value}")


if __name__ == "__main__":
    main()
