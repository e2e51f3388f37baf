"""Whom nodes listen to: how evenly MPXGAT's attention is spread, and how much of it a node gives itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from mpxgat.models.base import Model
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.report import charts
from mpxgat.report.figure import Figure
from mpxgat.report.network import which_layers
from mpxgat.report.records import Row
from mpxgat.report.section import Section, section

_PERCENTILES = (5, 25, 50, 75, 95)
_MOST_PARTS = 25


@dataclass(frozen=True, eq=False)
class Spread:
    """(k,) of the nodes of a part that have someone else to listen to; means over blocks and heads.

    evenness        entropy of the weights over its largest possible value: 1 if all weigh the same, 0 if one has all
    own             weight of the node itself
    """

    part: str
    evenness: NDArray[np.float64]
    own: NDArray[np.float64]


def attention_section(model: Model) -> Section | None:
    """Figures about attention; None for models without it."""
    if not isinstance(model, MPXGAT):
        return None
    spreads = [spread for spread in attention_spreads(model) if len(spread.own)][-_MOST_PARTS:]
    if not spreads:
        return None
    figures = [
        _figure(
            "attention-evenness",
            "How evenly attention is spread",
            "1: a node listens to all its neighbours alike; 0: to one alone. Line: 5th to 95th percentile of the "
            "nodes, bar: middle half, tick: median." + which_layers(model.graph),
            "evenness",
            [(spread.part, spread.evenness) for spread in spreads],
        ),
        _figure(
            "attention-own",
            "How much a node listens to itself",
            "Weight of the node itself among those it listens to; percentiles as before." + which_layers(model.graph),
            "own weight",
            [(spread.part, spread.own) for spread in spreads],
        ),
    ]
    lead = (
        "A node's vector is a mean of its neighbours' and its own, weighted by attention. Means over blocks and heads; "
        "nodes without neighbours are left out."
    )
    return section("attention", "Attention", lead, figures)


def attention_spreads(model: MPXGAT) -> Iterator[Spread]:
    """One for each layer, then one for the links between layers."""
    for label, around, blocks in model.attention_by_part():
        weights = torch.cat(list(blocks), dim=1).numpy().astype(np.float64)
        yield _spread(label, weights, around)


def _spread(label: str, weights: NDArray[np.float64], around: Neighbourhood) -> Spread:
    """From (E, blocks * heads) weights."""
    offsets = around.offsets.numpy()
    sizes = np.diff(offsets)
    receiver = np.repeat(np.arange(len(sizes)), sizes)
    terms = -weights * np.log(np.where(weights > 0, weights, 1))
    entropy = np.add.reduceat(terms, offsets[:-1], axis=0)  # every node hears itself, so none is empty
    own = weights[around.senders.numpy() == receiver].mean(axis=1)
    social = sizes > 1
    evenness = entropy[social].mean(axis=1) / np.log(sizes[social])
    return Spread(label, np.clip(evenness, 0, 1), own[social])


def _figure(name: str, title: str, caption: str, axis: str, values: list[tuple[str, NDArray[np.float64]]]) -> Figure:
    rows: list[Row] = []
    for part, found in values:
        levels = np.percentile(found, _PERCENTILES).tolist()
        rows.append(
            {
                "part": part,
                "nodes": len(found),
                **{f"p{p}": level for p, level in zip(_PERCENTILES, levels, strict=True)},
            }
        )
    formats = {f"p{p}": ".3f" for p in _PERCENTILES}
    hints = charts.tooltip({"part": "part", "nodes": "nodes", "p50": "median", "p5": "5%", "p95": "95%"}, **formats)
    return Figure(name, title, caption, rows, charts.spreads(charts.category("part", None), axis, hints, [0, 1]))
