"""What every registered model must do, whatever it is called. A new model joins by being registered."""

from functools import partial

import pytest

from mpxgat import splits
from mpxgat.errors import SettingError
from mpxgat.evaluation import evaluate
from mpxgat.models import make_model as make_any_model
from mpxgat.models import model_names
from mpxgat.models.contract import CHECKS, check_model
from mpxgat.models.rules import Rules
from tests.examples import random_graph

# Neural models at a size that trains in a moment.
_ATTENTION = {"hidden": 8, "out": 8, "heads": 2, "epochs": 12, "check_every": 4}
SMALL = {
    "mpxgat": _ATTENTION,
    "mpxgat-random": _ATTENTION,
    "gat": _ATTENTION,
    "graphsage": {"dimensions": 8, "epochs": 2},
    "multiplexsage": {"dimensions": 8, "epochs": 2},
    "anchored": {"dimensions": 16, "hidden": 8, "terms": 4, "splits": 2, "steps": 4, "epochs": 3},
    "evidence": {"splits": 2, "trees": 20},
    "gatne": {"dimensions": 8, "edge_dimensions": 4, "attention_dimensions": 4, "epochs": 2},
}


IN_BATCHES = " in batches"  # the same model, trained another way
SMALL |= {name + IN_BATCHES: {**_ATTENTION, "epochs": 4, "batch": 24} for name in ("mpxgat", "gat")}

every_model = pytest.mark.parametrize("name", sorted({*model_names(), *SMALL}))


def make_model(name, *, seed=0, **settings):
    return make_any_model(registered(name), seed=seed, **SMALL.get(name, {}), **settings)


def registered(name):
    return name.removesuffix(IN_BATCHES)


@every_model
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_contract_is_kept(name, check):
    check(partial(make_model, name))


@every_model
def test_a_model_knows_its_own_name(name):
    assert make_model(name).name == registered(name)


class Broken(Rules):
    """Reads ids, gives other scores by pairs than in blocks, takes any setting, and has another model's name."""

    def __init__(self, /, *, seed=0, **settings):
        super().__init__(seed=seed)

    def _learn(self, graph, session):
        super()._learn(graph, session)
        self._first = len(graph.ids[0].as_py())

    def _score_intra(self, pairs):
        return super()._score_intra(pairs) + self._first


def test_a_model_that_breaks_the_contract_is_told_what_is_wrong():
    found = {check.name: check.problem for check in check_model(Broken)}
    assert len(found) == len(CHECKS)
    failed = {name for name, problem in found.items() if problem}
    assert failed == {
        "ids and attributes carry no information",
        "blocks and pairs give the same scores",
        "saved and loaded it is the same model",  # it is saved as the rules, whose name it has
        "misuse is named",
    }
    assert found["misuse is named"] == "no SettingError, expected one that says \"no setting 'colour'\""


def test_what_a_model_raises_is_told():
    def fails(**settings):
        raise ZeroDivisionError("by zero")

    assert {check.problem for check in check_model(fails)} == {"ZeroDivisionError: by zero"}


@every_model
def test_a_model_that_has_seen_test_links_is_not_evaluated(name):
    graph = random_graph(18)
    split = splits.marked_nodes(graph, seed=0)
    with pytest.raises(SettingError, match=r"holds \d+ of the test links"):
        evaluate(make_model(name).fit(graph), split)


def test_an_unknown_model_is_named_with_a_near_one():
    with pytest.raises(SettingError, match="no model 'rule'; did you mean rules"):
        make_any_model("rule")
