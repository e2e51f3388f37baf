"""Set-up of all tests."""

import os

# As the command line does: torch's threads must not spin while they wait, or tests that run side by side crawl.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
