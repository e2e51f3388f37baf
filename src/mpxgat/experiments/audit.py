"""AN AUDIT, NOT AN EVALUATION: how the published inter-layer figures of MPXGAT arise.

Nothing here may be used to evaluate a model. The first two figures below are computed the way the authors' public code
computes them, with the test links inside the network; they are shown so that the published ones can be understood.
Only the command `mpxgat audit` imports this file (a check of the import rules sees to it).

The preset `reference` is trained on the training graph of a split, without the test links. Then the same weights are
scored three times:

    reference_real  as the authors' code does: only the test links carry messages (with self-loops), and only one way:
                    their data has each link once and is not made undirected; attention dropout stays on; one negative
                    for each test link, drawn once, uniformly over all pairs of nodes whatever their layers, avoiding
                    only the test links
    reference_fake  the same with random non-links in place of the test links
    leak_free       the training links carry messages, dropout is off, all valid pairs of the protocol are scored

If the first is high because the model has learned who is who, the second must be near .5. If the second is as high as
the first, the figure says only that two nodes that exchange messages come out alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mpxgat.errors import SettingError
from mpxgat.evaluation import evaluate
from mpxgat.experiments.tables import published_figures
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import write_files
from mpxgat.metrics import auc
from mpxgat.models.mpxgat import MPXGAT, PUBLISHED
from mpxgat.nn.attention import Neighbourhood
from mpxgat.nn.ops import pair_scores
from mpxgat.pairs import pair_keys
from mpxgat.splits import Split
from mpxgat.training.links import BetweenLayers, Stream
from mpxgat.training.parallel import Session

_COLOURS = {"reference_real": "#D55E00", "reference_fake": "#E69F00", "leak_free": "#0072B2", "published": "#777777"}
_DOTS_PER_INCH = 150
_SCORINGS = 10  # dropout is on: each scoring draws it anew
_AUDIT, _NEGATIVES, _FAKE, _DROPOUT = 2**31 + 1, 0, 1, 2  # streams of random numbers that no part of the model has


@dataclass(frozen=True)
class Audit:
    """Inter AUC three ways; ``values`` are over the scorings with dropout on (leak-free: one)."""

    dataset: str
    seed: int
    test_links: int
    settings: Mapping[str, Any]
    training: Mapping[str, Any]
    values: Mapping[str, Sequence[float]]
    hard: float
    published: float | None

    def to_record(self) -> dict[str, Any]:
        """Plain values: the means by name, and how they came about."""
        means = {name: float(np.mean(values)) for name, values in self.values.items()}
        return {
            **means,
            "published": self.published,
            "leak_free_hard_pairs": self.hard,
            "std": {name: float(np.std(values)) for name, values in self.values.items() if len(values) > 1},
            "dataset": self.dataset,
            "seed": self.seed,
            "test_links": self.test_links,
            "settings": dict(self.settings),
            "training": dict(self.training),
        }


def audit(split: Split, dataset: str, settings: Mapping[str, Any], session: Session | None = None) -> Audit:
    """Train the preset `reference` on ``split.train`` and score it three ways; SettingError without test links.

    Settings that are not given are those published for the data set, or the defaults.
    """
    if not len(split.inter.positives):
        raise SettingError("the split has no inter-layer test link, expected one at least")
    model = MPXGAT(seed=split.seed, **{**PUBLISHED.get(dataset, {}), **settings, "preset": "reference"})
    return audit_model(model.fit(split.train, session), split, dataset)


def audit_model(model: MPXGAT, split: Split, dataset: str) -> Audit:
    """Score a model fitted on ``split.train`` three ways."""
    positives = split.inter.positives.astype(np.int64)
    stream = Stream((split.seed, _AUDIT))
    fake = _random_non_links(split, len(positives), stream.at(_FAKE).numpy())
    values = {
        "reference_real": _scored_as_published(model, positives, stream),
        "reference_fake": _scored_as_published(model, fake, stream),
    }
    fair = evaluate(model, split).inter.values
    published = published_figures("mpxgat", dataset)
    return Audit(
        dataset=dataset,
        seed=split.seed,
        test_links=len(positives),
        settings=model.settings,
        training=model.training_summary(),
        values={**values, "leak_free": [fair["auc"]]},
        hard=fair["auc_hard"],
        published=published["inter"].mean if published else None,
    )


def _scored_as_published(model: MPXGAT, links: NDArray[np.int64], stream: Stream) -> list[float]:
    """AUC of ``links`` against as many negatives, the links themselves carrying the messages, dropout on."""
    part, net = model.vertical_network()
    n = part.n_nodes
    negatives = torch.from_numpy(_negatives_over_all_pairs(n, links, stream.at(_NEGATIVES).numpy()))
    positives = torch.from_numpy(links)
    around = _one_way(n, links)
    net.train()  # the authors' code never calls eval()
    found = []
    with torch.no_grad():
        for number in range(_SCORINGS):
            embeddings = net(*part.inputs(), around, generator=stream.at(_DROPOUT, number).torch())
            scores = (pair_scores(embeddings, pairs).numpy() for pairs in (positives, negatives))
            found.append(auc(*scores))
    return found


def _one_way(n: int, links: NDArray[np.int64]) -> Neighbourhood:
    """Every link sends from its lower node to its higher one, every node to itself. For scoring only."""
    nodes = np.arange(n)
    edges = np.concatenate([np.sort(links, axis=1), np.stack([nodes, nodes], axis=1)])
    senders, receivers = edges[np.lexsort(edges.T)].T
    offsets = torch.from_numpy(np.searchsorted(receivers, np.arange(n + 1)))
    return Neighbourhood.one_way(offsets, torch.from_numpy(senders.copy()))


def _negatives_over_all_pairs(n: int, links: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """As many pairs as links: any two nodes, of whatever layers; only the links themselves are avoided."""
    linked = pair_keys(links, n)
    found = np.empty((0, 2), dtype=np.int64)
    while len(found) < len(links):
        pairs = rng.integers(n, size=(len(links), 2))
        free = (pairs[:, 0] != pairs[:, 1]) & ~np.isin(pair_keys(pairs, n), linked)
        found = np.concatenate([found, pairs[free]])
    return found[: len(links)]


def _random_non_links(split: Split, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Pairs of nodes of different layers that are not the same unit, neither in training nor in truth."""
    graph: MultiplexGraph = split.train
    truth = pair_keys(split.inter.positives, graph.n_nodes)
    found = np.empty((0, 2), dtype=np.int64)
    while len(found) < count:
        pairs = BetweenLayers(graph.node_layer, graph.unit).draw(count, rng)
        if not len(pairs):
            raise SettingError("the graph has no two nodes of different layers that could be a fake link")
        found = np.concatenate([found, pairs[~np.isin(pair_keys(pairs, graph.n_nodes), truth)]])
    return found[:count]


