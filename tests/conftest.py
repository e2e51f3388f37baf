"""Set-up of all tests."""

import pytest

from mpxgat.system import set_reproducible_maths

set_reproducible_maths()  # as the command line does, before torch is loaded


@pytest.fixture(scope="module")
def one_thread():
    """Torch on one thread: small networks only get slower by a second one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def no_width(monkeypatch):
    """Outputs are as wide as in a file: pytest loads readline, which tells the processes it starts of a terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)
