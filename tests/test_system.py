"""What this process runs on."""

import os
import subprocess
import sys

import pytest
import torch

from mpxgat import system
from mpxgat.io import read


def test_room_is_checked_only_where_there_is_a_limit(monkeypatch):
    monkeypatch.setattr(system, "address_space_left", lambda: None)
    system.check_room(1 << 60)
    monkeypatch.setattr(system, "address_space_left", lambda: 5 << 20)
    system.check_room(5 << 20)
    with pytest.raises(MemoryError, match="6 MB are needed, and a limit on memory leaves 5 MB"):
        system.check_room(6 << 20)


def test_a_table_that_does_not_fit_is_told_before_it_is_parsed(monkeypatch, tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("1 a b\n2 a b\n")
    assert read(path).n_intra == 2
    monkeypatch.setattr(system, "address_space_left", lambda: 1 << 20)
    with pytest.raises(MemoryError, match="a limit on memory leaves 1 MB"):
        read(path)


@pytest.mark.parametrize(
    ("maker", "setting", "mkl", "promise"),
    [
        ("intel", "AVX2,STRICT", True, system.ANY_THREADS),
        ("intel", "AVX2", True, system.THESE_THREADS),
        ("intel", None, True, system.THESE_THREADS),
        ("intel", "AVX2,STRICT", False, system.THESE_THREADS),
        ("amd", "AVX2,STRICT", True, system.THESE_THREADS),
    ],
)
def test_what_the_same_seed_promises(monkeypatch, maker, setting, mkl, promise):
    monkeypatch.setattr(system, "processor", lambda: maker)
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: mkl)
    if setting is None:
        monkeypatch.delenv("MKL_CBWR", raising=False)
    else:
        monkeypatch.setenv("MKL_CBWR", setting)
    assert system.reproducibility() == {
        "threads": torch.get_num_threads(), "MKL_CBWR": setting, "processor": maker, "promise": promise,
    }  # fmt: skip


def test_the_processor_has_a_name():
    assert system.processor() == system.processor().lower() != ""


@pytest.mark.parametrize(("asked", "expected"), [("1", 1), ("100000", None), ("", None), ("many", None)])
def test_threads_are_counted_without_torch(asked, expected):
    """As torch would: it takes a second to load."""
    told = "import sys; from mpxgat.system import threads; print(threads(), 'torch' in sys.modules)"
    environment = os.environ | {"OMP_NUM_THREADS": asked}
    found = subprocess.run([sys.executable, "-c", told], env=environment, check=True, capture_output=True, text=True)
    assert found.stdout.split() == [str(expected or os.cpu_count()), "False"]
