"""A small network and models fitted once."""

import pytest

import mpxgat as mx
from mpxgat.report.curves import fit_again
from mpxgat.splits import validation_split


@pytest.fixture(scope="session")
def society():
    return mx.synthetic.social(people=120, layers=3, seed=100)


@pytest.fixture(scope="session")
def small_mpxgat(society):
    settings = {"hidden": 4, "out": 3, "heads": 2, "check_every": 2, "epochs": 6}
    return mx.MPXGAT(seed=100, **settings).fit(society)


@pytest.fixture(scope="session")
def judge_of_pairs(society):
    return mx.Evidence(seed=100, splits=2, trees=10, embeddings="none").fit(society)


@pytest.fixture(scope="session")
def mpxgat_held_out(small_mpxgat):
    return fit_again(small_mpxgat, validation_split(small_mpxgat.graph, "marked", 100))


@pytest.fixture(scope="session")
def evidence_held_out(judge_of_pairs):
    return fit_again(judge_of_pairs, validation_split(judge_of_pairs.graph, "marked", 100))
