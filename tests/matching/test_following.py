"""Units from one version of a network to the next: who keeps which id, and what is told of the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat.build import with_apart
from mpxgat.graph import Node
from mpxgat.matching import match_all
from mpxgat.matching.following import Carried, carry_over, follow
from tests.examples import graph_of
from tests.matching.doubles import TableMatcher, matchers, steady


def followed(graph, before=None):
    """The known units alone, without any match."""
    return follow(match_all(TableMatcher(graph, {})), before or {})


def units(found):
    """The nodes of every unit, as ``x.a y.a``, by its id."""
    nodes = {}
    for node, unit in found.unit_of.items():
        nodes.setdefault(unit, []).append(f"{node.layer}.{node.id}")
    return {unit: " ".join(each) for unit, each in nodes.items()}


def statuses(found):
    return {row.unit: row.status for row in found.rows}


BEFORE = graph_of("x.a y.a", "x.b y.b", "x.c x.c", "y.d y.d", layers="xy")


def test_at_first_a_unit_is_called_by_its_first_node_and_is_new():
    found = followed(BEFORE)
    assert units(found) == {"x:a": "x.a y.a", "x:b": "x.b y.b", "x:c": "x.c", "y:d": "y.d"}
    assert set(statuses(found).values()) == {"new"}
    assert found.units == {"new": (4, 2), "same": (0, 0), "changed": (0, 0), "gone": (0, 0)}


def test_nothing_new_leaves_everything_the_same():
    found = followed(BEFORE, followed(BEFORE).unit_of)
    assert found.units == {"new": (0, 0), "same": (4, 2), "changed": (0, 0), "gone": (0, 0)}
    assert found.nodes == {"new": 0, "same": 6, "moved": 0, "gone": 0}
    assert {row.previous for row in found.rows} == {"x:a", "x:b", "x:c", "y:d"}


def test_a_unit_keeps_its_id_though_its_first_node_goes():
    graph = graph_of("y.a y.a", "x.b y.b", "x.c y.c", "x.e x.e", layers="xy")
    found = followed(graph, followed(BEFORE).unit_of)
    assert units(found) == {"x:b": "x.b y.b", "x:c": "x.c y.c", "x:e": "x.e", "x:a": "y.a"}
    assert statuses(found) == {"x:b": "same", "x:c": "changed", "x:e": "new", "x:a": "changed", "y:d": "gone"}
    assert found.nodes == {"new": 2, "same": 4, "moved": 0, "gone": 2}
    gone = [(row.unit, row.node, row.node_status) for row in found.rows if row.node_status == "gone"]
    assert gone == [("x:a", Node("a", "x"), "gone"), ("y:d", Node("d", "y"), "gone")]
    assert found.units == {"new": (1, 0), "same": (1, 1), "changed": (2, 1), "gone": (1, 0)}


def test_of_merged_units_the_id_of_most_nodes_stays_and_of_equals_that_of_the_first_node():
    before = followed(graph_of("x.a y.a", "z.a z.a", "x.b x.b", "y.b y.b", layers="xyz")).unit_of
    found = followed(graph_of("x.a y.a", "y.a z.a", "x.b y.b", layers="xyz"), before)
    assert units(found) == {"x:a": "x.a y.a z.a", "x:b": "x.b y.b"}
    assert (found.merged, found.split, found.units["gone"]) == (2, 0, (2, 0))
    moved = [(row.node, row.previous) for row in found.rows if row.node_status == "moved"]
    assert moved == [(Node("a", "z"), "z:a"), (Node("b", "y"), "y:b")]


def test_a_merge_does_not_depend_on_which_node_has_which_name():
    before = {Node("a", "x"): "two", Node("a", "y"): "two", Node("a", "z"): "one"}
    found = followed(graph_of("x.a y.a", "y.a z.a", layers="xyz"), before)
    assert set(found.unit_of.values()) == {"two"}


def test_of_split_units_the_larger_part_keeps_the_id_and_of_equals_the_first():
    before = followed(graph_of("x.a y.a", "y.a z.a", "x.b y.b", layers="xyz")).unit_of
    found = followed(graph_of("x.a x.a", "y.a z.a", "x.b x.b", "y.b y.b", layers="xyz"), before)
    assert units(found) == {"x:a": "y.a z.a", "x:a#2": "x.a", "x:b": "x.b", "y:b": "y.b"}
    assert (found.merged, found.split) == (0, 2)
    assert statuses(found) == {"x:a": "changed", "x:a#2": "new", "x:b": "changed", "y:b": "new"}


def test_an_id_that_was_in_use_is_not_given_to_another_unit():
    """A unit that goes in the month in which a node of its name comes."""
    found = followed(graph_of("x.a x.a", "y.b y.b", layers="xy"), {Node("z", "x"): "x:a"})
    assert units(found) == {"x:a#2": "x.a", "y:b": "y.b"}
    assert statuses(found) == {"x:a#2": "new", "y:b": "new", "x:a": "gone"}


def test_matches_join_units():
    graph = graph_of("x.a x.b", "y.c y.d", layers="xy")
    matches = match_all(TableMatcher(graph, {(0, 2): 0.95, (1, 3): 0.4}))
    assert units(follow(matches, {})) == {"x:a": "x.a y.c", "x:b": "x.b", "y:d": "y.d"}


def test_the_table_has_a_row_for_every_node_and_those_gone():
    before = {Node("a", "x"): "u", Node("b", "y"): "u"}
    table = followed(graph_of("x.a x.a", "y.c y.c", layers="xy"), before).to_table()
    assert table.to_pylist() == [
        {
            "unit": "u", "status": "changed", "node": "a", "node_layer": "x", "node_status": "same",
            "previous_unit": "u",
        },
        {
            "unit": "u", "status": "changed", "node": "b", "node_layer": "y", "node_status": "gone",
            "previous_unit": "u",
        },
        {
            "unit": "y:c", "status": "new", "node": "c", "node_layer": "y", "node_status": "new",
            "previous_unit": "",
        },
    ]  # fmt: skip


@steady
@given(matcher=matchers(), data=st.data())
def test_units_that_keep_a_node_keep_their_id_unless_another_has_it(matcher, data):
    graph = matcher.graph
    before = {node: f"u{data.draw(st.integers(0, 3))}" for node in graph.nodes if data.draw(st.booleans())} | {
        Node("away", "nowhere"): "u0"
    }
    found = follow(match_all(matcher, 0.5), before)
    assert found.unit_of.keys() == set(graph.nodes)
    by_id = {}
    for row in found.rows:
        if row.node_status != "gone":
            by_id.setdefault(row.unit, []).append(row)
    labels = follow(match_all(matcher, 0.5), {}).unit_of
    assert len({labels[node] for node in graph.nodes}) == len(by_id)  # ids are as many as units
    for unit, rows in by_id.items():
        assert len({labels[row.node] for row in rows}) == 1
        known = [row for row in rows if row.previous]
        # A unit without the id of any of its nodes: others, which have as many nodes of each, took them.
        if known and unit not in {row.previous for row in known}:
            assert all(row.previous in by_id for row in known)
    counted = sum(every for status, (every, _) in found.units.items() if status != "gone")
    assert counted == len(by_id)
    assert found.units["gone"][0] == len(set(before.values()) - set(by_id))


# ---- decisions -----------------------------------------------------------------------------------------------------


def nodes(*names):
    return tuple(Node(name[2:], name[0]) for name in names)


def test_decisions_are_carried_over():
    graph = graph_of("x.a x.b", "y.a y.b", "z.a z.b", layers="xyz")
    found, carried = carry_over(
        graph,
        accepted=[nodes("x.a", "y.a"), nodes("x.a", "y.b"), nodes("x.b", "y.gone")],
        rejected=[nodes("x.b", "z.b"), nodes("y.a", "x.a"), nodes("x.gone", "z.a")],
    )
    assert carried == Carried(carried=2, absent=2, contradicted=2)
    assert found.inter.tolist() == [[graph.index("a", "x"), graph.index("a", "y")]]
    assert found.apart.tolist() == [[graph.index("b", "x"), graph.index("b", "z")]]


def test_what_the_network_says_comes_first():
    graph = graph_of("x.a y.a", "x.b y.b", layers="xy")
    different = with_apart(graph, [[graph.index("a", "x"), graph.index("b", "y")]])
    found, carried = carry_over(different, [nodes("x.a", "y.b")], [nodes("x.b", "y.b")])
    assert found == different
    assert carried == Carried(0, 0, 2)


@pytest.mark.parametrize("accepted", [[], [nodes("x.a", "y.a")]])
def test_without_decisions_nothing_changes(accepted):
    graph = graph_of("x.a y.a", "x.b y.b", layers="xy")
    found, carried = carry_over(graph, accepted, [])
    assert found == graph
    assert carried.carried == len(accepted)
    assert np.array_equal(found.inter, graph.inter)
