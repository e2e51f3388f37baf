"""AN AUDIT, NOT AN EVALUATION: how the published figures of MPXGAT arise, within layers and between them.

Nothing here may be used to evaluate a model. The figures "real" and "fake" below are computed the way the authors'
public code computes them, with the links that are scored inside the network; they are shown so that the published ones
can be understood. Only the command `mpxgat audit` imports this file (a check of the import rules sees to it).

The preset `reference` is trained on the training graph of a split in two ways, neither of which sees a test link: the
authors' (`mpxgat.experiments.audit_training`) and ours. Both and the untrained network are scored in three ways:

    real        as the authors' code does: only the test links carry messages (with self-loops), one way, from the lower
                node to the higher; attention dropout stays on; one negative for each test link, drawn once, uniformly
                over all pairs of nodes (of the layer; between layers over all nodes whatever their layers), avoiding
                only the test links; within layers, the plain mean of the layers' AUC
    fake        the same with random non-links in place of the test links
    leak-free   the training links carry messages both ways, dropout is off, the pairs of the protocol are scored

If "real" is high because the model has learned which links there are, "fake" must be near .5. If "fake" is as high, the
figure says only that two nodes that exchange messages come out alike.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mpxgat.errors import InputError, OutputError, ResumeError, SettingError, printable, quoted
from mpxgat.evaluation import Summary, evaluate
from mpxgat.experiments.audit_tables import KIND, KINDS
from mpxgat.experiments.audit_training import AuthorsWay, any_pairs, one_way
from mpxgat.experiments.tables import published_figures
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import append_json_line, read_json_lines
from mpxgat.metrics import auc
from mpxgat.models.mpxgat import MPXGAT, PAPERS_TRAINING, PUBLISHED
from mpxgat.models.mpxgat_parts import Part
from mpxgat.nn.mpxgat import Net
from mpxgat.nn.ops import pair_scores
from mpxgat.pairs import label_components
from mpxgat.splits import Split, make_split
from mpxgat.training.links import BetweenLayers, NegativeSampler, Stream, WithinLayer
from mpxgat.training.parallel import Session

AUTHORS_EPOCHS = 500
SCORINGS = 10  # dropout is on: each scoring draws it anew
_AUDIT = 2**31 + 1  # a stream of random numbers that no part of the model has
_NEGATIVES, _FAKE, _DROPOUT = range(3)  # what its numbers are for
_WHOLE_MODEL = {"preset": "reference", "horizontal": "trained", "vertical": "gat-v"}

Links = Mapping[str, NDArray[np.int64]]
Values = dict[str, dict[str, float | None]]
"""Figures by kind of link and name; None where one is not defined."""


# ---- several seeds, kept in a folder -------------------------------------------------------------------------------


def audit(
    graph: MultiplexGraph,
    dataset: str,
    settings: Mapping[str, Any],
    seeds: Sequence[int] = (0,),
    folder: Path | None = None,
    session: Session | None = None,
) -> dict[str, Any]:
    """The figures of all seeds in plain values; weights of links are not read.

    settings    of the model; those that are not given are the ones published for the data set, or the defaults
                (without ``epochs``, the authors' way trains `AUTHORS_EPOCHS` epochs)
    folder      where finished seeds, which are not computed again, and checkpoints are kept

    SettingError without test links; ResumeError if the folder is of other settings.
    """
    graph = graph.unweighted()
    identity = {"data": dataset, "graph": graph.fingerprint(), "settings": repr(sorted(settings.items()))}
    done = {} if folder is None else _finished(folder, identity)
    for seed in seeds:
        if seed in done:
            continue
        split = make_split(graph, "marked", seed)
        done[seed] = audit_split(split, dataset, settings, _sessions(session or Session(), folder, seed, identity))
        if folder is not None:
            append_json_line(_kept(folder), {"identity": identity, **done[seed]})
            shutil.rmtree(_checkpoints(folder, seed), ignore_errors=True)
    return _over_seeds(dataset, [done[seed] for seed in seeds])


def _kept(folder: Path) -> Path:
    return folder / "audit.jsonl"


def _checkpoints(folder: Path, seed: int) -> Path:
    return folder / "checkpoints" / f"seed-{seed}"


def _finished(folder: Path, identity: Mapping[str, str]) -> dict[int, dict[str, Any]]:
    """What a folder has of finished seeds."""
    path, done = _kept(folder), {}
    for line, record in read_json_lines(path, "a seed's audit"):
        if not {"identity", "seed", "test_links", "settings", "training", *KINDS} <= record.keys():
            raise InputError("not a seed's audit (keys are missing)", path, line)
        before = record.pop("identity")
        other = [name for name in identity if before.get(name) != identity[name]]
        if other:
            raise ResumeError(
                f"cannot resume: {printable(path, 300)} was made with other {other[0]} "
                f"({printable(before.get(other[0]))}, now {printable(identity[other[0]])}); take another folder"
            )
        done[int(record["seed"])] = record
    return done


def _sessions(
    session: Session, folder: Path | None, seed: int, identity: Mapping[str, str]
) -> Callable[[str], Session]:
    """For each way of training its own checkpoints, which fit this graph, seed and settings only."""

    def of(way: str) -> Session:
        if folder is None:
            return replace(session, checkpoints=None)
        place = _checkpoints(folder, seed) / way
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise OutputError(f"{printable(place, 300)}: cannot make it: {printable(problem.strerror)}") from None
        return replace(session, checkpoints=place, identity={**identity, "seed": str(seed), "way": way})

    return of


def _over_seeds(dataset: str, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means, and sample standard deviations where there are several seeds."""
    published = published_figures("mpxgat", dataset)
    kinds: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        names = list(records[0][kind])
        summaries = {name: _summary([record[kind][name] for record in records]) for name in names}
        kinds[kind] = {
            **{name: None if summary is None else summary.mean for name, summary in summaries.items()},
            "published": published[kind].mean if published else None,
            "std": {name: s.std for name, s in summaries.items() if s is not None and len(s.values) > 1},
            "test_links": [record["test_links"][kind] for record in records],
        }
    return {
        "kind": KIND,
        "dataset": dataset,
        "seeds": [record["seed"] for record in records],
        "dropout_scorings": SCORINGS,
        **kinds,
        "settings": records[0]["settings"],
        "training": [{"seed": record["seed"], **record["training"]} for record in records],
    }


def _summary(values: Sequence[float | None]) -> Summary | None:
    known = [value for value in values if value is not None]
    return Summary.of(known) if len(known) == len(values) else None


# ---- one seed ------------------------------------------------------------------------------------------------------


def audit_split(
    split: Split, dataset: str, settings: Mapping[str, Any], session_of: Callable[[str], Session]
) -> dict[str, Any]:
    """Train the preset `reference` both ways on ``split.train`` and score it; see `audit`."""
    real: Links = {"intra": split.intra.positives.astype(np.int64), "inter": split.inter.positives.astype(np.int64)}
    for kind, links in real.items():
        if not len(links):
            raise SettingError(f"the split of seed {split.seed} has no {kind}-layer test link, expected one at least")
    scored = {"real": real, "fake": fake_links(split)}
    chosen = {**PAPERS_TRAINING, **PUBLISHED.get(dataset, {}), **_whole_model(settings)}
    untrained = AuthorsWay(seed=split.seed, **{**chosen, "epochs": 0}).fit(split.train)
    values = [_named(_figures(untrained, split, scored), "untrained")]
    del untrained
    authors_settings = {**chosen, "epochs": settings.get("epochs", AUTHORS_EPOCHS)}
    authors = AuthorsWay(seed=split.seed, **authors_settings).fit(split.train, session_of("authors"))
    values.append(_named(_figures(authors, split, scored), "authors"))
    ours = MPXGAT(seed=split.seed, **chosen).fit(split.train, session_of("ours"))
    values.append(_named(_figures(ours, split, scored), "ours"))
    models = {"authors": authors, "ours": ours}
    return {
        "seed": split.seed,
        "test_links": {kind: len(links) for kind, links in real.items()},
        **{kind: _in_order(kind, values) for kind in KINDS},
        "settings": {way: model.settings for way, model in models.items()},
        "training": {way: model.training_summary() for way, model in models.items()},
    }


def _whole_model(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the whole model as the authors' code has it; SettingError for another one."""
    for name, value in _WHOLE_MODEL.items():
        if settings.get(name, value) != value:
            raise SettingError(f"{name} is {quoted(settings[name])}, expected {value}: the audit is of that alone")
    return {**settings, **_WHOLE_MODEL}


def _named(figures: Values, way: str) -> Values:
    """By the names that the record has; our own training leak-free is *the* leak-free figure."""
    names = {"ours_leak_free": "leak_free", "ours_leak_free_hard_pairs": "leak_free_hard_pairs"}
    return {
        kind: {names.get(f"{way}_{name}", f"{way}_{name}"): value for name, value in values.items()}
        for kind, values in figures.items()
    }


def _in_order(kind: str, values: Sequence[Values]) -> dict[str, float | None]:
    """The figures of all ways, those first that are compared most."""
    found = {name: value for each in values for name, value in each[kind].items()}
    return {name: found[name] for name in KINDS[kind]}


def _figures(model: MPXGAT, split: Split, links: Mapping[str, Links]) -> Values:
    """A fitted model scored in three ways; ``links`` are "real" and "fake"."""
    fair = evaluate(model, split)
    found = {
        "intra": {"leak_free": fair.intra.values["auc"]},
        "inter": {"leak_free": fair.inter.values["auc"], "leak_free_hard_pairs": fair.inter.values["auc_hard"]},
    }
    networks = list(model.networks())
    for kind, figures in found.items():
        for name, of_kind in links.items():
            figures[name] = scored_as_published(networks, split.train, kind, of_kind[kind])
    return {
        kind: {name: None if math.isnan(value) else value for name, value in figures.items()}
        for kind, figures in found.items()
    }


# ---- scoring with a leak -------------------------------------------------------------------------------------------


def scored_as_published(
    networks: Sequence[tuple[Part, Net]], graph: MultiplexGraph, kind: str, links: NDArray[np.int64]
) -> float:
    """Mean AUC over `SCORINGS` scorings of links (m, 2), within layers the plain mean over the layers that have any.

    NaN if no layer has both a link and another pair.
    """
    if kind == "inter":
        found = [_scorings(*networks[-1], links)]
    else:
        inside = zip(networks[:-1], by_layer(graph, links), strict=True)
        found = [_scorings(part, net, ours) for (part, net), ours in inside if len(ours)]
    defined = [scorings for scorings in found if not np.isnan(scorings).any()]
    return float(np.mean(defined)) if defined else math.nan


@torch.no_grad()
def _scorings(part: Part, net: Net, links: NDArray[np.int64]) -> list[float]:
    """AUC of ``links`` against as many negatives, the links themselves carrying the messages, dropout on."""
    stream = Stream((part.seed, _AUDIT, part.key))
    negatives = torch.from_numpy(any_pairs(part.n_nodes, links, stream.at(_NEGATIVES).numpy()))
    positives, around = torch.from_numpy(links), one_way(part.n_nodes, links)
    net.train()  # the authors' code never calls eval()
    found = []
    for number in range(SCORINGS):
        embeddings = net(*part.inputs(), around, generator=stream.at(_DROPOUT, number).torch())
        scores = (pair_scores(embeddings, pairs).numpy() for pairs in (positives, negatives))
        found.append(auc(*scores))
    return found


def by_layer(graph: MultiplexGraph, links: NDArray[np.integer]) -> list[NDArray[np.int64]]:
    """The intra links of every layer, nodes numbered within the layer."""
    first = links[:, 0]
    bounds = pairwise(graph.layer_start.tolist())
    return [links[(first >= begin) & (first < end)].astype(np.int64) - begin for begin, end in bounds]


def fake_links(split: Split) -> Links:
    """As many random non-links as there are test links, within layers in every layer (fewer where hardly any pair is
    free): links neither of the training graph nor hidden, nor pairs that are one unit through both. SettingError if
    there are none between layers.
    """
    graph, stream = split.train, Stream((split.seed, _AUDIT))
    unit = label_components(np.concatenate([graph.inter, split.inter.positives]), graph.n_nodes)
    rng = stream.at(_FAKE).numpy()
    inter = _distinct(BetweenLayers(graph.node_layer, unit), len(split.inter.positives), rng)
    if not len(inter):
        raise SettingError("the graph has no two nodes of different layers that could be a fake link")
    intra = []
    hidden_by_layer, known_by_layer = by_layer(graph, split.intra.positives), by_layer(graph, graph.intra)
    bounds = pairwise(graph.layer_start.tolist())
    for (begin, end), hidden, known in zip(bounds, hidden_by_layer, known_by_layer, strict=True):
        links = np.concatenate([known, hidden]).astype(np.int32)
        intra.append(_distinct(WithinLayer.of(end - begin, links), len(hidden), rng) + begin)
    return {"intra": np.concatenate(intra), "inter": inter}


def _distinct(sampler: NegativeSampler, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Pairs of which no two are the same: each is to carry one message."""
    pairs = np.unique(np.sort(sampler.draw(4 * count, rng), axis=1), axis=0)
    return rng.permutation(pairs)[:count]
