"""Runs again and again: the short version of what `make endurance` does for hours."""

import numpy as np
import pytest

from tests.endurance import leaks
from tests.endurance.outcome import check

pytestmark = pytest.mark.usefixtures("one_thread")


def test_neither_memory_nor_open_files_grow(tmp_path):
    check([leaks.leaks(tmp_path, 8, 100, warm_up=12)])


def test_what_leaks_is_noticed(tmp_path, monkeypatch):
    leaking = {
        "in_use": lambda: np.ones(300_000 // 8),
        "blocks": lambda: [object() for _ in range(1000)],
        "files": lambda: open(tmp_path / "file", "wb"),  # noqa: SIM115 - that is the leak
    }
    for what, leak in leaking.items():
        held = []
        monkeypatch.setattr(leaks, "one_run", lambda folder, number, held=held, leak=leak: held.append(leak()))
        (failure,) = leaks.leaks(tmp_path, 10, 100, warm_up=1).failures
        assert failure.what.startswith(f"{what} grew by ")
    for stream in held:
        stream.close()


def test_a_step_is_no_leak(tmp_path, monkeypatch):
    runs, table = [], []

    def one_run(folder, number):
        runs.append(number)
        if len(runs) == 5:
            table.append(np.ones(4_000_000 // 8))

    monkeypatch.setattr(leaks, "one_run", one_run)
    assert leaks.leaks(tmp_path, 10, 100, warm_up=1).failures == ()
    assert len(runs) == 11
