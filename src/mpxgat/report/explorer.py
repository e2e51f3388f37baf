"""The explorer: a node's surroundings in all layers, who it could be in others, and why.

Everything stands in the page: the network, the most probable pairs of a model that matches, and their reasons.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.matching.match import Matcher, layer_pairs, rank_by_node
from mpxgat.matching.reasons import Explanation
from mpxgat.models.base import Model
from mpxgat.report.page import Fragment, Section, asset

LEAST = 0.01  # less probable pairs are not shown
MOST_OF_A_NODE = 6
MOST_PAIRS = 20_000
_WHOLE = ("uint8", "uint16", "int32")
# In this order they are one script; what comes later uses what came before.
_SCRIPTS = (
    "elements",
    "network",
    "search",
    "layout",
    "drawing",
    "lists",
    "candidates",
    "search_box",
    "start",
    "explorer",
)


def explorer_section(model: Model | Matcher) -> Section:
    """The explorer of a fitted model's network, with candidates if the model matches nodes."""
    fragment = Fragment(
        html=asset("explorer/explorer.html"),
        style=asset("explorer/explorer.css"),
        script="\n".join(asset(f"explorer/{name}.js") for name in _SCRIPTS),
        data=explorer_data(model),
    )
    return Section("explorer", "Explorer", fragment=fragment)


def explorer_data(model: Model | Matcher) -> dict[str, object]:
    """The fitted model's network; its candidates, or a sentence that says why it has none."""
    graph = model.graph
    data = network_data(graph)
    if not isinstance(model, Matcher):
        name = model.name
        return {**data, "why_none": f"The model {name} does not say who is who, so there are no candidates to show."}
    if graph.n_layers < 2:
        return {**data, "why_none": "The network has one layer, so there is nobody to be matched."}
    return {**data, "candidates": candidate_data(model)}


def network_data(graph: MultiplexGraph) -> dict[str, object]:
    """Layers, ids and links; a node is known by its position, as in the graph."""
    return {
        "layers": list(graph.layers),
        "layer_start": graph.layer_start.tolist(),
        "ids": graph.ids.to_pylist(),
        "intra": encoded(graph.intra),
        "inter": encoded(graph.inter),
    }


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Pairs to be shown, the most probable first.

    pairs           (k, 2) node positions, the first in the lower layer
    probability     (k,) that the two are one unit
    left_out        pairs that were probable enough, but too many for a page
    silence         why there are none, if the model could not learn to match; sentences
    """

    pairs: NDArray[np.int32]
    probability: NDArray[np.float64]
    left_out: int
    silence: tuple[str, ...]


def shortlist(matcher: Matcher, most_pairs: int = MOST_PAIRS) -> Shortlist:
    """Of every node its best candidates over all layers, those of both ends; at most ``most_pairs`` in all."""
    graph = matcher.graph
    found = [matcher.candidates(*layers, MOST_OF_A_NODE) for layers in layer_pairs(graph)]
    pairs = np.concatenate([np.empty((0, 2), dtype=np.int32), *(part.pairs for part in found)])
    probability = np.concatenate([np.empty(0), *(part.probability for part in found)])
    kept = np.flatnonzero(probability >= LEAST)
    kept = kept[np.argsort(-probability[kept], kind="stable")]
    pairs, probability = pairs[kept], probability[kept]
    # A node is the first end of some pairs and the second of others; it ranks all of them together.
    rank = rank_by_node(pairs.T.ravel(), np.tile(probability, 2)).rank.reshape(2, -1)
    rows = np.flatnonzero((rank <= MOST_OF_A_NODE).any(axis=0))
    shown = rows[:most_pairs]
    silence = tuple(dict.fromkeys(part.silence for part in found if part.silence))
    return Shortlist(pairs[shown], probability[shown], len(rows) - len(shown), silence)


def candidate_data(matcher: Matcher) -> dict[str, object]:
    """What the page needs to show candidates and their waterfalls, as values of JSON."""
    found = shortlist(matcher)
    return {
        "least": LEAST,
        "left_out": found.left_out,
        "silence": list(found.silence),
        "pairs": encoded(found.pairs),
        "probability": encoded(found.probability),
        **reason_data(matcher.explain_many(found.pairs)),
    }


def reason_data(found: list[Explanation]) -> dict[str, object]:
    """Reasons of all pairs in one row; labels and findings, which repeat, by their numbers in lists of texts."""
    labels, findings = dict[str, int](), dict[str, int]()  # texts, numbered as they come
    label, finding, contribution, start = list[int](), list[int](), list[float](), [0]
    for one in found:
        for reason in one.reasons:
            label.append(labels.setdefault(reason.label, len(labels)))
            finding.append(findings.setdefault(reason.finding, len(findings)))
            contribution.append(reason.contribution)
        start.append(len(label))
    return {
        "base": encoded(np.array([one.base for one in found], dtype=np.float64)),
        "start": encoded(np.array(start)),
        "label": encoded(np.array(label, dtype=np.int64)),
        "finding": encoded(np.array(finding, dtype=np.int64)),
        "contribution": encoded(np.array(contribution, dtype=np.float64)),
        "labels": list(labels),
        "findings": list(findings),
    }


def encoded(numbers: NDArray[Any]) -> dict[str, str]:
    """Whole or real numbers, row after row, as ``{"type": …, "base64": …}``, little-endian: a third of JSON's digits.

    Whole numbers become uint8, uint16 or int32, the smallest that holds them, real ones float32. OverflowError beyond
    int32.
    """
    name = "float32" if np.issubdtype(numbers.dtype, np.floating) else _smallest(numbers)
    array = np.ascontiguousarray(numbers, dtype=np.dtype(name).newbyteorder("<"))
    return {"type": name, "base64": b64encode(array.tobytes()).decode()}


def _smallest(numbers: NDArray[Any]) -> str:
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    for name in _WHOLE:
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return name
    raise OverflowError(f"numbers from {low} to {high}, expected those of int32")
