import json

import numpy as np
import pytest

from mpxgat import splits
from mpxgat.evaluation import Summary, evaluate, repeat
from mpxgat.models import make_model
from tests.examples import random_graph


def test_a_record_holds_mean_sample_deviation_and_values_of_every_seed():
    graph = random_graph(21, people=120)
    record = repeat(
        (splits.marked_nodes(graph, seed) for seed in (3, 4, 5)), lambda seed: make_model("rules", seed=seed)
    ).to_record()
    alone = splits.marked_nodes(graph, 4)
    expected = evaluate(make_model("rules").fit(alone.train), alone)
    auc = record["inter"]["auc"]
    assert record["seeds"] == [3, 4, 5]
    assert auc["values"][1] == expected.inter.values["auc"]
    assert auc["mean"] == pytest.approx(np.mean(auc["values"]))
    assert auc["std"] == pytest.approx(np.std(auc["values"], ddof=1))
    assert record["inter"]["positives"][1] == expected.inter.positives
    assert record["overall"]["auc"]["values"][1] == expected.overall_auc
    assert {"auc", "auc_hard", "ap", "mrr", "hits@1", "hits@5", "hits@10", "hits@30"} <= record["inter"].keys()
    assert [row["layers"] for row in record["intra"]["by_layer"]] == [["L0"], ["L1"], ["L2"]]
    assert json.dumps(json.loads(json.dumps(record))) == json.dumps(record)  # plain values (NaN is not equal to itself)


def test_one_seed_has_no_spread_and_nan_stays_nan():
    assert Summary.of([0.5]) == Summary(0.5, 0.0, (0.5,))
    assert np.isnan(Summary.of([0.5, np.nan]).mean)
