"""Which pairs come first."""

import numpy as np
import pytest

from mpxgat.errors import SettingError
from mpxgat.review.queue import informativeness, make_queue
from tests.examples import graph_of
from tests.matching.doubles import TableMatcher
from tests.report.networks import people


def names(queue, graph):
    return [tuple(graph.nodes[node].id for node in pair) for pair in queue.pairs.tolist()]


def test_surest_first():
    matcher = people()
    queue = make_queue(matcher, "surest", 0.9)
    assert names(queue, matcher.graph) == [("bob-f", "bob-w"), ("bob-f", "bob-m"), ("bob-f", "bobby-w")]
    assert queue.probability.tolist() == [0.93, 0.6, 0.05]
    assert (queue.order, queue.threshold) == ("surest", None)


def test_random_is_a_permutation_of_the_matches_and_always_the_same():
    graph = graph_of(*(f"{layer}.{n} {layer}.h" for layer in "xy" for n in range(30)))
    table = {(graph.index(str(n), "x"), graph.index(str(n), "y")): 0.6 + n / 100 for n in range(30)}
    matcher = TableMatcher(graph, table)
    queue = make_queue(matcher, "random", 0.7)
    assert len(queue) == 20
    assert (queue.probability >= 0.7).all()
    assert queue.threshold == 0.7
    assert not (np.diff(queue.probability) > 0).all()
    assert np.array_equal(queue.pairs, make_queue(matcher, "random", 0.7).pairs)


def test_an_unknown_order():
    with pytest.raises(SettingError, match="no order 'best', expected informative, surest, random"):
        make_queue(people(), "best", 0.9)


class TestInformative:
    """Two hubs, x.h and y.h, whose neighbours 0 to 3 are open pairs; and l - l, which nobody depends on."""

    graph = graph_of(*(f"{layer}.h {layer}.{n}" for layer in "xy" for n in range(4)), "x.l x.m", "y.l y.m")

    def worth(self, chances):
        pairs = np.array([[self.graph.index(one, "x"), self.graph.index(other, "y")] for one, other in chances])
        return informativeness(self.graph, pairs, np.array([*chances.values()], dtype=float)).tolist()

    def test_of_pairs_like_each_other_the_one_with_open_dependants(self):
        hub, lonely, *_ = self.worth({("h", "h"): 0.6, ("l", "l"): 0.6, ("0", "0"): 0.5, ("1", "1"): 0.4})
        assert hub == pytest.approx(lonely * (1 + 0.25 + 0.24))

    def test_dependants_that_are_settled_count_little(self):
        hub, lonely, *_ = self.worth({("h", "h"): 0.6, ("l", "l"): 0.6, ("0", "0"): 0.999, ("1", "1"): 0.001})
        assert hub == pytest.approx(lonely, rel=0.01)

    def test_neither_sure_nor_hopeless_pairs(self):
        sure, likely, even, hopeless = self.worth({("0", "0"): 1.0, ("1", "1"): 0.7, ("2", "2"): 0.5, ("3", "3"): 0.01})
        assert sure == 0
        assert likely > even > hopeless

    def test_the_same_whichever_way_around_nodes_are_linked(self):
        by_hand = self.worth({("h", "1"): 0.5, ("0", "h"): 0.5})
        assert by_hand == pytest.approx([np.sqrt(0.5) * 0.5 * 1.25] * 2)  # 0 is next to h, h next to 1
