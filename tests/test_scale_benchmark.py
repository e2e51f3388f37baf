"""The benchmark of growth: slopes are slopes, and a small run goes through every stage."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def scale(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("benchmarks.scale")


def record(nodes: int, seconds: float, peak: float) -> dict[str, object]:
    return {
        "base": {"peak_mb": 100.0},
        "load": {"nodes": nodes, "seconds": seconds, "peak_mb": peak},
        "train": {"seconds": 2.0, "epoch_seconds": None},
    }


def test_growth_is_the_slope_in_logarithms(scale: ModuleType) -> None:
    sizes = [record(nodes, 3e-6 * nodes**1.5, 100 + 0.001 * nodes) for nodes in (100, 1000, 10_000)]
    growth = scale.growth(sizes)
    assert growth["load_seconds"] == pytest.approx(1.5)
    assert growth["load_peak_mb"] == pytest.approx(1.0)  # what the interpreter takes does not count
    assert growth["train_seconds"] == pytest.approx(0.0, abs=1e-9)
    assert growth["train_epoch_seconds"] is None
    assert growth["match_seconds"] is None
    assert scale.growth(sizes[:1])["load_seconds"] is None


def test_settings_are_told_by_name(scale: ModuleType) -> None:
    assert scale.settings_of(["epochs=3", "rate=0.5", "embeddings=none", "batch=[1]"]) == {
        "epochs": 3,
        "rate": 0.5,
        "embeddings": "none",
        "batch": [1],
    }
    with pytest.raises(SystemExit, match="NAME=VALUE"):
        scale.settings_of(["epochs"])


def test_a_small_run_goes_through_every_stage(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.scale", "--sizes", "60", "150", "--folder", str(tmp_path), "--json"]

    def runs(*more: str) -> list[dict[str, Any]]:
        done = subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True, check=True)
        found: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
        return found

    (found,) = runs("--models", "evidence", "--set", "embeddings=none", "splits=2", "trees=2")
    assert [size["wanted_nodes"] for size in found["sizes"]] == [60, 150]
    for size in found["sizes"]:
        assert size["load"]["nodes"] == pytest.approx(size["wanted_nodes"], rel=0.3)
        assert size["train"]["epoch_seconds"] is None  # boosted trees have no epochs
        assert 0 <= size["candidates"]["recall"] <= 1
        assert 0 <= size["match"]["found"] <= 1
    assert found["growth"]["match_seconds"] is not None
    assert found["settings"] == {"embeddings": "none", "splits": 2, "trees": 2}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["150.mpxg", "60.mpxg", "small.mpxg"]
    (found,) = runs("--models", "mpxgat", "--set", "hidden=4", "out=4", "heads=1", "batch=64")
    assert found["settings"]["epochs"] == 3
    assert found["growth"]["train_epoch_seconds"] is not None
    assert "match" not in found["sizes"][0]
