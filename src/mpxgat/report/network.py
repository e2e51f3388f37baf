"""The network at a glance: sizes, degrees, overlap between layers, and in which layers units are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import unit_presence
from mpxgat.report import charts
from mpxgat.report.charts import Row, Rows
from mpxgat.report.page import Figure, Section
from mpxgat.stats import GraphStats, OverlapStats

_MOST_LAYERS = 24  # more do not fit on a page; the largest are shown
_MOST_PATTERNS = 15
_MOST_DEGREES = 60


def network_section(graph: MultiplexGraph) -> Section:
    """Figures about a network."""
    stats = graph.stats()
    figures = [_layer_sizes(graph, stats), _degrees(graph)]
    if graph.n_layers > 1:
        figures += [_overlap(graph, stats), _links_in_common(graph, stats), _presence(graph)]
    summary = (
        "A node is one unit (a person, a gene) in one layer. Links within a layer join its nodes; a link between "
        "layers says that two nodes are one unit."
    )
    return Section("network", "The network at a glance", summary, figures)


def shown_layers(graph: MultiplexGraph) -> list[int]:
    """The layers that figures show, in order: all of them, or the largest."""
    sizes = np.diff(graph.layer_start)
    largest = np.argsort(-sizes, kind="stable")[:_MOST_LAYERS]
    return sorted(int(layer) for layer in largest)


def which_layers(graph: MultiplexGraph) -> str:
    """A sentence if not all layers are shown."""
    return f" The {_MOST_LAYERS} largest of {graph.n_layers:,} layers." if graph.n_layers > _MOST_LAYERS else ""


def layer_pair_rows(graph: MultiplexGraph, values: Callable[[int, int], Row]) -> Rows:
    """A row for each ordered pair of shown layers, for a heat map; ``values`` takes the two layers' numbers."""
    shown = shown_layers(graph)
    return [{"layer": graph.layers[a], "other layer": graph.layers[b], **values(a, b)} for a in shown for b in shown]


def _layer_sizes(graph: MultiplexGraph, stats: GraphStats) -> Figure:
    largest = sorted(stats.per_layer, key=lambda layer: -layer.nodes)[:_MOST_LAYERS]
    rows: Rows = [
        {
            "layer": layer.name,
            "nodes": layer.nodes,
            "links": layer.intra_links,
            "mean degree": layer.mean_degree,
            "density": layer.density,
            "without links": layer.isolated,
        }
        for layer in largest
    ]
    hints = charts.tooltip({name: name for name in rows[0]}, **{"mean degree": ".2f", "density": ".2~e"})
    colours = charts.coloured("layer", charts.layer_colours(graph.layers), rows)
    spec = charts.bars(charts.number("nodes", "nodes"), charts.category("layer"), hints, ",", colours)
    return Figure("layer-sizes", "Layers and their sizes", "Nodes of each layer, the largest first.", rows, spec)


def _degrees(graph: MultiplexGraph) -> Figure:
    rows: list[Row] = []
    for layer in shown_layers(graph):
        degree = np.sort(graph.degree[graph.layer_nodes(layer)])
        values = np.unique(degree[degree > 0])
        if len(values) > _MOST_DEGREES:
            values = np.unique(values[np.linspace(0, len(values) - 1, _MOST_DEGREES).astype(int)])
        at_least = len(degree) - np.searchsorted(degree, values)
        rows += [
            {"layer": graph.layers[layer], "degree": int(value), "share": float(count / len(degree))}
            for value, count in zip(values, at_least, strict=True)
        ]
    log = {"type": "log", "nice": False}
    few, percent = {"tickCount": 4}, {"tickCount": 4, "format": ".2~%"}
    spec = charts.lines(
        charts.number("degree", "links of a node (at least)", scale=log, axis=few),
        charts.number("share", "share of nodes", scale={**log, "domainMax": 1}, axis=percent),
        charts.coloured("layer", charts.layer_colours(graph.layers), rows),
        "degree",
        charts.tooltip({"layer": "layer", "degree": "links, at least", "share": "share"}, share=".2~%"),
    )
    caption = "Share of a layer's nodes that have so many links or more; both axes are logarithmic."
    return Figure("degrees", "Few have many links", caption + which_layers(graph), rows, spec)


def _overlap(graph: MultiplexGraph, stats: GraphStats) -> Figure:
    found = _by_pair(stats)

    def values(a: int, b: int) -> Row:
        nodes = stats.per_layer[a].nodes
        units = nodes if a == b else found[a, b].units_shared
        return {"share": units / nodes, "units": units}

    titles = {"layer": "of layer", "other layer": "also in", "share": "share", "units": "units"}
    hints = charts.tooltip(titles, share=".1%", units=",")
    spec = charts.heat_map("other layer", "layer", "share", len(shown_layers(graph)), hints, ".0%", [0, 1])
    caption = "Share of a layer's (row) units that are known to be in the other layer (column) too."
    rows = layer_pair_rows(graph, values)
    return Figure("overlap", "Who is where: units in common", caption + which_layers(graph), rows, spec)


def _links_in_common(graph: MultiplexGraph, stats: GraphStats) -> Figure:
    found = _by_pair(stats)

    def values(a: int, b: int) -> Row:
        if a == b:
            return {"share": None, "links in both": None, "possible": None}
        both, possible = found[a, b].links_shared, found[a, b].links_possible
        return {"share": both / possible if possible else None, "links in both": both, "possible": possible}

    titles = {"layer": "layer", "other layer": "other layer", "share": "share", "links in both": "in both"}
    hints = charts.tooltip({**titles, "possible": "possible"}, share=".1%")
    spec = charts.heat_map("other layer", "layer", "share", len(shown_layers(graph)), hints, ".0%", [0, 1])
    caption = (
        "Of the links of the sparser layer whose two ends are known in both layers: the share that are links in the "
        "other layer too."
    )
    rows = layer_pair_rows(graph, values)
    title = "Who is tied to whom: links in common"
    return Figure("links-in-common", title, caption + which_layers(graph), rows, spec)


def _by_pair(stats: GraphStats) -> dict[tuple[int, int], OverlapStats]:
    """Overlap of two layers, by their numbers in either order."""
    number = {layer.name: position for position, layer in enumerate(stats.per_layer)}
    found = {}
    for one in stats.overlap:
        a, b = number[one.layer_a], number[one.layer_b]
        found[a, b] = found[b, a] = one
    return found


def _presence(graph: MultiplexGraph) -> Figure:
    patterns = Counter(map(bytes, unit_presence(graph).astype(bool)))
    most = sorted(patterns.items(), key=lambda item: (-item[1], item[0]))[:_MOST_PATTERNS]
    rows: list[Row] = []
    for pattern, count in most:
        present = np.flatnonzero(np.frombuffer(pattern, dtype=bool))
        names = " + ".join(graph.layers[layer] for layer in present)
        rows.append({"layers": names, "number of layers": len(present), "units": count, "share": count / graph.n_units})
    hints = charts.tooltip({"layers": "in exactly", "units": "units", "share": "share"}, units=",", share=".1%")
    spec = charts.bars(charts.number("units", "units"), charts.category("layers"), hints, ",")
    some = (
        f" The {_MOST_PATTERNS} most frequent of {len(patterns):,} patterns." if len(patterns) > _MOST_PATTERNS else ""
    )
    caption = "Units by the layers in which they are known to be: all of those named and no other." + some
    return Figure("presence", "Presence pattern", caption, rows, spec)
