"""What this process runs on and has used so far."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

from mpxgat import __version__

try:
    import resource
except ImportError:  # Windows has no such module
    resource = None  # type: ignore[assignment]

_OUT_OF_MEMORY = (
    "allocate memory",
    "not enough memory",
    "out of memory",
    "bad_alloc",
    "failed to map segment",  # of a library that is being loaded
    "can't start new thread",
    "launch worker thread",
)


def peak_rss_mb() -> float | None:
    """Largest resident memory so far, in megabytes, of this process or of the largest that it started and that ended.

    None where the system does not tell.
    """
    if resource is None:
        return None
    peak = max(resource.getrusage(whose).ru_maxrss for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether an exception says that memory ran out: numpy and Arrow by its class, torch and LightGBM in its words."""
    if isinstance(problem, MemoryError):
        return True
    text = str(problem).lower()
    return any(words in text for words in _OUT_OF_MEMORY)


def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    return {
        "mpxgat": __version__,
        "python": platform.python_version(),
        "torch": version("torch"),
        "numpy": version("numpy"),
    }
