"""Runs again and again: the short version of what `make endurance` does for hours."""

import pytest

from tests.endurance import leaks
from tests.endurance.outcome import check

pytestmark = pytest.mark.usefixtures("one_thread")


def test_neither_memory_nor_open_files_grow(tmp_path):
    check([leaks.leaks(tmp_path, 8, 100, warm_up=12)])


def test_what_leaks_is_noticed(tmp_path, monkeypatch):
    held = []

    def leaking(folder, number):
        held.append((bytearray(b"x" * (4 << 20)), open(folder / "file", "wb")))  # noqa: SIM115 - that is the leak

    monkeypatch.setattr(leaks, "one_run", leaking)
    outcome = leaks.leaks(tmp_path, 10, 100, warm_up=1)
    for _, stream in held:
        stream.close()
    assert len(outcome.failures) == 2
    assert "10 more open files after 10 runs" in str(outcome)
