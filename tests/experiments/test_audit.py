"""The audit shows a leak; these tests hold it to what it says it does."""

import numpy as np
import pytest

from mpxgat import splits, synthetic
from mpxgat.errors import SettingError
from mpxgat.evaluation import evaluate
from mpxgat.experiments.audit import _negatives_over_all_pairs, _one_way, _random_non_links, audit
from mpxgat.models import make_model
from mpxgat.pairs import pair_keys
from tests.examples import graph_of

SMALL = {"hidden": 8, "out": 8, "heads": 2, "epochs": 10, "check_every": 5}


@pytest.fixture(scope="module")
def split():
    return splits.marked_nodes(synthetic.social(people=300, layers=3, seed=100), seed=100)


@pytest.fixture(scope="module")
def found(split):
    return audit(split, "social", SMALL).to_record()


def test_links_that_carry_messages_score_high_whether_they_are_real_or_not(found):
    assert found["reference_real"] > 0.6
    assert found["reference_fake"] > 0.6
    assert found["leak_free"] < min(found["reference_real"], found["reference_fake"])
    assert found["published"] is None  # of no data set of the paper


def test_the_leak_free_figure_is_the_ordinary_evaluation(split, found):
    model = make_model("mpxgat", seed=100, preset="reference", **SMALL).fit(split.train)
    values = evaluate(model, split).inter.values
    assert (found["leak_free"], found["leak_free_hard_pairs"]) == (values["auc"], values["auc_hard"])
    assert found["settings"] == model.settings


def test_published_settings_are_taken_for_the_papers_data_sets(split):
    found = audit(split, "drosophila", SMALL | {"epochs": 0}).to_record()
    assert found["settings"]["lr"] == 5e-4
    assert found["settings"]["preset"] == "reference"
    assert found["published"] == 0.86


def test_fake_links_are_links_neither_known_nor_hidden(split):
    fake = _random_non_links(split, 500, np.random.default_rng(0))
    n = split.train.n_nodes
    true = pair_keys(synthetic.truth(split.train), n)
    assert len(fake) == 500
    assert (split.train.node_layer[fake[:, 0]] != split.train.node_layer[fake[:, 1]]).all()
    assert not np.isin(pair_keys(fake, n), true).any()


def test_messages_go_one_way():
    around = _one_way(4, np.array([[3, 1], [0, 1]]))
    heard = [around.senders[a:b].tolist() for a, b in zip(around.offsets[:-1], around.offsets[1:], strict=True)]
    assert heard == [[0], [0, 1], [2], [1, 3]]


def test_negatives_are_any_pairs_but_the_links_themselves():
    links = np.array([[0, 1], [2, 3], [1, 3]])
    drawn = np.concatenate([_negatives_over_all_pairs(5, links, np.random.default_rng(seed)) for seed in range(200)])
    assert len(drawn) == 600
    pairs = {(a, b) for a in range(5) for b in range(a + 1, 5)} - {(0, 1), (2, 3), (1, 3)}
    assert set(map(tuple, np.sort(drawn, axis=1).tolist())) == pairs


def test_without_a_test_link_there_is_nothing_to_audit():
    split = splits.marked_nodes(graph_of("x.a x.b", "y.a y.b"), seed=0)
    with pytest.raises(SettingError, match="no inter-layer test link"):
        audit(split, "toy", SMALL)
