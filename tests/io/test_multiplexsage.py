"""The MultiplexSAGE node-link JSON: ids and positions, flags, held-out links, errors by entry, the way back."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpxgat.errors import GraphError, InputError
from mpxgat.io import multiplexsage
from tests.examples import graph_of, random_graph
from tests.io.graph_strategies import assert_graph_or_input_error, damaged, graphs

pytestmark = pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")  # see test_data_warnings.py


def node(number, sheet, **more):
    return {"id": number, "sheet": sheet, "val": False, "test": False, "marked": False, **more}


def link(source, target, inter=False, removed=False, **more):
    return {"source": source, "target": target, "train_removed": removed, "inter_layer": inter, **more}


def content(nodes, links, **graph):
    return {"directed": False, "multigraph": False, "graph": graph, "nodes": nodes, "links": links}


@pytest.fixture
def saved(tmp_path):
    def save(value):
        path = tmp_path / "g.json"
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
        return path

    return save


PUBLISHED = content(
    [node(0, 0), node(1, 0), node(2, 1), node(3, 1)],
    [link(0, 1), link(2, 3, removed=True), link(0, 2, inter=True), link(1, 3, inter=True, removed=True)],
    num_layers=2,
)


# ---- what is read --------------------------------------------------------------------------------------


def test_a_file_as_published(saved):
    graph = multiplexsage.read(saved(PUBLISHED))
    assert list(graph.nodes) == [("0", "0"), ("1", "0"), ("2", "1"), ("3", "1")]
    assert graph.intra.tolist() == [[0, 1], [2, 3]]
    assert graph.inter.tolist() == [[0, 2], [1, 3]]


def test_training_links_only(saved):
    graph = multiplexsage.read_training(saved(PUBLISHED))
    assert graph.n_nodes == 4
    assert graph.intra.tolist() == [[0, 1]]
    assert graph.inter.tolist() == [[0, 2]]


def test_numbers_are_ids_even_where_they_could_be_positions(saved):
    graph = multiplexsage.read(saved(content([node(2, "l"), node(1, "l"), node(0, "l")], [link(2, 1)])))
    assert [graph.nodes[i].id for i in graph.intra[0]] == ["1", "2"]


def test_numbers_among_ids_that_are_texts_are_positions(saved):
    graph = multiplexsage.read(
        saved(content([node("x", "l"), node("b", "l"), node("a", "l")], [link(0, 1), link("a", "b")]))
    )
    assert {tuple(graph.nodes[i].id for i in pair) for pair in graph.intra.tolist()} == {("b", "x"), ("a", "b")}


def test_flags_may_be_missing_and_edges_may_be_the_name_of_the_list(saved):
    value = {"nodes": [node(0, "a"), node(1, "b")], "edges": [{"source": 0, "target": 1}], "graph": []}
    assert multiplexsage.read(saved(value)).n_inter == 1


def test_equal_names_do_not_link(saved):
    graph = multiplexsage.read(saved(content([node(0, "a", name="p"), node(1, "b", name="p")], [])))
    assert list(graph.nodes) == [("p", "a"), ("p", "b")]
    assert graph.n_inter == 0


def test_weights_features_and_attributes(saved):
    graph = multiplexsage.read(
        saved(
            content(
                [node(0, "a", h=[1, 2.5], attributes={"role": "boss"}), node(1, "a", v=[7])],
                [link(0, 1, weight=3)],
                horizontal_features=["x", "y"],
            )
        )
    )
    assert graph.intra_weight.tolist() == [3.0]
    assert graph.horizontal_features.names == ("x", "y")
    assert graph.horizontal_features.values.tolist() == [[1, 2.5], [0, 0]]
    assert graph.vertical_features.names == ("0",)
    assert graph.attributes["role"].to_pylist() == ["boss", ""]


# ---- errors --------------------------------------------------------------------------------------------

TWO = [node(0, 0), node(1, 0)]
BAD = {
    "no object": ([1], "a JSON list, expected an object"),
    "no nodes": ({"links": []}, "no list 'nodes'"),
    "no links": ({"nodes": []}, "no list 'links'"),
    "entry": (content([node(0, 0), 7], []), "nodes[1]: '7', expected an object"),
    "no id": (content([{"sheet": 0}], []), "nodes[0]: id is nothing, expected a whole number or text"),
    "no sheet": (content([{"id": 0}], []), "nodes[0]: sheet is nothing"),
    "id of a wrong kind": (content([node(True, 0)], []), "nodes[0]: id is 'True'"),
    "id twice": (content([node(0, 0), node(0, 1)], []), "nodes[1]: id '0' occurs twice"),
    "name twice": (
        content([node(0, 0, name="p"), node(1, 0, name="p")], []),
        "nodes[1]: node 'p' of layer '0' is listed",
    ),
    "name": (content([node(0, 0, name=3)], []), "nodes[0]: name '3', expected text"),
    "empty name": (content([node(0, 0, name="")], []), "nodes[0]: an empty node id"),
    "half a pair": (content([node(0, 0), node(1, 0, name="\ud800")], []), "nodes[1]: '\\ud800' holds half a surrogate"),
    "half a pair in a sheet": (content([node(0, 0), node(1, "\udfff")], []), "nodes[1]: '\\udfff' holds half"),
    "dangling": (content(TWO, [link(0, 1), link(0, 5)]), "links[1]: target '5' is no node's id"),
    "text for a number": (content(TWO, [link("0", 1)]), "links[0]: source '0' is no node's id"),
    "position out of range": (content([node("a", 0)], [link(0, 1)]), "links[0]: target '1' is no node's id"),
    "no target": (content(TWO, [{"source": 0}]), "links[0]: target is nothing"),
    "inter within": (
        content(TWO, [link(0, 1, inter=True)]),
        "links[0]: inter_layer is true but the ends are in one sheet",
    ),
    "intra between": (content([node(0, 0), node(1, 1)], [link(0, 1)]), "inter_layer is false but the ends are in two"),
    "flag": (content(TWO, [link(0, 1, removed="no")]), "links[0]: train_removed is 'no', expected true or false"),
    "weight": (content(TWO, [link(0, 1, weight="2")]), "links[0]: weight is '2', expected a finite number"),
    "NaN": (content(TWO, [link(0, 1), link(1, 0, weight=float("nan"))]), "links[1]: weight is 'nan'"),
    "infinite": (content(TWO, [link(0, 1, weight=10**400)]), "links[0]: weight is '1000"),
    "feature": (content([node(0, 0, h=[1]), node(1, 0, h=["x"])], []), "nodes[1]: h is 'x', expected a finite number"),
    "feature's size": (content([node(0, 0, h=[1e300])], []), "nodes[0]: h is '1e+300'"),
    "feature's width": (
        content([node(0, 0, h=[1]), node(1, 0, h=[])], []),
        "nodes[1]: h is '[]', expected a list of 1",
    ),
    "attributes": (content([node(0, 0, attributes={"a": 1})], []), "nodes[0]: attributes is"),
    "unknown sheet": (
        content([node(0, 2)], [], layers=["a", "b"]),
        "nodes[0]: unknown sheet '2', expected one of the 2",
    ),
    "counterparts": (
        content([node(0, 0), node(1, 1), node(2, 1)], [link(0, 1, inter=True), link(0, 2, inter=True)]),
        "links[1]: '1' (layer '1') and '2' (layer '1') would be the same unit",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_file_and_entry(saved, case):
    value, message = BAD[case]
    with pytest.raises(InputError) as caught:
        multiplexsage.read(saved(value))
    assert message in str(caught.value)
    assert caught.value.path.endswith("g.json")
    assert "\n" not in str(caught.value)


def test_text_that_is_no_json(saved):
    with pytest.raises(InputError, match=r"g\.json:2: column 10: not valid JSON"):
        multiplexsage.read(saved(b'{"nodes":\n[{"id": 0'))
    with pytest.raises(InputError, match="nested too deeply"):
        multiplexsage.read(saved(b"[" * 1_000_000))
    with pytest.raises(InputError, match="thousands of digits"):
        multiplexsage.read(saved(b'{"nodes": ' + b"9" * 5000 + b"}"))
    with pytest.raises(InputError, match="not UTF-8"):
        multiplexsage.read(saved(b'{"nodes": "\xff"}'))
    with pytest.raises(InputError, match="damaged or cut off"):
        multiplexsage.read(saved(gzip.compress(json.dumps(PUBLISHED).encode())[:-9]))


# ---- writing -------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=150)
@given(graph=graphs())
def test_round_trip(graph, tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "g.json"
    multiplexsage.write(graph, path)
    assert multiplexsage.read(path) == graph
    assert multiplexsage.read_training(path) == graph


@settings(derandomize=True, deadline=None, max_examples=300)
@given(data=st.data())
def test_a_damaged_file_is_a_graph_or_an_input_error(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("json") / "g.json"
    multiplexsage.write(data.draw(graphs()), path)
    pieces = [
        b",",
        b"{",
        b"]",
        b"null",
        b"NaN",
        b"-1",
        b"1e400",
        b'"',
        b"true",
        b'"\\ud800"',
        b"\xff",
        b"[[",
        b'{"id": 0}',
    ]
    path.write_bytes(data.draw(damaged(path.read_bytes(), pieces)))
    assert_graph_or_input_error(lambda: multiplexsage.read(path))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(data=st.data())
def test_a_file_with_odd_values_is_a_graph_or_an_input_error(data, tmp_path_factory):
    """Damage to bytes mostly breaks the JSON; here the JSON stays whole and its values change."""
    path = tmp_path_factory.mktemp("json") / "g.json"
    multiplexsage.write(data.draw(graphs()), path)
    value = json.loads(path.read_text())
    odd = st.sampled_from(
        [None, True, -1, 0, 1, 2.5, float("nan"), 10**400, "", "0", "\ud800", [], [1], {}, {"a": "b"}]
    )
    tables = [value["graph"], *value["nodes"], *value["links"], value]
    for _ in range(data.draw(st.integers(1, 3))):
        entry = data.draw(st.sampled_from(tables))
        key = data.draw(st.sampled_from([*entry, "h", "v", "weight", "attributes", "layers"]))
        entry[key] = data.draw(odd)
    path.write_text(json.dumps(value))
    assert_graph_or_input_error(lambda: multiplexsage.read(path))


def test_ids_and_sheets_are_the_numbers_that_other_readers_count_on(tmp_path):
    graph = graph_of("x.a x.b", "y.a y.c 2", "x.a y.a")
    multiplexsage.write(graph, tmp_path / "g.json")
    value = json.loads((tmp_path / "g.json").read_text())
    assert [entry["id"] for entry in value["nodes"]] == [0, 1, 2, 3]
    assert [entry["sheet"] for entry in value["nodes"]] == [0, 0, 1, 1]
    assert value["graph"]["num_layers"] == 2
    assert {(entry["source"], entry["target"], entry["inter_layer"]) for entry in value["links"]} == {
        (0, 1, False),
        (2, 3, False),
        (0, 2, True),
    }


def test_held_out_links_are_marked_and_left_out_of_training(tmp_path):
    graph = random_graph(5)
    path = tmp_path / "g.json"
    intra, inter = graph.intra[::4], graph.inter[::3][:, ::-1]  # the order of the ends does not count
    multiplexsage.write_with_held_out(graph, intra, inter, path)
    assert multiplexsage.read(path) == graph
    assert multiplexsage.read_training(path) == graph.without(intra=intra, inter=inter)
    marked = [entry["id"] for entry in json.loads(path.read_text())["nodes"] if entry["marked"]]
    assert marked == np.unique(np.concatenate([intra, inter])).tolist()


def test_held_out_pairs_must_be_links(tmp_path):
    graph = graph_of("x.a x.b", "x.c x.d", "y.a y.b", "x.a y.a")
    with pytest.raises(GraphError, match=r"no intra link joins 'a' \(layer 'x'\) and 'c' \(layer 'x'\)"):
        multiplexsage.write_with_held_out(graph, [[0, 2]], [], tmp_path / "g.json")
    with pytest.raises(GraphError, match="expected 0 to 5"):
        multiplexsage.write_with_held_out(graph, [], [[0, 99]], tmp_path / "g.json")
    assert list(tmp_path.iterdir()) == []
