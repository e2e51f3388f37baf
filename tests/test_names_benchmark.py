"""The benchmark of names: what each row's model sees, and what the summary says."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mpxgat.models.evidence.model import Evidence
from mpxgat.synthetic import social

ROOT = Path(__file__).parents[1]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("benchmarks.names")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.names", *arguments],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_structure_alone():
    done = run("--people", "100", "--seeds", "2", "--row", "structure", "--json")
    assert done.returncode == 0, done.stderr
    *each, told = map(json.loads, done.stdout.splitlines())
    assert [(record["row"], record["seed"]) for record in each] == [("structure", 100), ("structure", 101)]
    assert told["rows"].keys() == {"structure"}
    hits = [record["ranks"]["mean"]["hits@1"] for record in each]
    assert told["rows"]["structure"]["hits@1"]["mean"] == pytest.approx(np.mean(hits))
    assert told["both_or_one"] == told["cost_of_useless"] == {}


@pytest.mark.skipif("compare" not in inspect.signature(Evidence).parameters, reason="evidence compares no attributes")
def test_names_find_more_than_structure_alone():
    done = run("--people", "300", "--seeds", "1", "--row", "structure", "--row", "both", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout.splitlines()[-1])["rows"]
    assert rows["both"]["hits@1"]["mean"] > rows["structure"]["hits@1"]["mean"]


def test_what_the_rows_are_given(names):
    graph = social(80, 2, 0, names=True)
    seen = {name: row.trained_on(graph, seed=0) for name, row in names.ROWS.items()}
    assert [name for name, each in seen.items() if not each.n_intra] == ["names", "names, none known"]
    assert seen["structure"] == seen["both"] == graph
    assert [name for name, row in names.ROWS.items() if not row.settings] == ["structure"]
    assert [name for name, row in names.ROWS.items() if not row.known] == ["names, none known", "both, none known"]
    assert set(names.COMPARE) < set(graph.attributes)


def test_shuffled_attributes_are_those_of_their_layer_in_another_order(names):
    graph = social(200, 2, 0, names=True)
    other = names.shuffled(graph, 0)
    assert other == names.shuffled(graph, 0) != names.shuffled(graph, 1)
    orders = []
    for name in names.COMPARE:
        was, now = (np.array(each.attributes[name].to_pylist()) for each in (graph, other))
        assert (was != now).mean() > 0.8
        for layer in range(2):
            nodes = graph.layer_nodes(layer)
            assert sorted(was[nodes]) == sorted(now[nodes])
        orders.append(now == "")
    assert other.attributes["person"] == graph.attributes["person"]
    assert not np.array_equal(orders[0], orders[1])


def figures(row, seed, hits, auc=0.9, right=None):
    return {"row": row, "seed": seed, "hits@1": hits, "mrr": hits, "auc": auc, "matches": 0, "right": right}


def test_the_summary_tests_both_against_the_better_one(names):
    hits = {"structure": (0.2, 0.3), "names": (0.4, 0.5), "both": (0.8, 0.9), "shuffled": (0.15, 0.3)}
    told = names.summary([figures(row, seed, each[seed]) for row, each in hits.items() for seed in range(2)])
    test = told["both_or_one"]["hits@1"]
    assert (test["better"], round(test["both"], 6), round(test["better_one"], 6)) == ("names", 0.85, 0.45)
    assert test["p"] == pytest.approx(0.0299, abs=1e-4)
    assert told["cost_of_useless"]["hits@1"]["mean"] == pytest.approx(0.025)
    assert told["cost_of_useless"]["auc"]["mean"] == 0
    assert "right" not in told["rows"]["both"]  # no matches, no share of them


def test_one_seed_is_not_tested(names):
    told = names.summary([figures(row, 0, 0.5, right=1.0) for row in names.ROWS])
    assert told["both_or_one"] == {}
    assert told["rows"]["both"]["right"] == {"mean": 1.0, "deviation": None, "n": 1}


def test_settings_that_cannot_be():
    done = run("--people", "0", "--row", "structure")
    assert done.returncode == 2
    assert "structure, seed 100: people is '0'" in done.stderr
    assert "Traceback" not in done.stderr
