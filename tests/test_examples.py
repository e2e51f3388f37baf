import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
NEEDS_DATA = {"genes.py"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short_and_runs(path, tmp_path):
    assert path.read_text(encoding="utf-8").count("\n") < 60
    if path.name in NEEDS_DATA and not os.environ.get("MPXGAT_DATA"):
        pytest.skip("the environment variable MPXGAT_DATA names no folder with the real data sets")
    call = [sys.executable, "-W", "error", path]
    done = subprocess.run(call, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") > 5


def test_there_are_two():
    assert [path.name for path in EXAMPLES] == ["genes.py", "identities.py"]
