"""The benchmark of network alignment: from a folder to ranks both ways."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpxgat.synthetic import social

ROOT = Path(__file__).parents[1]


def run(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.alignment", *arguments],
        env={**os.environ, "MPXGAT_DATA": str(data), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    graph = social(60, 2, 0)
    folder = tmp_path / "alignment" / "small"
    folder.mkdir(parents=True)
    for layer, name in enumerate("ab"):
        ids = [f"{name}{node}" for node in graph.layer_nodes(layer)]
        (folder / f"{name}.nodes.csv").write_text("\n".join(["id", *ids, f"{name}alone"]) + "\n")
        links = [pair for pair in graph.intra if graph.node_layer[pair[0]] == layer]
        (folder / f"{name}.txt").write_text("".join(f"{name}{u} {name}{v}\n" for u, v in links))
    for name, pairs in (("known_20", graph.inter[:10]), ("hidden_80", graph.inter[10:])):
        (folder / f"{name}.csv").write_text("a,b\n" + "".join(f"a{u},b{v}\n" for u, v in pairs))
    return tmp_path


def test_models_beside_each_other(data: Path) -> None:
    done = run(data, "--data", "small", "--model", "rules", "--model", "degree", "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert [each["model"] for each in record["models"]] == ["rules", "degree"]
    rules, degree = (each["ranks"] for each in record["models"])
    assert rules["forward"]["mrr"] > degree["forward"]["mrr"]
    assert rules["mean"]["hits@1"] == pytest.approx((rules["forward"]["hits@1"] + rules["backward"]["hits@1"]) / 2)
    assert record["models"][0]["seconds"].keys() == {"fit", "score"}
    assert "backward" in run(data, "--data", "small").stdout


def test_data_that_are_not_there(data: Path) -> None:
    done = run(data, "--data", "absent")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_rules_on_the_phone_and_email_networks() -> None:
    """Figures of an independent run, a to b and b to a."""
    folder = os.environ.get("MPXGAT_DATA", "")
    if not folder or not (Path(folder) / "alignment" / "phone_email").is_dir():
        pytest.skip("the environment variable MPXGAT_DATA names no folder with alignment/phone_email")
    ranks = json.loads(run(Path(folder), "--json").stdout)["models"][0]["ranks"]
    found = [round(ranks[way][name], 2) for name in ("hits@1", "hits@10", "mrr") for way in ("forward", "backward")]
    assert found == [0.03, 0.06, 0.20, 0.31, 0.09, 0.15]
