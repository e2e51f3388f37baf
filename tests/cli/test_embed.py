"""`mpxgat embed`."""

import numpy as np
import pytest

from mpxgat.errors import MpxgatError
from mpxgat.runs import RunFolder
from tests.cli.runs import SMALL, network, run

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    assert run("train", network(folder), "-o", folder / "run", *SMALL).exit_code == 0
    return folder / "run"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("e.parquet", ["e.parquet"]),
        ("e.npz", ["e.npz"]),
        ("e.csv", ["e.csv"]),
        ("e.txt", ["e.horizontal.txt", "e.vertical.txt"]),
    ],
)
def test_every_format(trained, tmp_path, name, written):
    result = run("embed", trained, "-o", tmp_path / name)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == written
    assert result.stderr == "".join(f"wrote {tmp_path / name}\n" for name in written)


def test_the_embeddings_are_those_of_the_model(trained, tmp_path):
    run("embed", trained, "-o", tmp_path / "e.npz")
    model = RunFolder(trained).model()
    with np.load(tmp_path / "e.npz") as file:
        assert np.array_equal(file["horizontal"], model.horizontal)
        assert np.array_equal(file["vertical"], model.vertical)
        assert file["horizontal"].shape == (model.graph.n_nodes, 3)


def refusal(*arguments):
    result = run("embed", *arguments)
    assert isinstance(result.exception, MpxgatError)
    return str(result.exception)


def test_a_model_without_embeddings_is_named(tmp_path):
    run("train", network(tmp_path), "-o", tmp_path / "rules", "--model", "rules")
    said = refusal(tmp_path / "rules", "-o", tmp_path / "e.csv")
    assert said == "the model 'rules' has no vectors of nodes"


def test_what_is_no_run_or_no_format_is_named(trained, tmp_path):
    assert "no run here" in refusal(tmp_path, "-o", tmp_path / "e.csv")
    assert "no run here" in refusal(tmp_path / "none", "-o", tmp_path / "e.csv")
    assert "expected a name that ends in .parquet" in refusal(trained, "-o", tmp_path / "e.xlsx")


def test_a_damaged_model_is_named(trained, tmp_path):
    for name in ("config.json", "model.safetensors"):
        content = (trained / name).read_bytes()
        (tmp_path / name).write_bytes(content if name == "config.json" else content[:1000])
    assert "model.safetensors: not a file of kind mpxgat-model-2, or a damaged one" in refusal(
        tmp_path, "-o", tmp_path / "e.csv"
    )
