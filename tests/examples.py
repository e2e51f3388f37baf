"""Small graphs that several tests use."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mpxgat.build import EdgeTable, build
from mpxgat.graph import MultiplexGraph


def graph_of(*links: str, layers: str | None = None) -> MultiplexGraph:
    """A graph from links like ``"x.a x.b"`` (intra) and ``"x.a y.c 2.5"`` (inter, weight 2.5): layer.id twice."""
    rows = [link.split() for link in links]
    ends = [[end.split(".") for end in row[:2]] for row in rows]
    names = list(layers or dict.fromkeys(layer for pair in ends for layer, _ in pair))
    weights = [float(row[2]) if len(row) == 3 else 1.0 for row in rows]
    return build(
        names,
        EdgeTable(
            source=pa.array([pair[0][1] for pair in ends], pa.large_string()),
            source_layer=np.array([names.index(pair[0][0]) for pair in ends], dtype=np.int64),
            target=pa.array([pair[1][1] for pair in ends], pa.large_string()),
            target_layer=np.array([names.index(pair[1][0]) for pair in ends], dtype=np.int64),
            weight=np.array(weights),
        ),
    )


def random_graph(
    seed: int, people: int = 60, layers: int = 3, degree: float = 4.0, known: float = 0.8
) -> MultiplexGraph:
    """A random multiplex with shared ties between layers; ids are shared by the copies of a person."""
    rng = np.random.default_rng(seed)
    pool = rng.integers(people, size=(int(people * degree / 2), 2))
    links = []
    for layer in range(layers):
        ties = pool[rng.random(len(pool)) < 0.7]
        links += [f"L{layer}.p{u} L{layer}.p{v}" for u, v in ties]
        links += [f"L{layer}.p{u} L{layer}.p{u}" for u in np.flatnonzero(rng.random(people) < 0.3)]
    present = {end for link in links for end in link.split()}
    for a in range(layers):
        for b in range(a + 1, layers):
            for person in range(people):
                if {f"L{a}.p{person}", f"L{b}.p{person}"} <= present and rng.random() < known:
                    links.append(f"L{a}.p{person} L{b}.p{person}")
    return graph_of(*links, layers=None)
