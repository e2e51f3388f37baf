"""The benchmark of reviews: what is answered, what is measured, what the summary says."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mpxgat.synthetic import social, truth

ROOT = Path(__file__).parents[1]


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("benchmarks.review")


def test_a_small_one():
    command = [sys.executable, "-m", "benchmarks.review"]
    done = subprocess.run(
        [*command, "--people", "150", "--answers", "3", "--seeds", "1", "--json"],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *each, told = map(json.loads, done.stdout.splitlines())
    assert [record["order"] for record in each] == ["informative", "surest", "matches", "random"]
    for record in each:
        assert record["remaining"]["pairs"] == record["hidden"] - record["accepted"]
        assert record["common"]["pairs"] <= record["remaining"]["pairs"]
        assert told["orders"][record["order"]]["gain"]["remaining"]["mean"] == record["remaining"]["gain"]
    assert told["informative_against"]["random"] == {"remaining": None, "common": None}


def test_answers_are_true_and_none_is_asked_for_that_follows(benchmark):
    graph = social(60, 2, 0, known=0.5)
    true = {(u, v) for u, v in truth(graph).tolist()} - {(u, v) for u, v in graph.inter.tolist()}
    first, second = sorted(true)[:2]
    queue = np.array([first, (first[0], second[1]), second, (second[0], first[1])])
    answered = benchmark.ask(graph, queue, true, answers=3)
    assert answered.accepted == 2  # the pair between the two follows from the first answer
    assert {first, second} <= {(u, v) for u, v in answered.graph.inter.tolist()}
    assert len(answered.graph.apart) == 0
    wrong = benchmark.ask(graph, queue[1:], true, answers=1)
    assert (wrong.accepted, wrong.graph.apart.tolist()) == (0, [[first[0], second[1]]])


def test_tests_compare_gains(benchmark):
    found = [
        {"order": order, "accepted": 1, **{name: {"gain": gain + seed / 100} for name in ("remaining", "common")}}
        for order, gain in zip(benchmark.ORDERS, (0.5, 0.4, 0.3, 0.1), strict=True)
        for seed in range(3)
    ]
    told = benchmark.summary(found)
    assert told["orders"]["informative"]["gain"]["common"]["mean"] == pytest.approx(0.51)
    assert told["informative_against"]["random"]["common"] < told["informative_against"]["surest"]["common"] < 0.05
