from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from mpxgat.errors import GraphError
from mpxgat.graph import Features
from mpxgat.io.arrays import (
    graph_from_arrays,
    graph_to_arrays,
    read_arrays,
    strings_from_arrays,
    strings_to_arrays,
    write_arrays,
)
from tests.examples import graph_of, random_graph


def full_graph():
    graph = random_graph(0)
    return replace(
        graph,
        intra_weight=np.random.default_rng(0).uniform(1, 2, graph.n_intra),
        horizontal_features=Features(("p", "q"), np.ones((graph.n_nodes, 2))),
        attributes={"label": pa.array([f"ü{i}" for i in range(graph.n_nodes)], pa.large_string())},
    )


@pytest.mark.parametrize("graph", [full_graph(), graph_of("x.a x.b"), random_graph(1).subgraph([])])
def test_a_graph_comes_back_through_arrays_and_through_a_file(graph, tmp_path):
    assert graph_from_arrays(graph_to_arrays(graph)) == graph
    write_arrays(tmp_path / "g", "graph", {}, graph_to_arrays(graph))
    assert graph_from_arrays(read_arrays(tmp_path / "g", "graph")[1]) == graph


def test_strings_of_every_kind_come_back():
    strings = ["", "a", "ü😀", "x" * 1000, "\n"]
    assert strings_from_arrays("s", strings_to_arrays("s", strings)) == strings
    assert strings_from_arrays("s", strings_to_arrays("s", [])) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.pop("intra"),
        lambda a: a.update(intra=a["intra"].astype(np.int64)),
        lambda a: a.update(intra=a["intra"][::-1].copy()),
        lambda a: a.update(inter=a["intra"]),
        lambda a: a.update(intra=a["intra"] + 10_000),
        lambda a: a.update(layer_start=a["layer_start"][:-1]),
        lambda a: a.update(intra_weight=a["intra_weight"][1:]),
        lambda a: a.update({"ids.offsets": a["ids.offsets"][::-1].copy()}),
        lambda a: a.update({"ids.bytes": np.full_like(a["ids.bytes"], 255)}),
        lambda a: a.update({"ids.bytes": np.full_like(a["ids.bytes"], 65)}),
    ],
)
def test_damaged_arrays_are_refused(change):
    arrays = graph_to_arrays(full_graph())
    change(arrays)
    with pytest.raises(GraphError):
        graph_from_arrays(arrays)
