"""A small network and models fitted once."""

import pytest

import mpxgat as mx
from mpxgat.report.curves import HeldOut
from mpxgat.splits import validation_split


def second_fit(model):
    """The same model, from which some links were hidden."""
    split = validation_split(model.graph, "marked", 100)
    again = mx.models.make_model(model.name, seed=model.seed, **model.settings).fit(split.train)
    return HeldOut(again, split, model.graph, refitted=True)


@pytest.fixture(scope="session")
def society():
    return mx.synthetic.social(people=120, layers=3, seed=100)


@pytest.fixture(scope="session")
def small_mpxgat(society):
    settings = {"hidden": 4, "out": 3, "heads": 2, "check_every": 2, "epochs": 6}
    return mx.MPXGAT(seed=100, **settings).fit(society)


@pytest.fixture(scope="session")
def evidence(society):
    return mx.Evidence(seed=100, splits=2, trees=10, embeddings="none").fit(society)


@pytest.fixture(scope="session")
def mpxgat_held_out(small_mpxgat):
    return second_fit(small_mpxgat)


@pytest.fixture(scope="session")
def evidence_held_out(evidence):
    return second_fit(evidence)
