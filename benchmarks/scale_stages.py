"""The work of `benchmarks.scale`, each in a process of its own: plant a network; load it, train on it, match it.

A process prints a JSON object on a line for each stage that it has ended, so that what is known stays known when it is
stopped.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mpxgat.graph import MultiplexGraph
    from mpxgat.matching import Matches
    from mpxgat.models.base import Model
    from mpxgat.training.loop import EpochReport

LAYERS, MEAN_DEGREE, PRESENCE = 4, 8.0, 0.7
OVERLAP, KNOWN = 0.8, 0.7  # with fewer shared ties and known links hardly a match is sure enough to be made


def plant(path: Path, nodes: int, seed: int) -> None:
    """Write a planted multiplex of about so many nodes."""
    from mpxgat.io import write
    from mpxgat.synthetic import social

    copies = LAYERS * PRESENCE + (1 - PRESENCE) ** LAYERS  # of a person; everyone is in one layer at least
    people = max(round(nodes / copies), 2)
    write(social(people, LAYERS, seed, overlap=OVERLAP, mean_degree=MEAN_DEGREE, presence=PRESENCE, known=KNOWN), path)


def load_train_match(path: Path, model: str, seed: int, settings: dict[str, Any], threshold: float) -> None:
    """Every stage, as far as the model goes."""
    from mpxgat.io import read

    small = path.with_name("small.mpxg")
    plant(small, 30, seed)
    read(small)  # what is imported on the way counts for the base
    from mpxgat.models.base import make_model

    untrained = make_model(model, seed=seed, **settings)
    _say("base", peak_mb=_peak_mb())
    graph = _measured("load", lambda: read(path), _sizes)
    clock = _EpochClock()
    fitted = _measured("train", lambda: clock.fit(untrained, graph), lambda _: clock.summary())
    match_all = getattr(fitted, "match_all", None)
    if match_all is not None:
        _measured("match", lambda: match_all(threshold), lambda found: _quality(graph, found))
        _say("candidates", **_recall(graph, fitted))


def _measured(stage: str, work: Callable[[], Any], about: Callable[[Any], dict[str, Any]]) -> Any:
    """Do a work and say how long it took, the most memory that the process had meanwhile, and something about it."""
    _forget_peak()
    start, busy = time.perf_counter(), time.process_time()
    result = work()
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    _say(stage, seconds=round(seconds, 4), cpu_seconds=round(busy, 4), peak_mb=_peak_mb(), **about(result))
    return result


def _say(stage: str, **facts: Any) -> None:
    print(json.dumps({"stage": stage, **facts}), flush=True)


class _EpochClock:
    """How long the epochs of a training take."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}  # by the part in training
        self._last = 0.0

    def fit(self, model: Model, graph: MultiplexGraph) -> Model:
        """Fit a model, and look at the clock after every epoch."""
        from mpxgat.training.parallel import Session

        self._last = time.perf_counter()
        return model.fit(graph, Session(report=self._tick))

    def _tick(self, part: str, report: EpochReport) -> None:
        now = time.perf_counter()
        self._seconds.setdefault(part, []).append(now - self._last)
        self._last = now

    def summary(self) -> dict[str, Any]:
        """Seconds of an epoch, all parts of the training together; None if it has none.

        The first epoch of a part counts only if it is the only one: what was made ready for it would count as well.
        """
        if not self._seconds:
            return {"epoch_seconds": None}
        each = (np.median(seconds[1:] or seconds) for seconds in self._seconds.values())
        return {"epoch_seconds": round(float(sum(each)), 3)}


def _sizes(graph: MultiplexGraph) -> dict[str, Any]:
    return {"nodes": graph.n_nodes, "intra_links": graph.n_intra, "inter_links": graph.n_inter}


def _quality(graph: MultiplexGraph, matches: Matches) -> dict[str, Any]:
    """Which share of the matches is right, and which share of what there was to find was found."""
    person = graph.attributes["person"].to_numpy(zero_copy_only=False)
    right = int((person[matches.pairs[:, 0]] == person[matches.pairs[:, 1]]).sum())
    wanted = len(_open_truth(graph))
    return {
        "matches": len(matches),
        "right": round(right / len(matches), 4) if len(matches) else None,
        "found": round(right / wanted, 4) if wanted else None,
    }


def _recall(graph: MultiplexGraph, model: Any) -> dict[str, Any]:
    """Which share of the true counterparts that are not known is among the candidates, all that the model judges."""
    from mpxgat.matching.match import layer_pairs
    from mpxgat.pairs import pair_keys

    keys = [np.empty(0, dtype=np.int64)]
    for a, b in layer_pairs(graph):
        keys.append(pair_keys(model.candidates(a, b, graph.n_nodes).pairs, graph.n_nodes))
    found = np.concatenate(keys)
    truth = _open_truth(graph)
    recall = float(np.isin(pair_keys(truth, graph.n_nodes), found).mean()) if len(truth) else None
    return {"count": len(found), "recall": None if recall is None else round(recall, 4), "truth": len(truth)}


def _open_truth(graph: MultiplexGraph) -> np.ndarray[Any, np.dtype[np.int32]]:
    """(k, 2) the true links between layers that do not follow from known ones."""
    from mpxgat.synthetic import truth

    links = truth(graph)
    unknown: np.ndarray[Any, np.dtype[np.int32]] = links[graph.unit[links[:, 0]] != graph.unit[links[:, 1]]]
    return unknown


def _peak_mb() -> float:
    # Not getrusage: a child process inherits its parent's peak there, and it cannot be reset.
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024, 1)
    raise OSError("/proc/self/status has no line VmHWM, expected the peak resident memory of this process")


def _forget_peak() -> None:
    """Begin to look for the peak anew; where the system forbids it, the peak so far counts for later stages too."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return
