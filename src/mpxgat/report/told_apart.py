"""Hidden links and non-links as a model scores them: one pass over all pairs, curves of all and of each layer pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpxgat.models.base import Model
from mpxgat.report.held_out import HeldOut
from mpxgat.report.link_curve import LinkCurve
from mpxgat.splits.split import InterTargets, IntraTargets

Layers = tuple[int, int]


@dataclass(frozen=True, eq=False)
class ToldApart:
    """Pairs of one kind: all together, and those of each pair of layers (the same one twice within a layer)."""

    together: LinkCurve
    by_layers: dict[Layers, LinkCurve]


@dataclass(frozen=True, eq=False)
class Judged:
    """What came of judging a model on held-out links."""

    held_out: HeldOut
    intra: ToldApart
    inter: ToldApart


def judge(held_out: HeldOut) -> Judged:
    """Score all targets of a split."""
    model, split = held_out.model, held_out.split
    return Judged(held_out, _tell(model, split.intra), _tell(model, split.inter))


def _tell(model: Model, targets: IntraTargets | InterTargets) -> ToldApart:
    scores = model.score(targets.positives)
    layers = model.graph.node_layer[targets.positives].reshape(-1, 2)
    together = LinkCurve(scores)
    by_layers: dict[Layers, LinkCurve] = {}
    for a, b in np.unique(layers, axis=0).tolist():
        by_layers[a, b] = LinkCurve(scores[(layers == (a, b)).all(axis=1)])
    for block in targets.negatives.blocks():
        of_non_links = model.score_block(block.rows, block.cols)[block.mask]
        together.add(of_non_links)
        if block.layers in by_layers:
            by_layers[block.layers].add(of_non_links)
    return ToldApart(together, by_layers)
