"""Draw a tiny planted multiplex as stacked layers, with the links that a split hides as questions.

    python docs/figures/multiplex.py docs/figures/multiplex.svg

Everything in the picture comes from the package: the people and their links from `mpxgat.synthetic.social`, the
questions from `mpxgat.splits.marked_nodes`. The same arguments give the same bytes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import mpxgat as mx

PEOPLE, COMMUNITIES, SEED, SPLIT_SEED = 18, 3, 12, 105
WIDTH, HEIGHT = 760, 560
COLOURS = ("#0072b2", "#009e73", "#cc79a7")  # Okabe and Ito, told apart by people with any kind of sight
INK, QUIET, PAPER, QUESTION = "#333333", "#8a8a8a", "#fbfaf7", "#d55e00"
_CENTRES = ((0.2, 0.66), (0.51, 0.26), (0.81, 0.68))  # of the communities, on a layer's plane
_RADIUS = 0.165


def draw() -> str:
    """The picture as SVG."""
    graph = mx.synthetic.social(
        PEOPLE, 3, SEED, communities=COMMUNITIES, mean_degree=3, presence=0.75, mixing=0.15, overlap=0.6
    )
    split = mx.splits.marked_nodes(graph, SPLIT_SEED, share=0.35)
    place = [_on_screen(*_on_plane(graph, node), int(graph.node_layer[node])) for node in range(graph.n_nodes)]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif" aria-labelledby="title">',
        '<title id="title">Three layers of a small multiplex, one above the other</title>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="{PAPER}"/>',
        *_planes(graph.layers),
        *_links(_drawn(graph, split.train.inter), place, QUIET, 'stroke-width="1.2" stroke-dasharray="1.5 3"'),
    ]
    for layer in range(graph.n_layers):
        own = split.train.intra[graph.node_layer[split.train.intra[:, 0]] == layer]
        lines += _links(own, place, COLOURS[layer], 'stroke-width="1.6" opacity="0.75"')
    for hidden in (split.intra.positives, _drawn(graph, split.inter.positives)):
        lines += _links(hidden, place, QUESTION, 'stroke-width="2.4" stroke-dasharray="6 4"')
        lines += (_question(place[a], place[b]) for a, b in hidden)
    for node, (x, y) in enumerate(place):
        colour = COLOURS[graph.node_layer[node]]
        lines.append(f'<circle cx="{x}" cy="{y}" r="6" fill="{colour}" stroke="{PAPER}" stroke-width="1.5"/>')
    return "\n".join([*lines, *_legend(), "</svg>"]) + "\n"


def _on_plane(graph: mx.MultiplexGraph, node: int) -> tuple[float, float]:
    """Where a person stands, the same in all layers: on the circle of the community."""
    person, community = (graph.attributes[name][node].as_py() for name in ("person", "community"))
    names, communities = (graph.attributes[name].to_pylist() for name in ("person", "community"))
    members = sorted({int(name) for name, other in zip(names, communities, strict=True) if other == community})
    angle = 2 * math.pi * members.index(int(person)) / len(members) + 0.25 + 0.35 * int(community)
    x, y = _CENTRES[int(community)]
    return x + 0.8 * _RADIUS * math.cos(angle), y + 1.35 * _RADIUS * math.sin(angle)


def _on_screen(x: float, y: float, layer: int) -> tuple[float, float]:
    """A plane seen from above at a slant, the first layer on top."""
    return round(175 + 430 * x + 110 * y, 1), round(28 + 165 * layer + 130 * y, 1)


def _drawn(graph: mx.MultiplexGraph, inter: np.ndarray) -> np.ndarray:
    """Inter links without those that skip a layer where the person is: they would lie on the others."""
    layer, unit = graph.node_layer[inter], graph.unit
    between = [
        any(layer[row, 0] < graph.node_layer[other] < layer[row, 1] for other in np.flatnonzero(unit == unit[first]))
        for row, first in enumerate(inter[:, 0])
    ]
    return inter[~np.array(between, dtype=bool)]


def _planes(names: tuple[str, ...]) -> Iterator[str]:
    for layer, name in enumerate(names):
        corners = " ".join(f"{x},{y}" for x, y in (_on_screen(*c, layer) for c in ((0, 0), (1, 0), (1, 1), (0, 1))))
        colour = COLOURS[layer]
        style = f'fill="{colour}" fill-opacity="0.09" stroke="{colour}" stroke-opacity="0.5"'
        yield f'<polygon points="{corners}" {style}/>'
        x, y = _on_screen(0, 0.5, layer)
        yield f'<text x="{x - 16}" y="{y + 5}" text-anchor="end" font-size="16" fill="{colour}">{name}</text>'


def _links(pairs: np.ndarray, place: list[tuple[float, float]], colour: str, style: str) -> Iterator[str]:
    for a, b in pairs:
        (x, y), (x2, y2) = place[a], place[b]
        yield f'<line x1="{x}" y1="{y}" x2="{x2}" y2="{y2}" stroke="{colour}" {style}/>'


def _question(one: tuple[float, float], other: tuple[float, float]) -> str:
    x, y = round((one[0] + other[0]) / 2, 1), round((one[1] + other[1]) / 2, 1)
    return (
        f'<circle cx="{x}" cy="{y}" r="9" fill="{PAPER}" stroke="{QUESTION}"/>'
        f'<text x="{x}" y="{round(y + 4.5, 1)}" text-anchor="middle" font-size="13" font-weight="bold" '
        f'fill="{QUESTION}">?</text>'
    )


def _legend() -> Iterator[str]:
    entries = (
        (INK, 'stroke-width="1.6"', "link within a layer"),
        (QUIET, 'stroke-width="1.2" stroke-dasharray="1.5 3"', "same person"),
        (QUESTION, 'stroke-width="2.4" stroke-dasharray="6 4"', "hidden: to be predicted"),
    )
    for number, (colour, style, text) in enumerate(entries):
        x, y = 75 + 215 * number, HEIGHT - 26
        yield f'<line x1="{x}" y1="{y}" x2="{x + 34}" y2="{y}" stroke="{colour}" {style}/>'
        yield f'<text x="{x + 42}" y="{y + 4.5}" font-size="14" fill="{INK}">{text}</text>'


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(), encoding="utf-8")
