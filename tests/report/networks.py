"""Networks and matchers for the explorer's tests, in Python and in a browser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from mpxgat.build import EdgeTable, build
from mpxgat.graph import MultiplexGraph
from mpxgat.synthetic import social
from tests.matching.doubles import TableMatcher

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "it's \"so\" & 'that'",
    "👩‍👩‍👧‍👦 😀 ünï",
    "y" * 500,
    "</script><!-- <svg onload=alert(3)>",
    "\u202egnorw",
    "a/b#c?d%20e",
)
PROPERTIES = ("__proto__", "constructor", "toString")
HOSTILE_LAYERS = ("<b onclick=alert(4)>layer</b>", "50% & 'more'/x")

Link = tuple[str, str, str, str]


def network_of(layers: Sequence[str], links: Sequence[Link]) -> MultiplexGraph:
    """A graph from links (id, layer, id, layer); any text can be an id."""
    columns = list(zip(*links, strict=True))
    ids = [pa.array(columns[end], pa.large_string()) for end in (0, 2)]
    numbers = [np.array([layers.index(layer) for layer in columns[end]], dtype=np.int64) for end in (1, 3)]
    return build(list(layers), EdgeTable(ids[0], numbers[0], ids[1], numbers[1], np.ones(len(links))))


def people() -> TableMatcher:
    """Friends, work and mail. ada is known in the first two; bob is not, and has two candidates at work, one in mail.

    ann, ben, cat are known in all layers and are neighbours of ada and bob; 12 others only of ada.
    """
    links: list[Link] = []
    for name in ("ann", "ben", "cat"):
        for layer in ("friends", "work"):
            links.append((f"{name}-{layer[0]}", layer, f"ada-{layer[0]}", layer))
            links.append((f"{name}-{layer[0]}", layer, f"bob-{layer[0]}", layer))
        links.append((f"{name}-m", "mail", "bob-m", "mail"))
        links.append((f"{name}-f", "friends", f"{name}-w", "work"))
        links.append((f"{name}-w", "work", f"{name}-m", "mail"))
    links += [(f"other {i:02}", "friends", "ada-f", "friends") for i in range(12)]
    links += [("bobby-w", "work", "ann-w", "work"), ("ada-f", "friends", "ada-w", "work")]
    graph = network_of(["friends", "work", "mail"], links)
    chances = {
        ("bob-f", "friends", "bob-w", "work"): 0.93,
        ("bob-f", "friends", "bobby-w", "work"): 0.05,
        ("bob-f", "friends", "bob-m", "mail"): 0.6,
        ("bob-w", "work", "bob-m", "mail"): 0.004,
    }
    table = {(graph.index(*pair[:2]), graph.index(*pair[2:])): chance for pair, chance in chances.items()}
    return TableMatcher(graph, table)


def hostile() -> TableMatcher:
    """Ids and layers that are HTML, script, quotes, emoji, or very long; each the neighbour of all others."""
    first, second = HOSTILE_LAYERS
    links = [
        (one, layer, other, layer) for layer in HOSTILE_LAYERS for one in HOSTILE for other in HOSTILE if one < other
    ]
    links += [(one, first, one, second) for one in HOSTILE[1:]]
    graph = network_of(HOSTILE_LAYERS, links)
    pair = tuple(graph.index(HOSTILE[0], layer) for layer in HOSTILE_LAYERS)
    return TableMatcher(graph, {(pair[0], pair[1]): 0.9})


def star(leaves: int) -> TableMatcher:
    """A node with many neighbours in two layers, a few of them known to be the same."""
    links = [("hub", layer, f"leaf {i:03}", layer) for layer in ("a", "b") for i in range(leaves)]
    links += [(f"leaf {i:03}", "a", f"leaf {i:03}", "b") for i in range(0, leaves, 5)]
    return TableMatcher(network_of(["a", "b"], [*links, ("hub", "a", "hub", "b")]), {})


def hostile_society(people: int, seed: int) -> MultiplexGraph:
    """A planted network, large enough to learn on, all of whose ids and layers are hostile."""
    plain = social(people=people, layers=2, seed=seed, mean_degree=12, overlap=0.95, presence=0.9)
    names = [
        (f"{HOSTILE[place % len(HOSTILE)]}{node.id}", HOSTILE_LAYERS[plain.layer_index(node.layer)])
        for place, node in enumerate(plain.nodes)
    ]
    links = np.concatenate([plain.intra, plain.inter]).tolist()
    return network_of(HOSTILE_LAYERS, [(*names[one], *names[other]) for one, other in links])


def society_of_properties(people: int, seed: int) -> MultiplexGraph:
    """A planted network whose layers and ids are the names of what every JavaScript object has."""
    plain = social(people=people, layers=len(PROPERTIES), seed=seed, mean_degree=12, overlap=0.95, presence=0.9)
    names = []
    for place, node in enumerate(plain.nodes):
        layer = plain.layer_index(node.layer)
        own = place - int(plain.layer_start[layer])
        names.append((PROPERTIES[own] if own < len(PROPERTIES) else node.id, PROPERTIES[layer]))
    links = np.concatenate([plain.intra, plain.inter]).tolist()
    return network_of(PROPERTIES, [(*names[one], *names[other]) for one, other in links])
