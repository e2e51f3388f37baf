"""What the explorer's page knows: the network, and who could be whom, as values of JSON."""

from __future__ import annotations

from mpxgat.graph import MultiplexGraph
from mpxgat.matching.matcher import Matcher
from mpxgat.models.base import Model
from mpxgat.report.explorer_candidates import candidate_data
from mpxgat.report.packing import packed


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
