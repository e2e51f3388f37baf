"""Set-up of all tests."""

import os

import pytest

from mpxgat.system import set_reproducible_maths

set_reproducible_maths()  # as the command line does, before torch is loaded
os.environ.pop("COLUMNS", None)  # pytest loads readline, which tells the processes it starts of a terminal's width


@pytest.fixture(scope="module")
def one_thread():
    """Torch on one thread: small networks only get slower by a second one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
