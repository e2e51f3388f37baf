"""The benchmark of attributes: planted pairs are found, and a small run goes through every kind."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def attributes(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("benchmarks.attributes")


@pytest.mark.parametrize("kind", ["text", "name"])
def test_planted_pairs_are_proposed(attributes: ModuleType, kind: str) -> None:
    found = attributes.propose(kind, 200, 10, 100)
    assert found["recall"] > 0.95
    assert found["proposals"] <= 2 * 200 * 10


def test_what_is_planted_is_what_its_kind_reads(attributes: ModuleType) -> None:
    for kind in attributes.KINDS:
        assert attributes.compare_pairs(kind, 30, 100, 100, 1)["pairs"] == 100


def test_a_small_run_measures_the_kinds_asked_for(attributes: ModuleType) -> None:
    small = ["--kinds", "text", "date", "--nodes=20", "--pairs=50", "--repeats=1"]
    command = [sys.executable, "-m", "benchmarks.attributes", "--json", *small]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(done.stdout)
    assert [record["kind"] for record in found["pairs"]] == ["text", "date"]
    assert all(record["pairs_per_second"] > 0 for record in found["pairs"])
    assert found["attribute_pairs_per_second"] > 0
    assert [record["kind"] for record in found["proposals"]] == ["text"]
