"""Worker processes end with the process that started them."""

import os
import signal
import subprocess
import sys
import time

import pytest

from mpxgat.training.parallel import workers

PROGRAM = """
import os, time
from mpxgat.training.parallel import workers

if __name__ == "__main__":
    with workers(2) as pool:
        print(*{pool.submit(os.getpid).result() for _ in range(20)}, flush=True)
        pool.submit(time.sleep, 600).result()
"""


def is_alive(pid):
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_a_killed_parent_takes_its_workers_along(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as process:
        pids = [int(pid) for pid in process.stdout.readline().split()]
        assert pids
        assert all(is_alive(pid) for pid in pids)
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 20
    while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(is_alive(pid) for pid in pids)


def test_an_error_ends_work_that_would_take_long():
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt), workers(1) as pool:  # noqa: PT012 - the block is what is tested
        pool.submit(os.getpid).result()
        for _ in range(3):
            pool.submit(time.sleep, 600)
        raise KeyboardInterrupt
    assert time.monotonic() - begin < 60


def test_work_is_done():
    with workers(2) as pool:
        assert list(pool.map(abs, [-1, -2, -3])) == [1, 2, 3]
