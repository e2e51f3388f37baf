"""Who could be whom, for the explorer: the most probable pairs of a model that matches, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.matching.match import Matcher, layer_pairs, rank_by_node
from mpxgat.matching.reasons import Explanation
from mpxgat.models.base import Model
from mpxgat.report.page import Fragment, asset, packed

LEAST = 0.01  # less probable pairs are not shown
MOST_OF_A_NODE = 6
MOST_PAIRS = 20_000


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
        "pairs": packed(found.pairs),
        "probability": packed(found.probability),
        **_reason_data(matcher.explain_many(found.pairs)),
    }


def _reason_data(found: list[Explanation]) -> dict[str, object]:
    """Reasons of all pairs in one row; labels and findings, which repeat, by their numbers in lists of texts."""
    labels, findings = _Texts(), _Texts()
    label, finding, contribution, start = list[int](), list[int](), list[float](), [0]
    for one in found:
        for reason in one.reasons:
            label.append(labels.number(reason.label))
            finding.append(findings.number(reason.finding))
            contribution.append(reason.contribution)
        start.append(len(label))
    return {
        "base": packed(np.array([one.base for one in found], dtype=np.float64)),
        "start": packed(np.array(start)),
        "label": packed(np.array(label, dtype=np.int64)),
        "finding": packed(np.array(finding, dtype=np.int64)),
        "contribution": packed(np.array(contribution, dtype=np.float64)),
        "labels": labels.all(),
        "findings": findings.all(),
    }


class _Texts:
    """Different texts, numbered as they come."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text, a new one if it has none."""
        return self._number.setdefault(text, len(self._number))

    def all(self) -> list[str]:
        """The texts by their numbers."""
        return list(self._number)


# What the explorer's page knows: the network, and who could be whom, as values of JSON.


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
        "intra": packed(graph.intra),
        "inter": packed(graph.inter),
    }


# The explorer: a node's surroundings in all layers, who it could be in others, and why.


ANCHOR = "explorer"
# In this order they are one script; what comes later uses what came before.
_SCRIPTS = ("elements", "network", "search", "layout", "drawing", "lists", "candidates", "search_box", "explorer")


def explorer_fragment(model: Model | Matcher) -> Fragment:
    """The explorer of a fitted model's network, with candidates if the model matches nodes."""
    return Fragment(
        anchor=ANCHOR,
        title="Explorer",
        html=asset("explorer/explorer.html"),
        style=asset("explorer/explorer.css"),
        script="\n".join(asset(f"explorer/{name}.js") for name in _SCRIPTS),
        data=explorer_data(model),
    )
