"""Maps of embeddings: what is near each other, flattened to two dimensions, coloured by layer and by community."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from mpxgat.graph import MultiplexGraph
from mpxgat.models.base import Model, Vectors
from mpxgat.report import charts
from mpxgat.report.charts import Rows
from mpxgat.report.page import Figure, Section

_MOST_POINTS = 1500
_MOST_LINKS = 100_000  # that Louvain's method takes seconds for
_NAMED = 8  # communities
_DIGITS = 4
_Projection = Callable[[Vectors, int], NDArray[np.float64]]


def embedding_section(model: Model) -> Section | None:
    """Maps of the horizontal and the vertical embeddings, coloured by layer and by community; None without them."""
    embedding = model.embedding
    if embedding is None:
        return None
    graph = model.graph
    rng = np.random.default_rng(model.seed)
    shown = np.sort(rng.choice(graph.n_nodes, min(graph.n_nodes, _MOST_POINTS), replace=False))
    groups = community_names(graph, model.seed)
    figures = []
    for method, project in _methods().items():
        for name, vectors in (("horizontal", embedding.horizontal), ("vertical", embedding.vertical)):
            places = project(vectors[shown], model.seed)
            rows = _rows(graph, shown, places, groups)
            figures += [_map(graph, rows, name, by, method) for by in ("layer", "community")]
    some = len(shown) < graph.n_nodes
    part = f" {len(shown):,} of {graph.n_nodes:,} nodes, drawn at random, are shown." if some else ""
    whose = "" if embedding is model else f" They are those of {embedding.name!r}, a part of {model.name!r}."
    summary = (
        "Every node has two vectors: a horizontal one for its place within its layer, a vertical one for its place "
        f"across layers. The maps show them flattened to two dimensions.{whose}{part}"
    )
    return Section("embedding", "Maps of the embeddings", summary, figures)


def principal_components(vectors: Vectors, seed: int) -> NDArray[np.float64]:
    """(k, 2) of (k, d): the two directions of most variance, each turned so that its largest part is positive."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)  # ascending
    chosen = directions[:, ::-1][:, :2]
    sign = np.sign(chosen[np.abs(chosen).argmax(axis=0), np.arange(chosen.shape[1])])
    places = centred @ (chosen * np.where(sign == 0, 1, sign))
    return np.pad(places, ((0, 0), (0, 2 - places.shape[1])))


def _umap(vectors: Vectors, seed: int) -> NDArray[np.float64]:
    from umap import UMAP  # type: ignore[import-not-found,unused-ignore]

    return np.asarray(UMAP(n_components=2, random_state=seed, n_jobs=1).fit_transform(vectors), dtype=np.float64)


def _methods() -> dict[str, _Projection]:
    found: dict[str, _Projection] = {"PCA": principal_components}
    if find_spec("umap") is not None:
        found["UMAP"] = _umap
    return found


def _rows(graph: MultiplexGraph, shown: NDArray[np.int64], places: NDArray[np.float64], groups: list[str]) -> Rows:
    return [
        {
            "node": graph.nodes[node].id,
            "layer": graph.nodes[node].layer,
            "community": groups[node],
            "x": round(float(x), _DIGITS),
            "y": round(float(y), _DIGITS),
        }
        for node, (x, y) in zip(shown.tolist(), places, strict=True)
    ]


def _map(graph: MultiplexGraph, rows: Rows, vectors: str, by: str, method: str) -> Figure:
    hints = charts.tooltip({"node": "node", "layer": "layer", "community": "community"})
    if by == "layer":
        colour = charts.coloured(by, charts.layer_colours(graph.layers), rows)
    else:
        colour = charts.category(by, sort="ascending")
    spec = charts.points("x", "y", colour, hints)
    how = "their two principal components" if method == "PCA" else "UMAP, which keeps neighbours together"
    caption = f"The {vectors} vectors by {how}; coloured by {by}."
    title = f"{vectors.capitalize()}, by {by}" + ("" if method == "PCA" else f" ({method})")
    return Figure(f"{method.lower()}-{vectors}-by-{by}", title, caption, rows, spec)


def community_names(graph: MultiplexGraph, seed: int) -> list[str]:
    """A name for every node: "community 1" (the largest) to "community 8", or "others".

    Louvain's method on the units, tied if their nodes are in any layer; connected components where there are too many
    links for it.
    """
    label = _louvain(graph, seed) if graph.n_intra <= _MOST_LINKS else graph.component_labels()
    sizes = np.bincount(label)
    largest = np.argsort(-sizes, kind="stable")[:_NAMED]
    names = dict(zip(largest.tolist(), (f"community {number}" for number in range(1, _NAMED + 1)), strict=False))
    return [names.get(one, "others") for one in label.tolist()]


def _louvain(graph: MultiplexGraph, seed: int) -> NDArray[np.int64]:
    """(n,) community of every node."""
    ties = nx.Graph()
    ties.add_nodes_from(range(graph.n_units))
    ties.add_edges_from(np.unique(np.sort(graph.unit[graph.intra], axis=1), axis=0).tolist())
    of_unit = np.zeros(graph.n_units, dtype=np.int64)
    for number, members in enumerate(nx.community.louvain_communities(ties, seed=seed)):
        of_unit[list(members)] = number
    return of_unit[graph.unit]