def write_audit_chart(found: Mapping[str, Any], words: Mapping[str, str], folder: Path) -> list[Path]:
    """Write ``audit.svg`` and ``audit.png``; ``words`` names the figures in the order they are drawn."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shown = {name: text for name, text in words.items() if found[name] is not None}
    with rc_context({"svg.hashsalt": "audit", "font.size": 9.5}):
        figure = Figure(figsize=(7.6, 0.55 * len(shown) + 1.3), layout="constrained")
        axes = figure.subplots()
        means = [found[name] for name in shown]
        spreads = [found["std"].get(name, 0) for name in shown]
        colours = [_COLOURS[name] for name in shown]
        axes.barh(list(shown.values()), means, xerr=spreads, color=colours, height=0.62, capsize=2.5)
        for row, (mean, spread) in enumerate(zip(means, spreads, strict=True)):
            axes.annotate(
                f"{mean:.3f}".removeprefix("0"), (mean + spread, row), xytext=(5, 0), textcoords="offset points",
                va="center",
            )  # fmt: skip
        axes.invert_yaxis()
        axes.axvline(0.5, color="#555555", linewidth=0.9, linestyle="--")
        axes.annotate("chance", (0.5, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", color="#555555")
        axes.set_xlim(0, 1.08)
        axes.set_xlabel("inter-layer AUC")
        axes.spines[["top", "right"]].set_visible(False)
        title = f"{found['dataset']}: one training of preset reference, scored three ways"
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        return write_files(
            {
                folder / "audit.svg": lambda path: figure.savefig(path, format="svg", metadata={"Date": None}),
                folder / "audit.png": lambda path: figure.savefig(path, format="png", dpi=_DOTS_PER_INCH),
            }
        )
