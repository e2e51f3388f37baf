"""`mpxgat train` killed at random moments and resumed ends in the same bytes as an undisturbed run."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from mpxgat.io import write
from mpxgat.runs import RunFolder
from mpxgat.synthetic import social

KILLS = 10
SETTINGS = [
    "--model",
    "mpxgat",
    "--set",
    "hidden=4",
    "--set",
    "out=4",
    "--set",
    "heads=1",
    "--set",
    "patience=1000",
    "--epochs",
    "25",
]

# Starting Python with torch takes far longer than this training. So one process imports everything, and forks a child
# for each run of the command; the child is killed, not this one.
LAUNCHER = """
import json, os, signal, sys, time
import torch
import mpxgat.cli.app, mpxgat.models.mpxgat, mpxgat.runs

torch.set_num_threads(1)
for line in sys.stdin:
    arguments, seconds = json.loads(line)
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        log = os.open(os.environ["CHILD_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.argv = ["mpxgat", *arguments]
        try:
            mpxgat.cli.app.main()
        except SystemExit as end:
            sys.stderr.flush()
            os._exit(end.code or 0)
        os._exit(0)
    ended, status = 0, 0
    while not ended and (seconds is None or time.monotonic() - begin < seconds):
        time.sleep(0.001)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), time.monotonic() - begin]), flush=True)
"""


@pytest.fixture
def launch(tmp_path):
    """Runs the command, killed after so many seconds; gives its exit code and how long it ran."""
    environment = {**os.environ, "CHILD_LOG": str(tmp_path / "log"), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", LAUNCHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:

        def ask(*arguments, seconds=None):
            process.stdin.write(json.dumps([[str(argument) for argument in arguments], seconds]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


def test_killed_at_ten_random_moments_it_ends_in_the_same_bytes(launch, tmp_path):
    data = tmp_path / "net.parquet"
    write(social(people=50, layers=2, seed=0), data)

    def train(folder, *options, seconds=None):
        return launch("train", data, "-o", folder, *SETTINGS, "--save-every", 0, *options, seconds=seconds)

    code, duration = train(tmp_path / "undisturbed")
    assert code == 0, (tmp_path / "log").read_text()
    expected = (tmp_path / "undisturbed" / "model.safetensors").read_bytes()

    moments = np.random.default_rng(0).dirichlet(np.ones(KILLS)) * 0.8 * duration
    folders = [tmp_path / "run 0"]
    for seconds in moments:
        code, _ = train(folders[-1], "--resume", seconds=float(seconds))
        if code == 0:  # a run that was quicker than the first one: the next kill is for a new one
            folders.append(tmp_path / f"run {len(folders)}")
            code, _ = train(folders[-1], "--resume", seconds=float(seconds) / 2)
        assert code == -signal.SIGKILL, (tmp_path / "log").read_text()
    for folder in folders:
        code, _ = train(folder, "--resume")
        assert code == 0, (tmp_path / "log").read_text()
        assert (folder / "model.safetensors").read_bytes() == expected
        assert sorted(os.listdir(folder)) == [".lock", "config.json", "history.json", "model.safetensors"]


def test_a_second_process_is_refused_while_one_trains(launch, tmp_path):
    data = tmp_path / "net.parquet"
    write(social(people=50, layers=2, seed=0), data)
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        code, _ = launch("train", data, "-o", folder.path, *SETTINGS)
        assert code == 2
        assert "another process trains in this folder" in (tmp_path / "log").read_text()
