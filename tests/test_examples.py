import json
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


NOTEBOOK = Path(__file__).parents[1] / "examples" / "identities.ipynb"
EXECUTE = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300).execute()
nbformat.write(notebook, sys.argv[2])
"""


def test_the_notebook_holds_no_outputs():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 10
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_the_notebook_runs_and_shows_tables_and_charts(tmp_path):
    done = tmp_path / "done.ipynb"
    call = [sys.executable, "-c", EXECUTE, NOTEBOOK, done]
    run = subprocess.run(call, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    cells = json.loads(done.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    html = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    assert sum("<table" in each for each in html) > 5
    assert sum("vega-lite" in each for each in html) == 2
