"""Set-up of all tests."""

import os

import pytest

# As the command line does: torch's threads must not spin while they wait, or tests that run side by side crawl.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@pytest.fixture(scope="module")
def one_thread():
    """Torch on one thread: small networks only get slower by a second one."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
